//! What the tests of shopfloor share.

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
