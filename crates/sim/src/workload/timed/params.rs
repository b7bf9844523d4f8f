//! The parameters of time-driven clients, as values and as text.

use crate::workload::param::{BOOL_FORM, COUNT_FORM, Param, put, size32};
use crate::workload::timed::task_set::{SET_FORM, TaskSet};
use text::{
    DURATION_FORM, SIZE_FORM, format_duration, format_size, parse_duration_ns, parse_size,
    parse_switch,
};

pub(crate) const STREAMS: &[&str] = &[
    "clients",
    "block_size",
    "period",
    "deadline_periods",
    "stagger",
    "find_streams",
    "iodepth",
    "file_size",
    "direct",
];

pub(crate) const BURSTS: &[&str] = &[
    "clients",
    "block_size",
    "burst",
    "rate",
    "over",
    "burst_every",
    "deadline",
    "read_share",
    "iodepth",
    "file_size",
    "direct",
];

pub(crate) const TASKS: &[&str] = &[
    "tasks",
    "batch",
    "release_within",
    "deadline_min",
    "deadline_max",
    "block_size",
    "block_size_max",
    "set",
    "background",
    "background_size",
    "file_size",
    "direct",
];

/// Returns `None` for `word`, otherwise the result of `read`.
fn unless<T>(word: &str, text: &str, read: impl Fn(&str) -> Option<T>) -> Option<Option<T>> {
    if text.trim() == word { Some(None) } else { read(text).map(Some) }
}

pub(crate) const RATE: Param = Param {
    name: "rate",
    form: "unlimited, or a size a second like 512k, 10M (binary multiples; a bare number is bytes)",
    help: "bytes a second of each client at most, counted from its start",
    get: |p| p.timed.rate.map_or("unlimited".into(), format_size),
    set: |p, text| {
        put(
            &mut p.timed.rate,
            unless("unlimited", text, |text| parse_size(text).filter(|rate| *rate > 0)),
        )
    },
};

pub(crate) const PERIOD: Param = Param {
    name: "period",
    form: DURATION_FORM,
    help: "a stream makes one request in each period",
    get: |p| format_duration(p.timed.period_ns),
    set: |p, text| put(&mut p.timed.period_ns, parse_duration_ns(text)),
};

pub(crate) const DEADLINE_PERIODS: Param = Param {
    name: "deadline_periods",
    form: COUNT_FORM,
    help: "periods after which a stream's request is due (1: when the next one is made)",
    get: |p| p.timed.deadline_periods.to_string(),
    set: |p, text| put(&mut p.timed.deadline_periods, text.trim().parse().ok()),
};

pub(crate) const STAGGER: Param = Param {
    name: "stagger",
    form: BOOL_FORM,
    help: "whether the periods of streams begin at equal distances; false: together",
    get: |p| p.timed.stagger.to_string(),
    set: |p, text| put(&mut p.timed.stagger, parse_switch(text.trim())),
};

pub(crate) const FIND_STREAMS: Param = Param {
    name: "find_streams",
    form: BOOL_FORM,
    help: "find the largest number of streams, up to clients, without a missed deadline; in virtual time only",
    get: |p| p.timed.find_streams.to_string(),
    set: |p, text| put(&mut p.timed.find_streams, parse_switch(text.trim())),
};

pub(crate) const BURST: Param = Param {
    name: "burst",
    form: SIZE_FORM,
    help: "bytes of requests that a client makes at once",
    get: |p| format_size(p.timed.burst),
    set: |p, text| put(&mut p.timed.burst, parse_size(text)),
};

pub(crate) const OVER: Param = Param {
    name: "over",
    form: "a factor from 0.001 to 1000, like 2 or 0.5",
    help: "factor on burst and rate: more than 1 exceeds the curve that they are",
    get: |p| crate::workload::replay::params::show_milli(p.timed.over_milli),
    set: |p, text| {
        put(&mut p.timed.over_milli, crate::workload::replay::params::parse_milli(text.trim()))
    },
};

pub(crate) const BURST_EVERY: Param = Param {
    name: "burst_every",
    form: "once, or a duration with its unit, like 500ms, 2s",
    help: "time from one burst to the next; before it the client pauses until the burst is paid for",
    get: |p| p.timed.burst_every_ns.map_or("once".into(), format_duration),
    set: |p, text| put(&mut p.timed.burst_every_ns, unless("once", text, parse_duration_ns)),
};

pub(crate) const DEADLINE: Param = Param {
    name: "deadline",
    form: "none, or a duration with its unit, like 500us, 20ms",
    help: "time from the arrival of a request to its deadline",
    get: |p| p.timed.deadline_ns.map_or("none".into(), format_duration),
    set: |p, text| put(&mut p.timed.deadline_ns, unless("none", text, parse_duration_ns)),
};

pub(crate) const NR_TASKS: Param = Param {
    name: "tasks",
    form: COUNT_FORM,
    help: "real-time tasks of a set",
    get: |p| p.timed.tasks.to_string(),
    set: |p, text| put(&mut p.timed.tasks, text.trim().parse().ok()),
};

pub(crate) const BATCH: Param = Param {
    name: "batch",
    form: BOOL_FORM,
    help: "hand a set over at once, before its tasks are released; false: each when it is released",
    get: |p| p.timed.batch.to_string(),
    set: |p, text| put(&mut p.timed.batch, parse_switch(text.trim())),
};

pub(crate) const RELEASE_WITHIN: Param = Param {
    name: "release_within",
    form: DURATION_FORM,
    help: "the tasks of a set are released within this time, uniformly (0: all at once)",
    get: |p| format_duration(p.timed.release_within_ns),
    set: |p, text| put(&mut p.timed.release_within_ns, parse_duration_ns(text)),
};

pub(crate) const DEADLINE_MIN: Param = Param {
    name: "deadline_min",
    form: DURATION_FORM,
    help: "time from a task's release to its deadline, at least",
    get: |p| format_duration(p.timed.deadline_min_ns),
    set: |p, text| put(&mut p.timed.deadline_min_ns, parse_duration_ns(text)),
};

pub(crate) const DEADLINE_MAX: Param = Param {
    name: "deadline_max",
    form: DURATION_FORM,
    help: "time from a task's release to its deadline, at most",
    get: |p| format_duration(p.timed.deadline_max_ns),
    set: |p, text| put(&mut p.timed.deadline_max_ns, parse_duration_ns(text)),
};

pub(crate) const SET: Param = Param {
    name: "set",
    form: SET_FORM,
    help: "the tasks of each set, instead of random ones",
    get: |p| p.timed.set.as_ref().map_or("none".into(), TaskSet::show),
    set: |p, text| put(&mut p.timed.set, unless("none", text, TaskSet::parse)),
};

pub(crate) const BACKGROUND: Param = Param {
    name: "background",
    form: COUNT_FORM,
    help: "clients that read random blocks without deadlines, in addition to the tasks",
    get: |p| p.timed.background.to_string(),
    set: |p, text| put(&mut p.timed.background, text.trim().parse().ok()),
};

pub(crate) const BACKGROUND_SIZE: Param = Param {
    name: "background_size",
    form: SIZE_FORM,
    help: "bytes of a request of the background",
    get: |p| format_size(p.timed.background_size.into()),
    set: |p, text| put(&mut p.timed.background_size, size32(text)),
};
