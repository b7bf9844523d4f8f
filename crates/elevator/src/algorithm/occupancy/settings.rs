//! The constants and switches of `occupancy`. None is for users: it learns the device.
//!
//! All have [`Role::Internal`]: `tune` and `advise` leave them alone. They allow plans to disable
//! single rules and to vary constants.

use crate::kind::{Role, Tunable};

macro_rules! settings {
    ($($key:ident $name:literal $unit:literal $min:literal..=$max:literal, $default:literal, $help:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Key { $($key),* }

        const NAMES: &[&str] = &[$($name),*];
        const DEFAULTS: [u64; NAMES.len()] = [$($default),*];

        pub(super) const TUNABLES: &[Tunable] =
            &[$(Tunable::proposed($name, $unit, $min, $max, $help).with_role(Role::Internal)),*];
    };
}

settings! {
    Fairness "fairness" "switch" 0..=1, 1, "order and bound flows by start tags; 0: flows do not matter";
    Learning "learning" "switch" 0..=1, 1, "predict occupancy by size, direction and distance; 0: 100 µs and 10 µs a KiB";
    Anticipation "anticipation" "switch" 0..=1, 1, "wait for the last process where that saves more time than it takes";
    Holds "holds" "switch" 0..=1, 1, "wait for flows that are behind, also while all their requests are in the device";
    Positions "positions" "switch" 0..=1, 1, "one-way order of sectors where positions matter, with overdue requests first now and then";
    Credit "credit" "switch" 0..=1, 1, "burst credit for processes that start on a busy device";
    Classes "classes" "switch" 0..=1, 1, "real-time before synchronous before asynchronous requests, within the slack";
    SlackCosts "slack_costs" "requests" 0..=1024, 16, "slack: how many mean random requests a flow may run ahead";
    Turn "turn" "percent" 0..=1000, 25, "length of an asynchronous turn, relative to the slack";
    OverdueMs "overdue_ms" "ms" 1..=60000, 5000, "a request is overdue this long after its turn by fair shares";
    OverdueEvery "overdue_every" "requests" 1..=1024, 16, "dispatches between two that are made because of age";
    CreditCosts "credit_costs" "requests" 0..=100000, 1000, "burst credit of a process, in mean random requests";
    CreditShare "credit_share" "weights" 1..=100, 7, "weight of all processes on credit, relative to all others";
    IdlePercent "idle_percent" "percent" 0..=100, 12, "maximum share of time for failed waits";
    Exposed "exposed" "requests" 1..=4096, 64, "how many requests of a flow the one-way order sees";
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
