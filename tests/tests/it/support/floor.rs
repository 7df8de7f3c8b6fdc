//! A root of worker-ctl with the scripted agent, on a real tmux.

use serde_json::Value;

use crate::support::world::{Output, Repo, World, built, text, wait_for, which};

/// A source with one file, a root that is cloned from it, and the scripted agent, which is called `scripted`.
pub struct Floor<'w> {
    pub app: Repo<'w>,
    pub root: Repo<'w>,
}

impl<'w> Floor<'w> {
    pub fn new(w: &'w World) -> Floor<'w> {
        which("tmux");
        let app = w.app();
        app.commit("README.md", "app\n");
        let root = w.at(w.home("my workers"));
        app.run("worker-ctl", &["init", "--source", ".", "--target", root.path.to_str().unwrap()]).succeeds();
        let floor = Floor { app, root };
        floor.script();
        floor
    }

    /// A root without a clone, with workers of these names in worktrees of the person's own repository beside it.
    pub fn adopted(w: &'w World, names: &[&str]) -> Floor<'w> {
        which("tmux");
        let app = w.app();
        app.commit("README.md", "app\n");
        for name in names {
            let path = format!("../{name}");
            app.git(&["worktree", "add", "-q", "-b", &format!("feature/{name}"), &path]);
            app.run("worker-ctl", &["add", name, "--worktree", &path]).succeeds().any_err();
        }
        Floor::of(app, w)
    }

    /// The root without a clone that this repository has got.
    pub fn of(app: Repo<'w>, w: &'w World) -> Floor<'w> {
        let floor = Floor { app, root: w.at(w.home("workers")) };
        floor.script();
        floor
    }

    /// Makes the scripted agent the one that workers run.
    fn script(&self) {
        let agent = built("agent");
        let table = format!(
            "\n[agents.scripted]\ncommand = [\"env\", \"SCRIPTED_LOG={}\", {agent:?}]\nready = {{ pattern = \"^>\" }}\n\
             strip = [\"(?i)^co-authored-by: scripted.*$\"]\n",
            self.root.world.home("prompts.jsonl").display()
        );
        let config = self.root.read("config.toml").replace("adopted = true", "adopted = true\nagent = \"scripted\"");
        self.root.write("config.toml", &(config.replace("agent = \"claude\"", "agent = \"scripted\"") + &table));
    }

    #[track_caller]
    pub fn ctl(&self, args: &[&str]) -> Output {
        self.root.run("worker-ctl", args)
    }

    pub fn status(&self, name: &str) -> Value {
        let all = self.ctl(&["status", "--json"]).exit(0).json();
        let found = all["workers"].as_array().unwrap().iter().find(|worker| worker["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {all}")).clone()
    }

    /// Starts every worker's session, without an `up` that stays.
    pub fn up(&self) {
        let all = self.ctl(&["status", "--json"]).exit(0).json();
        let names: Vec<&str> = all["workers"].as_array().unwrap().iter().map(|worker| text(worker, "/name")).collect();
        self.ctl(&[&["up"][..], &names].concat()).succeeds();
    }

    /// Every prompt that the agents got.
    pub fn prompts(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.root.world.home("prompts.jsonl")).unwrap_or_default();
        // A line without an end is still being written.
        let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        whole.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Patrols until the worker has this status.
    pub fn until(&self, name: &str, status: &str) {
        wait_for(|| {
            self.ctl(&["patrol"]).succeeds().any_err();
            text(&self.status(name), "/status") == status
        });
    }
}

impl Drop for Floor<'_> {
    fn drop(&mut self) {
        // The test may have broken the root.
        let _ = self.root.run("worker-ctl", &["down", "--force"]).any_status().any_out().any_err();
    }
}
