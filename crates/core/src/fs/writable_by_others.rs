//! Who else can change a file.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::text::shell_word;

/// Why somebody else than the user and root can change what lies at `path`, with the command that mends it; `None` if
/// nobody else can. As sshd with `StrictModes`, this looks at the file and at each directory above it up to `home`, and at
/// the files and directories to which links on the way lead. Outside of `home` it goes up to `/`, where directories with
/// the sticky bit, such as `/tmp`, protect what is in them. A group that has no member but the user is nobody else.
pub fn open_to_others(path: &Path, home: Option<&Path>) -> Option<String> {
    let user = rustix::process::geteuid().as_raw();
    let homes: Vec<PathBuf> =
        home.into_iter().flat_map(|home| [Some(home.to_owned()), home.canonicalize().ok()]).flatten().collect();
    let (mut open, mut seen) = (vec![path.to_path_buf()], BTreeSet::new());
    while let Some(path) = open.pop() {
        for at in path.ancestors() {
            let Ok(meta) = at.symlink_metadata() else { continue };
            if !seen.insert(at.to_path_buf()) {
                break;
            }
            let shown =
                if meta.is_symlink() { at.to_path_buf() } else { at.canonicalize().unwrap_or(at.to_path_buf()) };
            let (word, shown) = (shell_word(&shown), shown.display());
            if ![0, user].contains(&meta.uid()) {
                return Some(format!("{shown} belongs to another user; if it is yours, `sudo chown -h {user} {word}`"));
            }
            let is_sticky = meta.mode() & 0o1000 != 0 && !homes.iter().any(|home| at.starts_with(home));
            if meta.is_symlink() {
                open.extend(at.read_link().ok().and_then(|target| Some(at.parent()?.join(target))));
            } else if (meta.mode() & 0o002 != 0 || meta.mode() & 0o020 != 0 && !is_own_group(user, meta.gid()))
                && !is_sticky
            {
                return Some(format!("others can write to {shown}; if you trust it, `chmod go-w {word}`"));
            }
            if homes.iter().any(|home| home == at) {
                break;
            }
        }
    }
    None
}

/// Whether this is the user's private group, to which many distributions give every file that the user makes.
fn is_own_group(user: u32, group: u32) -> bool {
    let table = |path: &str| {
        String::from_utf8_lossy(&super::read(Path::new(path)).ok().flatten().unwrap_or_default()).into_owned()
    };
    group == rustix::process::getegid().as_raw()
        && has_no_other_member(&user.to_string(), &group.to_string(), &table("/etc/passwd"), &table("/etc/group"))
}

/// Whether the group has the number or the name of the user, and no other member.
fn has_no_other_member(user: &str, group: &str, passwd: &str, groups: &str) -> bool {
    fn field(line: &str, at: usize) -> &str {
        line.split(':').nth(at).unwrap_or_default()
    }
    let name = passwd.lines().find(|line| field(line, 2) == user).map(|line| field(line, 0));
    let mut lines = groups.lines().filter(|line| field(line, 2) == group);
    let is_named = user == group || lines.clone().any(|line| Some(field(line, 0)) == name);
    let is_primary_of_other = |line: &str| field(line, 3) == group && field(line, 2) != user;
    let is_alone = |line: &str| field(line, 3).split(',').all(|member| member.is_empty() || Some(member) == name);
    is_named && !passwd.lines().any(is_primary_of_other) && lines.all(is_alone)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn what_others_can_write_is_found_up_to_home_and_behind_links() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let mode = |path: &str, mode: u32| {
            std::fs::set_permissions(home.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
        };
        std::fs::create_dir_all(home.join("a/b")).unwrap();
        std::fs::write(home.join("a/b/f"), "").unwrap();
        symlink("a/b", home.join("l")).unwrap();
        for path in ["", "a", "a/b"] {
            mode(path, 0o755);
        }
        mode("a/b/f", 0o644);
        let reason = |path: &str| open_to_others(&home.join(path), Some(home.as_path()));
        assert_eq!((reason("a/b/f"), reason("l/f"), reason("a/b/none")), (None, None, None));
        for (path, open) in [("", 0o757), ("a", 0o1777), ("a/b", 0o757), ("a/b/f", 0o646)] {
            mode(path, open);
            assert!(reason("a/b/f").is_some_and(|why| why.contains("chmod go-w")), "{path}");
            assert!(reason("l/f").is_some(), "{path} behind a link");
            mode(path, if path.ends_with('f') { 0o644 } else { 0o755 });
        }
        // Above home everything may be as it is.
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(reason("a/b/f"), None);
    }

    #[test]
    fn a_group_is_the_users_own_if_nobody_else_is_in_it() {
        let passwd = "root:x:0:0::/:/bin/sh\nme:x:7:7::/:/bin/sh\nyou:x:8:9::/:/bin/sh\n";
        for (user, group, groups, expected) in [
            ("7", "7", "me:x:7:\n", true),
            ("7", "7", "me:x:7:me\n", true),
            ("7", "70", "me:x:70:\n", true),
            // The user and the group are in another directory than these files.
            ("12", "12", "", true),
            ("7", "7", "me:x:7:me,you\n", false),
            ("7", "7", "me:x:7:\nalias:x:7:you\n", false),
            ("7", "70", "staff:x:70:\n", false),
            ("9", "9", "you:x:9:\n", false),
        ] {
            assert_eq!(has_no_other_member(user, group, passwd, groups), expected, "{user} {group} {groups}");
        }
    }
}
