//! `overlay-sync` with 50 files and 100 workspaces, against cp, find, rsync and unison.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::{Bench, Limit, Row, median};
use crate::run::find;

const FILES: usize = 50;
const WORKSPACES: usize = 100;

/// The number of runs of the slowest programs.
const FEW: usize = 3;

/// Long enough for the clock of any file system to advance.
const TICK: Duration = Duration::from_millis(300);

/// How long a watch at rest is measured.
const IDLE: Duration = Duration::from_secs(10);

impl Bench {
    pub(super) fn overlay_sync(&self) -> Result<Vec<Row>> {
        let app = self.workspaces()?;
        let area = self.dir.join("many");
        let overlay = self.dir.join(".local/share/shopfloor/overlays/app");
        let runs = self.runs.div_ceil(4);
        let script = |line: &str| format!("for i in $(seq {WORKSPACES}); do {line}; done");
        let loops = |line: &str| -> Result<f64> { self.once(&["sh", "-c", &script(line)], &area) };
        let o = overlay.display();

        let all: Vec<String> = (1..=WORKSPACES).map(|i| format!("../w{i}")).collect();
        let mut attach_line = vec!["overlay-sync", "-q", "attach"];
        attach_line.extend(all.iter().map(String::as_str));
        let (mut attach, mut cp, mut rsync) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..runs {
            loops("rm -rf c$i w$i/d app/.git/worktrees/w$i/shopfloor; mkdir c$i")?;
            fs::remove_dir_all(overlay.join(".overlay-sync")).ok();
            cp.push(loops(&format!("cp -r {o}/d c$i/"))?);
            attach.push(self.once(&attach_line, &app)?);
            if n < FEW && find("rsync").is_some() {
                loops("rm -rf c$i; mkdir c$i")?;
                rsync.push(loops(&format!("rsync -a {o}/d c$i/"))?);
            }
        }
        let (attach, cp) = (median(attach), median(cp));
        let mut rows = vec![
            Row::ms(format!("`overlay-sync attach`, {FILES} files × {WORKSPACES}"), attach)
                .against(format!("`cp -r` × {WORKSPACES}"), cp)
                .within(Limit::Times(1.5)),
        ];
        if !rsync.is_empty() {
            rows.push(Row::ms("the same", attach).against("`rsync -a` × 100", median(rsync)));
        }

        sleep(TICK);
        for _ in 0..3 {
            self.must(&["overlay-sync", "-q", "sync"], &app)?;
        }
        fs::write(self.dir.join("newest"), "")?;
        let dirs: Vec<String> = (1..=WORKSPACES).map(|i| format!("w{i}/d")).collect();
        let newest = self.dir.join("newest").display().to_string();
        let mut find_line: Vec<&str> = vec!["find"];
        find_line.extend(dirs.iter().map(String::as_str));
        find_line.extend(["-newer", &newest]);
        let (mut sync, mut stat, mut rsync) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..self.runs {
            sync.push(self.once(&["overlay-sync", "sync"], &app)?);
            stat.push(self.once(&find_line, &area)?);
            if i < FEW && find("rsync").is_some() {
                rsync.push(loops(&format!("rsync -a {o}/d c$i/"))?);
            }
        }
        let (sync, stat) = (median(sync), median(stat));
        rows.push(
            Row::ms("`overlay-sync sync` with nothing to do, whole", sync)
                .against("`find -newer` over the same 5,000 files", stat)
                .within(Limit::Times(1.5)),
        );
        if !rsync.is_empty() {
            rows.push(Row::ms("the same", sync).against("`rsync -a` × 100", median(rsync)));
        }

        let (mut fan, mut cp, mut rsync) = (Vec::new(), Vec::new(), Vec::new());
        for n in 0..self.runs {
            let text = format!("change {n}\n{}", "file 7\n".repeat(19));
            fs::write(area.join("w50/d/f7"), &text)?;
            fan.push(self.once(&["overlay-sync", "-q", "sync"], &app)?);
            let arrived = fs::read_to_string(area.join("w99/d/f7"))?;
            if arrived != text {
                bail!("the change did not arrive: {arrived}");
            }
            cp.push(loops("cp w50/d/f7 c$i/d/f7")?);
            if n < FEW && find("rsync").is_some() {
                fs::write(overlay.join("d/f8"), format!("change {n}\n{}", "file 8\n".repeat(19)))?;
                rsync.push(loops(&format!("rsync -a {o}/d c$i/"))?);
            }
        }
        let (fan, cp) = (median(fan), median(cp));
        rows.push(
            Row::ms("one change to the overlay and 99 siblings", fan)
                .against("`cp` × 100", cp)
                .within(Limit::AtMost(100.0)),
        );
        if !rsync.is_empty() {
            rows.push(Row::ms("the same", fan).against("`rsync -a` × 100", median(rsync)));
        }
        if find("unison").is_some() {
            let line = format!("unison -silent -batch {o}/d u$i/d");
            loops("mkdir -p u$i/d")?;
            loops(&line)?;
            fs::write(overlay.join("d/f9"), format!("change\n{}", "file 9\n".repeat(19)))?;
            rows.push(Row::ms("the same", fan).against("`unison -batch` × 100", loops(&line)?));
        }
        for name in ["rsync", "unison"].iter().filter(|name| find(name).is_none()) {
            eprintln!("xtask: {name} is not installed, so it is left out (Debian: apt-get install {name})");
        }
        rows.extend(self.idle(&app)?);
        Ok(rows)
    }

    /// A repository, its overlay and its worktrees, of which none is attached.
    fn workspaces(&self) -> Result<PathBuf> {
        let app = self.dir.join("many/app");
        fs::create_dir_all(&app)?;
        fs::write(app.join(".gitignore"), "/d/\n")?;
        for line in [
            &["git", "init", "-q", "-b", "main"][..],
            &["git", "add", "."],
            &["git", "commit", "-q", "-m", "one"],
            &["sh", "-c", &format!("for i in $(seq {WORKSPACES}); do git worktree add -q ../w$i || exit; done")],
        ] {
            self.must(line, &app)?;
        }
        let files = self.dir.join(".local/share/shopfloor/overlays/app/d");
        fs::create_dir_all(&files)?;
        for j in 0..FILES {
            fs::write(files.join(format!("f{j}")), format!("file {j}\n").repeat(20))?;
        }
        Ok(app)
    }

    /// A watch at rest: the number of its wake-ups, and its memory.
    fn idle(&self, app: &Path) -> Result<Vec<Row>> {
        let mut watch = self.command(&["overlay-sync", "-q", "watch"], app).spawn()?;
        // Wait for the first scan, and for the quiet time after it.
        sleep(Duration::from_secs(4));
        let tasks = PathBuf::from(format!("/proc/{}/task", watch.id()));
        let before = switches(&tasks);
        sleep(IDLE);
        let after = switches(&tasks);
        let status = fs::read_to_string(format!("/proc/{}/status", watch.id())).unwrap_or_default();
        watch.kill()?;
        watch.wait()?;
        let wakes = after.context("no /proc here")? - before.context("no /proc here")?;
        let resident = number(&status, "VmRSS:").context("no VmRSS in /proc")? / 1024.0;
        let rest = format!("a watch at rest: wake-ups in {} s", IDLE.as_secs());
        Ok(vec![
            Row::count(rest, wakes, "").within(Limit::AtMost(0.0)),
            Row::count("a watch at rest: resident", resident.round(), "MB").within(Limit::AtMost(15.0)),
        ])
    }
}

/// How many times the threads of a process gave up or lost the processor.
pub(super) fn switches(tasks: &Path) -> Option<f64> {
    let mut sum = 0.0;
    for task in fs::read_dir(tasks).ok()?.flatten() {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        sum += number(&status, "voluntary_ctxt_switches:")? + number(&status, "nonvoluntary_ctxt_switches:")?;
    }
    Some(sum)
}

/// A number in a file of /proc.
fn number(status: &str, key: &str) -> Option<f64> {
    status.lines().find_map(|line| line.strip_prefix(key))?.split_whitespace().next()?.parse().ok()
}
