//! Safe relative paths: the one type through which a path from a file, a key or our own state
//! may come to name something below a directory.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A relative path whose text cannot lead out of the directory it is joined to.
///
/// Never empty, absolute or longer than 4096 bytes; no component is longer than 255 bytes, empty, `.`, `..` or `.git`
/// (in any case: case-insensitive file systems would resolve it to git's own directory); no NUL byte.
/// [`crate::fs::Root`] takes care of links on the way: it never follows them.
/// Source of the rule: `docs/formats.md`, "Paths".
///
/// A path has one spelling, so its bytes are compared, and not its components.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RelPath(Arc<OsStr>);

/// Why a path was refused; a fragment that reads after "`PATH`: ".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsafe(pub &'static str);

impl fmt::Display for Unsafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl RelPath {
    /// The line of an exclude file that means exactly this path (gitignore(5)).
    pub fn pattern(&self) -> String {
        let mut pattern = String::from("/");
        for c in self.to_string().chars() {
            if matches!(c, '\\' | '*' | '?' | '[') {
                pattern.push('\\');
            }
            pattern.push(c);
        }
        if pattern.ends_with(' ') {
            pattern.insert(pattern.len() - 1, '\\');
        }
        pattern
    }

    /// Takes the path or says why it is refused.
    pub fn parse(path: &str) -> Result<Self, Unsafe> {
        Self::parse_os(OsStr::new(path))
    }

    /// The same for a path that need not be UTF-8, as git lists them.
    pub fn parse_os(path: &OsStr) -> Result<Self, Unsafe> {
        let bytes = path.as_bytes();
        if bytes.is_empty() {
            return Err(Unsafe("the path is empty"));
        }
        if bytes.len() > 4096 {
            return Err(Unsafe("the path is longer than 4096 bytes"));
        }
        if bytes[0] == b'/' {
            return Err(Unsafe("the path is absolute"));
        }
        if bytes.contains(&0) {
            return Err(Unsafe("the path contains a NUL byte"));
        }
        for component in bytes.split(|b| *b == b'/') {
            match component {
                b"" => return Err(Unsafe("the path has an empty component")),
                b"." => return Err(Unsafe("the path has a `.` component")),
                b".." => return Err(Unsafe("the path has a `..` component")),
                c if c.len() > 255 => return Err(Unsafe("a component is longer than 255 bytes")),
                c if c.eq_ignore_ascii_case(b".git") => {
                    return Err(Unsafe("the path leads into git's own directory"));
                }
                _ => {}
            }
        }
        Ok(RelPath(path.into()))
    }

    /// The path as std knows it.
    pub fn as_path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// Its components, first to last; at least one.
    pub fn components(&self) -> impl Iterator<Item = &OsStr> {
        self.as_path().iter()
    }

    /// The directory it lies in, below the same root; `None` for a single component.
    pub fn parent(&self) -> Option<RelPath> {
        self.dir().map(|parent| RelPath(parent.as_os_str().into()))
    }

    /// The same, borrowed; `None` as well for a single component.
    pub fn dir(&self) -> Option<&Path> {
        self.as_path().parent().filter(|parent| !parent.as_os_str().is_empty())
    }

    /// The last component.
    pub fn name(&self) -> &OsStr {
        self.as_path().file_name().unwrap_or(&self.0)
    }

    /// Whether `self` is an ancestor directory of `other`.
    pub fn is_parent_of(&self, other: &RelPath) -> bool {
        self != other && other.as_path().starts_with(self.as_path())
    }
}

impl fmt::Display for RelPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_path().display().fmt(f)
    }
}

impl serde::Serialize for RelPath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_string_lossy())
    }
}

impl<'de> serde::Deserialize<'de> for RelPath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        RelPath::parse(&text).map_err(|e| serde::de::Error::custom(format!("`{text}`: {e}")))
    }
}

/// The path without links; as it is if nothing is there.
pub fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// A path as a `file:` URL, percent-encoded (RFC 8089).
pub fn file_url(path: &Path) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-~".contains(&byte);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let encoded: String = bytes
        .map(|byte| if is_plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    format!("file://{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn refuses_what_could_lead_outside() {
        for bad in ["", "/a", ".", "..", "a/..", "a/./b", "a//b", "a/", "./a", "a\0b", ".git", ".GIT/x", "a/.Git/hooks"]
        {
            assert!(RelPath::parse(bad).is_err(), "{bad:?} was taken");
        }
        assert!(RelPath::parse(&"x/".repeat(2048)).is_err());
        assert!(RelPath::parse(&"x".repeat(256)).is_err());
    }

    #[test]
    fn takes_what_stays_inside() {
        for good in ["a", ".envrc", "a/b", "..a", "a..", ".gitignore", "a b", "ünï", "-x", ".github/x"] {
            assert!(RelPath::parse(good).is_ok(), "{good:?} was refused");
        }
    }

    proptest! {
        #[test]
        fn what_is_taken_stays_below_any_root(text in "[./a-bG-git\\x00]{0,12}") {
            if let Ok(path) = RelPath::parse(&text) {
                let joined = Path::new("/root").join(path.as_path());
                let mut depth = 0i32;
                for c in joined.strip_prefix("/root").unwrap().components() {
                    depth += match c {
                        std::path::Component::Normal(_) => 1,
                        _ => -100,
                    };
                }
                prop_assert!(depth > 0);
            }
        }
    }
}
