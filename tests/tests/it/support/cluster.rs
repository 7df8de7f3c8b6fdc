//! A cluster of one node: a real Slurm of this user, with a munge of its own.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::support::floor::Floor;
use crate::support::world::{World, skip, wait_for};

/// Where Debian and others have the daemons.
const PLACES: [&str; 3] = ["/usr/sbin", "/usr/local/sbin", "/usr/bin"];

pub struct Cluster {
    /// Its own place, because no path in its configuration can have a space.
    dir: TempDir,
    daemons: Vec<Child>,
}

/// Whether there is a Slurm. If not, this reports the test as skipped, and the test returns.
#[must_use]
pub fn needs_slurm() -> bool {
    let missing = ["munged", "slurmctld", "slurmd", "srun"].into_iter().find(|name| daemon(name).is_none());
    missing.is_none_or(|_| skip("slurm"))
}

fn daemon(name: &str) -> Option<PathBuf> {
    PLACES.into_iter().map(|place| PathBuf::from(place).join(name)).find(|path| path.is_file())
}

impl Cluster {
    /// Starts it, and lets its commands find it. Jobs of the partition `urgent` push others away.
    pub fn new(w: &World) -> Cluster {
        let dir = TempDir::new().unwrap();
        let at = dir.path().display();
        for name in ["state", "spool"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("key"), [7; 1024]).unwrap();
        std::fs::set_permissions(dir.path().join("key"), std::fs::Permissions::from_mode(0o400)).unwrap();
        let say = |line: &str| w.at(w.home("")).sh(line).exit(0).stdout.trim().to_owned();
        let (host, user) = (say("hostname -s"), say("id -un"));
        let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [first, second] = ports.map(|port| port.local_addr().unwrap().port());
        let nodes = "Nodes=ALL MaxTime=INFINITE State=UP";
        std::fs::write(
            dir.path().join("slurm.conf"),
            format!(
                "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\n\
                 AuthType=auth/munge\nAuthInfo=socket={at}/munge.sock\nSlurmctldPort={first}\nSlurmdPort={second}\n\
                 StateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool\nSlurmctldPidFile={at}/ctld.pid\n\
                 SlurmdPidFile={at}/d.pid\nSlurmctldLogFile={at}/ctld.log\nSlurmdLogFile={at}/d.log\n\
                 ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
                 SelectTypeParameters=CR_Core\nReturnToService=2\nMpiDefault=none\nSwitchType=switch/none\n\
                 PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nKillWait=2\nOverTimeLimit=0\n\
                 NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n\
                 PartitionName=main {nodes} Default=YES OverSubscribe=FORCE:8 PriorityTier=1\n\
                 PartitionName=urgent {nodes} PriorityTier=9\n"
            ),
        )
        .unwrap();
        for name in ["srun", "squeue", "scancel", "scontrol"] {
            w.program(name, &format!("SLURM_CONF={at}/slurm.conf exec /usr/bin/{name} \"$@\""));
        }
        let files = ["key-file=key", "socket=munge.sock", "pid-file=munge.pid", "log-file=munge.log", "seed-file=seed"];
        let files = files.map(|file| format!("--{}", file.replace('=', &format!("={at}/"))));
        let munge = files.iter().map(String::as_str).chain(["--foreground", "--force"]).collect();
        let mut cluster = Cluster { dir, daemons: Vec::new() };
        cluster.start("munged", munge);
        wait_for(|| cluster.dir.path().join("munge.sock").exists());
        cluster.start("slurmctld", vec!["-D"]);
        cluster.start("slurmd", vec!["-D"]);
        wait_for(|| cluster.run("sinfo", &["--noheader", "--format=%T"]) == "idle");
        cluster
    }

    fn start(&mut self, name: &str, args: Vec<&str>) {
        let mut command = Command::new(daemon(name).unwrap());
        command.env("SLURM_CONF", self.dir.path().join("slurm.conf")).args(args).current_dir(self.dir.path());
        let log = std::fs::File::create(self.dir.path().join(format!("{name}.said"))).unwrap();
        let command = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    /// Stops the controller, which answers nobody then, or lets it go on.
    pub fn freeze(&self, signal: &str) {
        let controller = self.daemons[1].id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &controller]).status().unwrap().success());
    }

    /// Runs a command of Slurm, and returns what it says.
    pub fn run(&self, name: &str, args: &[&str]) -> String {
        let mut command = Command::new(name);
        command.env("SLURM_CONF", self.dir.path().join("slurm.conf")).args(args).stdin(Stdio::null());
        String::from_utf8_lossy(&command.output().unwrap().stdout).trim().to_owned()
    }

    /// The state of each job whose name has this part, the oldest first.
    pub fn jobs(&self, part: &str) -> Vec<String> {
        let all = self.run("squeue", &["--noheader", "--states=all", "--sort=i", "--format=%j %T"]);
        all.lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(name, _)| name.contains(part))
            .map(|(_, state)| state.trim().to_owned())
            .collect()
    }

    /// The id of the newest job whose name has this part.
    pub fn newest(&self, part: &str) -> String {
        let all = self.run("squeue", &["--noheader", "--states=all", "--sort=i", "--format=%j %i"]);
        let mut ids = all.lines().filter_map(|line| line.split_once(' ')).filter(|(name, _)| name.contains(part));
        ids.next_back().unwrap().1.trim().to_owned()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.freeze("CONT");
        self.run("scancel", &["--signal=KILL", "--me"]);
        self.run("scancel", &["--me"]);
        wait_for(|| !self.jobs("").iter().any(|state| state == "RUNNING" || state == "PENDING"));
        // One whose node was taken away tells that to nobody.
        let line = "for step in $(pgrep slurmstepd); do test \"$(readlink /proc/$step/cwd)\" != \"$PWD\" || kill -9 $step; done";
        let _ = Command::new("sh").args(["-c", line]).current_dir(self.dir.path()).status();
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// A floor whose runner `cluster` asks Slurm for a job with these options.
pub fn clustered<'w>(w: &'w World, slurm: &str) -> Floor<'w> {
    let floor = Floor::new(w);
    let config = floor.root.read("config.toml");
    floor.root.write("config.toml", &format!("{config}\n[runners.cluster]\nslurm = {{ {slurm} }}\n"));
    floor
}
