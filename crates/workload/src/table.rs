//! The table of workloads: one self-describing row each.
//!
//! Defaults are chosen so that a workload without parameters is the plain case of its kind: 4 KiB for random work, 1 MiB for
//! streams, direct, because what a scheduler does is blurred by a page cache in front of it.

use elevator::Op;

use crate::kind::{Described, Layout, UnknownWorkload, WorkloadKind};
use crate::params::{Params, nearest};
use crate::{dss, hdparm, iozone, mixed, random, sequential};

const READER: &[&str] = &["clients", "block_size", "file_size", "iodepth", "direct", "think_time", "amount"];
const WRITER: &[&str] =
    &["clients", "block_size", "file_size", "iodepth", "direct", "think_time", "amount", "sync_every"];

/// Every workload.
pub static WORKLOADS: &[WorkloadKind] = &[
    WorkloadKind {
        name: "seqread",
        help: "sequential reads, each client its own stream: backups, scans",
        defaults: || Params { block_size: 1 << 20, ..Params::default() },
        build: sequential::read,
        ..reader("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "seqwrite",
        help: "sequential writes, each client its own stream: copies, logs",
        defaults: || Params { block_size: 1 << 20, ..Params::default() },
        build: sequential::write,
        ..writer("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "randread",
        help: "random reads over the whole region: look-ups",
        defaults: || Params { clients: 4, ..Params::default() },
        build: random::read,
        ..reader("iops")
    },
    WorkloadKind {
        name: "randwrite",
        help: "random writes over the whole region: updates in place",
        defaults: || Params { clients: 4, ..Params::default() },
        build: random::write,
        ..writer("iops")
    },
    WorkloadKind {
        name: "oltp",
        help: "transactions: 4 KiB random, half reads and half writes, by many users",
        accepts: &[
            "clients",
            "block_size",
            "read_share",
            "file_size",
            "iodepth",
            "direct",
            "think_time",
            "amount",
            "sync_every",
        ],
        defaults: || Params { clients: 16, read_share: 50, ..Params::default() },
        writing: |params| params.read_share < 100,
        build: random::oltp,
        ..writer("iops")
    },
    WorkloadKind {
        name: "dss",
        help: "decision support: several sequential scans at once in reads of 32 to 256 KiB",
        accepts: &["clients", "block_size", "block_size_max", "file_size", "iodepth", "direct", "think_time", "amount"],
        defaults: || Params { clients: 4, block_size: 32 << 10, block_size_max: 256 << 10, ..Params::default() },
        build: dss::build,
        ..reader("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "iozone",
        help: "throughput mode of IOzone: N clients, a file each, one phase; the first to finish stops the others",
        layout: Layout::FilePerClient,
        warms_up: false,
        pass_based: true,
        accepts: &["clients", "phase", "file_size", "block_size", "direct"],
        defaults: || Params { clients: 10, file_size: Some(512 << 10), ..Params::default() },
        writing: |params| params.phase.op() == Op::Write,
        build: iozone::build,
        ..writer("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "buffered-read",
        help: "what hdparm -t times: one pass of 2 MiB reads through the page cache, emptied before",
        warms_up: false,
        accepts: &["block_size", "file_size"],
        defaults: || Params { block_size: 2 << 20, direct: false, ..Params::default() },
        build: hdparm::buffered,
        ..reader("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "cached-read",
        help: "what hdparm -T times: the same 2 MiB from memory; no scheduler ever sees it",
        reaches_device: false,
        accepts: &["block_size"],
        defaults: || Params { block_size: 2 << 20, direct: false, ..Params::default() },
        build: hdparm::cached,
        ..reader("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "mixed",
        help: "sequential writers against one random reader: where schedulers differ most",
        accepts: &["writers", "write_size", "iodepth", "block_size", "think_time", "file_size", "direct"],
        defaults: || Params { writers: 2, write_size: 1 << 20, iodepth: 4, ..Params::default() },
        nr_clients: mixed::clients,
        depth: mixed::iodepth,
        build: mixed::build,
        ..writer("read_iops")
    },
];

/// The row of a workload.
///
/// # Errors
/// [`UnknownWorkload`] with the name that was probably meant.
pub fn find(name: &str) -> Result<&'static WorkloadKind, UnknownWorkload> {
    WORKLOADS.iter().find(|row| row.name == name).ok_or_else(|| UnknownWorkload {
        name: name.into(),
        nearest: nearest(name, WORKLOADS.iter().map(|row| row.name)),
        known: WORKLOADS.iter().map(|row| row.name).collect(),
    })
}

/// Every row as data, in the order of the table.
pub fn describe() -> Vec<Described> {
    WORKLOADS.iter().map(WorkloadKind::describe).collect()
}

/// What most rows have in common; each row names what differs.
const fn writer(primary: &'static str) -> WorkloadKind {
    WorkloadKind {
        name: "",
        help: "",
        writes: true,
        reaches_device: true,
        primary,
        layout: Layout::Shared,
        warms_up: true,
        pass_based: false,
        accepts: WRITER,
        defaults: Params::default,
        nr_clients: |params| params.clients,
        depth: |params, _| params.iodepth,
        writing: |_| true,
        build: random::write,
    }
}

const fn reader(primary: &'static str) -> WorkloadKind {
    WorkloadKind { writes: false, accepts: READER, writing: |_| false, build: random::read, ..writer(primary) }
}
