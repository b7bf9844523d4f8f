//! The cases: plans and their figures.

use serde_json::Value;

/// One plan: its variants, and the figures of each.
pub(super) struct Case {
    pub(super) workload: &'static str,
    /// In TOML.
    pub(super) params: &'static str,
    /// Threads that compute all the time.
    pub(super) spinners: u32,
    /// Names and tunables in TOML; a plan has at least two.
    pub(super) variants: &'static [(&'static str, &'static str)],
    pub(super) figures: &'static [Figure],
    pub(super) place: Place,
}

/// Where the machine's trials run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On one CPU, in a control group with a high weight: outside of autogroups, and nearly alone.
    Group,
    /// On one CPU, for realtime tasks, which need no group.
    Pinned,
    /// On all CPUs: a task with a deadline must not be pinned.
    Anywhere,
}

pub(super) struct Figure {
    pub(super) name: &'static str,
    pub(super) of: fn(&Value) -> Option<f64>,
}

/// Computes nearly always.
const HOG: &str = "workers = \"1\", work = \"50ms\"";
const SHARE: Figure = Figure {
    name: "share of the CPU, %",
    of: |seen| Some(100.0 * counter(seen, "task_run_ms")? / (seen["duration_ns"].as_f64()? / 1e6)),
};
fn counter(seen: &Value, name: &str) -> Option<f64> {
    seen["counters"][name].as_f64()
}

macro_rules! metric {
    ($name:literal) => {
        Figure { name: $name, of: |seen| seen["metrics"][$name].as_f64() }
    };
}

const TIMER: &[Figure] = &[metric!("timer_latency_p50_us"), metric!("timer_latency_p99_us")];
const PLAIN_AND_NICE: &[(&str, &str)] = &[("default", ""), ("nice=-10", "nice = \"-10\"")];
const FIFO_AND_RR: &[(&str, &str)] =
    &[("fifo:50", "policy = \"fifo:50\""), ("rr:50", "policy = \"rr:50\"")];

pub(super) const CASES: &[Case] = &[
    Case {
        workload: "wakeup",
        params: HOG,
        spinners: 1,
        variants: &[
            ("nice=-5", "nice = \"-5\""),
            ("default", ""),
            ("nice=5", "nice = \"5\""),
            ("nice=10", "nice = \"10\""),
            ("nice=19", "nice = \"19\""),
            ("idle", "policy = \"idle\""),
        ],
        figures: &[SHARE],
        place: Place::Group,
    },
    Case {
        workload: "cyclic",
        params: "interval = \"1300us\"",
        spinners: 1,
        variants: PLAIN_AND_NICE,
        figures: TIMER,
        place: Place::Group,
    },
    Case {
        workload: "cyclic",
        params: "interval = \"1300us\"",
        spinners: 4,
        variants: PLAIN_AND_NICE,
        figures: TIMER,
        place: Place::Group,
    },
    Case {
        workload: "wakeup",
        params: "work = \"100us\"",
        spinners: 4,
        variants: PLAIN_AND_NICE,
        figures: &[metric!("wakeup_p50_us"), metric!("wakeup_p99_us")],
        place: Place::Group,
    },
    Case {
        workload: "request",
        params: "rate = \"700\"",
        spinners: 4,
        variants: PLAIN_AND_NICE,
        figures: &[metric!("response_p50_us"), metric!("response_p99_us")],
        place: Place::Group,
    },
    Case {
        workload: "frames",
        params: "",
        spinners: 4,
        variants: PLAIN_AND_NICE,
        figures: &[metric!("frame_p50_us"), metric!("missed_frames_percent")],
        place: Place::Group,
    },
    Case {
        workload: "cyclic",
        params: "interval = \"1300us\"",
        spinners: 1,
        variants: FIFO_AND_RR,
        figures: TIMER,
        place: Place::Pinned,
    },
    Case {
        workload: "frames",
        params: "work = \"50ms\"",
        spinners: 1,
        variants: &[
            ("deadline 5/20 ms", "policy = \"deadline:5ms/20ms/20ms\""),
            ("deadline 3/30 ms", "policy = \"deadline:3ms/10ms/30ms\""),
        ],
        figures: &[SHARE],
        place: Place::Anywhere,
    },
];
