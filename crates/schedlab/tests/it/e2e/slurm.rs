//! A one-node Slurm cluster, stopped when dropped.

use std::fmt::Write as _;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use testbed::eventually;

use crate::common::Lab;

pub(crate) struct Node {
    dir: PathBuf,
    daemons: Vec<Child>,
}

impl Node {
    /// Returns when the node is idle.
    pub(crate) fn start(lab: &Lab) -> Node {
        let dir = lab.path("slurm");
        for name in ["state", "spool", "munge"] {
            fs::create_dir_all(dir.join(name)).unwrap();
        }
        fs::write(dir.join("munge/key"), key()).unwrap();
        fs::set_permissions(dir.join("munge/key"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(dir.join("slurm.conf"), configuration(&dir)).unwrap();
        let mut node = Node { dir, daemons: Vec::new() };
        let munge = |name: &str| node.dir.join("munge").join(name).display().to_string();
        let words: Vec<String> = [
            ("key-file", "key"),
            ("socket", "socket"),
            ("pid-file", "pid"),
            ("log-file", "log"),
            ("seed-file", "seed"),
        ]
        .map(|(option, file)| format!("--{option}={}", munge(file)))
        .into();
        let mut munged = Command::new("munged");
        munged.args(["--foreground", "--force"]).args(&words);
        node.daemon(munged);
        eventually("munged answers", || node.dir.join("munge/socket").exists());
        node.daemon(Command::new("slurmctld"));
        node.daemon(Command::new("slurmd"));
        let idle = |node: &Node| {
            let output =
                node.client(Command::new("sinfo").args(["--noheader", "--format=%t"])).output();
            output.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == "idle")
        };
        eventually("the node of Slurm is idle", || idle(&node));
        node
    }

    fn daemon(&mut self, mut command: Command) {
        if command.get_args().next().is_none() {
            command.arg("-D");
        }
        self.client(&mut command).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().unwrap());
    }

    pub(crate) fn client<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("SLURM_CONF", self.dir.join("slurm.conf"))
    }

    pub(crate) fn log(&self) -> String {
        ["slurmctld.log", "slurmd.log"]
            .map(|name| fs::read_to_string(self.dir.join(name)).unwrap_or_default())
            .join("\n")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ =
            self.client(Command::new("scancel").args(["--state=RUNNING", "--user=root"])).status();
        std::thread::sleep(Duration::from_millis(200));
        for daemon in self.daemons.iter_mut().rev() {
            // They end their children on SIGTERM.
            let _ = Command::new("kill").arg(daemon.id().to_string()).status();
            let _ = daemon.wait();
        }
    }
}

fn key() -> Vec<u8> {
    let mut key = vec![0; 1024];
    std::io::Read::read_exact(&mut fs::File::open("/dev/urandom").unwrap(), &mut key).unwrap();
    key
}

fn configuration(dir: &Path) -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let name = name.trim().split('.').next().unwrap();
    // sbatch --wait polls with growing intervals, at most half of MinJobAge.
    let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut text = format!(
        "ClusterName=schedlab\nSlurmctldHost={name}(127.0.0.1)\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nReturnToService=2\n\
         SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0\nMinJobAge=4\n\
         JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
         NodeName={name} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n\
         PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n"
    );
    writeln!(text, "SlurmctldPort={}\nSlurmdPort={}", port(), port()).unwrap();
    for (key, file) in [
        ("AuthInfo=socket", "munge/socket"),
        ("StateSaveLocation", "state"),
        ("SlurmdSpoolDir", "spool"),
        ("SlurmctldPidFile", "slurmctld.pid"),
        ("SlurmdPidFile", "slurmd.pid"),
        ("SlurmctldLogFile", "slurmctld.log"),
        ("SlurmdLogFile", "slurmd.log"),
    ] {
        writeln!(text, "{key}={}", dir.join(file).display()).unwrap();
    }
    text
}
