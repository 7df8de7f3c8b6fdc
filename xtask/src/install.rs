//! `cargo xtask install` and `uninstall`: the binaries, man pages and completions.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::generate::{self, ZSH};
use crate::run::{Build, TOOLS, build, find};

pub fn run(prefix: &str) -> Result<()> {
    let prefix = absolute(prefix)?;
    for path in put_all(&build(Build::Release)?, &prefix)? {
        println!("{}", path.display());
    }
    let bin = prefix.join("bin");
    let on_path = std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(|dir| dir == bin));
    if !on_path {
        println!("add {} to your PATH", bin.display());
    }
    if find("zsh").is_some() && !prefix.starts_with("/usr") {
        println!("for zsh, add `fpath+=({})` to .zshrc, above compinit", prefix.join(ZSH).display());
    }
    Ok(())
}

/// Puts the built binaries and all texts below the prefix. Returns the paths.
pub fn put_all(built: &Path, prefix: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for tool in TOOLS {
        let binary = fs::read(built.join(tool)).with_context(|| format!("cannot read the built {tool}"))?;
        paths.push(prefix.join("bin").join(tool));
        put(&prefix.join("bin").join(tool), &binary, 0o755)?;
    }
    let texts = generate::texts(built)?;
    for path in generate::files_below(texts.path()).into_iter().filter(|path| path.starts_with("share")) {
        put(&prefix.join(&path), &fs::read(texts.path().join(&path))?, 0o644)?;
        paths.push(prefix.join(path));
    }
    Ok(paths)
}

/// Deletes every file that `run` writes. Directories stay: others may use them.
pub fn undo(prefix: &str) -> Result<()> {
    let prefix = absolute(prefix)?;
    let mut paths: Vec<PathBuf> = TOOLS.iter().map(|tool| prefix.join("bin").join(tool)).collect();
    for tool in TOOLS {
        let completions = [
            "share/bash-completion/completions/@",
            "share/zsh/site-functions/_@",
            "share/fish/vendor_completions.d/@.fish",
        ];
        paths.extend(completions.map(|path| prefix.join(path.replace('@', tool))));
        let man = prefix.join("share/man/man1");
        let is_its =
            |name: &str| name == format!("{tool}.1") || (name.starts_with(&format!("{tool}-")) && name.ends_with(".1"));
        paths.extend(
            generate::files_below(&man).into_iter().filter(|f| f.to_str().is_some_and(is_its)).map(|f| man.join(f)),
        );
    }
    for path in paths {
        match fs::remove_file(&path) {
            Ok(()) => println!("{}", path.display()),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(e).with_context(|| format!("cannot delete {}", path.display())),
        }
    }
    Ok(())
}

fn absolute(prefix: &str) -> Result<PathBuf> {
    Ok(match prefix.strip_prefix("~/") {
        Some(below) => PathBuf::from(std::env::var_os("HOME").context("HOME is not set; pass --prefix")?).join(below),
        None => std::path::absolute(prefix)?,
    })
}

/// Replaces a file in one step, so that a running tool keeps its old binary.
fn put(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let dir = path.parent().unwrap_or(path);
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let mut file =
        tempfile::NamedTempFile::new_in(dir).with_context(|| format!("cannot write to {}", dir.display()))?;
    std::io::Write::write_all(&mut file, bytes)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(mode))?;
    file.persist(path).with_context(|| format!("cannot replace {}", path.display()))?;
    Ok(())
}
