//! `cargo xtask dist`: what is published, a tarball and a Debian package with the same files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::install;
use crate::registry;
use crate::run::{Build, TOOLS, build, find, project, run as program};

const CARGO_DEB: &str = "3.8.0";

/// What the packages have beside the installed files.
const PAPERS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

#[derive(clap::Args)]
pub struct Args {
    /// Pack unoptimised binaries, unpack and install them in an empty directory, run them and remove them again
    #[arg(long = "try")]
    trial: bool,
}

/// Builds the packages, and prints the path of each.
pub fn run(args: &Args) -> Result<()> {
    // Here even if the target directory is elsewhere, because the list of files for cargo-deb names this place.
    let dist = project().join("target/dist");
    let tree = tree(&dist, args.trial)?;
    let tarball = tarball(&dist, &tree)?;
    let mut packages = vec![tarball.clone()];
    let deb = match find("dpkg-deb") {
        Some(_) => Some(deb(&dist)?),
        None => {
            eprintln!("xtask: skipped: no Debian package, because dpkg-deb is missing");
            None
        }
    };
    packages.extend(deb.clone());
    for package in &packages {
        sum(package)?;
        println!("{}", package.display());
    }
    if args.trial {
        try_tarball(&tarball)?;
        deb.as_deref().map_or(Ok(()), try_deb)?;
    }
    Ok(())
}

/// The system that the binaries are for, as Rust names it.
fn target() -> Result<String> {
    let output = Command::new("rustc").args(["--print", "host-tuple"]).output().context("cannot run rustc")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Puts every file of the packages below one directory.
fn tree(dist: &Path, unoptimised: bool) -> Result<PathBuf> {
    let built = build(if unoptimised { Build::Reference } else { Build::Dist })?;
    let tree = dist.join("tree");
    if tree.exists() {
        fs::remove_dir_all(&tree).with_context(|| format!("cannot empty {}", tree.display()))?;
    }
    install::put_all(&built, &tree)?;
    if unoptimised && find("strip").is_some() {
        for tool in TOOLS {
            program("strip", &[&tree.join("bin").join(tool).to_string_lossy()])?;
        }
    }
    let papers = tree.join("share/doc/shopfloor");
    fs::create_dir_all(&papers)?;
    for paper in PAPERS {
        fs::copy(project().join(paper), papers.join(paper)).with_context(|| format!("cannot copy {paper}"))?;
    }
    Ok(tree)
}

/// The name of the tarball, and of the directory in it.
fn name() -> Result<String> {
    Ok(format!("shopfloor-{}-{}", env!("CARGO_PKG_VERSION"), target()?))
}

fn tarball(dist: &Path, tree: &Path) -> Result<PathBuf> {
    let name = name()?;
    let path = dist.join(format!("{name}.tar.gz"));
    let rename = format!("--transform=s,^\\.,{name},");
    let owner = ["--owner=0", "--group=0", "--sort=name"];
    let (file, from) = (path.to_string_lossy(), tree.to_string_lossy());
    program("tar", &[&owner[..], &[&rename, "-czf", &file, "-C", &from, "."]].concat())?;
    Ok(path)
}

/// The Debian package, as `crates/shopfloor/Cargo.toml` describes it.
fn deb(dist: &Path) -> Result<PathBuf> {
    let cargo_deb = registry::program("cargo-deb", CARGO_DEB, "")?;
    let args = ["--package", "shopfloor", "--no-build", "--no-strip", "--quiet", "--output"];
    let output = Command::new(cargo_deb).args(args).arg(dist).current_dir(project()).output();
    let output = output.context("cannot run cargo-deb")?;
    if !output.status.success() {
        bail!("cargo-deb failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    // It prints the path of the package.
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// Writes the SHA-256 sum of a package beside it.
fn sum(package: &Path) -> Result<()> {
    let (dir, name) = (package.parent().unwrap_or(package), package.file_name().unwrap_or_default());
    let output = Command::new("sha256sum").arg(name).current_dir(dir).output().context("cannot run sha256sum")?;
    if !output.status.success() {
        bail!("sha256sum failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let path = format!("{}.sha256", package.display());
    fs::write(&path, output.stdout).with_context(|| format!("cannot write {path}"))
}

/// Unpacks the tarball, and looks for each binary where `cargo binstall` does.
fn try_tarball(tarball: &Path) -> Result<()> {
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    program("tar", &["-xzf", &tarball.to_string_lossy(), "-C", &dir.path().to_string_lossy()])?;
    for tool in TOOLS {
        let manifest = project().join("crates").join(tool).join("Cargo.toml");
        let manifest = fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
        let value = |key: &str| {
            let line = manifest.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            let line = line.with_context(|| format!("{tool} does not say {key} for cargo binstall"))?;
            let filled = line.trim_matches('"').replace("{ version }", env!("CARGO_PKG_VERSION"));
            Ok::<_, anyhow::Error>(filled.replace("{ target }", &target()?).replace("{ bin }{ binary-ext }", tool))
        };
        if !dir.path().join(value("bin-dir")?).is_file() {
            bail!("cargo binstall would not find {tool} at {}", value("bin-dir")?);
        }
        let name = tarball.file_name().unwrap_or_default().to_string_lossy();
        if !value("pkg-url")?.ends_with(&*name) {
            bail!("cargo binstall would not find {name} at {}", value("pkg-url")?);
        }
    }
    runs(&dir.path().join(name()?).join("bin"))
}

/// Installs the package into an empty system, runs it from there, and removes it.
fn try_deb(deb: &Path) -> Result<()> {
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    let admin = dir.path().join("var/lib/dpkg");
    fs::create_dir_all(admin.join("updates"))?;
    fs::create_dir_all(admin.join("info"))?;
    fs::write(admin.join("status"), "")?;
    let root = format!("--root={}", dir.path().display());
    // The empty system has no git and no tmux; and only root may give files away.
    let dpkg = |args: &[&str]| {
        let always = [&root, "--log=/dev/null", "--force-depends", "--force-not-root", "--force-bad-path"];
        program("dpkg", &[&always[..], args].concat())
    };
    dpkg(&["--install", &deb.to_string_lossy()])?;
    runs(&dir.path().join("usr/bin"))?;
    dpkg(&["--purge", "shopfloor"])?;
    let left = dir.path().join("usr");
    let left: Vec<_> = walkdir::WalkDir::new(left).into_iter().flatten().filter(|e| e.file_type().is_file()).collect();
    if !left.is_empty() {
        bail!("the package left files: {left:?}");
    }
    Ok(())
}

/// Fails unless every tool runs from this directory.
fn runs(bin: &Path) -> Result<()> {
    for tool in TOOLS {
        let output = Command::new(bin.join(tool)).arg("--version").output();
        let output = output.with_context(|| format!("cannot run the packed {tool}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        if said.trim() != format!("{tool} {}", env!("CARGO_PKG_VERSION")) {
            bail!("the packed {tool} says {said:?}");
        }
    }
    Ok(())
}
