//! Programs that hold a file open while it is replaced: what they write into the old one arrives.

use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::support::overlay::{SETTINGS, Scene, Watch, close, configure, id, scene};
use crate::support::world::{Repo, World, find, needs, text, wait_for};

const LOG: &str = "log.jsonl";

/// A sync on a file system that has neither rename exchange nor hard links.
const SYNC_THAT_KEEPS_NOTHING: &str = "strace -f -qq -o /dev/null -e trace=renameat2,linkat -e inject=renameat2:error=EINVAL \
                                       -e inject=linkat:error=EPERM overlay-sync sync";

/// A program's descriptor of a file in a workspace.
fn open(repo: &Repo<'_>, path: &str) -> File {
    OpenOptions::new().append(true).open(repo.path.join(path)).unwrap()
}

/// A program that appends a line to the log of a workspace.
fn append(repo: &Repo<'_>, line: &str) {
    let mut log = open(repo, LOG);
    writeln!(log, "{line}").unwrap();
    close(log);
}

/// A scene in which the file is in step, and A's copy is held open.
fn held_open<'w>(w: &'w World, path: &str, start: &str) -> (Scene<'w>, File) {
    let s = scene(w);
    s.put(path, start);
    s.attach();
    let writer = open(&s.a, path);
    (s, writer)
}

/// The `why` of a file in a workspace, as `status` gives it.
fn why(s: &Scene<'_>, repo: &Repo<'_>, path: &str) -> String {
    let lines: Vec<Value> = s.app.overlay(&["status", "--json"]).exit(0).json_lines();
    let root = repo.path.display().to_string();
    let line = lines.iter().find(|line| text(line, "/worktree") == root && text(line, "/path") == path);
    text(line.unwrap(), "/why").to_owned()
}

#[test]
fn a_log_that_stays_open_over_twenty_propagations_loses_no_record() {
    let w = World::new();
    let (s, mut log) = held_open(&w, LOG, "{\"n\":0}\n");
    for n in 0..20 {
        writeln!(log, "{{\"a\":{n}}}").unwrap();
        append(&s.b, &format!("{{\"b\":{n}}}"));
        s.sync(0).any_err();
    }
    assert!(why(&s, &s.a, LOG).contains("holds the replaced file open"));
    assert_eq!(why(&s, &s.b, LOG), "");
    close(log);
    s.sync(0).any_err();
    let all = s.text(LOG);
    for n in 0..20 {
        assert!(all.contains(&format!("{{\"a\":{n}}}\n")) && all.contains(&format!("{{\"b\":{n}}}\n")), "{n}: {all}");
    }
    assert_eq!(all.lines().count(), 41);
    s.all_are(LOG, &all);
    assert_eq!(why(&s, &s.a, LOG), "");
    // Nothing is left to do, and no file is left behind.
    assert_eq!(s.sync(0).stdout, "");
    s.app.sh("! find . ../a ../b -name '*late-*' | grep .").exit(0);
}

#[test]
fn a_watch_brings_in_what_came_late() {
    let w = World::new();
    let (s, mut log) = held_open(&w, LOG, "{\"n\":0}\n");
    let watch = Watch::start(&s, "50");
    append(&s.b, "{\"b\":1}");
    wait_for(|| s.a.read(LOG).contains("{\"b\":1}"));
    writeln!(log, "{{\"a\":1}}").unwrap();
    close(log);
    // The next pass finds it.
    append(&s.b, "{\"b\":2}");
    wait_for(|| s.b.read(LOG).contains("{\"a\":1}"));
    watch.end(&s);
    assert_eq!(s.b.read(LOG).lines().count(), 4);
}

/// A change that comes while the first scan of a watch is still at work gets a scan of its own. Each rename of the watch
/// takes a while, so that the scan goes on after it replaced the file.
#[test]
fn a_watch_misses_nothing_during_its_first_scan() {
    let w = World::new();
    if !needs("strace") {
        return;
    }
    let (s, _) = held_open(&w, LOG, "{\"n\":0}\n");
    append(&s.b, "{\"b\":1}");
    let slowly = ["-f", "-qq", "-o", "/dev/null", "-e", "trace=renameat2", "-e", "inject=renameat2:delay_exit=400000"];
    let mut watch = w.command(find("strace").unwrap());
    let watch = watch.args(slowly).arg(w.path("bin/overlay-sync")).args(["watch", "-q", "--debounce-ms", "50"]);
    let mut watch = watch.current_dir(&s.app.path).stdout(Stdio::null()).spawn().unwrap();
    wait_for(|| s.a.read(LOG).contains("{\"b\":1}"));
    append(&s.b, "{\"b\":2}");
    wait_for(|| s.a.read(LOG).contains("{\"b\":2}"));
    let pid = std::fs::read_to_string(s.overlay(".overlay-sync/watch.lock")).unwrap();
    s.app.sh(&format!("kill -TERM {}", pid.trim())).exit(0);
    watch.wait().unwrap();
}

/// What came late is an edit of the text that was displaced, and conflicts are decided for the present text.
#[test]
fn a_text_that_is_rewritten_late_changes_what_its_writer_changed() {
    let w = World::new();
    let (s, _) = held_open(&w, SETTINGS, "{\"a\": 1, \"b\": 1, \"c\": 1}\n");
    let mut writer = OpenOptions::new().write(true).open(s.a.path.join(SETTINGS)).unwrap();
    s.b.write(SETTINGS, "{\"a\": 1, \"b\": 2, \"c\": 2}\n");
    s.sync(0).any_err();
    writer.set_len(0).unwrap();
    writer.rewind().unwrap();
    writer.write_all(b"{\"a\": 3, \"b\": 1, \"c\": 3}\n").unwrap();
    close(writer);
    s.sync(0).err_has("wrote to .data/shared.json after the file was replaced");
    let now: Value = serde_json::from_str(&s.text(SETTINGS)).unwrap();
    assert_eq!(now, serde_json::json!({ "a": 3, "b": 2, "c": 2 }));
    let conflicts = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    assert_eq!((conflicts.len(), text(&conflicts[0], "/places/0")), (1, "c"));
    let out = s.app.overlay(&["show", id(&conflicts[0])]).exit(0);
    assert_eq!(out.stdout, "{\"a\": 3, \"b\": 1, \"c\": 3}\n");
}

#[test]
fn a_text_from_an_old_view_that_comes_late_reverts_nothing() {
    let w = World::new();
    let (s, _) = held_open(&w, SETTINGS, "{\"a\": 1}\n");
    s.b.write(SETTINGS, "{\"a\": 2}\n");
    s.sync(0).any_err();
    let mut writer = OpenOptions::new().write(true).open(s.a.path.join(SETTINGS)).unwrap();
    s.b.write(SETTINGS, "{\"a\": 2, \"b\": 1}\n");
    s.sync(0).any_err();
    // It read the first text, and writes into what was displaced by the third.
    writer.set_len(0).unwrap();
    writer.write_all(b"{\"a\": 1, \"own\": 1}\n").unwrap();
    close(writer);
    s.sync(0).err_has("was written from an old view");
    let now: Value = serde_json::from_str(&s.text(SETTINGS)).unwrap();
    assert_eq!(now, serde_json::json!({ "a": 2, "b": 1, "own": 1 }));
}

#[test]
fn a_text_that_was_cut_off_late_is_kept_aside() {
    let w = World::new();
    let (s, _) = held_open(&w, SETTINGS, "{\"a\": 1}\n");
    let writer = OpenOptions::new().write(true).open(s.a.path.join(SETTINGS)).unwrap();
    s.b.write(SETTINGS, "{\"a\": 2}\n");
    s.sync(0).any_err();
    writer.set_len(4).unwrap();
    close(writer);
    s.sync(0).err_has("not all of its text could be merged");
    s.all_are(SETTINGS, "{\"a\": 2}\n");
    let conflicts = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    let out = s.app.overlay(&["show", id(&conflicts[0])]).exit(0);
    assert_eq!(out.stdout, "{\"a\"");
}

/// Nobody looks at the file after a detach, so what is there counts.
#[test]
fn detach_takes_what_an_open_file_has() {
    let w = World::new();
    let (s, mut log) = held_open(&w, LOG, "{\"n\":0}\n");
    append(&s.b, "{\"b\":1}");
    s.sync(0).any_err();
    writeln!(log, "{{\"a\":1}}").unwrap();
    s.a.overlay(&["detach", "."]).succeeds().any_err();
    assert!(s.text(LOG).contains("{\"a\":1}\n") && s.a.read(LOG).contains("{\"a\":1}\n"));
    // The same when the workspace comes back while the file is still open.
    s.a.overlay(&["attach", "."]).succeeds().any_err();
    writeln!(log, "{{\"a\":2}}").unwrap();
    close(log);
    s.sync(0).any_err();
    assert_eq!(s.text(LOG).lines().count(), 4);
    s.all_are(LOG, &s.text(LOG));
}

/// What came late has arrived in its own workspace too: programs there may not know of it.
#[test]
fn a_program_that_does_not_know_what_came_late_takes_it_not_away() {
    let w = World::new();
    let (s, mut log) = held_open(&w, ".env", "A=1\n");
    s.b.write(".env", "A=1\nB=1\n");
    s.sync(0).any_err();
    let old = s.a.read(".env");
    writeln!(log, "LATE=1").unwrap();
    close(log);
    s.sync(0).any_err();
    assert!(s.text(".env").contains("LATE=1"));
    s.a.write(".env", &format!("{old}OWN=1\n"));
    s.sync(0).err_has("was written from an old view: it lacks LATE");
    assert!(s.text(".env").contains("LATE=1\n") && s.text(".env").contains("OWN=1\n"));
}

/// Under `direction = "down"` nothing of what came late would go on to the overlay, so nobody would look at it.
#[test]
fn what_came_late_to_a_file_that_only_receives_is_recorded() {
    let w = World::new();
    let (s, mut log) = held_open(&w, ".env", "A=1\n");
    configure(&w, "[overlay-sync.path.\".env\"]\ndirection = \"down\"\n");
    s.put(".env", "A=2\n");
    s.sync(0).any_err();
    writeln!(log, "LATE=1").unwrap();
    close(log);
    s.app.overlay(&["sync"]).any_status().any_out().err_has("a program wrote to .env after the file was replaced");
    assert_eq!((s.a.read(".env").as_str(), s.text(".env").as_str()), ("A=2\n", "A=2\n"));
    let kept = &s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines()[0];
    assert_eq!(s.app.overlay(&["show", text(kept, "/here")]).exit(0).stdout, "A=1\nLATE=1\n");
    s.sync(0).any_err();
}

/// A deletion that spreads takes no file from a program that writes to it.
#[test]
fn what_is_written_into_a_deleted_file_can_be_had() {
    let w = World::new();
    let (s, mut log) = held_open(&w, LOG, "{\"n\":0}\n");
    configure(&w, "[overlay-sync.path.\"*.jsonl\"]\ndelete = \"propagate\"\n");
    s.put(".env", "A=1\n");
    std::fs::remove_file(s.overlay(LOG)).unwrap();
    s.sync(0).any_err();
    assert!(!s.a.has(LOG));
    writeln!(log, "{{\"late\":1}}").unwrap();
    close(log);
    s.sync(0).any_err();
    let sha = s.app.sh("printf '{\"n\":0}\\n{\"late\":1}\\n' | sha256sum | cut -c 1-64").exit(0).stdout;
    s.app.overlay(&["show", sha.trim()]).exit(0).out_has("late");
}

/// The overlay's own file is replaced like the others, and a program may hold it open: directly, or through a link in a
/// worktree.
#[test]
fn a_log_in_the_overlay_that_stays_open_loses_no_record() {
    let w = World::new();
    let s = scene(&w);
    s.put(LOG, "{\"n\":0}\n");
    s.attach();
    std::fs::remove_file(s.b.path.join(LOG)).unwrap();
    std::os::unix::fs::symlink(s.overlay(LOG), s.b.path.join(LOG)).unwrap();
    let mut log = open(&s.b, LOG);
    for n in 0..20 {
        writeln!(log, "{{\"b\":{n}}}").unwrap();
        append(&s.a, &format!("{{\"a\":{n}}}"));
        s.sync(0).any_err();
    }
    assert!(why(&s, &s.a, LOG).contains("holds the overlay's replaced file open"));
    writeln!(log, "{{\"b\":20}}").unwrap();
    close(log);
    let out = s.app.overlay(&["check"]).exit(1).any_err();
    assert!(out.stdout.contains("pulled") && out.stdout.contains("the overlay's replaced file; the next"), "{out}");
    let out = s.app.overlay(&["sync", "-n"]).exit(0).any_err();
    let overlay = s.overlay("").display().to_string();
    assert_eq!(
        out.stdout,
        format!("would bring back what a program wrote late to {LOG} ({})\n", overlay.trim_end_matches('/'))
    );
    s.sync(0).any_err();
    let all = s.text(LOG);
    for n in 0..20 {
        assert!(all.contains(&format!("{{\"a\":{n}}}\n")) && all.contains(&format!("{{\"b\":{n}}}\n")), "{n}: {all}");
    }
    assert_eq!((all.lines().count(), s.a.read(LOG)), (42, all));
    assert_eq!(s.app.overlay(&["sync"]).exit(0).any_err().stdout, "");
    s.app.overlay(&["check"]).exit(0).any_err();
    s.app.sh("! find . ../a ../b ../claude -name '*late-*' | grep .").succeeds();
}

/// What does not fit the overlay's present text is kept aside, and a person is told.
#[test]
fn a_text_that_was_cut_off_late_in_the_overlay_is_kept_aside() {
    let w = World::new();
    let s = scene(&w);
    s.put(".env", "A=1\nB=1\n");
    s.attach();
    let mut writer = OpenOptions::new().write(true).open(s.overlay(".env")).unwrap();
    std::fs::write(s.a.path.join(".env"), "A=2\nB=1\n").unwrap();
    s.sync(0).any_err();
    write!(writer, "A=3").unwrap();
    close(writer);
    s.sync(0).err_has("a program wrote to .env after the file was replaced");
    assert_eq!(s.text(".env"), "A=2\nB=1\n");
    let line = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines().remove(0);
    s.app.overlay(&["show", text(&line, "/id")]).exit(0).out_has("A=3");
}

/// A late text waits for a file that is missing for a moment, and a text that cannot be put back does not keep other
/// files from being synced.
#[test]
fn a_late_text_waits_for_its_file_in_the_overlay() {
    let w = World::new();
    let s = scene(&w);
    for path in [LOG, ".env"] {
        s.put(path, "A=1\n");
    }
    s.attach();
    let mut log = OpenOptions::new().append(true).open(s.overlay(LOG)).unwrap();
    append(&s.a, "from=a");
    s.sync(0).any_err();
    writeln!(log, "late=1").unwrap();
    close(log);
    let aside = s.overlay("../aside");
    std::fs::rename(s.overlay(LOG), &aside).unwrap();
    std::fs::write(s.a.path.join(".env"), "A=2\n").unwrap();
    s.sync(0).any_err();
    s.all_are(".env", "A=2\n");
    std::fs::rename(&aside, s.overlay(LOG)).unwrap();
    s.sync(0).any_err();
    assert_eq!(s.text(LOG), "A=1\nfrom=a\nlate=1\n");
}

/// Where a file system cannot exchange two files, a hard link keeps what is displaced.
#[test]
fn nothing_is_lost_where_files_cannot_be_exchanged() {
    let w = World::new();
    if !needs("strace") {
        return;
    }
    let (s, mut log) = held_open(&w, LOG, "{\"n\":0}\n");
    let inject = "strace -f -qq -o /dev/null -e trace=renameat2 -e inject=renameat2:error=EINVAL overlay-sync sync";
    for n in 0..3 {
        writeln!(log, "{{\"a\":{n}}}").unwrap();
        append(&s.b, &format!("{{\"b\":{n}}}"));
        s.app.sh(inject).exit(0).any_out().any_err();
    }
    close(log);
    s.app.sh(SYNC_THAT_KEEPS_NOTHING).exit(0).any_out().any_err();
    let all = s.text(LOG);
    assert_eq!(all.lines().count(), 7, "{all}");
    s.all_are(LOG, &all);
    s.app.sh("! find . ../a ../b ../claude -name '*shopfloor-tmp-*' | grep .").succeeds();
}

/// Where there are no hard links either, a file is replaced only when no program can write to it any more.
#[test]
fn an_open_file_stays_where_nothing_can_keep_it() {
    let w = World::new();
    if !needs("strace") {
        return;
    }
    let (s, mut log) = held_open(&w, LOG, "{\"n\":0}\n");
    append(&s.b, "{\"b\":1}");
    s.app.sh(SYNC_THAT_KEEPS_NOTHING).exit(1).any_out().err_has(&format!("{LOG} keeps changing"));
    writeln!(log, "{{\"a\":1}}").unwrap();
    close(log);
    s.app.sh(SYNC_THAT_KEEPS_NOTHING).exit(0).any_out().any_err();
    let all = s.text(LOG);
    assert_eq!(all.lines().count(), 3, "{all}");
    s.all_are(LOG, &all);
}

/// A replaced file that waits for its program is looked at again, although nothing else changes meanwhile.
#[test]
fn a_replaced_file_that_waits_is_no_rest() {
    let w = World::new();
    let (s, mut log) = held_open(&w, LOG, "{\"n\":0}\n");
    append(&s.b, "{\"b\":1}");
    s.sync(0).any_err();
    writeln!(log, "{{\"a\":1}}").unwrap();
    // Long enough for every description of a file to be remembered.
    let begun = std::time::Instant::now();
    wait_for(|| {
        assert_eq!(s.sync(0).any_err().stdout, "");
        begun.elapsed().as_millis() > 500
    });
    close(log);
    s.sync(0).any_err();
    s.all_are(LOG, &s.text(LOG));
    assert_eq!(s.text(LOG).lines().count(), 3);
}

/// A file that waits is not forgotten while a large one is merged after all others.
#[test]
fn an_open_file_is_reported_also_beside_a_large_one() {
    let w = World::new();
    if !needs("strace") {
        return;
    }
    let (s, mut log) = held_open(&w, LOG, "{\"n\":0}\n");
    let large = large_lines();
    s.put(".env.large", &large);
    s.sync(0).any_err();
    s.put(".env.large", &large.replace("KEY_7=", "KEY_7=new-"));
    append(&s.b, "{\"b\":1}");
    s.app.sh(SYNC_THAT_KEEPS_NOTHING).exit(1).any_out().err_has(&format!("{LOG} keeps changing"));
    writeln!(log, "{{\"a\":1}}").unwrap();
    close(log);
    s.sync(0).any_err();
    let all = s.text(LOG);
    assert_eq!(all.lines().count(), 3, "{all}");
    s.all_are(LOG, &all);
    s.all_are(".env.large", &large.replace("KEY_7=", "KEY_7=new-"));
}

/// More than a mebibyte of lines.
fn large_lines() -> String {
    (0..40_000).map(|n| format!("KEY_{n}=some-value-that-is-long-enough\n")).collect()
}

/// What is written late into a large file is merged once.
#[test]
fn a_late_text_of_a_large_file_is_one_conflict() {
    let w = World::new();
    let s = scene(&w);
    let text = large_lines();
    s.put(".env.large", &text);
    s.attach();
    let mut writer = OpenOptions::new().write(true).open(s.a.path.join(".env.large")).unwrap();
    s.put(".env.large", &text.replace("KEY_5=some", "KEY_5=overlay"));
    s.sync(0).any_err();
    writer.write_all(b"KEY_0=mine").unwrap();
    writer.seek(std::io::SeekFrom::Start(text.find("KEY_5=").unwrap() as u64)).unwrap();
    writer.write_all(b"KEY_5=mine").unwrap();
    writer.seek(std::io::SeekFrom::End(0)).unwrap();
    writer.write_all(b"KEY_NEW=late\n").unwrap();
    close(writer);
    let out = s.sync(0);
    out.err_has("not all of its text could be merged");
    assert_eq!(out.stderr.lines().count(), 1, "{out}");
    let conflicts = s.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
    assert_eq!(conflicts.len(), 1, "{conflicts:?}");
    let all = s.text(".env.large");
    assert!(all.contains("KEY_5=overlay") && all.contains("KEY_0=mine") && all.ends_with("KEY_NEW=late\n"));
    s.all_are(".env.large", &all);
    s.sync(0).any_err();
}

/// A run that is killed before it has displaced anything leaves its own text, which nobody wrote.
#[test]
fn the_text_of_a_killed_run_is_nobodys_edit() {
    let w = World::new();
    if !needs("strace") {
        return;
    }
    let s = scene(&w);
    s.put(".env", "A=1\n");
    s.attach();
    s.put(".env", "A=1\nSECRET=1\n");
    let inject = "strace -f -o /dev/null -e trace=renameat2 -e inject=renameat2:signal=KILL:when=1 overlay-sync sync";
    s.app.sh(inject).any_status().any_out().any_err();
    assert_eq!(s.a.read(".env"), "A=1\n");
    s.put(".env", "A=1\n");
    s.sync(0).any_err();
    s.all_are(".env", "A=1\n");
    s.app.sh("! find . ../a ../b -name '*late-*' | grep .").exit(0);
}
