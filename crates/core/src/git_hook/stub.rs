//! The text of a hook's stub.

use std::path::Path;

use super::FINGERPRINT;
use crate::proc::origin;
use crate::text::shell_word;

/// The line by which a script finds the programs themselves, where npm has put scripts on the PATH that start node first;
/// elsewhere nothing.
pub fn own_path() -> String {
    let program = std::env::current_exe().ok().filter(|_| origin().as_deref() == Some("npm"));
    // A PATH cannot have some directories, nor can a line.
    let is_plain = |dir: &&Path| dir.to_str().is_some_and(|dir| !dir.contains(|c: char| c == ':' || c.is_control()));
    let dir = program.as_deref().and_then(Path::parent).filter(is_plain);
    dir.map(|dir| format!("PATH={}:$PATH\n", shell_word(dir))).unwrap_or_default()
}

/// That line of a stub.
pub(super) fn path_line(text: &str) -> &str {
    text.split_inclusive('\n').find(|line| line.starts_with("PATH=") && line.ends_with(":$PATH\n")).unwrap_or_default()
}

/// The stub of a hook: plain `sh`.
pub(super) fn stub(hook: &str, tools: &[&str], path: &str) -> String {
    let tools = tools.join(" ");
    let body = match hook {
        "post-checkout" => POST_CHECKOUT,
        "pre-push" => PRE_PUSH,
        _ => AFTERWARDS,
    };
    let body = body.replace("@TOOLS@", &tools).replace("@HOOK@", hook).replace("@PATH@", path);
    format!(
        "#!/bin/sh\n{FINGERPRINT} {tools}\n\
         # Written by `hook install`; `hook uninstall` takes it away and puts back what was here before.\n{body}"
    )
}

/// Whether a text is the stub as it is written now, or as it was before stubs were listed.
pub(super) fn is_stub(text: &str, hook: &str, tools: &[&str], path: &str) -> bool {
    let now = stub(hook, tools, path);
    now == text || path.is_empty() && EARLIER.iter().fold(now, |now, (new, old)| now.replace(new, old)) == text
}

/// What stubs say now, and what they said before they were listed. A stub from before the list is listed only once somebody
/// runs `hook install` again, so a change of the text needs a line here all the same, or those count as edited.
const EARLIER: [(&str, &str); 3] = [
    ("install shopfloor again", "run 'cargo xtask install' in shopfloor's checkout"),
    ("exit 0; fi\nran=\n", "exit 0; fi\n"),
    (
        "|| ran=$?\n        # 127: npm's script found no node, so nothing was checked.\n        \
         case \"${ran:-0}\" in 0 | 127) ;; *) status=$ran ;; esac\n        ran=\n",
        "|| status=$?\n",
    ),
];

/// On an ordinary checkout this stub starts no process, so the checkout takes no longer than with an empty hook.
const POST_CHECKOUT: &str = r#"status=0
if [ -x "$0.before-shopfloor" ]; then "$0.before-shopfloor" "$@" || status=$?; fi
# Only a null first ref can mean a new worktree: an ordinary checkout ends here.
case "$1" in *[!0]*) exit "$status" ;; esac
if [ "$3" != 1 ] || [ "$SHOPFLOOR" = 0 ]; then exit "$status"; fi
@PATH@for tool in @TOOLS@; do
    if command -v "$tool" >/dev/null 2>&1; then
        "$tool" hook run @HOOK@ "$@"
    else
        echo "$tool: not on the PATH, so this worktree was not set up; install shopfloor again" >&2
    fi
done
exit "$status"
"#;

/// Every tool gets the text that git writes to stdin, and each tool can refuse the push.
const PRE_PUSH: &str = r#"status=0
refs=$(cat)
if [ -x "$0.before-shopfloor" ]; then
    printf '%s' "$refs${refs:+
}" | "$0.before-shopfloor" "$@" || exit $?
fi
if [ "$SHOPFLOOR" = 0 ]; then exit 0; fi
ran=
@PATH@for tool in @TOOLS@; do
    if command -v "$tool" >/dev/null 2>&1; then
        printf '%s' "$refs${refs:+
}" | "$tool" hook run @HOOK@ "$@" || ran=$?
        # 127: npm's script found no node, so nothing was checked.
        case "${ran:-0}" in 0 | 127) ;; *) status=$ran ;; esac
        ran=
    else
        echo "$tool: not on the PATH, so nothing was checked; install shopfloor again" >&2
    fi
done
exit "$status"
"#;

/// A hook that runs afterwards cannot refuse anything.
const AFTERWARDS: &str = r#"status=0
if [ -x "$0.before-shopfloor" ]; then "$0.before-shopfloor" "$@" || status=$?; fi
if [ "$SHOPFLOOR" = 0 ]; then exit "$status"; fi
@PATH@for tool in @TOOLS@; do
    if command -v "$tool" >/dev/null 2>&1; then
        "$tool" hook run @HOOK@ "$@" </dev/null
    else
        echo "$tool: not on the PATH, so nothing was done; install shopfloor again" >&2
    fi
done
exit "$status"
"#;
