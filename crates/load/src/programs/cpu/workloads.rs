//! Rows of the CPU workloads: options, and the spec made from these.

use std::time::Duration;

use crate::cpu::{Spec, build, cyclic, frames, linpack, messaging, request, wakeup};

use super::{WORK, duration_ns, loads, nanoseconds, number, own};
use crate::programs::kind::{Needs, RunnerKind};
use crate::programs::options::Options;
use text::{Form, field};

/// What all rows have in common.
const ROW: RunnerKind = RunnerKind {
    name: "",
    help: "",
    program: None,
    needs: Needs::Cpus,
    reaches_device: |_| true,
    writes: |_| false,
    primary: |_| String::new(),
    own_metrics: |_| Vec::new(),
    options: &[],
    check: |_| Ok(()),
    starts: |_| Vec::new(),
    make: |_| unreachable!("a row has its own"),
};

pub(crate) static LINPACK: RunnerKind = RunnerKind {
    name: "linpack",
    help: "LINPACK: systems of linear equations in double precision, plain scalar code",
    primary: |_| "kflops".to_string(),
    options: &[field(
        "array",
        "200",
        Form::NUMBER,
        "leading dimension; systems have half as many unknowns",
    )],
    check: |options| linpack::check(number(options, "array")),
    make: |options| own("linpack", options, linpack_spec),
    ..ROW
};

pub(crate) static MESSAGING: RunnerKind = RunnerKind {
    name: "messaging",
    help: "messages between groups of senders and receivers, as hackbench has them: waking and switching",
    primary: |_| "messages_per_s".to_string(),
    options: &[
        field("groups", "2", Form::Whole(1, 100), "groups that know nothing of each other"),
        field("fds", "20", Form::Whole(1, 100), "senders of a group, and as many receivers"),
        field("bytes", "100", Form::Whole(1, 4096), "bytes of a message"),
        field("threads", "false", Form::Flag, "threads instead of processes"),
        field("pipes", "false", Form::Flag, "pipes instead of pairs of sockets"),
    ],
    make: |options| own("messaging", options, messaging_spec),
    ..ROW
};

pub(crate) static WAKEUP: RunnerKind = RunnerKind {
    name: "wakeup",
    help: "threads that wake others, as schbench has them: how long until these run",
    primary: |_| "wakeup_p99_us".to_string(),
    options: &[
        field("messengers", "1", Form::Whole(1, 64), "threads that wake others"),
        field("workers", "4", Form::Whole(1, 64), "threads that each of them wakes"),
        field("work", "100us", WORK, "how long a worker computes once woken"),
    ],
    make: |options| own("wakeup", options, wakeup_spec),
    ..ROW
};

pub(crate) static CYCLIC: RunnerKind = RunnerKind {
    name: "cyclic",
    help: "threads that sleep until a moment, as cyclictest has them: how late they run (timer slack 1 ns)",
    primary: |_| "timer_latency_p99_us".to_string(),
    options: &[
        field("threads", "1", Form::Whole(1, 256), "how many"),
        field(
            "interval",
            "1ms",
            Form::Time(20_000, 100_000_000),
            "time between two moments of a thread",
        ),
    ],
    make: |options| own("cyclic", options, cyclic_spec),
    ..ROW
};

pub(crate) static REQUEST: RunnerKind = RunnerKind {
    name: "request",
    help: "a server whose workers answer requests that arrive at random: response times from arrival, however late",
    primary: |_| "response_p99_us".to_string(),
    options: &[
        field("workers", "8", Form::Whole(1, 256), "threads that answer"),
        field("rate", "1000", Form::Whole(1, 100_000), "requests per second, on average"),
        field("work", "200us", WORK, "computing time of a request, on average"),
    ],
    make: |options| own("request", options, request_spec),
    ..ROW
};

pub(crate) static FRAMES: RunnerKind = RunnerKind {
    name: "frames",
    help: "threads that compute a frame in each interval, as games do: frame times and missed frames",
    primary: |_| "frame_p99_us".to_string(),
    options: &[
        field("threads", "1", Form::Whole(1, 256), "how many"),
        field(
            "interval",
            "16600us",
            Form::Time(1_000_000, 1_000_000_000),
            "time between two frames",
        ),
        field("work", "5ms", WORK, "computing time of a frame"),
    ],
    make: |options| own("frames", options, frames_spec),
    ..ROW
};

pub(crate) static BUILD: RunnerKind = RunnerKind {
    name: "build",
    help: "a build: jobs that each fork a process for one file after the other, which reads, computes and writes",
    primary: |_| "files_per_s".to_string(),
    options: &[
        field("jobs", "4", Form::Whole(1, 32), "files at the same time"),
        field("work", "10ms", WORK, "computing time of a file, on average"),
        field("read", "64k", BLOCK, "bytes of a source, past the page cache"),
        field("write", "32k", BLOCK, "bytes of an object"),
        loads::DIR,
    ],
    check: |options| {
        let odd = ["read", "write"].into_iter().find(|name| {
            options.size(name).is_some_and(|bytes| !bytes.is_multiple_of(build::BLOCK))
        });
        match odd {
            Some(name) => Err(format!("{name} is a multiple of 4k")),
            None => loads::check_dir(options),
        }
    },
    make: |options| own("build", options, build_spec),
    ..ROW
};

const BLOCK: Form = Form::Size(build::BLOCK, 1 << 20);

/// A CPU workload's spec for a measured window and a trial's seed.
pub(super) type MakeSpec = fn(&Options, Duration, u64) -> Spec;

static SPECS: [(&RunnerKind, MakeSpec); 7] = [
    (&LINPACK, linpack_spec),
    (&MESSAGING, messaging_spec),
    (&WAKEUP, wakeup_spec),
    (&CYCLIC, cyclic_spec),
    (&REQUEST, request_spec),
    (&FRAMES, frames_spec),
    (&BUILD, build_spec),
];

/// What a CPU workload of schedlab's own does in a window; `None` for other programs.
pub fn spec_of(kind: &RunnerKind, options: &Options, window: Duration, seed: u64) -> Option<Spec> {
    let (_, make) = SPECS.iter().find(|(own, _)| own.name == kind.name)?;
    Some(make(options, window, seed))
}

fn linpack_spec(options: &Options, window: Duration, _seed: u64) -> Spec {
    // The last round takes at least half a trial, and all rounds at most two.
    let least_ns = u64::try_from(window.as_nanos() / 2).unwrap_or(u64::MAX);
    Spec::Linpack(linpack::Spec { array: number(options, "array"), least_ns, reps: None })
}

fn messaging_spec(options: &Options, window: Duration, _seed: u64) -> Spec {
    Spec::Messaging(messaging::Spec {
        groups: number(options, "groups"),
        fds: number(options, "fds"),
        bytes: number(options, "bytes"),
        threads: options.flag("threads"),
        pipes: options.flag("pipes"),
        duration_ns: duration_ns(window),
    })
}

fn wakeup_spec(options: &Options, window: Duration, _seed: u64) -> Spec {
    Spec::Wakeup(wakeup::Spec {
        messengers: number(options, "messengers"),
        workers: number(options, "workers"),
        work_ns: nanoseconds(options, "work"),
        duration_ns: duration_ns(window),
    })
}

fn cyclic_spec(options: &Options, window: Duration, _seed: u64) -> Spec {
    Spec::Cyclic(cyclic::Spec {
        threads: number(options, "threads"),
        interval_ns: nanoseconds(options, "interval"),
        duration_ns: duration_ns(window),
    })
}

fn request_spec(options: &Options, window: Duration, seed: u64) -> Spec {
    Spec::Request(request::Spec {
        workers: number(options, "workers"),
        rate: number(options, "rate"),
        work_ns: nanoseconds(options, "work"),
        seed,
        duration_ns: duration_ns(window),
    })
}

fn frames_spec(options: &Options, window: Duration, _seed: u64) -> Spec {
    Spec::Frames(frames::Spec {
        threads: number(options, "threads"),
        interval_ns: nanoseconds(options, "interval"),
        work_ns: nanoseconds(options, "work"),
        duration_ns: duration_ns(window),
    })
}

fn build_spec(options: &Options, window: Duration, seed: u64) -> Spec {
    Spec::Build(build::Spec {
        jobs: number(options, "jobs"),
        work_ns: nanoseconds(options, "work"),
        read: options.size("read").unwrap_or(64 << 10),
        write: options.size("write").unwrap_or(32 << 10),
        dir: loads::dir(options),
        seed,
        duration_ns: duration_ns(window),
    })
}
