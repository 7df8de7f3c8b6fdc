//! Hosts: a real sshd on the loopback interface with keys of its own, and a home for each.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::floor::Floor;
use crate::support::output::Output;
use crate::support::world::{Repo, TOOLS, World, built, skip, wait_for};

/// Where Debian and others have the server.
const SSHD: [&str; 3] = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"];

/// A machine that ssh calls by this name.
pub struct Machine<'w> {
    pub home: Repo<'w>,
    name: String,
    server: Child,
}

/// Whether there is an sshd. If not, this reports the test as skipped, and the test returns.
#[must_use]
pub fn needs_sshd() -> bool {
    sshd().is_some() || skip("openssh-server")
}

fn sshd() -> Option<&'static Path> {
    SSHD.into_iter().map(Path::new).find(|path| path.is_file())
}

/// Makes a key without a passphrase, and returns its public half.
fn key(w: &World, path: &Path) -> String {
    let made = w.command("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
    assert!(made.unwrap().success());
    std::fs::read_to_string(path.with_extension("pub")).unwrap()
}

impl<'w> Machine<'w> {
    /// Starts it, and lets ssh of this world know it.
    pub fn new(w: &'w World, name: &str) -> Machine<'w> {
        let home = w.at(w.path(name));
        let bin = home.path.join(".local/bin");
        std::fs::create_dir_all(&bin).unwrap();
        for tool in TOOLS {
            std::os::unix::fs::symlink(built("tools"), bin.join(tool)).unwrap();
        }
        let (known, own) = (w.path("known_hosts"), w.path("id"));
        if !own.exists() {
            key(w, &own);
            // OpenSSH asks the system where home is, and not `HOME`.
            w.program("ssh", &format!("exec /usr/bin/ssh -F '{}' \"$@\"", w.path("ssh_config").display()));
        }
        std::fs::copy(own.with_extension("pub"), home.path.join("authorized")).unwrap();
        let public = key(w, &home.path.join("hostkey"));
        let there = home.path.display();
        // Another test may have taken the port meanwhile.
        let (port, server) = (0..20)
            .find_map(|_| {
                let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
                home.write(
                    "sshd_config",
                    &format!(
                        "Port {port}\nListenAddress 127.0.0.1\nHostKey {there}/hostkey\nAuthorizedKeysFile {there}/authorized\n\
                         PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n\
                         SetEnv HOME={there} PATH={there}/bin:/usr/local/bin:/usr/bin:/bin\nMaxStartups 100\n"
                    ),
                );
                serve(&home.path).map(|server| (port, server))
            })
            .expect("sshd starts");
        append(&known, &format!("[127.0.0.1]:{port} {public}"));
        // The key exchange of OpenSSH's choice is most of the work of a short connection.
        append(
            &w.path("ssh_config"),
            &format!(
                "Host {name}\n HostName 127.0.0.1\n Port {port}\n IdentityFile {}\n IdentitiesOnly yes\n \
                 UserKnownHostsFile {}\n StrictHostKeyChecking yes\n KexAlgorithms curve25519-sha256\n",
                own.display(),
                known.display()
            ),
        );
        Machine { home, name: name.to_owned(), server }
    }

    /// What ssh calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The machine is gone from the network: its sshd with all connections, or only new ones are refused.
    pub fn vanish(&mut self) {
        self.signal_sessions("KILL");
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    /// It is back.
    pub fn come_back(&mut self) {
        wait_for(|| serve(&self.home.path).map(|server| self.server = server).is_some());
    }

    /// It answers nobody any more, and nobody is told; or it does again.
    pub fn freeze(&self, signal: &str) {
        self.home.sh(&format!("kill -{signal} {}", self.server.id())).exit(0);
        self.signal_sessions(signal);
    }

    /// Sends a signal to the sshd of each connection, and to what runs in them.
    pub fn signal_sessions(&self, signal: &str) {
        let found = self.home.sh(&format!("pgrep -P {}", self.server.id())).any_status();
        for session in found.stdout.lines() {
            let line = format!("kill -{signal} $(pgrep -P {session}) {session} 2>/dev/null; true");
            self.home.sh(&line).exit(0);
        }
    }

    /// Runs a command line there, as somebody who logs in.
    #[track_caller]
    pub fn sh(&self, line: &str) -> Output {
        let line = format!("cd '{}' && PATH=$PATH:~/.local/bin && {line}", self.root().path.display());
        self.home.run("ssh", &[&self.name, &line])
    }

    /// The root there.
    pub fn root(&self) -> Repo<'w> {
        self.home.world.at(self.home.path.join("workers/app"))
    }

    /// The commit of the default branch there.
    pub fn tip(&self) -> String {
        let bare = self.home.world.at(self.home.path.join("workers/app.git"));
        bare.git(&["rev-parse", "refs/heads/main"]).trim_end().to_owned()
    }

    /// Puts a shell script in the place of a program that ssh finds there.
    pub fn program(&self, name: &str, body: &str) {
        let path = self.home.path.join("bin").join(name);
        self.home.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{body}\n"));
        self.home.run("chmod", &["+x", path.to_str().unwrap()]).exit(0);
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        self.freeze("CONT");
        // A test may have named another place for a root.
        let below = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let home = self.home.path.clone();
        for root in below(&home).chain(below(&home.join("workers"))).filter(|dir| dir.join("config.toml").is_file()) {
            let world = self.home.world;
            let mut down = world.command(world.path("bin/worker-ctl"));
            down.env("HOME", &home).args(["--root"]).arg(&root).args(["down", "--force"]).current_dir(&root);
            let _ = down.stdout(Stdio::null()).stderr(Stdio::null()).status();
        }
        self.vanish();
    }
}

fn append(path: &PathBuf, text: &str) {
    let before = std::fs::read_to_string(path).unwrap_or_default();
    std::fs::write(path, before + text).unwrap();
}

/// Starts the sshd of a home, and waits until it listens. None if it cannot.
fn serve(home: &Path) -> Option<Child> {
    // Root's own sshd wants this directory.
    let _ = std::fs::create_dir("/run/sshd");
    let mut command = Command::new(sshd().unwrap());
    command.env_clear().args(["-D", "-e", "-f"]).arg(home.join("sshd_config"));
    let log = home.join("sshd.log");
    let mut server = command.stderr(std::fs::File::create(&log).unwrap()).spawn().unwrap();
    let says = |word: &str| std::fs::read_to_string(&log).unwrap().contains(word);
    wait_for(|| says("Server listening") || server.try_wait().unwrap().is_some());
    says("Server listening").then_some(server)
}

/// A hub whose source names its author, with these hosts.
pub fn hub<'w>(w: &'w World, names: &[&str]) -> (Floor<'w>, Vec<Machine<'w>>) {
    let floor = Floor::new(w);
    floor.app.git(&["config", "user.name", "Ada"]);
    floor.app.git(&["config", "user.email", "ada@example.org"]);
    let machines: Vec<Machine<'w>> = names.iter().map(|name| Machine::new(w, name)).collect();
    for name in names {
        floor.ctl(&["host", "add", name, "--ssh", name]).succeeds();
    }
    (floor, machines)
}

/// A worker of a host, which is up.
pub fn hire(floor: &Floor<'_>, id: &str) {
    let (host, name) = id.split_once(':').unwrap();
    floor.ctl(&["add", name, "--host", host]).succeeds();
    floor.ctl(&["up", id]).succeeds();
}

/// Gives it a task, and waits until its commit needs review.
pub fn work(floor: &Floor<'_>, id: &str, task: &str) {
    floor.ctl(&["start", id, "--task", task]).succeeds();
    let waited = floor.ctl(&["wait", id, "--for", "needs_review", "--timeout", "50s"]).any_status().any_out().any_err();
    if *waited.status != Some(0) {
        // What became of it only the host can tell.
        let host = id.split_once(':').map_or(id, |(host, _)| host);
        let told = floor.ctl(&["events", "--host", host, "--json"]).any_status().any_out().any_err();
        let screen = floor.ctl(&["peek", id]).any_status().any_out().any_err();
        panic!("{waited}\n{}\n{told}\n{screen}", last_row(floor, id));
    }
}

/// The row of a worker in `status --json`, once its host has answered: a busy one may need more than the two seconds that
/// it gets.
pub fn row(floor: &Floor<'_>, id: &str) -> Value {
    let mut found = None;
    wait_for(|| {
        found = find_row(floor, id).ok().filter(|row| row["unreachable_since_at"].is_null());
        found.is_some()
    });
    found.unwrap()
}

/// The same of a host that need not answer.
pub fn last_row(floor: &Floor<'_>, id: &str) -> Value {
    find_row(floor, id).unwrap_or_else(|all| panic!("no {id} in {all}"))
}

/// The row, or all that was said instead.
fn find_row(floor: &Floor<'_>, id: &str) -> Result<Value, Value> {
    let all = floor.ctl(&["status", "--json"]).exit(0).any_err().json();
    let found = all["workers"].as_array().unwrap().iter().find(|row| row["id"] == id).cloned();
    found.ok_or(all)
}
