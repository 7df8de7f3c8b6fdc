//! `cargo xtask dist`: what is published: a tarball, a Debian package, npm packages, a Python wheel and the script that
//! installs the tarball, all with the same files, and the list of their sums.

mod server;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::install;
use crate::registry;
use crate::run::{Build, TOOLS, build, cargo, find, project, run as program, target_dir};

const CARGO_DEB: &str = "3.8.0";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
const SUMMARY: &str = "Several coding agents on one git repository, each in its own worktree";

/// The glibc that released binaries need: that of 2012.
const GLIBC: &str = "2.17";

/// What the packages have beside the installed files.
const PAPERS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

#[derive(clap::Args)]
pub struct Args {
    /// Pack unoptimised binaries, and install, run and remove each package as an ordinary user
    #[arg(long = "try")]
    trial: bool,
}

/// What was packed.
struct Packages {
    /// The directory with all of them.
    dir: PathBuf,
    platform: Platform,
    tarball: PathBuf,
    /// None where `dpkg-deb` is missing.
    deb: Option<PathBuf>,
    /// The package with the launcher, and the one of this platform.
    npm: [PathBuf; 2],
    /// None where Python is missing.
    wheel: Option<PathBuf>,
}

/// The platform that the binaries are for.
struct Platform {
    /// As Rust names it: `x86_64-unknown-linux-gnu`.
    target: String,
    /// The glibc that the binaries need, if they need one.
    glibc: Option<String>,
}

/// Builds the packages, and prints the path of each.
pub fn run(args: &Args) -> Result<()> {
    let packages = pack(args.trial)?;
    let Packages { dir, tarball, deb, npm, wheel, .. } = &packages;
    let all = [Some(tarball), deb.as_ref(), Some(&npm[0]), Some(&npm[1]), wheel.as_ref()];
    for package in all.into_iter().flatten() {
        println!("{}", package.display());
    }
    println!("{}\n{}", dir.join("install.sh").display(), dir.join("SHA256SUMS").display());
    if args.trial { trial::run(&packages) } else { are_small(dir) }
}

/// Fails if a package is larger than somebody who installs it would wait for. Those of npm and PyPI compress less.
fn are_small(dir: &Path) -> Result<()> {
    for name in names_in(dir)? {
        let size = fs::metadata(dir.join(&name))?.len();
        let most = if name.ends_with(".tgz") || name.ends_with(".whl") { 15_000_000 } else { 12_000_000 };
        if size > most {
            bail!("{name} has {size} bytes, and {most} are allowed");
        }
    }
    Ok(())
}

fn pack(is_trial: bool) -> Result<Packages> {
    // Here even if the target directory is elsewhere, because the list of files for cargo-deb names this place.
    let dist = project().join("target/dist");
    let dir = dist.join("packages");
    for old in [&dir, &dist.join("tree")] {
        if old.exists() {
            fs::remove_dir_all(old).with_context(|| format!("cannot empty {}", old.display()))?;
        }
    }
    fs::create_dir_all(&dir)?;
    let (built, platform) = binaries(is_trial)?;
    let tree = tree(&dist, &built, is_trial)?;
    let tarball = tarball(&dir, &tree, &platform, is_trial)?;
    let skipped = |what: &str, missing: &str| eprintln!("xtask: skipped: no {what}, because {missing} is missing");
    let deb = find("dpkg-deb").map(|_| deb(&dist, &dir, is_trial)).transpose()?;
    deb.is_none().then(|| skipped("Debian package", "dpkg-deb"));
    let npm = npm(&dist, &dir, &tree, &platform)?;
    let wheel = find("python3").map(|_| wheel(&dir, &tree, &platform)).transpose()?;
    wheel.is_none().then(|| skipped("wheel", "python3"));
    let script = dir.join("install.sh");
    fs::write(&script, filled("install.sh")?)?;
    let names: Vec<String> = names_in(&dir)?;
    let output = Command::new("sha256sum").args(&names).current_dir(&dir).output().context("cannot run sha256sum")?;
    if !output.status.success() {
        bail!("sha256sum failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::write(dir.join("SHA256SUMS"), output.stdout)?;
    Ok(Packages { dir, platform, tarball, deb, npm, wheel })
}

fn names_in(dir: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// A file of `packaging/` with what the release fills in.
fn filled(name: &str) -> Result<String> {
    let path = project().join("packaging").join(name);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = text.replace("@URL@", &format!("{REPOSITORY}/releases/download/v{VERSION}"));
    Ok(text.replace("@VERSION@", VERSION).replace("@REPOSITORY@", REPOSITORY).replace("@GLIBC@", GLIBC))
}

/// Builds the binaries, for an old glibc where `cargo zigbuild` is installed. Returns their directory.
fn binaries(is_trial: bool) -> Result<(PathBuf, Platform)> {
    let output = Command::new("rustc").args(["--print", "host-tuple"]).output().context("cannot run rustc")?;
    let target = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if is_trial {
        let glibc = own_glibc();
        return Ok((build(Build::Reference)?, Platform { target, glibc }));
    }
    if !target.ends_with("-linux-gnu") {
        return Ok((build(Build::Dist)?, Platform { target, glibc: None }));
    }
    if find("cargo-zigbuild").is_none() {
        let hint = "`pip install cargo-zigbuild ziglang` gives binaries for older systems";
        eprintln!("xtask: the binaries need this machine's glibc, because cargo-zigbuild is missing: {hint}");
        return Ok((build(Build::Dist)?, Platform { target, glibc: own_glibc() }));
    }
    eprintln!("xtask: left out: binaries for other processors; run this on such a machine");
    let with_glibc = format!("{target}.{GLIBC}");
    let mut args = vec!["zigbuild", "--profile", "dist", "--target", &with_glibc, "--package", "reference"];
    args.extend(TOOLS.iter().flat_map(|tool| ["--package", tool]));
    cargo(&args)?;
    Ok((target_dir().join(&target).join("dist"), Platform { target, glibc: None }))
}

/// The version of this machine's glibc: `2.36`.
fn own_glibc() -> Option<String> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    String::from_utf8_lossy(&output.stdout).trim().strip_prefix("glibc ").map(str::to_owned)
}

/// Puts every file of the packages below one directory.
fn tree(dist: &Path, built: &Path, is_trial: bool) -> Result<PathBuf> {
    let tree = dist.join("tree");
    install::put_all(built, &tree)?;
    if is_trial && find("strip").is_some() {
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

/// The name of the directory in the tarball.
fn name(platform: &Platform) -> String {
    format!("shopfloor-{VERSION}-{}", platform.target)
}

/// Packs a directory below this name, compressed by this program.
fn tar(file: &Path, from: &Path, name: &str, compress: &str) -> Result<()> {
    let rename = format!("--transform=s,^\\.,{name},");
    let owner = ["--owner=0", "--group=0", "--sort=name", "--mtime=@0", "--mode=u=rwX,go=rX"];
    program(
        "tar",
        &[&owner[..], &["-I", compress, &rename, "-cf", &file.to_string_lossy(), "-C", &from.to_string_lossy(), "."]]
            .concat(),
    )
}

/// A trial compresses as quickly as it can: what it packs is not optimised, and large.
fn tarball(dir: &Path, tree: &Path, platform: &Platform, is_trial: bool) -> Result<PathBuf> {
    let name = name(platform);
    let needs = platform.glibc.as_ref().map(|glibc| format!("-glibc{glibc}")).unwrap_or_default();
    let path = dir.join(format!("{name}{needs}.tar.xz"));
    tar(&path, tree, &name, if is_trial { "xz -0" } else { "xz" })?;
    Ok(path)
}

/// The npm packages: `shopfloor` with a launcher for each tool, and one with the programs of this platform, which npm
/// chooses. Neither has a script that runs when it is installed.
fn npm(dist: &Path, dir: &Path, tree: &Path, platform: &Platform) -> Result<[PathBuf; 2]> {
    let (arch, system) = (&platform.target[..platform.target.find('-').unwrap_or(0)], &platform.target);
    let cpu = |arch: &str| if arch == "aarch64" { "arm64" } else { "x64" }.to_owned();
    let os = if system.contains("darwin") { "darwin" } else { "linux" };
    let shared = json!({
        "version": VERSION, "description": SUMMARY, "license": "MIT OR Apache-2.0",
        "repository": { "type": "git", "url": format!("git+{REPOSITORY}.git") },
    });
    let manifest = |more: serde_json::Value| -> Result<String> {
        let (mut all, more) = (shared.clone(), more.as_object().cloned().unwrap_or_default());
        all.as_object_mut().context("not an object")?.extend(more);
        Ok(format!("{all:#}\n"))
    };
    let write = |package: &Path, file: &str, text: &str| -> Result<()> {
        let path = package.join(file);
        fs::create_dir_all(path.parent().unwrap_or(package))?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let staging = dist.join("npm");
    if staging.exists() {
        fs::remove_dir_all(&staging)?;
    }
    let (main, own) = (staging.join("main"), staging.join("own"));
    let platforms = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];
    let optional: serde_json::Map<_, _> =
        platforms.iter().map(|name| (format!("@shopfloor-tools/{name}"), VERSION.into())).collect();
    let bins: serde_json::Map<_, _> =
        TOOLS.iter().map(|tool| ((*tool).to_owned(), format!("bin/{tool}.js").into())).collect();
    let man: Vec<String> = names_in(&tree.join("share/man/man1"))?.iter().map(|page| format!("man/{page}")).collect();
    let json = json!({ "name": "shopfloor", "bin": bins, "man": man, "optionalDependencies": optional, "engines": { "node": ">=18" } });
    write(&main, "package.json", &manifest(json)?)?;
    write(&main, "bin/launch.js", &filled("launch.js")?)?;
    for tool in TOOLS {
        write(
            &main,
            &format!("bin/{tool}.js"),
            &format!("#!/usr/bin/env node\nrequire(\"./launch.js\")(\"{tool}\");\n"),
        )?;
        executable(&main.join(format!("bin/{tool}.js")))?;
    }
    for page in &man {
        let name = page.trim_start_matches("man/");
        write(&main, page, &fs::read_to_string(tree.join("share/man/man1").join(name))?)?;
    }
    fs::copy(project().join("README.md"), main.join("README.md"))?;
    let name = format!("{os}-{}", cpu(arch));
    let json =
        json!({ "name": format!("@shopfloor-tools/{name}"), "os": [os], "cpu": [cpu(arch)], "preferUnplugged": true });
    let json = if os == "linux" { with(json, "libc", json!(["glibc"])) } else { json };
    write(&own, "package.json", &manifest(json)?)?;
    write(&own, "share/shopfloor/origin", "npm\n")?;
    fs::create_dir_all(own.join("bin"))?;
    for tool in TOOLS {
        fs::copy(tree.join("bin").join(tool), own.join("bin").join(tool))?;
    }
    let packed =
        [dir.join(format!("shopfloor-{VERSION}.tgz")), dir.join(format!("shopfloor-tools-{name}-{VERSION}.tgz"))];
    tar(&packed[0], &main, "package", "gzip")?;
    tar(&packed[1], &own, "package", "gzip")?;
    Ok(packed)
}

fn with(mut object: serde_json::Value, key: &str, value: serde_json::Value) -> serde_json::Value {
    object[key] = value;
    object
}

fn executable(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}

fn wheel(dir: &Path, tree: &Path, platform: &Platform) -> Result<PathBuf> {
    let (arch, system) = platform.target.split_once('-').unwrap_or_default();
    let glibc = platform.glibc.as_deref().unwrap_or(GLIBC).replace('.', "_");
    let tag = match system.contains("darwin") {
        true if arch == "aarch64" => "macosx_11_0_arm64".to_owned(),
        true => "macosx_10_12_x86_64".to_owned(),
        false => format!("manylinux_{glibc}_{arch}"),
    };
    let script = project().join("packaging/wheel.py");
    let output = Command::new("python3").arg(script).arg(tree).args([VERSION, &tag, SUMMARY]).arg(dir).output();
    let output = output.context("cannot run python3")?;
    if !output.status.success() {
        bail!("packaging/wheel.py failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// The Debian package, as `crates/shopfloor/Cargo.toml` describes it.
fn deb(dist: &Path, dir: &Path, is_trial: bool) -> Result<PathBuf> {
    let origin = dist.join("tree/share/shopfloor");
    fs::create_dir_all(&origin)?;
    fs::write(origin.join("origin"), "Debian package\n")?;
    let cargo_deb = registry::program("cargo-deb", CARGO_DEB, "")?;
    let args = ["--package", "shopfloor", "--no-build", "--no-strip", "--quiet", "--output"];
    let mut command = Command::new(cargo_deb);
    command.args(args).arg(dir).args(is_trial.then_some("--fast"));
    let output = command.current_dir(project()).output();
    let output = output.context("cannot run cargo-deb")?;
    if !output.status.success() {
        bail!("cargo-deb failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::remove_dir_all(origin)?;
    // It prints the path of the package.
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}
