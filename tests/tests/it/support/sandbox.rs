//! Machines on which a sandbox can be made.

use std::process::Stdio;

use crate::support::world::{World, find, skip};

/// Whether this is one. If not, this reports the test as skipped, and the test returns.
pub fn works(w: &World) -> bool {
    let args = ["--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "true"];
    let can = |bwrap| {
        let status = w.command(bwrap).args(args).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    find("bwrap").is_some_and(can) || skip("bubblewrap and user namespaces")
}
