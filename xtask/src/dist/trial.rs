//! Installs each package as an ordinary user into an empty place, works with it as the README says, and removes it again:
//! nothing is left.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;
use tempfile::TempDir;

use super::server::{CUT, Files, serve};
use super::{Packages, VERSION, name};
use crate::generate::files_below;
use crate::run::{TOOLS, find, project, run as program, target_dir};
use crate::stage::{is_root, ordinary_user};
use crate::test::open_dir;

/// How long it may take from `npm install` to two agents whose work has landed, in seconds.
const TWO_AGENTS: u64 = 120;

pub fn run(packages: &Packages) -> Result<()> {
    let url = serve(|url| files(packages, url))?;
    try_tarball(packages)?;
    packages.deb.as_deref().map_or(Ok(()), try_deb)?;
    try_script(packages, &url)?;
    match find("npm") {
        Some(_) => try_npm(&url)?,
        None => eprintln!("xtask: skipped: the npm packages were not tried, because npm is missing"),
    }
    match (&packages.wheel, find("pip")) {
        (Some(wheel), Some(_)) => try_wheel(wheel)?,
        _ => eprintln!("xtask: skipped: the wheel was not tried, because pip is missing"),
    }
    Ok(())
}

/// What the server has: a release, releases that are damaged in some way, and a registry of npm.
fn files(packages: &Packages, url: &str) -> Result<Files> {
    let mut files = Files::new();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let tarball = (name(&packages.tarball), fs::read(&packages.tarball)?);
    let sums = fs::read_to_string(packages.dir.join("SHA256SUMS"))?;
    let line = sums.lines().find(|line| line.ends_with(&tarball.0)).context("the tarball has no sum")?.to_owned();
    let wrong = line.replace(&line[..8], if line.starts_with("00000000") { "11111111" } else { "00000000" });
    let stem = tarball.0.trim_end_matches(".tar.xz").split("-glibc").next().unwrap_or_default().to_owned();
    let newer = format!("{}  {stem}-glibc99.1.tar.xz", &line[..64]);
    for (dir, sums) in
        [("/good/", &sums), (CUT, &sums), ("/wrong/", &wrong), ("/newer/", &newer), ("/none/", &String::new())]
    {
        if dir != "/none/" {
            files.insert(format!("{dir}SHA256SUMS"), format!("{sums}\n").into_bytes());
        }
        files.insert(format!("{dir}{}", tarball.0), tarball.1.clone());
    }
    let [main, own] = [&packages.npm[0], &packages.npm[1]].map(|path| (name(path), path));
    for (file, path) in [&main, &own] {
        files.insert(format!("/-/{file}"), fs::read(path)?);
    }
    let read = |package: &str| -> Result<serde_json::Value> {
        let path = project().join("target/dist/npm").join(package).join("package.json");
        serde_json::from_slice(&fs::read(&path)?).with_context(|| format!("cannot read {}", path.display()))
    };
    let mut publish = |mut manifest: serde_json::Value, file: &str| {
        let name = manifest["name"].as_str().unwrap_or_default().to_owned();
        manifest["dist"] = json!({ "tarball": format!("{url}/-/{file}") });
        let page = json!({ "name": name, "dist-tags": { "latest": VERSION }, "versions": { VERSION: manifest } });
        files.insert(format!("/{name}"), page.to_string().into_bytes());
    };
    let own_manifest = read("own")?;
    for (os, cpu) in [("linux", "x64"), ("linux", "arm64"), ("darwin", "x64"), ("darwin", "arm64")] {
        let mut other = own_manifest.clone();
        other["name"] = format!("@shopfloor-tools/{os}-{cpu}").into();
        (other["os"], other["cpu"]) = (json!([os]), json!([cpu]));
        publish(other, &own.0);
    }
    publish(read("main")?, &main.0);
    Ok(files)
}

/// A place with an empty home and a repository, of an ordinary user where this is root.
struct Place {
    dir: TempDir,
    user: Option<(u32, u32)>,
}

impl Place {
    fn new() -> Result<Place> {
        let user = is_root().then(ordinary_user).transpose()?;
        let dir = tempfile::Builder::new().prefix("shopfloor-dist-").tempdir_in(open_dir()?)?;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755))?;
        let place = Place { dir, user };
        for name in ["home", "tmp", "prefix"] {
            fs::create_dir(place.at(name))?;
            fs::set_permissions(place.at(name), fs::Permissions::from_mode(0o700))?;
            place.give(&place.at(name))?;
        }
        Ok(place)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn give(&self, path: &Path) -> Result<()> {
        Ok(self.user.map_or(Ok(()), |(uid, gid)| chown(path, Some(uid), Some(gid)))?)
    }

    /// A command as the user, with these directories first on the PATH and nothing else of our environment.
    fn command(&self, path: &str, args: &[&str]) -> Command {
        // By their paths: the PATH of the command may not have them.
        let program = |name: &str| find(name).unwrap_or_else(|| name.into());
        let mut command = match self.user {
            None => Command::new(program("env")),
            Some((uid, gid)) => {
                let mut command = Command::new(program("setpriv"));
                command.args([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_owned()]);
                command.args(["--", "env"]);
                command
            }
        };
        command.args(["timeout", "120"]).args(args).current_dir(self.at("home")).stdin(Stdio::null()).env_clear();
        command.env("HOME", self.at("home")).env("TMPDIR", self.at("tmp")).env("TMUX_TMPDIR", self.at("tmp"));
        command.env("PATH", path).env("LANG", "C.UTF-8").env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
        command
    }

    fn run(&self, path: &str, args: &[&str]) -> Result<Output> {
        self.command(path, args).output().with_context(|| format!("cannot run {}", args.join(" ")))
    }

    /// The output of a command that must end with 0.
    fn must(&self, path: &str, args: &[&str]) -> Result<String> {
        let output = self.run(path, args)?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{} failed with {}: {out}{err}", args.join(" "), output.status);
        Ok(out.into_owned())
    }

    /// A command that must end with this status, and say this.
    fn fails(&self, path: &str, args: &[&str], status: i32, said: &str) -> Result<()> {
        let output = self.run(path, args)?;
        let err = String::from_utf8_lossy(&output.stderr);
        let is_so = output.status.code() == Some(status) && err.contains(said);
        ensure!(is_so, "{} ended with {} instead of {status} and {said:?}: {err}", args.join(" "), output.status);
        Ok(())
    }

    /// What was installed and is still there.
    fn is_empty(&self) -> Result<()> {
        let left = files_below(&self.at("prefix"));
        ensure!(left.is_empty(), "files are left: {left:?}");
        Ok(())
    }
}

/// The PATH of the system, below these programs.
fn above(bin: &Path) -> String {
    format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())
}

/// Sets a repository up, makes a worktree, looks at it and removes it.
fn work(place: &Place, path: &str, origin: &str) -> Result<()> {
    for tool in TOOLS {
        let said = place.must(path, &[tool, "--version"])?;
        ensure!(said == format!("{tool} {VERSION} ({origin})\n"), "{tool} --version says {said:?}");
    }
    let app = "set -e; git init -q -b main app; cd app; git config user.name Ada; git config user.email ada@example.org
        echo app > README.md; git add .; git commit -qm app
        shopfloor setup --yes; git add -A; git commit -qm setup
        shopfloor new x -- sh -c 'test -f README.md'
        shopfloor ls | grep -q '^x '
        shopfloor rm x
        shopfloor new y -- sh -c 'exit 7' || test $? = 7
        shopfloor rm y";
    place.must(path, &["sh", "-c", app]).map(drop)
}

/// Two agents work at once, and their work lands.
fn two_agents(place: &Place, path: &str) -> Result<()> {
    let agent = place.at("agent");
    fs::copy(target_dir().join("debug/agent"), &agent).context("the scripted agent is not built")?;
    let config = format!(
        "[worktree-spawn]\nagent = \"scripted\"\n[worker-ctl.agents.scripted]\ncommand = [{:?}]\nready = {{ pattern = \"^>\" }}\n",
        agent.display()
    );
    let dir = place.at("home/.config/shopfloor");
    fs::create_dir_all(&dir)?;
    fs::write(dir.join("config.toml"), config)?;
    [place.at("home/.config"), dir.clone(), dir.join("config.toml")].iter().try_for_each(|path| place.give(path))?;
    let day = "set -e; cd app
        for name in a b; do shopfloor new $name \"COMMIT $name.txt $name Write $name\"; done
        for name in a b; do
            shopfloor wait $name --for needs_review --timeout 60s
            shopfloor review $name --pin
            shopfloor land $name
            shopfloor rm $name
        done
        test \"$(cat a.txt b.txt)\" = \"$(printf 'a\\nb')\"
        shopfloor stop";
    place.must(path, &["sh", "-c", day]).map(drop)
}

fn try_npm(url: &str) -> Result<()> {
    let (place, began) = (Place::new()?, Instant::now());
    let prefix = place.at("prefix").display().to_string();
    let path = above(&place.at("prefix/bin"));
    let npm = |place: &Place, prefix: &str, words: &[&str]| {
        let own = [
            "npm",
            "--global",
            "--prefix",
            prefix,
            "--registry",
            url,
            "--no-audit",
            "--no-fund",
            "--no-update-notifier",
        ];
        place.must(&path, &[&own[..], words].concat()).map(drop)
    };
    npm(&place, &prefix, &["install", "shopfloor"])?;
    work(&place, &path, "npm")?;
    // The hooks start the programs themselves, also where the PATH has no node.
    place.must("/usr/local/bin:/usr/bin:/bin", &["sh", "-c", "cd app && git worktree add ../bare 2>../said"])?;
    ensure!(!fs::read_to_string(place.at("home/said"))?.contains("not on the PATH"), "a hook did not find its tool");
    place.must(&path, &["sh", "-c", "cd app && git worktree remove ../bare"])?;
    match find("tmux") {
        Some(_) => {
            two_agents(&place, &path)?;
            let took = began.elapsed().as_secs();
            ensure!(
                took <= TWO_AGENTS,
                "from npm install to two agents it took {took} s, and {TWO_AGENTS} are allowed"
            );
            eprintln!("xtask: from `npm install` to the landed work of two agents: {took} s");
        }
        None => eprintln!("xtask: skipped: no agent was started, because tmux is missing"),
    }
    npm(&place, &prefix, &["uninstall", "shopfloor"])?;
    place.is_empty()?;
    // Without the package of the platform.
    npm(&place, &prefix, &["install", "shopfloor"])?;
    for modules in ["lib/node_modules", "lib/node_modules/shopfloor/node_modules"] {
        let own = place.at("prefix").join(modules).join("@shopfloor-tools");
        if own.exists() {
            fs::remove_dir_all(own)?;
        }
    }
    place.fails(&path, &["shopfloor", "status"], 4, "which has the programs, is not installed")
}

fn try_wheel(wheel: &Path) -> Result<()> {
    let place = Place::new()?;
    let venv = place.at("venv").display().to_string();
    // Another Python may be in somebody's home, where other users cannot run it.
    let system = Path::new("/usr/bin/python3");
    let python = if system.exists() { system.to_string_lossy().into_owned() } else { "python3".to_owned() };
    program(&python, &["-m", "venv", "--without-pip", &venv])?;
    let own = place.at("venv/bin/python").display().to_string();
    let before = files_below(&place.at("venv"));
    let pip =
        |words: &[&str]| program("pip", &[&["--python", &own, "--disable-pip-version-check"][..], words].concat());
    pip(&["install", "--quiet", "--no-index", "--no-compile", &wheel.to_string_lossy()])?;
    work(&place, &above(&place.at("venv/bin")), "wheel")?;
    ensure!(place.at("venv/share/man/man1/shopfloor.1").is_file(), "the wheel has no man pages");
    pip(&["uninstall", "--quiet", "--yes", "shopfloor"])?;
    let left: Vec<_> = files_below(&place.at("venv")).into_iter().filter(|file| !before.contains(file)).collect();
    ensure!(left.is_empty(), "the wheel left files: {left:?}");
    Ok(())
}

/// The programs that the script needs, without those that download.
const FOR_SCRIPT: &str = "sh uname sed head sort getconf mkdir mktemp rm sha256sum cut grep tar xz mv cp dirname find rmdir \
    env timeout cat git";

fn try_script(packages: &Packages, url: &str) -> Result<()> {
    let place = Place::new()?;
    let (prefix, usual) = (place.at("prefix").display().to_string(), above(&place.at("prefix/bin")));
    let script = place.at("install.sh");
    fs::copy(packages.dir.join("install.sh"), &script)?;
    let script = script.display().to_string();
    let good = format!("{url}/good");
    let line = |base: &'static str| format!("{url}/{base}");
    let install = |path: &str, base: &str| place.must(path, &["sh", &script, "--prefix", &prefix, "--base-url", base]);
    let refuses = |base: &str, said: &str| {
        place.fails(&usual, &["sh", &script, "--prefix", &prefix, "--base-url", base], 1, said)?;
        place.is_empty()
    };
    refuses(&line("wrong"), "is damaged or not what was published")?;
    refuses(&line("cut"), "cannot download")?;
    refuses(&line("none"), "cannot download")?;
    refuses(&line("newer"), "need glibc 99.1 or newer")?;
    // A script that was cut off in transit.
    let whole = fs::read(&script)?;
    let ends = (whole.len() - 12..whole.len() - 1).chain((1..20).map(|part| whole.len() * part / 20));
    for end in ends {
        let cut = place.at("cut.sh");
        fs::write(&cut, &whole[..end])?;
        place.run(&usual, &["sh", &cut.display().to_string(), "--prefix", &prefix, "--base-url", &good])?;
        place.is_empty()?;
    }
    // Another processor; a directory where nothing can be written, but for root.
    let other = programs(&place, "other", FOR_SCRIPT, &[("uname", "#!/bin/sh\necho sparc64\n")])?;
    place.fails(&other, &["sh", &script, "--prefix", &prefix], 1, "no binaries for the processor sparc64")?;
    fs::create_dir(place.at("closed"))?;
    if place.user.is_some() {
        let closed = place.at("closed/prefix").display().to_string();
        place.fails(
            &usual,
            &["sh", &script, "--prefix", &closed, "--base-url", &good],
            1,
            "choose another directory",
        )?;
    }
    // A file of somebody else's.
    let foreign = place.at("prefix/bin/worker-ctl");
    fs::create_dir(place.at("prefix/bin"))?;
    place.give(&place.at("prefix/bin"))?;
    fs::write(&foreign, "mine")?;
    place.fails(
        &usual,
        &["sh", &script, "--prefix", &prefix, "--base-url", &good],
        1,
        "is there already, and not ours",
    )?;
    ensure!(files_below(&place.at("prefix")) == [Path::new("bin/worker-ctl")], "something was installed beside it");
    fs::remove_file(&foreign)?;
    install(&usual, &good)?;
    // Of one that was killed half way, the rest comes with the next; and again over itself, with wget alone.
    let missing = place.at("prefix/bin/ledger-synth");
    fs::remove_file(&missing)?;
    install(&usual, &good)?;
    ensure!(missing.is_file(), "what was missing is not back");
    let no_home = format!("unset HOME; sh {script} --base-url {good}");
    place.fails(&usual, &["sh", "-c", &no_home], 1, "HOME is not set")?;
    let programs = programs(&place, "wget-only", &format!("{FOR_SCRIPT} wget"), &[])?;
    if find("wget").is_some() {
        install(&programs, &good)?;
    }
    work(&place, &usual, "install.sh")?;
    let uninstall = ["sh", &script, "--uninstall", "--prefix", &prefix];
    fs::write(place.at("prefix/share/man/man1/shopfloor.1"), "mine")?;
    place.fails(&usual, &uninstall, 1, "which has changed")?;
    ensure!(files_below(&place.at("prefix")) == [Path::new("share/man/man1/shopfloor.1")], "more or less stays");
    fs::remove_file(place.at("prefix/share/man/man1/shopfloor.1"))?;
    install(&usual, &good)?;
    place.must(&usual, &uninstall)?;
    place.is_empty()?;
    place.fails(&usual, &uninstall, 1, "nothing is installed")
}

/// A directory with links to these programs and with these scripts, as a PATH.
fn programs(place: &Place, name: &str, links: &str, scripts: &[(&str, &str)]) -> Result<String> {
    let dir = place.at(name);
    fs::create_dir(&dir)?;
    for program in links.split_whitespace().filter(|program| scripts.iter().all(|(script, _)| script != program)) {
        if let Some(found) = find(program) {
            symlink(found, dir.join(program))?;
        }
    }
    for (script, text) in scripts {
        fs::write(dir.join(script), text)?;
        fs::set_permissions(dir.join(script), fs::Permissions::from_mode(0o755))?;
    }
    Ok(dir.display().to_string())
}

/// Unpacks the tarball, and looks for each binary where `cargo binstall` does.
fn try_tarball(Packages { tarball, platform, .. }: &Packages) -> Result<()> {
    let dir = tempfile::tempdir().context("cannot create a temporary directory")?;
    program("tar", &["-xJf", &tarball.to_string_lossy(), "-C", &dir.path().to_string_lossy()])?;
    for tool in TOOLS {
        let manifest = project().join("crates").join(tool).join("Cargo.toml");
        let manifest = fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
        let value = |key: &str| {
            let line = manifest.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
            let line = line.with_context(|| format!("{tool} does not say {key} for cargo binstall"))?;
            let filled = line.trim_matches('"').replace("{ version }", VERSION);
            Ok::<_, anyhow::Error>(
                filled.replace("{ target }", &platform.target).replace("{ bin }{ binary-ext }", tool),
            )
        };
        if !dir.path().join(value("bin-dir")?).is_file() {
            bail!("cargo binstall would not find {tool} at {}", value("bin-dir")?);
        }
        // A tarball that needs a newer glibc says so in its name, and cargo binstall does not take it.
        let name = format!("{}.tar.xz", name(platform));
        if !value("pkg-url")?.ends_with(&name) {
            bail!("cargo binstall would not find {name} at {}", value("pkg-url")?);
        }
    }
    runs(&dir.path().join(name(platform)).join("bin"))
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
        if said.trim().split(" (").next() != Some(&format!("{tool} {VERSION}")) {
            bail!("the packed {tool} says {said:?}");
        }
    }
    Ok(())
}
