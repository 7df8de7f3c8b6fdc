//! Machines on which a sandbox can be made, and an agent in one.

use std::process::Stdio;

use crate::support::spawn::{app, subtree};
use crate::support::world::{Output, Repo, World, find, skip};

/// Whether this is one. If not, this reports the test as skipped, and the test returns.
pub fn works(w: &World) -> bool {
    let args = ["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true"];
    let can = |bwrap| {
        let status = w.command(bwrap).args(args).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    find("bwrap").is_some_and(can) || skip("bubblewrap and user namespaces")
}

/// A repository with an agent `main.feat`, if this machine can make sandboxes.
pub fn contained(w: &World) -> Option<(Repo<'_>, Repo<'_>)> {
    if !works(w) {
        return None;
    }
    let app = app(w);
    app.write("a.txt", "one\n");
    app.commit("a.txt", "two\n");
    let feat = subtree(&app, &["feat"]);
    Some((app, feat))
}

/// Runs a line for bash in the agent's sandbox.
pub fn inside(app: &Repo<'_>, line: &str) -> Output {
    app.spawn(&["run", "main.feat", "--sandbox", "--", "bash", "-c", line])
}

/// The subject of the last commit on its branch.
pub fn tip(app: &Repo<'_>) -> String {
    app.git(&["log", "--format=%s", "-1", "main.feat"]).trim().to_owned()
}
