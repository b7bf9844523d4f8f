//! A machine for tests: a tree of files that answers writes as a kernel does, and that dies or loses power at a chosen step.
//!
//! The behaviour is what Linux 6.18 showed on a loop device: a switch makes the scheduler's directory anew with defaults and chooses
//! `nr_requests` and `wbt_lat_usec`; a limit of the queue moves read-ahead; `nr_requests` moves mq-deadline's `async_depth`; throttling
//! written by hand is left alone by bfq. The tests on a real loop device hold the same laws against the real thing.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::device::{self, Device};
use crate::root::{Files, RealFiles, Root};

/// Tunables that the fake schedulers have, with their defaults.
const DEFAULTS: [(&str, &[(&str, &str)]); 4] = [
    ("adios", &[("depth", "1")]),
    ("mq-deadline", &[("async_depth", "128"), ("fifo_batch", "16"), ("read_expire", "500")]),
    ("bfq", &[("low_latency", "1"), ("slice_idle", "8"), ("slice_idle_us", "8000")]),
    ("kyber", &[("read_lat_nsec", "2000000")]),
];

/// A fake machine with one disk, `sda`, in a temporary tree.
pub(crate) struct Machine {
    dir: tempfile::TempDir,
    pub(crate) kernel: Arc<FakeKernel>,
}

impl Machine {
    /// A freshly booted machine.
    pub(crate) fn booted() -> Machine {
        // In memory where that is possible: some tests make hundreds of machines.
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary directory");
        let kernel = Arc::new(FakeKernel::default());
        let machine = Machine { dir, kernel };
        machine.boot("boot-1");
        machine
    }

    /// The same, with an administrator's tuning, so that the kernel's defaults are not what has to be restored.
    pub(crate) fn tuned() -> Machine {
        let machine = Machine::booted();
        for (attribute, value) in [
            ("nr_requests", "64"),
            ("iosched/async_depth", "48"),
            ("iosched/read_expire", "250"),
            ("read_ahead_kb", "1024"),
        ] {
            machine.kernel.write_attribute(&machine.queue(attribute), value).expect("the fake kernel takes it");
        }
        machine
    }

    /// Sets everything that does not survive a restart.
    pub(crate) fn boot(&self, boot_id: &str) {
        let root = self.root();
        let _ = fs::remove_dir_all(root.sys(""));
        let _ = fs::remove_file(self.dir.path().join("throttling-by-hand"));
        let put = |path: PathBuf, text: &str| {
            fs::create_dir_all(path.parent().expect("a file has a directory")).expect("fake directory");
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
    }

    /// The machine as the code under test sees it.
    pub(crate) fn root(&self) -> Root {
        Root::at(self.dir.path()).with_tool_dirs(vec![]).with_files(self.kernel.clone())
    }

    /// The disk.
    pub(crate) fn disk(&self) -> Device {
        device::find(&self.root(), "sda").expect("the fake disk")
    }

    /// A path in the disk's queue.
    pub(crate) fn queue(&self, attribute: &str) -> PathBuf {
        self.dir.path().join("sys/block/sda/queue").join(attribute)
    }

    /// The text of an attribute.
    pub(crate) fn shows(&self, attribute: &str) -> String {
        fs::read_to_string(self.queue(attribute)).unwrap_or_default()
    }

    /// Every file of the queue with its text.
    pub(crate) fn whole_queue(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for dir in ["", "iosched"] {
            let of = |(name, (text, _)): (String, (String, bool))| (format!("{dir}/{name}"), text);
            all.extend(self.root().attributes(self.queue(dir)).into_iter().map(of));
        }
        all
    }

    /// Every file in the journal's directory.
    pub(crate) fn journal(&self) -> Vec<String> {
        self.root().names(self.root().state("journal"))
    }
}

/// The operations of the fake kernel.
#[derive(Debug, Default)]
pub(crate) struct FakeKernel {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Steps until death; none: immortal.
    left: Option<usize>,
    done: usize,
    /// How to take back what is not durable yet, oldest first.
    volatile: Vec<Volatile>,
}

#[derive(Debug)]
enum Volatile {
    Content(PathBuf),
    Rename { from: PathBuf, to: PathBuf, replaced: Option<Vec<u8>> },
    Removal { path: PathBuf, content: Vec<u8> },
    MadeDir(PathBuf),
    RemovedDir(PathBuf),
}

impl FakeKernel {
    /// Lets `steps` operations happen and refuses all later ones: the process is dead.
    pub(crate) fn die_after(&self, steps: usize) {
        let mut state = self.state.lock().expect("no test panics while it holds this");
        state.left = Some(steps);
    }

    /// Back to immortality; gives the number of operations so far.
    pub(crate) fn live(&self) -> usize {
        let mut state = self.state.lock().expect("no test panics while it holds this");
        state.left = None;
        state.done
    }

    /// Time goes by, and everything is durable.
    pub(crate) fn settle(&self) {
        self.state.lock().expect("no test panics while it holds this").volatile.clear();
    }

    /// The power goes: what is not durable is lost, either every name and content (`names_survive` false) or the contents only.
    pub(crate) fn lose_power(&self, names_survive: bool) {
        let mut state = self.state.lock().expect("no test panics while it holds this");
        for volatile in std::mem::take(&mut state.volatile).into_iter().rev() {
            match volatile {
                Volatile::Content(path) => drop(fs::write(path, "").ok()),
                Volatile::Rename { from, to, replaced } if !names_survive => {
                    let _ = fs::rename(&to, from);
                    let _ = replaced.map(|content| fs::write(to, content));
                }
                Volatile::Removal { path, content } if !names_survive => drop(fs::write(path, content)),
                Volatile::MadeDir(path) if !names_survive => drop(fs::remove_dir_all(path)),
                Volatile::RemovedDir(path) if !names_survive => drop(fs::create_dir(path)),
                Volatile::Rename { .. } | Volatile::Removal { .. } | Volatile::MadeDir(_) | Volatile::RemovedDir(_) => {
                }
            }
        }
    }

    fn step(&self) -> io::Result<std::sync::MutexGuard<'_, State>> {
        let mut state = self.state.lock().expect("no test panics while it holds this");
        match &mut state.left {
            Some(0) => return Err(io::Error::other("the process is dead")),
            Some(left) => *left -= 1,
            None => {}
        }
        state.done += 1;
        Ok(state)
    }
}

impl Files for FakeKernel {
    fn write_attribute(&self, path: &Path, value: &str) -> io::Result<()> {
        let _state = self.step()?;
        let name = path.file_name().and_then(|name| name.to_str()).expect("attributes have plain names");
        let Some(queue) = path.ancestors().find(|dir| dir.ends_with("queue")) else {
            return crate::cpu::fake_machine::write(path, value);
        };
        let by_hand = queue.ancestors().nth(4).expect("a tree around the queue").join("throttling-by-hand");
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
            "wbt_lat_usec" => fs::write(by_hand, "")?,
            "slice_idle" => fs::write(queue.join("iosched/slice_idle_us"), format!("{value}000"))?,
            _ => {}
        }
        RealFiles.write_attribute(path, value)
    }

    fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        // Two steps, so that a crash can leave half a file.
        self.step()?.volatile.push(Volatile::Content(path.to_path_buf()));
        RealFiles.create(path, &bytes[..bytes.len() / 2])?;
        let _state = self.step()?;
        RealFiles.create(path, bytes)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.step()?;
        state.volatile.retain(|volatile| !matches!(volatile, Volatile::Content(of) if of == path));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.step()?;
        for volatile in &mut state.volatile {
            if matches!(volatile, Volatile::Content(of) if of == from) {
                *volatile = Volatile::Content(to.to_path_buf());
            }
        }
        let replaced = fs::read(to).ok();
        state.volatile.push(Volatile::Rename { from: from.into(), to: to.into(), replaced });
        RealFiles.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.step()?;
        state.volatile.push(Volatile::Removal { path: path.into(), content: fs::read(path)? });
        RealFiles.remove(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut state = self.step()?;
        state.volatile.retain(|volatile| match volatile {
            Volatile::Content(_) => true,
            Volatile::Rename { to: path, .. }
            | Volatile::Removal { path, .. }
            | Volatile::MadeDir(path)
            | Volatile::RemovedDir(path) => path.parent() != Some(dir),
        });
        Ok(())
    }

    fn set_mode(&self, path: &Path, mode: u32) -> io::Result<()> {
        let _state = self.step()?;
        RealFiles.set_mode(path, mode)
    }

    fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.step()?.volatile.push(Volatile::MadeDir(path.into()));
        RealFiles.make_dir(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.step()?.volatile.push(Volatile::RemovedDir(path.into()));
        RealFiles.remove_dir(path)
    }
}

fn switch(queue: &Path, to: &str, throttling_by_hand: bool) -> io::Result<()> {
    let text = fs::read_to_string(queue.join("scheduler"))?;
    let offered: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches(['[', ']'])).collect();
    let now = text.split_whitespace().find(|word| word.starts_with('[')).unwrap_or_default().trim_matches(['[', ']']);
    if !offered.contains(&to) {
        return Err(rustix::io::Errno::INVAL.into());
    }
    if now == to {
        return Ok(());
    }
    let marked: Vec<String> =
        offered.iter().map(|name| if *name == to { format!("[{name}]") } else { name.to_string() }).collect();
    fs::write(queue.join("scheduler"), marked.join(" "))?;
    fs::write(queue.join("nr_requests"), if to == "none" { "32" } else { "128" })?;
    if !throttling_by_hand && (to == "bfq" || now == "bfq") {
        fs::write(queue.join("wbt_lat_usec"), if to == "bfq" { "0" } else { "75000" })?;
    }
    make_tunables(queue, to)
}

fn make_tunables(queue: &Path, scheduler: &str) -> io::Result<()> {
    let dir = queue.join("iosched");
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    let Some((_, tunables)) = DEFAULTS.iter().find(|(name, _)| *name == scheduler) else { return Ok(()) };
    fs::create_dir(&dir)?;
    tunables.iter().try_for_each(|(name, value)| fs::write(dir.join(name), value))
}
