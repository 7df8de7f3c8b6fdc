//! An overlay and its workspaces.

use std::fs::File;
use std::os::fd::AsRawFd;

use shopfloor_core::fs::Writers;

use crate::support::world::{Checked, Repo, World, text, wait_for, write};

pub const OVERLAY: &str = ".local/share/shopfloor/overlays/app";

/// A file that every workspace of a scene ignores. No program takes its settings from it, so that any key is synced.
pub const SETTINGS: &str = ".data/shared.json";

/// Replaces the user's configuration.
pub fn configure(w: &World, text: &str) {
    write(&w.home(".config/shopfloor/config.toml"), text);
}

/// Closes a program's descriptor. A process that another test starts at this moment has a copy of it until its `exec`;
/// this waits until nobody can write to the file.
pub fn close(file: File) {
    let same = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
    drop(file);
    wait_for(|| Writers::of(&same) != Writers::Some);
}

/// The id of a line of `conflicts --json`.
pub fn id(conflict: &serde_json::Value) -> &str {
    text(conflict, "/id")
}

/// A repository that ignores `.env*`, `*.sh`, `.claude/` and `.data/`, and two worktrees of it.
pub struct Scene<'w> {
    pub w: &'w World,
    pub app: Repo<'w>,
    pub a: Repo<'w>,
    pub b: Repo<'w>,
}

pub fn scene(w: &World) -> Scene<'_> {
    let app = w.app();
    app.commit(".gitignore", ".env*\n*.sh\n.claude/\n.data/\n*.jsonl\n");
    let (a, b) = (app.worktree("a"), app.worktree("b"));
    Scene { w, app, a, b }
}

/// A scene with one file, synced to both workspaces and then edited in the first.
pub fn edited<'w>(w: &'w World, path: &str, start: &str, here: &str) -> Scene<'w> {
    let s = scene(w);
    s.put(path, start);
    s.attach();
    s.a.write(path, here);
    s
}

/// Settings that allow these permissions.
pub fn allow(list: &str) -> String {
    format!("{{\n  \"permissions\": {{\n    \"allow\": [{list}]\n  }}\n}}\n")
}

impl Scene<'_> {
    pub fn overlay(&self, path: &str) -> std::path::PathBuf {
        self.w.home(OVERLAY).join(path)
    }

    pub fn put(&self, path: &str, text: &str) {
        write(&self.overlay(path), text);
    }

    pub fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.overlay(path)).unwrap()
    }

    pub fn attach(&self) {
        self.a.overlay(&["attach", ".", "../b"]).succeeds().any_err();
    }

    /// In how many workspaces git need not be asked as long as nothing changes that its answer depends on.
    pub fn git_answers(&self) -> usize {
        let file = self.app.path.join(".git/shopfloor/overlay-sync/rest.json");
        let Ok(text) = std::fs::read_to_string(file) else { return 0 };
        let fingerprint: serde_json::Value = serde_json::from_str(&text).unwrap();
        let workspaces = fingerprint["workspaces"].as_object().unwrap().values();
        workspaces.filter(|workspace| workspace["git"].is_u64()).count()
    }

    /// Syncs. How many files it wrote does not matter.
    #[track_caller]
    pub fn sync(&self, status: i32) -> Checked {
        self.app.overlay(&["sync"]).exit(status).any_out()
    }

    /// What is held, as `conflicts --json` lists it.
    pub fn held(&self) -> Vec<serde_json::Value> {
        let lines = self.app.overlay(&["conflicts", "--json"]).exit(0).json_lines();
        lines.into_iter().filter(|line| text(line, "/state") == "held").collect()
    }

    pub fn held_ids(&self) -> Vec<String> {
        self.held().iter().map(|held| id(held).to_owned()).collect()
    }

    /// Checks the text of a file in the overlay, and in the workspace that is not `one`.
    #[track_caller]
    pub fn all_but(&self, one: &Repo<'_>, path: &str, expected: &str) {
        let other = if one.path == self.a.path { &self.b } else { &self.a };
        assert_eq!((self.text(path).as_str(), other.read(path).as_str()), (expected, expected));
    }

    /// Checks the text of a file in the overlay and in both workspaces.
    #[track_caller]
    pub fn all_are(&self, path: &str, expected: &str) {
        let all = [self.text(path), self.a.read(path), self.b.read(path)];
        assert!(all.iter().all(|text| text == expected), "{all:#?}");
    }
}

/// A running watch. `end` ends it and checks its status.
pub struct Watch {
    pub child: std::process::Child,
}

impl Watch {
    pub fn start(s: &Scene<'_>, debounce: &str) -> Watch {
        Watch::with(s, &["--debounce-ms", debounce, "--max-wait-ms", "400"])
    }

    pub fn with(s: &Scene<'_>, args: &[&str]) -> Watch {
        let mut command = s.w.command(s.w.path("bin/overlay-sync"));
        command.args(["watch", "-q"]).args(args).current_dir(&s.app.path);
        let log = std::fs::File::create(s.w.path("watch.log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let child = command.spawn().unwrap();
        wait_for(|| std::fs::read_to_string(s.overlay(".overlay-sync/watch.lock")).is_ok_and(|pid| !pid.is_empty()));
        Watch { child }
    }

    pub fn end(mut self, s: &Scene<'_>) {
        s.app.sh(&format!("kill -TERM {}", self.child.id())).exit(0);
        assert_eq!(
            self.child.wait().unwrap().code(),
            Some(128 + 15),
            "{}",
            std::fs::read_to_string(s.w.path("watch.log")).unwrap()
        );
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
