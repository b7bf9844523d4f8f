//! Input names that lead to endless files or pipes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use testbed::require;

use crate::common::{Lab, Ran, binary};

/// Commands that read a file named on the command line or in a plan.
const COMMANDS: &[&str] = &[
    "run IN",
    "run IN --dry-run",
    "shard run IN --rounds 0..1 --out segment",
    "gate --plan IN --against last-good --state state",
    "gate --plan plan.toml --against IN",
    "bisect --plan IN --source git:. --good a --bad b",
    "compare --arena sim --device IN --schedulers noop,deadline --workload randread --rounds 4 --out out",
    "compare --arena sim --device hp97560 --schedulers noop,deadline --workload replay:file=IN --rounds 4 --out out",
    "compare --device loop:64M --schedulers none,mq-deadline --workload fio:job=IN --rounds 4 --out out",
    "analyze IN",
    "analyze IN --from fio",
    "analyze IN --variant a --metric b",
    "report IN",
    "status IN",
    "shard merge IN --out out",
    "fleet push IN --fleet fleet --machine a",
    "fleet contribute IN",
    "trace convert IN",
    "trace profile IN",
    "trace synthesize IN --out new.toml",
    "fit IN --out new.toml",
    "advise IN",
    "kernel build --patch IN",
];

const PLAN: &str = "arena = 'sim'\ndevice = 'hp97560'\n[budget]\nrounds = 4\n[trial]\nduration_ms = 1000\n\
                    [[variant]]\nname = 'noop'\nscheduler = 'noop'\n[[variant]]\nname = 'look'\nscheduler = 'look'\n\
                    [[workload]]\nname = 'reads'\nkind = 'randread'\n";

#[test]
fn an_input_that_never_ends_is_refused_by_its_name() {
    if !require(&["root", "mkfifo", "timeout", "prlimit"]) {
        return;
    }
    let lab = Lab::new();
    let (fifo, link, dir) = (lab.path("fifo"), lab.path("link"), lab.path("directory"));
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("it runs").success());
    symlink(&fifo, &link).expect("made");
    fs::create_dir(&dir).expect("made");
    fs::write(lab.path("plan.toml"), PLAN).expect("written");
    let endless = [
        fifo,
        link,
        PathBuf::from("/dev/zero"),
        PathBuf::from("/proc/kmsg"),
        PathBuf::from("/proc/self/mem"),
    ];
    let mut faults = Vec::new();
    for words in COMMANDS {
        for input in endless.iter().chain(words.starts_with("run").then_some(&dir)) {
            let input = input.display().to_string();
            let mut command = Command::new("prlimit");
            command.args(["--as=4000000000", "timeout", "--kill-after=1", "300"]).arg(binary());
            command.args(words.split(' ').map(|word| word.replace("IN", &input)));
            command
                .env("SCHEDLAB_STATE_DIR", lab.state())
                .env("SCHEDLAB_CACHE_DIR", lab.path("cache"));
            let ran =
                Ran::from(command.current_dir(lab.dir.path()).output().expect("prlimit runs"));
            if !matches!(ran.status, Some(1 | 2)) || !ran.stderr.contains(&input) {
                faults.push(format!("{words}, {input}: {:?} {}", ran.status, ran.stderr));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
