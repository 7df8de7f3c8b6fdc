//! Whether this machine can make a sandbox, and what is missing.

use std::ffi::OsString;
use std::path::Path;

use super::NO_SANDBOX;
use super::bubblewrap::{LIMIT, closed};
use crate::env::Env;
use crate::error::Result;
use crate::proc::{self, Cmd};

/// Fails, exit 2 and kind `no_sandbox`, if this machine cannot make a sandbox, with what is missing.
pub fn require_available(env: &Env) -> Result<()> {
    let mut words = closed(env)?;
    words.extend(["--proc", "/proc", "--dev", "/dev", "--size", "1048576", "--tmpfs", "/tmp"].map(OsString::from));
    words.extend(["--remount-ro", "/", "--", "/usr/bin/true"].map(OsString::from));
    let output = Cmd::new(Path::new(&words[0]), env).args(words.iter().skip(1).cloned()).within(LIMIT).capture()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(NO_SANDBOX.failure("no sandbox can be made on this machine").because(anyhow::anyhow!(said)).hint(reason(env)))
}

/// What bubblewrap says of its version.
pub(super) fn version(env: &Env) -> Option<String> {
    let program = proc::find(env, "bwrap")?;
    Some(Cmd::new(&program, env).arg("--version").within(LIMIT).capture().ok()?.text())
}

/// What has to be installed, or what an administrator has to turn on.
fn reason(env: &Env) -> String {
    let own = version(env).unwrap_or_default();
    let minor = own.strip_prefix("bubblewrap 0.").and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    let knob = |name: &str| std::fs::read_to_string(format!("/proc/sys/{name}")).unwrap_or_default().trim().to_owned();
    let line = match () {
        () if minor.is_some_and(|minor| minor < 8) => {
            return format!("install bubblewrap 0.8 or newer: this is {own}, which lacks `--disable-userns`");
        }
        () if knob("user/max_user_namespaces") == "0" => "user.max_user_namespaces=10000",
        () if knob("kernel/unprivileged_userns_clone") == "0" => "kernel.unprivileged_userns_clone=1",
        () if knob("kernel/apparmor_restrict_unprivileged_userns") == "1" => {
            "kernel.apparmor_restrict_unprivileged_userns=0"
        }
        () => return "see whether `bwrap --unshare-user --ro-bind / / true` works here".into(),
    };
    format!("user namespaces are turned off; an administrator turns them on with `sysctl -w {line}`")
}
