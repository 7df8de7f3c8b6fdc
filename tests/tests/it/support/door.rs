//! What the tests of shopfloor share.

use std::collections::BTreeMap;

use super::world::{Repo, World};

/// A repository with files that git ignores, on a machine with one agent program.
pub fn app(w: &World) -> Repo<'_> {
    w.program("claude", "exec sleep 600");
    let app = w.repo("app");
    app.commit(".gitignore", ".env\n.claude/settings.local.json\n");
    app.write(".env", "A=1\n");
    app.write(".claude/settings.local.json", "{ \"permissions\": { \"allow\": [\"Read\"] } }\n");
    app
}

/// What git is told in this clone: its configuration, its hooks and its exclude file.
pub fn told(app: &Repo<'_>) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for dir in [".git/hooks", ".git/info"] {
        for entry in std::fs::read_dir(app.path.join(dir)).into_iter().flatten() {
            let path = entry.unwrap().path();
            all.insert(path.display().to_string(), std::fs::read(&path).unwrap());
        }
    }
    all.insert("config".into(), std::fs::read(app.path.join(".git/config")).unwrap());
    all
}
