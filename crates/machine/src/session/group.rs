//! A session's control groups: they contain its programs, and give them their share of the device.
//!
//! Every program gets a v2 group if possible: no process leaves it by forking, and the kernel can
//! kill it at once. Only a program with a share gets controllers: `io` in v2, with `memory` to
//! attribute write-back, or a group of v1's `blkio`. The groups are in a directory at the root of
//! the hierarchy, because the kernel allows no controllers next to this process's group.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Fault;
use super::give::{give_v1, give_v2, write};
use super::share::Limits;
use crate::error::Error;
use crate::hierarchies::{Hierarchies, has_word};
use crate::journal::payload::{expect, is_name, name_in};
use crate::root::Root;

/// For a group of killed processes to become empty.
const EMPTY_TIMEOUT: Duration = Duration::from_secs(5);

/// A controller enabled for a session at the root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Enabled {
    file: PathBuf,
    controller: String,
}

impl Enabled {
    /// A hierarchy's root file and a controller.
    pub(super) fn check(&self, root: &Root) -> Result<(), String> {
        let Enabled { file, controller } = self;
        let v2 = Hierarchies::of(root).v2;
        let is_ours = v2.is_some_and(|v2| name_in(file, &v2) == Some("cgroup.subtree_control"));
        expect(is_ours, "file", file, "cgroup.subtree_control of the root of hierarchy v2")?;
        expect(is_name(controller), "controller", controller, "a name")
    }

    /// If others use it by now, the kernel refuses.
    pub(super) fn put_back(&self) {
        let _ = fs::write(&self.file, format!("-{}", self.controller));
    }
}

#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) dirs: Vec<PathBuf>,
    /// The files to which a joining process writes its id.
    pub(super) membership_files: Vec<File>,
    /// The file with its I/O, and the device's number.
    account: Option<(PathBuf, String)>,
}

/// In bytes, counted by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Io {
    pub read_bytes: u64,
    pub written_bytes: u64,
}

/// v2 attributes write-back.
pub(super) fn is_io_in_v2(root: &Root) -> bool {
    Hierarchies::of(root).io().is_some()
}

/// `enable` is called before a controller is enabled at the root.
pub(super) fn make(
    root: &Root,
    key: &str,
    number: u32,
    limits: &Limits,
    device: Option<&str>,
    enable: &mut dyn FnMut(Enabled) -> Result<(), Error>,
) -> Result<Group, Error> {
    let found = Hierarchies::of(root);
    let mut group = Group::default();
    let filled = fill(&mut group, &found, &format!("{key}/{number}"), limits, device, enable);
    match filled {
        Ok(()) => Ok(group),
        Err(error) => {
            let _ = group.remove();
            Err(error)
        }
    }
}

fn fill(
    group: &mut Group,
    found: &Hierarchies,
    name: &str,
    limits: &Limits,
    device: Option<&str>,
    enable: &mut dyn FnMut(Enabled) -> Result<(), Error>,
) -> Result<(), Error> {
    let refuse = |why: String| Error::from(Fault::Share { what: limits.text(), why });
    // Without permission, or in a container, processes are found by their mark.
    let v2 = found.v2.as_ref().and_then(|v2| Some((v2, group.create_group(v2.join(name)).ok()?)));
    if !limits.needs_group()
        && !(limits.own_group && (found.io().is_some() || found.blkio.is_some()))
    {
        return Ok(());
    }
    let device = device
        .ok_or_else(|| refuse("of which device is not known: check the share first".to_string()))?;
    if let Some((v2, dir)) = v2
        && has_word(&v2.join("cgroup.controllers"), "io")
    {
        switch_on(v2, name, limits, enable).map_err(|error| refuse(error.to_string()))?;
        give_v2(&dir, limits, device).map_err(|(what, why)| Fault::Share { what, why })?;
        group.account = Some((dir.join("io.stat"), device.to_string()));
        return Ok(());
    }
    let Some(blkio) = &found.blkio else {
        let why = "neither the io controller of control groups v2 (`cat /sys/fs/cgroup/cgroup.controllers`) nor v1's blkio is \
                   available: this requires a kernel with CONFIG_BLK_CGROUP, root, and a container that may create control groups";
        return Err(refuse(why.to_string()));
    };
    let dir = group.create_group(blkio.join(name)).map_err(|cause| {
        refuse(format!(
            "cannot create a group in {}: {cause} (are you root, and is it writable in this container?)",
            blkio.display()
        ))
    })?;
    give_v1(&dir, limits, device, found.why_no_io())
        .map_err(|(what, why)| Fault::Share { what, why })?;
    group.account =
        Some((dir.join("blkio.throttle.io_service_bytes_recursive"), device.to_string()));
    Ok(())
}

/// Enables `io`, and `memory` if available.
fn switch_on(
    v2: &Path,
    name: &str,
    limits: &Limits,
    enable: &mut dyn FnMut(Enabled) -> Result<(), Error>,
) -> Result<(), Error> {
    let of_session = v2.join(Path::new(name).parent().unwrap_or(Path::new("")));
    let Limits { weight, cost_weight, bfq_weight, .. } = limits;
    let writes = weight.or(*cost_weight).or(*bfq_weight).is_some()
        || limits.max.iter().any(|(bound, _)| bound.starts_with('w'));
    for controller in ["io", "memory"] {
        if controller == "memory"
            && !(writes && has_word(&v2.join("cgroup.controllers"), controller))
        {
            continue;
        }
        let file = v2.join("cgroup.subtree_control");
        if !has_word(&file, controller) {
            enable(Enabled { file: file.clone(), controller: controller.to_string() })?;
            write(&file, &format!("+{controller}"))
                .map_err(Error::io("switch a controller on", &file))?;
        }
        let file = of_session.join("cgroup.subtree_control");
        write(&file, &format!("+{controller}"))
            .map_err(Error::io("switch a controller on", &file))?;
    }
    Ok(())
}

impl Group {
    /// Creates a group and opens its membership file.
    fn create_group(&mut self, dir: PathBuf) -> io::Result<PathBuf> {
        fs::create_dir_all(&dir)?;
        self.dirs.push(dir.clone());
        let door = OpenOptions::new().write(true).open(dir.join("cgroup.procs"));
        let door = door.inspect_err(|_| {
            let _ = fs::remove_dir(&dir);
            self.dirs.pop();
        })?;
        self.membership_files.push(door);
        Ok(dir)
    }

    /// If the kernel counts it.
    pub(super) fn io(&self) -> Option<Io> {
        let (path, device) = self.account.as_ref()?;
        Some(read_io(&fs::read_to_string(path).ok()?, device))
    }

    /// Its processes must be dead.
    pub(super) fn remove(&mut self) -> Result<(), Error> {
        self.membership_files.clear();
        self.dirs.drain(..).try_for_each(|dir| remove_tree(&dir))
    }
}

/// `7:0 rbytes=1 wbytes=2 …` (v2), or `7:0 Read 1` and `7:0 Write 2` (v1). No line means no I/O.
fn read_io(text: &str, device: &str) -> Io {
    let mut io = Io::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if words.next() != Some(device) {
            continue;
        }
        let words: Vec<&str> = words.collect();
        if let [direction, bytes] = words[..] {
            match direction {
                "Read" => io.read_bytes = bytes.parse().unwrap_or(0),
                "Write" => io.written_bytes = bytes.parse().unwrap_or(0),
                _ => {}
            }
        }
        for word in words {
            match word.split_once('=') {
                Some(("rbytes", bytes)) => io.read_bytes = bytes.parse().unwrap_or(0),
                Some(("wbytes", bytes)) => io.written_bytes = bytes.parse().unwrap_or(0),
                _ => {}
            }
        }
    }
    io
}

/// Returns existing directories only.
pub(super) fn of_session(root: &Root, key: &str) -> Vec<PathBuf> {
    let found = Hierarchies::of(root);
    let dirs = [found.v2, found.blkio].into_iter().flatten().map(|hierarchy| hierarchy.join(key));
    dirs.filter(|dir| dir.exists()).collect()
}

/// Processes in a group and the groups below.
pub(super) fn members(root: &Root, dir: &Path) -> Vec<i32> {
    let own = root.read_optional(dir.join("cgroup.procs")).unwrap_or_default();
    let mut all: Vec<i32> = own.lines().filter_map(|line| line.parse().ok()).collect();
    all.extend(descendants(dir).iter().flat_map(|dir| members(root, dir)));
    all
}

/// Kills all processes at once; does nothing before Linux 5.14.
pub(super) fn kill(dir: &Path) {
    let _ = write(&dir.join("cgroup.kill"), "1");
}

/// Removes a group and the groups below. Killed processes may take a moment to disappear.
pub(super) fn remove_tree(dir: &Path) -> Result<(), Error> {
    let since = Instant::now();
    loop {
        descendants(dir).iter().try_for_each(|dir| remove_tree(dir))?;
        match fs::remove_dir(dir) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy
                    && since.elapsed() < EMPTY_TIMEOUT =>
            {
                thread::sleep(Duration::from_millis(1));
            }
            Err(error) => return Err(Error::io("remove the control group", dir)(error)),
        }
    }
}

fn descendants(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_counts_are_read_and_those_of_other_devices_are_not() {
        let v2 = "7:1 rbytes=5 wbytes=6 rios=1 wios=1 dbytes=0 dios=0\n7:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n";
        let v1 =
            "7:1 Read 5\n7:0 Read 4096\n7:0 Write 8192\n7:0 Sync 9\n7:0 Total 12288\nTotal 12288\n";
        for text in [v2, v1] {
            assert_eq!(
                read_io(text, "7:0"),
                Io { read_bytes: 4096, written_bytes: 8192 },
                "{text}"
            );
        }
        assert_eq!(read_io("", "7:0"), Io::default());
    }

    fn machine(mounts: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        fs::create_dir_all(root.proc("self")).expect("fake proc");
        fs::write(root.proc("self/mounts"), mounts).expect("fake proc");
        for (path, text) in files {
            let path = root.path(path);
            fs::create_dir_all(path.parent().expect("in a directory")).expect("fake directory");
            fs::write(path, text).expect("fake file");
        }
        (dir, root)
    }

    const V2: &str = "cgroup2 /cg cgroup2 rw 0 0\n";

    fn limits() -> Limits {
        Limits { weight: Some(50), max: vec![("wbps", 1024)], ..Limits::default() }
    }

    fn asked(root: &Root, limits: &Limits) -> Result<Group, String> {
        make(root, "k", 1, limits, Some("7:0"), &mut |_| Ok(())).map_err(|error| error.to_string())
    }

    #[test]
    fn without_a_controller_a_share_is_an_error_and_a_plain_program_is_none() {
        for mounts in ["", V2] {
            let (_dir, root) = machine(mounts, &[("cg/cgroup.controllers", "cpu pids")]);
            let error = asked(&root, &limits()).expect_err("no controller");
            assert!(
                error.contains("io_weight 50 with io_max wbps=1024")
                    && error.contains("v1's blkio"),
                "{error}"
            );
            assert!(asked(&root, &Limits::default()).expect("none is needed").dirs.is_empty());
        }
    }

    #[test]
    fn the_kernels_files_of_v2_get_the_bounds_and_both_weights() {
        let files = [
            ("cg/cgroup.controllers", "cpu io"),
            ("cg/cgroup.subtree_control", "cpu"),
            ("cg/k/cgroup.subtree_control", ""),
            ("cg/k/1/cgroup.procs", ""),
            ("cg/k/1/io.max", ""),
            ("cg/k/1/io.weight", ""),
            ("cg/k/1/io.bfq.weight", ""),
        ];
        let (_dir, root) = machine(V2, &files);
        let mut enabled = Vec::new();
        let group = make(&root, "k", 1, &limits(), Some("7:0"), &mut |one| {
            enabled.push(one.controller);
            Ok(())
        });
        let group = group.expect("all is there");
        let shows = |file: &str| fs::read_to_string(root.path(file)).expect("a fake file");
        assert_eq!(enabled, ["io"], "and memory is not to be had");
        assert_eq!(
            (shows("cg/k/1/io.max"), shows("cg/k/1/io.weight")),
            ("7:0 wbps=1024".into(), "default 50".into())
        );
        assert_eq!(shows("cg/k/1/io.bfq.weight"), "50");
        assert!(
            shows("cg/cgroup.subtree_control").starts_with("+io")
                && shows("cg/k/cgroup.subtree_control") == "+io"
        );
        assert_eq!(group.dirs, [root.path("cg/k/1")]);
    }

    #[test]
    fn a_weight_that_bfq_does_not_take_is_refused_with_its_range() {
        let files = [("cg/k/1/cgroup.procs", ""), ("cg/k/1/blkio.bfq.weight", "")];
        let (_dir, root) = machine("cgroup /cg cgroup rw,relatime,blkio 0 0\n", &files);
        let error = asked(&root, &Limits { weight: Some(2000), ..Limits::default() })
            .expect_err("too high");
        assert!(error.contains("io_weight 2000") && error.contains("1 to 1000"), "{error}");
    }

    #[test]
    fn a_flow_gets_latency_class_and_the_weight_of_the_one_who_reads_it() {
        let names = ["io.latency", "io.prio.class", "io.weight", "io.bfq.weight", "cgroup.procs"];
        let of_group: Vec<String> = names.iter().map(|name| format!("cg/k/1/{name}")).collect();
        let mut files =
            vec![("cg/cgroup.controllers", "cpu io"), ("cg/cgroup.subtree_control", "io")];
        files.push(("cg/k/cgroup.subtree_control", ""));
        files.extend(of_group.iter().map(|name| (name.as_str(), "")));
        let (_dir, root) = machine(V2, &files);
        let limits = Limits {
            latency_us: Some(10_000),
            prio_class: Some("restrict-to-be"),
            cost_weight: Some(400),
            ..Limits::default()
        };
        asked(&root, &limits).expect("all is there");
        let shows =
            |file: &str| fs::read_to_string(root.path("cg/k/1").join(file)).expect("a fake file");
        assert_eq!(
            (shows("io.latency"), shows("io.prio.class")),
            ("7:0 target=10000".into(), "restrict-to-be".into())
        );
        assert_eq!(
            (shows("io.weight"), shows("io.bfq.weight")),
            ("default 400".into(), String::new())
        );
    }

    #[test]
    fn v1_has_bfqs_weight_and_says_what_it_takes_to_have_the_others() {
        let files = [("cg/k/1/cgroup.procs", ""), ("cg/k/1/blkio.bfq.weight", "")];
        let (_dir, root) = machine("cgroup /cg cgroup rw,relatime,blkio 0 0\n", &files);
        asked(&root, &Limits { bfq_weight: Some(400), ..Limits::default() }).expect("v1 has it");
        let shown = fs::read_to_string(root.path("cg/k/1/blkio.bfq.weight")).expect("a fake file");
        assert_eq!(shown, "400");
        for limits in [
            Limits { cost_weight: Some(400), ..Limits::default() },
            Limits { latency_us: Some(1), ..Limits::default() },
        ] {
            let error = asked(&root, &limits).expect_err("not in v1");
            assert!(error.contains("boot with cgroup_no_v1=io"), "{error}");
        }
        let error = asked(&root, &Limits { prio_class: Some("idle"), ..Limits::default() })
            .expect_err("no file");
        assert!(error.contains("CONFIG_BLK_CGROUP_IOPRIO"), "{error}");
        let group =
            asked(&root, &Limits { own_group: true, ..Limits::default() }).expect("a group");
        assert_eq!(
            group.dirs,
            [root.path("cg/k/1")],
            "a flow of which nothing is asked is beside the others"
        );
    }
}
