//! Whether a trial has enough events for its primary metric.
//!
//! A trial with 30 reads resolves `read_iops` only to 3 %, with 18 % of noise. Each metric's
//! [`Counts`](crate::metric::Counts) are compared with
//! [`Metric::floor`](crate::metric::Metric::floor). Trials below it still count; they are
//! lengthened in advance or reported in a caution. A percentile of too few requests is also invalid
//! ([`InvalidReason::TooFewIos`]).

use crate::metric::{Counts, Metric, find};
use crate::plan::Plan;
use crate::results::{InvalidReason, Observation, Trial};

/// Number of events, found and required.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The kind of event: `reads`.
    pub what: &'static str,
    /// Events in a trial.
    pub events: u64,
    /// Events required.
    pub floor: u64,
}

impl Resolution {
    /// Whether there were enough.
    pub fn is_enough(&self) -> bool {
        self.events >= self.floor
    }

    /// Returns one event in percent of the value.
    pub fn step_percent(&self) -> f64 {
        100.0 / (self.events.max(1)) as f64
    }
}

/// Returns `None` if the metric counts nothing or nothing was measured.
pub fn of_trial(observation: &Observation, metric: &str) -> Option<Resolution> {
    let row = find(metric)?;
    let floor = row.floor();
    let too_few = observation.invalid.iter().find_map(|reason| match reason {
        InvalidReason::TooFewIos { metric: of, count, .. } if of == metric => Some(*count),
        _ => None,
    });
    let what = row.counts.map_or("events", |counts| counts.words());
    if let Some(events) = too_few {
        return Some(Resolution { what, events, floor });
    }
    let events = counted(observation, metric, row)?;
    Some(Resolution { what, events, floor })
}

fn counted(observation: &Observation, metric: &str, row: &Metric) -> Option<u64> {
    let counts = row.counts?;
    if observation.duration_ns == 0 {
        return None;
    }
    // A flow's or job's metric is counted by its own rate.
    let of = metric.strip_suffix(row.name).unwrap_or_default();
    if let Some(rate) = observation.metrics.get(&format!("{of}{}", counts.rate())) {
        let without = (counts == Counts::Deadlines)
            .then(|| observation.metrics.get(&format!("{of}{}", Counts::BestEffort.rate())))
            .flatten();
        let rate = rate - without.copied().unwrap_or_default();
        return Some((rate * observation.duration_ns as f64 / 1e9).round().max(0.0) as u64);
    }
    // Without a rate the metric is a program's; a trial without completions in the window has none
    // either.
    let is_whole = observation.invalid.iter().all(|reason| !reason.applies_to(metric));
    let is_absent = !observation.metrics.contains_key(metric)
        && row.starved_value(observation.duration_ns).is_some();
    (is_absent && is_whole).then_some(0)
}

/// Cautions for workloads with too few events for the primary metric, by the median of trials.
pub fn cautions(plan: &Plan, trials: &[Trial]) -> Vec<String> {
    let of_workload = |workload: &crate::plan::WorkloadSpec| {
        let primary = workload.primary.as_deref()?;
        if find(primary).is_none_or(|row| row.percentile.is_some()) {
            return None;
        }
        let of = trials.iter().filter(|trial| trial.workload == workload.name);
        let valid = of.filter(|trial| {
            trial.observation.invalid.iter().all(|reason| !reason.applies_to(primary))
        });
        let mut found: Vec<Resolution> =
            valid.filter_map(|trial| of_trial(&trial.observation, primary)).collect();
        found.sort_by_key(|resolution| resolution.events);
        let median = found.get(found.len() / 2)?;
        if median.is_enough() {
            return None;
        }
        let (least, most) = (found.first()?.events, found.last()?.events);
        let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
        Some(format!(
            "{}: a trial has {range} {}, fewer than the {} that {primary} needs: one more or less is {:.0} % of its value; \
             measure again in longer trials (--trial-time)",
            workload.name,
            median.what,
            median.floor,
            median.step_percent()
        ))
    };
    plan.workloads.iter().filter_map(of_workload).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{parse_variants, parse_workloads};

    fn observed(window_ms: u64, rates: &[(&str, f64)]) -> Observation {
        let metrics = rates.iter().map(|(name, rate)| (name.to_string(), *rate)).collect();
        Observation { duration_ns: window_ms * 1_000_000, metrics, ..Observation::default() }
    }

    fn events(observation: &Observation, metric: &str) -> Option<u64> {
        of_trial(observation, metric).map(|resolution| resolution.events)
    }

    #[test]
    fn a_rate_and_a_mean_rest_on_the_events_of_the_window() {
        let seen = observed(
            200,
            &[("iops", 250.0), ("read_iops", 150.0), ("reader.read_iops", 100.0), ("tps", 2000.0)],
        );
        let names = [
            "iops",
            "read_latency_mean_us",
            "reader.read_mb_per_s",
            "tps",
            "write_iops",
            "wall_s",
            "score",
        ];
        let found = names.map(|name| events(&seen, name));
        assert_eq!(found, [Some(50), Some(30), Some(20), Some(400), Some(0), None, None]);
        let timed = observed(1000, &[("iops", 250.0), ("best_effort_iops", 50.0)]);
        assert_eq!(events(&timed, "deadline_miss_percent"), Some(200));
        assert!(!of_trial(&seen, "iops").expect("counted").is_enough());
        assert!(of_trial(&seen, "tps").expect("counted").is_enough());
    }

    #[test]
    fn a_percentile_takes_as_many_as_it_needs_and_says_itself_how_many_there_were() {
        let mut seen = observed(1000, &[("iops", 999.0)]);
        let of = |seen: &Observation| of_trial(seen, "latency_p99_us").expect("counted");
        assert_eq!((of(&seen).events, of(&seen).floor, of(&seen).is_enough()), (999, 1000, false));
        let metric = "wakeup_p99_us".to_string();
        seen.invalid.push(InvalidReason::TooFewIos { metric, count: 7, needed: 1000 });
        assert_eq!(events(&seen, "wakeup_p99_us"), Some(7));
    }

    #[test]
    fn a_trial_in_which_nothing_was_completed_holds_none_and_one_that_was_not_measured_says_nothing()
     {
        assert_eq!(events(&observed(100, &[]), "iops"), Some(0));
        assert_eq!(events(&Observation::default(), "iops"), None);
        let failed = InvalidReason::ProgramFailed { detail: String::new() };
        assert_eq!(
            events(&Observation { invalid: vec![failed], ..observed(100, &[]) }, "iops"),
            None
        );
    }

    #[test]
    fn results_of_short_trials_are_cautioned_against_by_what_they_held() {
        let mut plan: Plan = toml::from_str("device = 'sda'\nvariant = []\nworkload = []").unwrap();
        plan.variants = parse_variants(&["none", "bfq"]).unwrap();
        plan.workloads =
            parse_workloads(&["randread:primary=read_iops", "oltp:primary=latency_p99_us"])
                .unwrap();
        let trial = |workload: &str, round: u32, rate: f64| Trial {
            sequence: 0,
            workload: workload.to_string(),
            round,
            position: 0,
            variant: "none".to_string(),
            started_ms: 0,
            observation: observed(192, &[("read_iops", rate), ("iops", rate)]),
        };
        let few: Vec<Trial> =
            [130.0, 224.0, 170.0].iter().map(|rate| trial("randread", 0, *rate)).collect();
        let found = cautions(&plan, &few);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(
            "randread: a trial has 25 to 43 reads, fewer than the 100 that read_iops needs"
        ));
        assert!(found[0].contains("is 3 % of its value"), "{found:?}");
        let enough: Vec<Trial> = (0..3).map(|round| trial("randread", round, 5000.0)).collect();
        assert_eq!(cautions(&plan, &enough), [""; 0]);
        let percentile = [trial("oltp", 0, 10.0)];
        assert_eq!(
            cautions(&plan, &percentile),
            [""; 0],
            "a percentile of too few requests is invalid, and says so"
        );
    }
}
