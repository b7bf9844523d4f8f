//! The identity of a build: its source and its tables (docs/decisions/0036-builds.md).
//!
//! The source identifies the rules of measuring. The tables define the names in a plan, so builds
//! with different schedulers, workloads, devices or metrics have different identities even with
//! equal sources.

use std::fmt::Write;

use elevator::{Build, ELEVATORS, LINUX};
use experiment::metric::METRICS;
use load::programs::RUNNERS;
use load::programs::cpu::LOADS;
use sha2::{Digest, Sha256};

const DIGITS: usize = 12;

pub fn identity(source: &str) -> String {
    format!("{source}+{}", tables())
}

pub fn tables() -> String {
    let mut digits = format!("{:x}", Sha256::digest(canonical()));
    digits.truncate(DIGITS);
    digits
}

/// One line per row, in table order. Prose is excluded because it does not affect results.
fn canonical() -> String {
    let mut rows = Rows::default();
    for row in LINUX {
        rows.begin("linux", row.name);
    }
    for row in ELEVATORS {
        let built = (row.build)(&Build::default());
        rows.begin("scheduler", row.name);
        for tunable in row.tunables {
            let (default, min, max) = (built.get(tunable.name), tunable.min, tunable.max);
            rows.field(tunable.name, &format!("{default:?} {} {min} {max}", tunable.unit));
        }
    }
    for row in sim::DEVICES {
        rows.begin("device", row.name);
        rows.field("toml", row.toml);
    }
    for row in sim::workload::describe() {
        rows.begin("workload", row.name);
        rows.field("primary", row.primary);
        row.params.iter().for_each(|param| rows.field(param.name, &param.default));
    }
    for row in RUNNERS {
        rows.begin("program", row.name);
        row.all_options().for_each(|option| rows.option(option));
    }
    for row in LOADS {
        rows.begin("load", row.name);
        row.options.iter().for_each(|option| rows.option(option));
    }
    for row in METRICS {
        rows.begin("metric", row.name);
        rows.field(row.unit, &format!("{:?} {:?} {:?}", row.direction, row.percentile, row.counts));
    }
    rows.0
}

#[derive(Default)]
struct Rows(String);

impl Rows {
    fn begin(&mut self, table: &str, name: &str) {
        let _ = write!(self.0, "\n{table} {name}");
    }

    fn field(&mut self, name: &str, value: &str) {
        let _ = write!(self.0, " {name}={value:?}");
    }

    fn option(&mut self, option: &text::Field) {
        self.field(option.name, option.default);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_part_of_the_identity() {
        let text = canonical();
        let lines = |table: &str| {
            text.lines().filter(|line| line.starts_with(&format!("{table} "))).count()
        };
        assert_eq!((lines("scheduler"), lines("device")), (ELEVATORS.len(), sim::DEVICES.len()));
        assert_eq!(
            (lines("workload"), lines("metric")),
            (sim::workload::WORKLOADS.len(), METRICS.len())
        );
        assert!(
            text.contains("\nscheduler bfq ") && text.contains(" slice_idle="),
            "parameters with their defaults"
        );
        assert_eq!(text, canonical(), "it is the same each time");
        let identity = identity("abc");
        assert!(
            identity.strip_prefix("abc+").is_some_and(|tables| tables.len() == DIGITS),
            "{identity}"
        );
    }
}
