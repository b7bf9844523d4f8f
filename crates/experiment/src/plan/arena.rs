//! Arenas: where trials run, as a row of facts each. Callers query facts rather than names, so that
//! a new arena is a row here and a directory in `lab::arena`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Plan;

/// The device of plans in the cpu arena.
pub const CPU_DEVICE: &str = "cpu";

/// The kind of an arena; only `lab::arena`, which opens arenas, uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArenaKind {
    /// [`DISK`]
    Disk,
    /// [`CPU`]
    Cpu,
    /// [`SIM`]
    Sim,
    /// [`KERNEL`]
    Kernel,
    /// [`KERNEL_CPU`]
    KernelCpu,
}

/// The object under test: a block device, CPUs, or the model of a device.
#[derive(PartialEq, Eq)]
enum Subject {
    Disk,
    Cpus,
    Model,
}

/// The kernel: this machine's, one chosen by the plan, or none.
#[derive(PartialEq, Eq)]
enum Kernel {
    Running,
    Chosen,
    None,
}

/// An arena's facts.
#[derive(PartialEq, Eq)]
pub struct ArenaFacts {
    /// Its name in a plan.
    pub kind: ArenaKind,
    /// The name in plans, on the command line and in analysis.json.
    pub name: &'static str,
    subject: Subject,
    kernel: Kernel,
    /// The text for `--help`.
    pub help: &'static str,
    /// Whose schedulers run, for sentences.
    pub schedulers: &'static str,
    /// The measured system, for a report's facts.
    pub about: &'static str,
    /// The name in papers; empty on this machine, where the drive is named.
    pub paper: &'static str,
    /// Why `watch` is not possible, if it is not.
    pub watch_refusal: Option<&'static str>,
}

/// The block layer of this machine's kernel and a real device.
pub static DISK: ArenaFacts = ArenaFacts {
    kind: ArenaKind::Disk,
    name: "disk",
    subject: Subject::Disk,
    kernel: Kernel::Running,
    help: "The block layer of this machine's kernel on a real device",
    schedulers: "the schedulers of this machine's kernel",
    about: "this machine's own kernel and a real device",
    paper: "",
    watch_refusal: None,
};

/// The CPU scheduler of this machine's kernel and its CPUs.
pub static CPU: ArenaFacts = ArenaFacts {
    kind: ArenaKind::Cpu,
    name: "cpu",
    subject: Subject::Cpus,
    kernel: Kernel::Running,
    help: "The CPU scheduler of this machine's kernel; takes no --device",
    schedulers: "the CPU scheduler of this machine's kernel",
    about: "this machine's own kernel and its CPUs",
    paper: "",
    watch_refusal: Some(
        "--arena cpu: a watch is bound to the identity of a device, which CPUs do not have; start `schedlab compare --arena cpu` from a timer",
    ),
};

/// Elevators in Rust and a modelled device, in virtual time.
pub static SIM: ArenaFacts = ArenaFacts {
    kind: ArenaKind::Sim,
    name: "sim",
    subject: Subject::Model,
    kernel: Kernel::None,
    help: "schedlab's own schedulers on a modelled device, in virtual time: needs no root, changes nothing, repeatable bit for bit",
    schedulers: "schedlab's own schedulers",
    about: "schedlab's own schedulers and a modelled device, in virtual time; nothing was measured on a machine",
    paper: "a modelled device in virtual time: ",
    watch_refusal: Some(MODELS_STAY),
};

/// The elevators of a Linux kernel run as a process, and a modelled device, in virtual time.
pub static KERNEL: ArenaFacts = ArenaFacts {
    kind: ArenaKind::Kernel,
    name: "kernel",
    subject: Subject::Model,
    kernel: Kernel::Chosen,
    help: "The schedulers of a real Linux kernel that runs as a process, on a modelled device, in virtual time: needs no root, changes nothing, repeatable bit for bit. The first use builds the kernel, which takes minutes",
    schedulers: "the schedulers of a real kernel",
    about: "the schedulers of a real Linux, run as a process, and a modelled device, in virtual time; nothing was measured on a machine",
    paper: "a modelled device under a real Linux in virtual time: ",
    watch_refusal: Some(MODELS_STAY),
};

/// The CPU scheduler of a Linux kernel run as a process, in virtual time.
pub static KERNEL_CPU: ArenaFacts = ArenaFacts {
    kind: ArenaKind::KernelCpu,
    name: "kernel-cpu",
    subject: Subject::Cpus,
    kernel: Kernel::Chosen,
    help: "The CPU scheduler of a real Linux kernel that runs as a process, in virtual time: needs no root, changes nothing, repeatable bit for bit; `--arena kernel` with a CPU workload means this",
    schedulers: "the CPU scheduler of a real kernel",
    about: "the CPU scheduler of a real Linux, run as a process, in virtual time on one CPU without caches; nothing was measured on a machine",
    paper: "one CPU under a real Linux in virtual time: ",
    watch_refusal: Some(MODELS_STAY),
};

const MODELS_STAY: &str = "--arena: a modelled device never changes; watch a real one";

/// All arenas, in the order of [`ArenaKind`].
pub static ARENAS: [&ArenaFacts; 5] = [&DISK, &CPU, &SIM, &KERNEL, &KERNEL_CPU];

impl ArenaFacts {
    /// The arena of this name.
    pub fn find(name: &str) -> Option<&'static ArenaFacts> {
        ARENAS.into_iter().find(|arena| arena.name == name)
    }

    /// Whether time is virtual: computed from 0, equal in every run.
    pub fn is_virtual(&self) -> bool {
        self.kernel != Kernel::Running
    }

    /// Whether CPUs rather than a block device are under test: this machine's, or a guest's.
    pub fn is_cpu(&self) -> bool {
        self.subject == Subject::Cpus
    }

    /// Whether a block device of this machine is under test, with data at risk.
    pub fn has_disk(&self) -> bool {
        self.subject == Subject::Disk
    }

    /// Whether the plan chooses the kernel.
    pub fn chooses_kernel(&self) -> bool {
        self.kernel == Kernel::Chosen
    }

    /// Whether everything is computed in this process, without privileges.
    pub fn is_in_process(&self) -> bool {
        self.kernel == Kernel::None
    }
}

impl Plan {
    /// Whether the device is a loop device made for the experiment.
    pub fn has_temporary_device(&self) -> bool {
        self.arena.has_disk() && self.device.starts_with("loop:")
    }
}

impl fmt::Debug for ArenaFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Default for &'static ArenaFacts {
    fn default() -> Self {
        &DISK
    }
}

impl Serialize for ArenaFacts {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.kind.serialize(to)
    }
}

impl<'de> Deserialize<'de> for &'static ArenaFacts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        ArenaKind::deserialize(from).map(|kind| ARENAS[kind as usize])
    }
}
