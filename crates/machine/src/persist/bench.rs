//! The fake machine with a udev whose replies the test chooses.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::{Address, By, Done, Form, Note, Proposal, Request, When, address, propose};
use crate::crashpoints::install_script;
use crate::device::{self, Device};
use crate::error::Error;
use crate::root::Root;
use crate::settings::Setting;
use crate::settings::fake_kernel::{Machine, restore};

pub(crate) struct Bench {
    pub(super) machine: Machine,
    pub(super) root: Root,
}

/// Names with mode and, for files, contents.
pub(super) type Tree = BTreeMap<PathBuf, (u32, Option<String>)>;

impl Bench {
    /// `sda` has a world-wide name, and bfq is a module.
    pub(super) fn new() -> Bench {
        let mut bench = Bench::without_tools();
        let base = bench.root.path("");
        let tools = base.join("tools");
        fs::create_dir_all(&tools).expect("own tree");
        let script = format!(
            "#!/bin/sh\nfor last; do :; done\ncase \"$1\" in\n--version) echo 252 ;;\n\
             info) cat '{base}/properties/'\"${{last##*/}}\" 2>/dev/null; exit 0 ;;\n\
             test) cat '{base}/complaints' >&2 2>/dev/null; exit 1 ;;\nesac\n",
            base = base.display()
        );
        install_script(&tools.join("udevadm"), &script);
        bench.root = bench.root.with_tool_dirs(vec![tools]);
        bench.has(
            "sda",
            &[
                ("ID_WWN", "0x5000c500a1b2c3d4"),
                ("ID_SERIAL", "MODEL_ZA1"),
                ("USEC_INITIALIZED", "1"),
            ],
        );
        bench
    }

    /// Omits `udevadm`. The crash matrix creates hundreds of machines.
    pub(super) fn without_tools() -> Bench {
        let machine = Machine::booted();
        let bench = Bench { root: machine.root(), machine };
        bench.write("lib/modules/6.18.0-fake/modules.alias", "alias bfq-iosched bfq\n");
        bench
    }

    pub(super) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.root.path(path);
        fs::create_dir_all(path.parent().expect("files have directories")).expect("own tree");
        fs::write(&path, text).expect("own tree");
        path
    }

    /// Sets a disk's properties in udev's database.
    pub(super) fn has(&self, name: &str, properties: &[(&str, &str)]) {
        let text: String =
            properties.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        self.write(&format!("properties/{name}"), &text);
    }

    pub(super) fn disk(&self) -> Device {
        device::find(&self.root, "sda").expect("the fake disk")
    }

    pub(super) fn address(&self) -> Address {
        if self.root.tool("udevadm").is_none() {
            let conditions = vec![("ENV{ID_WWN}".to_string(), "0x5000c500a1b2c3d4".to_string())];
            return Address {
                key: "wwn-0x5000c500a1b2c3d4".into(),
                conditions,
                by: By::Identity,
                when: When::Added,
            };
        }
        address(&self.root, &self.disk(), By::Identity).expect("it has a world-wide name")
    }

    pub(super) fn try_propose(&self, setting: &Setting) -> Result<Proposal, Error> {
        let (device, address) = (self.disk(), self.address());
        propose(
            &self.root,
            &Request { device: &device, setting, address, note: note() },
            Form::Udev,
        )
    }

    pub(super) fn propose(&self, setting: &Setting) -> Proposal {
        self.try_propose(setting).expect("the fake disk can have it")
    }

    pub(super) fn persist(&self, setting: &Setting) -> Result<Done, Error> {
        super::persist(&self.root, &self.propose(setting), false)
    }

    /// Everything that `persist` and `unpersist` could change, without the directories of locks and
    /// journal.
    pub(super) fn tree(&self) -> Tree {
        let mut all = Tree::new();
        let base = self.root.path("");
        for name in ["etc", "run", "var", "usr"] {
            walk(&base.join(name), &base, &mut all);
        }
        let state = self.root.state("");
        let state = state.strip_prefix(&base).expect("the state is in the tree");
        for name in ["", "lock", "journal"] {
            all.remove(state.join(name).as_path());
        }
        for dir in ["var", "var/lib"] {
            all.remove(Path::new(dir));
        }
        all
    }
}

impl crate::crashpoints::Machine for Bench {
    type State = Tree;

    fn kernel(&self) -> &crate::crashpoints::FakeKernel {
        &self.machine.kernel
    }

    fn state(&self) -> Tree {
        self.tree()
    }

    fn journal_dir(&self) -> PathBuf {
        self.root.state("journal")
    }

    fn boot(&self, boot_id: &str) {
        self.machine.boot(boot_id);
    }

    fn restore(&self) -> Result<bool, String> {
        restore(&self.root)
    }
}

pub(super) fn note() -> Note {
    Note {
        because: Some("better".into()),
        command: "schedlab persist /dev/sda".into(),
        date: "2026-11-22".into(),
        version: "0.0".into(),
    }
}

fn walk(path: &Path, base: &Path, all: &mut Tree) {
    let Ok(meta) = fs::symlink_metadata(path) else { return };
    // The temporary tree's path differs each time.
    let text =
        || fs::read_to_string(path).expect("own text").replace(&base.display().to_string(), "");
    let content = meta.is_file().then(text);
    let name = path.strip_prefix(base).expect("inside").to_path_buf();
    all.insert(name, (meta.permissions().mode(), content));
    if meta.is_dir() {
        for entry in fs::read_dir(path).expect("own directory").flatten() {
            walk(&entry.path(), base, all);
        }
    }
}
