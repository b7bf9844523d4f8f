//! A fake machine: files that respond to writes as a kernel does, until it dies or loses power at a
//! chosen step.
//!
//! It behaves like Linux 6.18 on a loop device: a switch recreates the scheduler's directory with
//! defaults and sets `nr_requests` and `wbt_lat_usec`; a queue limit changes read-ahead;
//! `nr_requests` changes mq-deadline's `async_depth`; bfq leaves manually set throttling alone.
//!
//! [`Machine::of_linux_7`] behaves like Linux 7.3: `async_depth` belongs to the queue, bfq's limits
//! follow the one before it, a busy adapter refuses a switch, and a failed switch ends at `none`.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::crashpoints::FakeKernel;
use crate::files::{Dir, Files, RealFiles};

use crate::device::{self, Device};
use crate::root::Root;
use crate::{Outcome, restore_all};

/// With defaults.
const DEFAULTS: [(&str, &[(&str, &str)]); 4] = [
    ("adios", &[("depth", "1")]),
    ("mq-deadline", &[("async_depth", "128"), ("fifo_batch", "16"), ("read_expire", "500")]),
    ("bfq", &[("low_latency", "1"), ("slice_idle", "8"), ("slice_idle_us", "8000")]),
    ("kyber", &[("read_lat_nsec", "2000000")]),
];

const DEPTH: &str = "async_depth";
/// Files next to the fake tree, with the state that a kernel does not show.
const BUSY: &str = "busy";
const BROKEN: &str = "broken";
const LIMIT: &str = "bfq-limit";

/// One disk, `sda`, in a temporary tree.
pub(crate) struct Machine {
    dir: tempfile::TempDir,
    pub(crate) kernel: Arc<FakeKernel>,
}

impl Machine {
    pub(crate) fn booted() -> Machine {
        // In memory if possible: some tests create hundreds.
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .expect("a temporary directory");
        let kernel = Arc::new(FakeKernel::new(write_attribute));
        let machine = Machine { dir, kernel };
        machine.boot("boot-1");
        machine
    }

    /// Differs from the kernel's defaults.
    pub(crate) fn tuned() -> Machine {
        let machine = Machine::booted();
        for (attribute, value) in [
            ("nr_requests", "64"),
            ("iosched/async_depth", "48"),
            ("iosched/read_expire", "250"),
            ("read_ahead_kb", "1024"),
            ("../device/ncq_prio_enable", "1"),
        ] {
            machine
                .kernel
                .write_attribute(&machine.queue(attribute), value)
                .expect("the fake kernel takes it");
        }
        let model = machine.control("io.cost.model");
        machine
            .kernel
            .write_attribute(&model, "8:0 rbps=1000 rseqiops=7")
            .expect("the fake kernel takes it");
        machine
    }

    /// With `async_depth` in the queue.
    pub(crate) fn of_linux_7() -> Machine {
        let machine = Machine::booted();
        fs::write(machine.queue(DEPTH), "128").expect("a fake attribute");
        fs::remove_file(machine.queue("iosched/async_depth")).expect("a tunable until 7.0");
        machine
    }

    /// The next `nr` switches are refused because the adapter is busy.
    pub(crate) fn keep_busy(&self, nr: u32) {
        fs::write(self.dir.path().join(BUSY), nr.to_string()).expect("fake file");
    }

    pub(crate) fn nr_busy(&self) -> u32 {
        number_in(&self.dir.path().join(BUSY))
    }

    /// Switches to this scheduler fail.
    pub(crate) fn fail_switch_to(&self, scheduler: &str) {
        fs::write(self.dir.path().join(BROKEN), scheduler).expect("fake file");
    }

    /// What bfq limits synchronous writes to, which no attribute shows.
    pub(crate) fn bfq_limit(&self) -> u32 {
        number_in(&self.dir.path().join(LIMIT))
    }

    /// Resets everything that a reboot resets.
    pub(crate) fn boot(&self, boot_id: &str) {
        let root = self.root();
        // This process, which owns the locks here.
        fs::create_dir_all(root.proc(std::process::id().to_string())).expect("fake directory");
        let _ = fs::remove_dir_all(root.sys(""));
        let _ = fs::remove_file(self.dir.path().join("throttling-by-hand"));
        let put = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().expect("a file has a directory"))
                .expect("fake directory");
            fs::write(path, text).expect("fake file");
        };
        put(root.proc("sys/kernel/random/boot_id"), boot_id);
        put(root.proc("sys/kernel/osrelease"), "6.18.0-fake");
        put(root.dev("sda"), "");
        let disk = root.sys("block/sda");
        for (name, text) in [
            ("dev", "8:0"),
            ("size", "0"),
            ("device/wwid", "naa.5000c500a1b2c3d4"),
            ("mq/0/nr_tags", "32"),
            ("ro", "0"),
        ] {
            put(disk.join(name), text);
        }
        for (name, text) in [
            ("scheduler", "[mq-deadline] none kyber bfq"),
            ("nr_requests", "128"),
            ("wbt_lat_usec", "75000"),
            ("read_ahead_kb", "2560"),
            ("max_sectors_kb", "1280"),
            ("nomerges", "0"),
            ("write_cache", "write back"),
            ("logical_block_size", "512"),
        ] {
            put(self.queue(name), text);
        }
        let read_only = fs::Permissions::from_mode(0o444);
        fs::set_permissions(self.queue("logical_block_size"), read_only).expect("fake permissions");
        make_tunables(&self.queue(""), "mq-deadline").expect("fake tunables");
        put(root.proc("self/mounts"), "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n");
        for (name, text) in [
            ("cgroup.controllers", "cpuset cpu io memory"),
            ("io.cost.qos", ""),
            ("io.cost.model", ""),
        ] {
            put(root.sys("fs/cgroup").join(name), text);
        }
        for name in ["cdl", "ncq_prio"] {
            put(disk.join(format!("device/{name}_supported")), "1");
            put(disk.join(format!("device/{name}_enable")), "0");
        }
    }

    pub(crate) fn control(&self, name: &str) -> PathBuf {
        self.dir.path().join("sys/fs/cgroup").join(name)
    }

    /// Omits a default line of the cost model.
    fn beside_the_queue(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (name, unset) in
            [("io.cost.qos", "8:0 enable=0 ctrl=auto"), ("io.cost.model", "8:0 ctrl=auto")]
        {
            let text = fs::read_to_string(self.control(name)).unwrap_or_default();
            let own =
                text.lines().find(|line| line.starts_with("8:0 ") && !line.starts_with(unset));
            all.push((name.to_string(), own.unwrap_or_default().to_string()));
        }
        for name in ["../device/cdl_enable", "../device/ncq_prio_enable"] {
            all.push((name.to_string(), self.shows(name)));
        }
        all
    }

    pub(crate) fn root(&self) -> Root {
        Root::at(self.dir.path()).with_tool_dirs(vec![]).with_files(self.kernel.clone())
    }

    pub(crate) fn disk(&self) -> Device {
        device::find(&self.root(), "sda").expect("the fake disk")
    }

    pub(crate) fn queue(&self, attribute: &str) -> PathBuf {
        self.dir.path().join("sys/block/sda/queue").join(attribute)
    }

    pub(crate) fn shows(&self, attribute: &str) -> String {
        fs::read_to_string(self.queue(attribute)).unwrap_or_default()
    }

    pub(crate) fn whole_queue(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for dir in ["", "iosched"] {
            let of = |(name, (text, _)): (String, (String, bool))| (format!("{dir}/{name}"), text);
            all.extend(self.root().attributes(self.queue(dir)).into_iter().map(of));
        }
        all.extend(self.beside_the_queue());
        all
    }

    pub(crate) fn journal(&self) -> Vec<String> {
        self.root().names(self.root().state("journal"))
    }
}

impl crate::crashpoints::Machine for Machine {
    type State = Vec<(String, String)>;

    fn kernel(&self) -> &FakeKernel {
        &self.kernel
    }

    fn state(&self) -> Self::State {
        self.whole_queue()
    }

    fn journal_dir(&self) -> PathBuf {
        self.root().state("journal")
    }

    fn boot(&self, boot_id: &str) {
        Machine::boot(self, boot_id);
    }

    fn restore(&self) -> Result<bool, String> {
        restore(&self.root())
    }
}

/// Returns whether a lock is still taken, or the failure.
pub(crate) fn restore(root: &Root) -> Result<bool, String> {
    let outcomes = restore_all(root, &[]).map_err(|error| error.to_string())?;
    match outcomes.iter().find(|outcome| matches!(outcome, Outcome::Failed { .. })) {
        Some(failed) => Err(failed.to_string()),
        None => Ok(outcomes.iter().any(|outcome| matches!(outcome, Outcome::Busy { .. }))),
    }
}

fn number_in(path: &Path) -> u32 {
    fs::read_to_string(path).ok().and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn tree_around(queue: &Path) -> &Path {
    queue.ancestors().nth(4).expect("a tree around the queue")
}

fn write_attribute(path: &Path, value: &str) -> io::Result<()> {
    let name =
        path.file_name().and_then(|name| name.to_str()).expect("attributes have plain names");
    if name.starts_with("io.cost.") {
        return write_cost(path, name, value);
    }
    if let Some(other) = [("cdl_enable", "ncq_prio_enable"), ("ncq_prio_enable", "cdl_enable")]
        .iter()
        .find_map(|(of, other)| (*of == name).then_some(other))
    {
        let both = value == "1" && fs::read_to_string(path.with_file_name(other))? == "1";
        return if both {
            Err(rustix::io::Errno::INVAL.into())
        } else {
            RealFiles.write_attribute(path, value)
        };
    }
    let queue =
        path.ancestors().find(|dir| dir.ends_with("queue")).expect("an attribute of a queue");
    let by_hand = tree_around(queue).join("throttling-by-hand");
    match name {
        "scheduler" => return switch(queue, value, by_hand.exists()),
        "nomerges" if value.parse::<u8>().is_err() => return Err(rustix::io::Errno::INVAL.into()),
        "max_sectors_kb" => {
            let kb: u64 = value.parse().map_err(|_| rustix::io::Errno::INVAL)?;
            fs::write(queue.join("read_ahead_kb"), (kb * 2).to_string())?;
        }
        "nr_requests" if value.parse::<u32>().is_ok_and(|window| window < 4) => {
            return RealFiles.write_attribute(path, "4");
        }
        "nr_requests" if queue.join("iosched/async_depth").exists() => {
            fs::write(queue.join("iosched/async_depth"), value)?;
        }
        DEPTH if path.parent() == Some(queue) => {
            let text = fs::read_to_string(queue.join("scheduler"))?;
            if text.contains("[none]") {
                return Err(rustix::io::Errno::INVAL.into());
            }
            if text.contains("[bfq]") {
                fs::write(tree_around(queue).join(LIMIT), value)?;
            }
        }
        "wbt_lat_usec" => fs::write(by_hand, "")?,
        "slice_idle" => fs::write(queue.join("iosched/slice_idle_us"), format!("{value}000"))?,
        _ => {}
    }
    RealFiles.write_attribute(path, value)
}

/// Writes the only disk's line. Unwritten keys stay, and `ctrl=auto` restores the kernel's numbers.
/// An active cost model disables throttling, as since Linux 6.6.
fn write_cost(path: &Path, name: &str, value: &str) -> io::Result<()> {
    let refused = || io::Error::from(rustix::io::Errno::INVAL);
    let presets: &[(&str, &str)] = match name {
        "io.cost.qos" => &[("enable", "0"), ("ctrl", "auto"), ("rpct", "0.00"), ("rlat", "25000")],
        _ => &[("ctrl", "auto"), ("model", "linear"), ("rbps", "488636629"), ("rseqiops", "8932")],
    };
    let words = value.strip_prefix("8:0 ").ok_or(rustix::io::Errno::NODEV)?;
    let text = fs::read_to_string(path)?;
    let shown = |key: &str| {
        text.split_whitespace().filter_map(|word| word.split_once('=')).find(|(of, _)| *of == key)
    };
    let mut now: Vec<(&str, String)> = presets
        .iter()
        .map(|(key, preset)| (*key, shown(key).map_or(*preset, |(_, value)| value).to_string()))
        .collect();
    let mut is_user = now.iter().any(|(_, value)| value == "user");
    for word in words.split_whitespace() {
        let (key, value) = word.split_once('=').ok_or_else(refused)?;
        is_user = match key {
            "ctrl" => value == "user",
            "enable" | "model" => is_user,
            _ => true,
        };
        now.iter_mut().find(|(of, _)| *of == key).ok_or_else(refused)?.1 = value.to_string();
    }
    for ((key, value), (_, preset)) in now.iter_mut().zip(presets) {
        match *key {
            "ctrl" => *value = if is_user { "user" } else { "auto" }.to_string(),
            "enable" => {}
            _ if !is_user => *value = preset.to_string(),
            _ => {}
        }
    }
    let line: Vec<String> = now.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if name == "io.cost.qos" {
        let root = path.ancestors().nth(4).expect("a tree around the control groups");
        let queue = root.join("sys/block/sda/queue");
        let is_bfq = fs::read_to_string(queue.join("scheduler"))?.contains("[bfq]");
        if !root.join("throttling-by-hand").exists() && !is_bfq {
            fs::write(
                queue.join("wbt_lat_usec"),
                if line[0] == "enable=1" { "0" } else { "75000" },
            )?;
        }
    }
    fs::write(path, format!("8:0 {}\n", line.join(" ")))
}

fn switch(queue: &Path, to: &str, throttling_by_hand: bool) -> io::Result<()> {
    let tree = tree_around(queue);
    if let nr_busy @ 1.. = number_in(&tree.join(BUSY)) {
        fs::write(tree.join(BUSY), (nr_busy - 1).to_string())?;
        return Err(rustix::io::Errno::BUSY.into());
    }
    if fs::read_to_string(tree.join(BROKEN)).is_ok_and(|broken| broken == to) {
        switch(queue, "none", throttling_by_hand)?;
        return Err(rustix::io::Errno::NOMEM.into());
    }
    let text = fs::read_to_string(queue.join("scheduler"))?;
    let offered: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
    let now = text
        .split_whitespace()
        .find(|word| word.starts_with('['))
        .unwrap_or_default()
        .trim_matches(['[', ']']);
    if !offered.contains(&to) {
        return Err(rustix::io::Errno::INVAL.into());
    }
    if now == to {
        return Ok(());
    }
    let marked: Vec<String> = offered
        .iter()
        .map(|name| if *name == to { format!("[{name}]") } else { name.to_string() })
        .collect();
    fs::write(queue.join("scheduler"), marked.join(" "))?;
    fs::write(queue.join("nr_requests"), if to == "none" { "32" } else { "128" })?;
    if !throttling_by_hand && (to == "bfq" || now == "bfq") {
        fs::write(queue.join("wbt_lat_usec"), if to == "bfq" { "0" } else { "75000" })?;
    }
    if let Ok(before) = fs::read_to_string(queue.join(DEPTH)) {
        if to == "bfq" {
            fs::write(tree.join(LIMIT), before)?;
        }
        let depth = match to {
            "none" => "32",
            "mq-deadline" => "128",
            _ => "96",
        };
        fs::write(queue.join(DEPTH), depth)?;
    }
    make_tunables(queue, to)
}

fn make_tunables(queue: &Path, scheduler: &str) -> io::Result<()> {
    let dir = queue.join("iosched");
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    let Some((_, tunables)) = DEFAULTS.iter().find(|(name, _)| *name == scheduler) else {
        return Ok(());
    };
    fs::create_dir(&dir)?;
    let moved = |name: &str| name == DEPTH && queue.join(DEPTH).exists();
    let mut tunables = tunables.iter().filter(|(name, _)| !moved(name));
    tunables.try_for_each(|(name, value)| fs::write(dir.join(name), value))
}

/// Refuses a value, or accepts it without effect.
#[derive(Debug)]
pub(crate) struct Stubborn {
    pub(crate) kernel: Arc<FakeKernel>,
    pub(crate) about: &'static str,
    /// `None`: every value.
    pub(crate) value: Option<&'static str>,
    pub(crate) refuses: bool,
}

impl Stubborn {
    /// Writes to `attribute` succeed.
    pub(crate) fn without_effect(machine: &Machine, attribute: &'static str) -> Stubborn {
        Stubborn { kernel: machine.kernel.clone(), about: attribute, value: None, refuses: false }
    }
}

impl Files for Stubborn {
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()> {
        match path.ends_with(self.about) && self.value.is_none_or(|of| of == value) {
            true if self.refuses => Err(rustix::io::Errno::INVAL.into()),
            true => Ok(()),
            false => self.kernel.write_attribute(path, value),
        }
    }
    fn create(&self, dir: &Dir, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.kernel.create(dir, name, bytes)
    }
    fn sync_file(&self, dir: &Dir, name: &str) -> io::Result<()> {
        self.kernel.sync_file(dir, name)
    }
    fn rename(&self, dir: &Dir, from: &str, to: &str) -> io::Result<()> {
        self.kernel.rename(dir, from, to)
    }
    fn remove(&self, dir: &Dir, name: &str) -> io::Result<()> {
        self.kernel.remove(dir, name)
    }
    fn sync_dir(&self, dir: &Dir) -> io::Result<()> {
        self.kernel.sync_dir(dir)
    }
}
