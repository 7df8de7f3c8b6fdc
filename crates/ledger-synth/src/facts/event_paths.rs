//! The files of events. Compact, because there may be a hundred thousand of them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The files of events, in the order of the events.
#[derive(Debug, Default)]
pub struct EventPaths {
    /// Directories, each with the number of the first file in it.
    dirs: Vec<(usize, PathBuf)>,
    /// All names, one after the other.
    names: Vec<u8>,
    /// Where each name ends.
    ends: Vec<usize>,
}

/// The file of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventPath<'e> {
    pub dir: &'e Path,
    pub name: &'e OsStr,
}

impl<'e> EventPath<'e> {
    pub fn of(path: &'e Path) -> EventPath<'e> {
        EventPath { dir: path.parent().unwrap_or(path), name: path.file_name().unwrap_or_default() }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.join(self.name)
    }
}

impl EventPaths {
    pub fn push(&mut self, EventPath { dir, name }: EventPath<'_>) {
        if self.dirs.last().is_none_or(|(_, last)| last != dir) {
            self.dirs.push((self.ends.len(), dir.to_path_buf()));
        }
        self.names.extend_from_slice(name.as_bytes());
        self.ends.push(self.names.len());
    }

    /// The file of the event with this number.
    pub fn at(&self, at: usize) -> EventPath<'_> {
        let dir = self.dirs.partition_point(|(first, _)| *first <= at).checked_sub(1);
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        EventPath {
            dir: dir.map_or(Path::new(""), |dir| &self.dirs[dir].1),
            name: OsStr::from_bytes(&self.names[from..self.ends[at]]),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = EventPath<'_>> {
        (0..self.ends.len()).map(|at| self.at(at))
    }

    /// The files with these numbers.
    pub fn pick(&self, numbers: impl Iterator<Item = usize>) -> EventPaths {
        let mut picked = EventPaths::default();
        numbers.for_each(|at| picked.push(self.at(at)));
        picked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_found_by_its_number() {
        let mut paths = EventPaths::default();
        let all = ["d/b", "d/a", "e/a", "d/c", "/x"];
        all.iter().for_each(|path| paths.push(EventPath::of(Path::new(path))));
        let shown = |paths: &EventPaths| paths.iter().map(|file| file.path().display().to_string()).collect::<Vec<_>>();
        assert_eq!(shown(&paths), all);
        assert_eq!(shown(&paths.pick([4, 2, 1].into_iter())), ["/x", "e/a", "d/a"]);
        assert_eq!((paths.at(3).dir, paths.at(3).name), (Path::new("d"), OsStr::new("c")));
    }
}
