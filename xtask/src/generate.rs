//! `cargo xtask gen`: writes the files that are derived from the binaries. They are committed, and CI compares them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use walkdir::WalkDir;

use crate::demo;
use crate::run::{Build, build, project, run as program};

/// Where zsh looks below /usr/local.
pub const ZSH: &str = "share/zsh/site-functions";

/// Writes every generated file, or with `check` fails when one differs.
pub fn run(check: bool) -> Result<()> {
    let texts = texts(&build(Build::Reference)?)?;
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    for file in files_below(texts.path()) {
        let name = file.file_name().unwrap_or_default();
        let to = match () {
            () if file.starts_with("cli") => Path::new("docs/cli").join(name),
            () if file.starts_with("share/man") => Path::new("docs/cli/man").join(name),
            () => Path::new("docs/cli/completions").join(name),
        };
        files.push((to, fs::read(texts.path().join(&file))?));
    }
    files.push(("docs/demo.svg".into(), demo::picture()?.into_bytes()));

    let mut stale = Vec::new();
    for (file, bytes) in &files {
        let path = project().join(file);
        if fs::read(&path).is_ok_and(|old| old == *bytes) {
            continue;
        }
        if check {
            stale.push(file.display().to_string());
            continue;
        }
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(&path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", file.display());
    }
    if !stale.is_empty() {
        bail!("not up to date: {}; run `cargo xtask gen`", stale.join(", "));
    }
    Ok(())
}

/// Runs the package `reference` in a directory of built programs: man pages, completions and pages of help, below
/// `share/` and `cli/`.
pub fn texts(built: &Path) -> Result<TempDir> {
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    program(&built.join("reference").to_string_lossy(), &[&dir.path().to_string_lossy()])?;
    Ok(dir)
}

/// The files below a directory, relative to it and in order.
pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries =
        WalkDir::new(dir).sort_by_file_name().into_iter().flatten().filter(|entry| entry.file_type().is_file());
    entries.filter_map(|entry| entry.path().strip_prefix(dir).ok().map(Path::to_path_buf)).collect()
}
