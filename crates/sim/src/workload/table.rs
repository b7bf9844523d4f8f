//! The table of workloads. Defaults are the plain case of each kind: 4 KiB for random work, 1 MiB
//! for streams, and direct I/O, because a page cache would blur the scheduler's effect.

use elevator::{FlowSpec, Op, Priority};

use crate::workload::kind::{Described, UnknownWorkload};
use crate::workload::row::{FlowWork, Layout, Params, WorkloadKind};
use crate::workload::think::ThinkDist;
use crate::workload::timed::params as timed;
use crate::workload::timed::setup::TimedParams;
use crate::workload::timed::{bursts, streams, tasks};
use crate::workload::{
    dss, flows, hdparm, interleaved, iozone, mixed, postmark, random, replay, sequential,
    think_mix, virtual_machines,
};

const READER: &[&str] =
    &["clients", "block_size", "file_size", "iodepth", "direct", "think_time", "rate", "amount"];
const WRITER: &[&str] = &[
    "clients",
    "block_size",
    "file_size",
    "iodepth",
    "direct",
    "think_time",
    "rate",
    "amount",
    "sync_every",
];

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
        accepts: &[
            "clients",
            "block_size",
            "block_size_max",
            "file_size",
            "iodepth",
            "direct",
            "think_time",
            "amount",
        ],
        defaults: || Params {
            clients: 4,
            block_size: 32 << 10,
            block_size_max: 256 << 10,
            ..Params::default()
        },
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
        build: hdparm::buffered_read,
        ..reader("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "cached-read",
        help: "what hdparm -T times: the same 2 MiB from memory; no scheduler ever sees it",
        reaches_device: false,
        accepts: &["block_size"],
        defaults: || Params { block_size: 2 << 20, direct: false, ..Params::default() },
        build: hdparm::cached_read,
        ..reader("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "mixed",
        help: "sequential writers against one random reader: where schedulers differ most",
        accepts: &[
            "writers",
            "write_size",
            "iodepth",
            "block_size",
            "think_time",
            "file_size",
            "direct",
        ],
        defaults: || Params { writers: 4, write_size: 128 << 10, iodepth: 64, ..Params::default() },
        nr_clients: mixed::clients,
        depth: mixed::iodepth,
        build: mixed::build,
        ..writer("read_iops")
    },
    WorkloadKind {
        name: "think-mix",
        help: "synchronous clients, sequential or random, that think after each request: what anticipation is about",
        layout: Layout::FilePerClient,
        accepts: &[
            "clients",
            "random_share",
            "block_size",
            "file_size",
            "think_time",
            "think_dist",
            "read_share",
            "direct",
            "amount",
        ],
        defaults: || Params {
            clients: 2,
            file_size: Some(8 << 20),
            think_time_ns: 1_000_000,
            think_dist: ThinkDist::Fixed,
            ..Params::default()
        },
        depth: |_, _| 1,
        writing: |params| params.read_share < 100,
        possible: think_mix::possible,
        build: think_mix::build,
        ..writer("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "interleaved",
        help: "readers that share one sequential scan, each every Nth block: one stream in the guise of many",
        accepts: &[
            "clients",
            "block_size",
            "skip_extra",
            "file_size",
            "iodepth",
            "direct",
            "think_time",
            "amount",
        ],
        defaults: || Params { clients: 5, block_size: 16 << 10, ..Params::default() },
        fits: interleaved::fits,
        check_alignment: interleaved::check_alignment,
        build: interleaved::build,
        ..reader("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "virtual-machines",
        help: "guests with an image each: short runs in order and jumps, reads and writes, a few at a time, thinking",
        accepts: virtual_machines::ACCEPTS,
        defaults: || Params {
            clients: 4,
            block_size: 16 << 10,
            read_share: 70,
            iodepth: 4,
            think_time_ns: 2_000_000,
            think_dist: ThinkDist::Exponential,
            ..Params::default()
        },
        writing: |params| params.read_share < 100,
        possible: virtual_machines::possible,
        fits: streams::fits,
        build: virtual_machines::build,
        ..writer("iops")
    },
    WorkloadKind {
        name: "streams",
        help: "periodic media streams: a read in each period, due when the period ends",
        accepts: timed::STREAMS,
        defaults: || Params { clients: 8, block_size: 60 << 10, iodepth: 8, ..Params::default() },
        timed: |_| true,
        possible: streams::possible,
        fits: streams::fits,
        build: streams::build,
        ..reader("deadline_miss_percent")
    },
    WorkloadKind {
        name: "bursts",
        help: "arrivals that follow an arrival curve, or exceed it by a factor: a burst at once, then a steady rate",
        accepts: timed::BURSTS,
        defaults: || Params {
            iodepth: 64,
            timed: TimedParams { rate: Some(1 << 20), ..TimedParams::default() },
            ..Params::default()
        },
        timed: |_| true,
        writing: bursts::writing,
        possible: bursts::possible,
        build: bursts::build,
        ..writer("latency_p99_us")
    },
    WorkloadKind {
        name: "rt-tasks",
        help: "sets of real-time tasks with releases and deadlines, plus random reads without deadlines",
        accepts: timed::TASKS,
        defaults: || Params { block_size: 36 << 10, block_size_max: 36 << 10, ..Params::default() },
        timed: |_| true,
        nr_clients: tasks::clients,
        depth: tasks::iodepth,
        possible: tasks::possible,
        fits: tasks::fits,
        check_alignment: tasks::check_alignment,
        build: tasks::build,
        ..reader("deadline_miss_percent")
    },
    WorkloadKind {
        name: "postmark",
        help: "PostMark: many small files created, read, appended and deleted, as a mail server does",
        layout: Layout::FilePerClient,
        warms_up: false,
        accepts: postmark::ACCEPTS,
        defaults: || Params { block_size: 512, file_size: Some(16 << 20), ..Params::default() },
        depth: |_, _| 1,
        possible: postmark::possible,
        fits: postmark::fits,
        build: postmark::build,
        ..writer("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "flows",
        help: "several flows at once with weights, arrival curves and latency bounds; a plan lists them as [[workload.flow]]",
        accepts: &["alone"],
        defaults: || Params { flows: default_flows(), ..Params::default() },
        nr_clients: flows::clients,
        depth: flows::iodepth,
        writing: flows::writing,
        timed: |params| params.flows.iter().any(|flow| flow.kind.is_timed(&flow.params)),
        possible: flows::possible,
        check_alignment: flows::check_alignment,
        build: flows::build,
        ..writer("throughput_mb_per_s")
    },
    WorkloadKind {
        name: "replay",
        help: "a trace of real work: of `schedlab trace record`, blktrace, fio, or a published collection; also trace:FILE",
        warms_up: false,
        accepts: replay::ACCEPTS,
        defaults: || Params { iodepth: 32, ..Params::default() },
        timed: |_| true,
        nr_clients: replay::clients,
        depth: replay::iodepth,
        writing: replay::writing,
        possible: replay::possible,
        fits: replay::fits,
        check_alignment: replay::check_alignment,
        build: replay::build,
        ..writer("latency_mean_us")
    },
];

/// `trace:FILE` is another name for `replay`.
const TRACE: &str = "trace";

/// The row of a workload.
pub fn find(name: &str) -> Result<&'static WorkloadKind, UnknownWorkload> {
    let name = if name == TRACE { "replay" } else { name };
    WORKLOADS.iter().find(|row| row.name == name).ok_or_else(|| UnknownWorkload {
        name: name.into(),
        nearest: known_as(name)
            .or_else(|| text::nearest(name, WORKLOADS.iter().map(|row| row.name))),
        known: WORKLOADS.iter().map(|row| row.name).collect(),
    })
}

fn default_flows() -> Vec<FlowWork> {
    let find = |name| find(name).expect("the table has it");
    let flow = |name, kind: &'static WorkloadKind, params| {
        let spec = FlowSpec { weight: Some(100), ..FlowSpec::default() };
        FlowWork::new(name, kind, params, spec, Priority::default())
    };
    let (read, write) = (find("randread"), find("randwrite"));
    vec![
        flow("reader", read, Params { clients: 1, ..(read.defaults)() }),
        flow("writers", write, Params { clients: 16, block_size: 64 << 10, ..(write.defaults)() }),
    ]
}

fn known_as(name: &str) -> Option<&'static str> {
    match name {
        "hdparm" | "hdparm -t" => Some("buffered-read"),
        "hdparm -T" => Some("cached-read"),
        "two-readers" => Some("think-mix"),
        "blkparse" | "blktrace" | "iolog" | "msr" => Some("replay"),
        _ => None,
    }
}

/// Every row as data, in table order.
pub fn describe() -> Vec<Described> {
    WORKLOADS.iter().map(WorkloadKind::describe).collect()
}

/// Common values; each row overrides what differs.
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
        timed: |params| params.timed.rate.is_some(),
        possible: |_| Ok(()),
        fits: |_, _| Ok(()),
        check_alignment: |_, _| Ok(()),
        build: random::write,
    }
}

const fn reader(primary: &'static str) -> WorkloadKind {
    WorkloadKind {
        writes: false,
        accepts: READER,
        writing: |_| false,
        build: random::read,
        ..writer(primary)
    }
}
