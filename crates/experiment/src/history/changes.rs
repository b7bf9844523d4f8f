//! Changes in a device's history: after which test, and what differs there.
//!
//! For every watch, workload and variant both the effect against the baseline and the level are
//! tracked, as sequences of logarithms for `stats::cusum`. A slower variant shows in both, a slower
//! kernel only in the levels. The false alarm rate is divided among all sequences of a history.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Entry, Measured, Outcome};
use crate::environment::{Difference, differences};
use crate::stats::cusum;

/// Default tests between false alarms: twenty years of weekly tests.
pub const RUN_LENGTH: f64 = 1000.0;

/// The tracked quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Followed {
    /// The metric's value.
    Level,
    /// The ratio to the baseline.
    Effect,
}

/// A change of one variant on one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HistoryChange {
    /// The watch.
    pub watch: String,
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// The variant.
    pub variant: String,
    /// Level or effect.
    pub followed: Followed,
    /// Time of the first test after the change.
    pub at: String,
    /// Time of its detection.
    pub noticed: String,
    /// After divided by before.
    pub ratio: f64,
    /// Differences between the first test after the change and the one before.
    pub differences: Vec<Difference>,
}

/// Watch, workload, metric, variant, quantity.
type Key<'a> = (&'a str, &'a str, &'a str, &'a str, Followed);

/// Finds changes, oldest first, with one false alarm per `run_length` tests of a watch on average.
pub fn changes(entries: &[Entry], run_length: f64) -> Vec<HistoryChange> {
    let mut sequences: BTreeMap<Key<'_>, Vec<(&Entry, &Measured, f64)>> = BTreeMap::new();
    for entry in entries {
        let Outcome::Measured(measured) = &entry.outcome else { continue };
        let watch = entry.watch.as_str();
        let effects = measured.effects.iter().filter_map(|one| {
            Some((
                (watch, &*one.workload, &*one.metric, &*one.variant, Followed::Effect),
                one.ratio?,
            ))
        });
        let levels = measured.levels.iter().map(|one| {
            ((watch, &*one.workload, &*one.metric, &*one.variant, Followed::Level), one.mean)
        });
        for (key, value) in
            effects.chain(levels).filter(|(_, value)| *value > 0.0 && value.is_finite())
        {
            sequences.entry(key).or_default().push((entry, measured, value.ln()));
        }
    }
    let each = run_length * sequences.len().max(1) as f64;
    let mut found: Vec<HistoryChange> =
        sequences.iter().flat_map(|(key, tests)| of_sequence(*key, tests, each)).collect();
    found.sort_by(|a, b| {
        (&a.at, &a.watch, &a.workload, &a.variant).cmp(&(&b.at, &b.watch, &b.workload, &b.variant))
    });
    found
}

fn of_sequence(
    key: Key<'_>,
    tests: &[(&Entry, &Measured, f64)],
    run_length: f64,
) -> Vec<HistoryChange> {
    let logs: Vec<f64> = tests.iter().map(|(.., log)| *log).collect();
    let (watch, workload, metric, variant, followed) = key;
    let of = |change: &cusum::Change| {
        let (before, after) = (tests[change.first - 1].1, tests[change.first].1);
        HistoryChange {
            watch: watch.to_owned(),
            workload: workload.to_owned(),
            metric: metric.to_owned(),
            variant: variant.to_owned(),
            followed,
            at: tests[change.first].0.at.clone(),
            noticed: tests[change.noticed].0.at.clone(),
            ratio: (change.after - change.before).exp(),
            differences: differences(&after.environment, &before.environment),
        }
    };
    cusum::changes(&logs, run_length).iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::LevelOf;

    /// Weekly tests of two variants: kernel 6.12 from the 30th on, with bfq at 0.9 of its level.
    fn entries() -> Vec<Entry> {
        let one = |week: u32| {
            let noise = 1.0 + 0.004 * (f64::from(week * 7919 % 13) - 6.0) / 6.0;
            let drop = if week < 30 { 1.0 } else { 0.9 };
            let level = |variant: &str, mean: f64| LevelOf {
                workload: "r".into(),
                metric: "iops".into(),
                variant: variant.into(),
                n: 12,
                mean,
            };
            let kernel = if week < 30 { "6.1.0" } else { "6.12.0" };
            let environment = [
                ("kernel.release".to_owned(), kernel.to_owned()),
                ("tools.fio".to_owned(), "3.33".into()),
            ];
            let measured = Measured {
                levels: vec![level("none", 1000.0 * noise), level("bfq", 900.0 * noise * drop)],
                environment: environment.into(),
                ..Measured::default()
            };
            Entry {
                at: format!("2026-{:02}-{:02}T02:00:00Z", 1 + week / 28, 1 + week % 28),
                watch: "sdb".into(),
                device: "/dev/sdb".into(),
                outcome: Outcome::Measured(Box::new(measured)),
            }
        };
        (0..50).map(one).collect()
    }

    #[test]
    fn a_change_names_the_first_test_after_it_and_the_kernel_that_came_with_it() {
        let found = changes(&entries(), RUN_LENGTH);
        assert_eq!(found.len(), 1, "{found:#?}");
        let change = &found[0];
        assert_eq!(
            (change.variant.as_str(), change.followed, change.at.as_str()),
            ("bfq", Followed::Level, "2026-02-03T02:00:00Z")
        );
        assert!((change.ratio - 0.9).abs() < 0.01 && change.noticed > change.at, "{change:?}");
        let [kernel] = change.differences.as_slice() else { panic!("{change:?}") };
        assert_eq!(
            (kernel.name.as_str(), kernel.now.as_deref()),
            ("kernel.release", Some("6.12.0"))
        );
    }
}
