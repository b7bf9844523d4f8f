//! The settings of `occupancy`: three latency targets, one per class, and every constant and switch
//! of its mechanisms.
//!
//! Rows other than the targets have [`Role::Internal`]: the kernel module omits them, and `tune`
//! and `advise` leave them alone. They allow plans to disable single mechanisms and searches to
//! vary constants.

use crate::kind::{Role, Tunable};

macro_rules! settings {
    ($($key:ident $role:ident $name:literal $unit:literal $min:literal..=$max:literal, $default:literal, $help:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Key { $($key),* }

        const NAMES: &[&str] = &[$($name),*];
        const DEFAULTS: [u64; NAMES.len()] = [$($default),*];

        pub(super) const TUNABLES: &[Tunable] =
            &[$(Tunable::proposed($name, $unit, $min, $max, $help).with_role(Role::$role)),*];
    };
}

settings! {
    TargetRt Knob "target_rt" "µs" 0..=60000000, 0, "latency target of the real-time class in the device; 0: 4 × a small read's service";
    TargetSync Knob "target_sync" "µs" 0..=60000000, 0, "latency target of synchronous requests in the device; 0: 32 × a small read's service";
    TargetAsync Knob "target_async" "µs" 0..=60000000, 0, "latency target of asynchronous requests in the device; 0: 200 × a small read's service";
    Fairness Internal "fairness" "switch" 0..=1, 1, "order and bound flows by start tags; 0: flows do not matter";
    Learning Internal "learning" "switch" 0..=1, 1, "predict occupancy by size, direction and distance; 0: 100 µs and 10 µs a KiB";
    Kappa Internal "kappa" "switch" 0..=1, 1, "scale all predictions by the recent error";
    Window Internal "window" "switch" 0..=1, 1, "bound the occupancy in a device that seeks or is shared unevenly; 0: it takes what it can";
    Steering Internal "steering" "switch" 0..=1, 1, "steer the window by the delay of completions; 0: it is the target";
    Anticipation Internal "anticipation" "switch" 0..=1, 1, "wait for the last process where that saves more time than it takes";
    Holds Internal "holds" "switch" 0..=1, 1, "wait for flows of more weight or with credit";
    Positions Internal "positions" "switch" 0..=1, 1, "one-way order of sectors where positions matter";
    Credit Internal "credit" "switch" 0..=1, 1, "burst credit for processes that start on a busy device";
    Classes Internal "classes" "switch" 0..=1, 1, "real-time before synchronous before asynchronous requests, within the slack";
    Overdue Internal "overdue" "switch" 0..=1, 1, "overdue requests go first, now and then";
    Starved Internal "starved" "switch" 0..=1, 1, "nothing is sent to a device that may seek while it starves a read";
    SlackCosts Internal "slack_costs" "requests" 0..=1024, 8, "slack: how many mean random requests a flow may run ahead";
    SlackWindow Internal "slack_window" "percent" 0..=1000, 25, "slack: at least this part of the window";
    RtCosts Internal "rt_costs" "requests" 1..=1024, 4, "automatic target of the real-time class, in services of a small read";
    SyncCosts Internal "sync_costs" "requests" 1..=1024, 32, "automatic target of synchronous requests, in services of a small read";
    AsyncCosts Internal "async_costs" "requests" 1..=10000, 200, "automatic target of asynchronous requests, in services of a small read";
    Turn Internal "turn" "percent" 0..=1000, 25, "length of an asynchronous turn, relative to the slack";
    OverdueMs Internal "overdue_ms" "ms" 1..=60000, 5000, "a request is overdue this long after its turn by fair shares";
    OverdueEvery Internal "overdue_every" "requests" 1..=1024, 16, "dispatches between two that are made because of age";
    Patience Internal "patience" "targets" 1..=1000, 4, "a read that has been in the device for this many targets gets it to itself";
    LeastWindow Internal "least_window" "requests" 1..=1024, 32, "minimum window, in mean requests";
    CreditCosts Internal "credit_costs" "requests" 0..=100000, 1000, "burst credit of a process, in mean random requests";
    CreditShare Internal "credit_share" "weights" 1..=100, 7, "weight of all processes on credit, relative to all others";
    IdlePercent Internal "idle_percent" "percent" 0..=100, 12, "maximum share of time for failed waits";
    Exposed Internal "exposed" "requests" 1..=4096, 32, "how many requests of a flow the one-way order sees";
}

#[derive(Debug, Clone)]
pub(super) struct Settings {
    values: [u64; NAMES.len()],
}

impl Settings {
    pub(super) fn new() -> Settings {
        Settings { values: DEFAULTS }
    }

    #[inline]
    pub(super) fn value(&self, key: Key) -> u64 {
        self.values[key as usize]
    }

    #[inline]
    pub(super) fn on(&self, key: Key) -> bool {
        self.values[key as usize] != 0
    }

    pub(super) fn get(&self, name: &str) -> u64 {
        self.values[index(name)]
    }

    pub(super) fn set(&mut self, name: &str, value: u64) {
        self.values[index(name)] = value;
    }
}

fn index(name: &str) -> usize {
    NAMES
        .iter()
        .position(|other| *other == name)
        .unwrap_or_else(|| unreachable!("occupancy has no tunable {name}"))
}
