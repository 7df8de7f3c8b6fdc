//! Files that are declared by the setting `paths` or by a `.worktreeinclude` in the main checkout. A declared file that
//! only a workspace has enters the overlay.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use shopfloor_core::error::Result;
use shopfloor_core::fs::{Found, RESERVED, Root};
use shopfloor_core::git::Git;
use shopfloor_core::path::RelPath;

use crate::settings::{Glob, Settings};
use crate::store;

/// The file's name, at the top of the main checkout; gitignore syntax.
pub const FILE: &str = ".worktreeinclude";

/// The declared patterns. Where several match, the last one counts.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    rules: Vec<(Glob, bool)>,
    /// The size up to which files are taken.
    max: u64,
    /// What is not taken unless a pattern spells it out.
    except: Vec<Glob>,
}

/// The declared files of a workspace.
#[derive(Clone, Debug, Default)]
pub struct DeclaredFiles {
    pub files: BTreeSet<RelPath>,
    /// Those that are too large to be taken.
    pub large: BTreeSet<RelPath>,
}

impl Declared {
    /// Reads the globs of the settings, then the lines of a `.worktreeinclude`. Lines that cannot be read as a pattern
    /// are skipped.
    pub fn parse(settings: &Settings, include: &[u8]) -> Declared {
        let mut rules: Vec<(Glob, bool)> = settings.paths.iter().map(|glob| (glob.clone(), true)).collect();
        for line in String::from_utf8_lossy(include).lines() {
            let line = line.trim_end();
            let (text, is_wanted) = line.strip_prefix('!').map_or((line, true), |text| (text, false));
            let text = text.strip_prefix('\\').unwrap_or(text).trim_end_matches('/');
            // In gitignore syntax a leading slash means the top directory.
            let text = text.strip_prefix('/').map_or(text.to_owned(), |below| format!("./{below}"));
            if !text.is_empty() && !line.starts_with('#') {
                rules.extend(Glob::parse(&text).ok().map(|glob| (glob, is_wanted)));
            }
        }
        Declared { rules, max: settings.paths_max, except: settings.paths_except.clone() }
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether a path is declared: the path or a directory above it matches.
    pub fn has(&self, path: &RelPath) -> bool {
        let reserved = [store::RESERVED, FILE].iter().any(|name| path.as_path().starts_with(name));
        let temporary = path.name().to_string_lossy().starts_with(RESERVED);
        let matching = |glob: &Glob| path.as_path().ancestors().any(|part| glob.matches(part));
        let last = self.rules.iter().rev().find(|(glob, _)| matching(glob));
        !reserved && !temporary && last.is_some_and(|(glob, is_wanted)| *is_wanted && !self.is_excepted(path, glob))
    }

    /// Whether a path or a directory above it is one that no glob takes. What the glob spells out is meant.
    fn is_excepted(&self, path: &RelPath, glob: &Glob) -> bool {
        let spelled = Path::new(glob.dir());
        let is_spelled =
            |part: &Path| spelled.starts_with(part) || glob.path().is_some_and(|own| own.as_path().starts_with(part));
        let parts = path.as_path().ancestors().filter(|part| !part.as_os_str().is_empty());
        parts.filter(|part| !is_spelled(part)).any(|part| self.except.iter().any(|glob| glob.matches(part)))
    }

    fn wanted(&self) -> impl Iterator<Item = &Glob> {
        self.rules.iter().filter(|(_, is_wanted)| *is_wanted).map(|(glob, _)| glob)
    }

    /// The declared files of a workspace. Files and directories that a pattern spells out are looked for there. For
    /// other patterns git lists what it ignores, without entering directories that it ignores as a whole. Repositories
    /// and worktrees below this one, and the overlay, are not entered.
    pub fn files(&self, git: &Git, root: &Path, overlay: &Path) -> Result<DeclaredFiles> {
        let mut found = BTreeSet::new();
        if self.rules.is_empty() {
            return Ok(DeclaredFiles::default());
        }
        let here = Root::open(root)?;
        let is_taken = |dir: &Path| {
            let below = dir.strip_prefix(root).ok().and_then(|below| RelPath::parse_os(below.as_os_str()).ok());
            below.is_none_or(|below| self.wanted().any(|glob| !self.is_excepted(&below, glob)))
        };
        let is_own = |dir: &Path| !is_foreign(dir, overlay) && is_taken(dir);
        let mut is_anywhere = false;
        for glob in self.wanted() {
            match (glob.path(), RelPath::parse(glob.dir())) {
                (Some(path), _) | (None, Ok(path)) => below(&here, &path, &is_own, &mut found)?,
                (None, Err(_)) => is_anywhere = true,
            }
        }
        if is_anywhere {
            let args = ["-o", "-i", "--exclude-standard", "--directory"].map(OsString::from);
            for listed in git.ls_files(root, &args)? {
                let bytes = listed.as_os_str().as_bytes();
                let (name, is_dir) = bytes.strip_suffix(b"/").map_or((bytes, false), |dir| (dir, true));
                let Ok(path) = RelPath::parse_os(OsStr::from_bytes(name)) else { continue };
                if !is_dir {
                    found.insert(path);
                } else if self.has(&path) {
                    below(&here, &path, &is_own, &mut found)?;
                }
            }
        }
        let in_own = |path: &RelPath| {
            path.as_path().ancestors().skip(1).all(|dir| dir.as_os_str().is_empty() || is_own(&root.join(dir)))
        };
        // A manifest can only name paths in UTF-8.
        found.retain(|path| in_own(path) && path.as_path().to_str().is_some() && self.has(path));
        let stats = here.stats(found.iter())?;
        let is_large: Vec<bool> = stats.iter().map(|stat| stat.is_some_and(|stat| stat.size() > self.max)).collect();
        let (large, files): (Vec<_>, Vec<_>) = found.into_iter().zip(is_large).partition(|(_, is_large)| *is_large);
        let paths = |all: Vec<(RelPath, bool)>| all.into_iter().map(|(path, _)| path).collect();
        Ok(DeclaredFiles { files: paths(files), large: paths(large) })
    }

    /// The declared files among those that another machine has, which names them with their sizes.
    pub fn among<'f>(&self, files: impl Iterator<Item = (&'f RelPath, u64)>) -> DeclaredFiles {
        let mut declared = DeclaredFiles::default();
        for (path, size) in files.filter(|(path, _)| self.has(path)) {
            let place = if size > self.max { &mut declared.large } else { &mut declared.files };
            place.insert(path.clone());
        }
        declared
    }

    /// The directories in which a declared file may appear.
    pub fn dirs(&self) -> impl Iterator<Item = PathBuf> {
        self.wanted().map(|glob| PathBuf::from(glob.dir()))
    }
}

/// Whether a directory belongs to another repository or worktree, or is an overlay.
fn is_foreign(dir: &Path, overlay: &Path) -> bool {
    dir == overlay || dir.join(".git").symlink_metadata().is_ok() || dir.join(store::RESERVED).is_dir()
}

/// Adds a file, or every file below a directory. Links are not followed.
fn below(here: &Root, path: &RelPath, is_own: &dyn Fn(&Path) -> bool, found: &mut BTreeSet<RelPath>) -> Result<()> {
    match here.look(path)? {
        Found::File(_) => drop(found.insert(path.clone())),
        Found::Dir => {
            for file in Root::open(&here.join(path))?.files_in(is_own)?.files {
                found.extend(RelPath::parse_os(path.as_path().join(file.as_path()).as_os_str()));
            }
        }
        _ => {}
    }
    Ok(())
}
