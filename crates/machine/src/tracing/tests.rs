//! Tracing instances on a fake machine.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::crashpoints::{Case, Effects, FakeKernel};
use crate::files::{Files, RealFiles};

use super::*;
use crate::settings::fake_kernel::restore;

/// A machine with another program's instance.
pub(crate) struct Machine {
    dir: tempfile::TempDir,
    kernel: Arc<FakeKernel>,
}

impl Machine {
    fn booted() -> Machine {
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .expect("a temporary directory");
        let kernel =
            Arc::new(FakeKernel::new(|path, value| RealFiles.write_attribute(path, value)));
        let machine = Machine { dir, kernel };
        crate::crashpoints::Machine::boot(&machine, "boot-1");
        machine
    }

    fn root(&self) -> Root {
        Root::at(self.dir.path()).with_files(self.kernel.clone())
    }

    fn instances(&self) -> PathBuf {
        self.root().sys("kernel/tracing/instances")
    }

    /// Adds an entry of this boot.
    fn plant(&self, key: &str, instance: &str) {
        let entry = Entry::new(&self.root(), KIND.name, &Made { instance: instance.to_string() })
            .expect("a boot");
        journal::write(&self.root(), key, &entry).expect("writable");
    }
}

impl crate::crashpoints::Machine for Machine {
    type State = Vec<String>;

    fn kernel(&self) -> &FakeKernel {
        &self.kernel
    }

    fn state(&self) -> Vec<String> {
        self.root().names(self.instances())
    }

    fn journal_dir(&self) -> PathBuf {
        self.root().state("journal")
    }

    fn boot(&self, boot_id: &str) {
        let root = self.root();
        let _ = fs::remove_dir_all(root.sys(""));
        fs::create_dir_all(self.instances().join("another")).expect("fake directory");
        // This process, which owns the locks here.
        fs::create_dir_all(root.proc(std::process::id().to_string())).expect("fake directory");
        fs::create_dir_all(root.proc("sys/kernel/random")).expect("fake directory");
        fs::write(root.proc("sys/kernel/random/boot_id"), boot_id).expect("fake file");
    }

    fn restore(&self) -> Result<bool, String> {
        restore(&self.root())
    }
}

pub(crate) const TRACE: Case<Machine, String> = Case {
    name: "a trace",
    effects: Effects::Kernel,
    machine: Machine::booted,
    command: trace,
    least_steps: 8,
};

fn trace(machine: &Machine) -> Result<(), String> {
    let instance = TracingInstance::create(&machine.root()).map_err(|error| error.to_string())?;
    assert!(instance.path().is_dir());
    let entry = journal::path(&machine.root(), &instance.name);
    drop(instance);
    if entry.exists() { Err("killed while it ended".to_string()) } else { Ok(()) }
}

#[test]
fn an_entry_of_another_boot_is_dropped_without_tracefs() {
    let machine = Machine::booted();
    let root = machine.root();
    machine.plant("schedlab-record-7-22-0", "schedlab-record-7-22-0");
    fs::remove_dir_all(root.sys("kernel")).expect("fake tracefs");
    assert!(restore(&root).expect_err("it may be there").contains("not mounted"));
    fs::write(root.proc("sys/kernel/random/boot_id"), "boot-2").expect("fake file");
    assert_eq!(restore(&root), Ok(false));
    assert_eq!(root.names(root.state("journal")), [""; 0]);
}

#[test]
fn a_forged_entry_removes_no_instance_that_is_not_schedlabs() {
    let machine = Machine::booted();
    let names = [
        "another",
        "schedlab-record-x",
        "schedlab-record-1-2",
        "schedlab-record-1-2-3-4",
        "schedlab-record--2-3",
    ];
    for name in
        names.iter().copied().chain(["../instances/another", "..", "schedlab-record-1-2-+3"])
    {
        fs::create_dir_all(machine.instances().join(name)).expect("fake directory");
        let key = journal::key(name);
        machine.plant(&key, name);
        let error = restore(&machine.root()).expect_err("no name of schedlab's");
        assert!(error.contains("not schedlab's"), "{name}: {error}");
        assert!(machine.instances().join(name).exists(), "{name}");
        journal::remove(&machine.root(), &key).expect("it stayed");
    }
    // Schedlab's, under the name of another entry.
    fs::create_dir(machine.instances().join("schedlab-record-1-2-3")).expect("fake directory");
    machine.plant("schedlab-record-1-2-4", "schedlab-record-1-2-3");
    assert!(restore(&machine.root()).expect_err("another entry's").contains("not schedlab's"));
    assert!(machine.instances().join("schedlab-record-1-2-3").exists());
}

#[test]
fn an_instance_whose_process_lives_is_not_removed() {
    let machine = Machine::booted();
    let root = machine.root();
    let stat = |start: u32| format!("7 (a) R (b)) {} {start}", ["0"; 19].join(" "));
    fs::create_dir_all(root.proc("7")).expect("fake process");
    fs::write(root.proc("7/stat"), stat(22)).expect("fake process");
    let name = "schedlab-record-7-22-0";
    fs::create_dir(machine.instances().join(name)).expect("fake directory");
    machine.plant(name, name);
    let error = restore(&root).expect_err("its process lives");
    assert!(
        error.contains(&format!(
            "the tracing instance {name}: in use by another schedlab (process 7)"
        )),
        "{error}"
    );
    assert!(machine.instances().join(name).exists());
    // The id was reused by another process.
    fs::write(root.proc("7/stat"), stat(23)).expect("fake process");
    assert_eq!(restore(&root), Ok(false));
    assert!(!machine.instances().join(name).exists());
}

#[test]
fn the_owner_of_a_lock_keeps_its_instance() {
    let machine = Machine::booted();
    let instance = TracingInstance::create(&machine.root()).expect("a fake tracefs");
    assert_eq!(restore(&machine.root()), Ok(true), "it is busy");
    assert!(instance.path().is_dir());
    drop(instance);
    assert_eq!(restore(&machine.root()), Ok(false));
    assert_eq!(crate::crashpoints::Machine::state(&machine), ["another"]);
    assert_eq!(
        machine.root().names(machine.root().state("lock")),
        [""; 0],
        "its lock file goes with it"
    );
}

#[test]
fn a_name_with_brackets_does_not_move_the_fields() {
    let fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
    assert_eq!(start_in(&format!("7 (a) R (b)) {}", fields.join(" "))), Some(22));
}
