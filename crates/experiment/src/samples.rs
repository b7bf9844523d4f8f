//! Samples: one value of one metric of one variant, with its place and validity.
//!
//! Results files and foreign tables are converted to this form and compared by the same code. A
//! trial without a value (for example with a rejected setting) is also a sample, because invalid
//! ones are counted.

use std::collections::{BTreeMap, BTreeSet};

use crate::metric;
use crate::resolution;
use crate::results::{InvalidReason, Results, Trial};

/// One value of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// The variant.
    pub variant: String,
    /// The round; `None` for data without rounds.
    pub round: Option<u32>,
    /// Place in the order of measurement.
    pub sequence: u64,
    /// NaN if missing. For a starved sample its bound: 0 for a rate, the trial's length for a
    /// latency.
    pub value: f64,
    /// 0: the sample is starved.
    pub requests: Option<u64>,
    /// Why it is invalid; empty if it counts.
    pub invalid: Vec<InvalidReason>,
}

impl Sample {
    /// Whether nothing counted by the metric completed in a valid trial: the worst result, with a
    /// known bound.
    pub fn is_starved(&self) -> bool {
        self.requests == Some(0) && self.invalid.is_empty()
    }

    /// Whether none of the undesired events occurred that the metric counts.
    pub fn is_free_of_events(&self) -> bool {
        self.value == 0.0 && self.half_an_event().is_some()
    }

    /// The logarithm of a valid value that is not a bound. No event counts as half a one, which is
    /// Haldane and Anscombe's correction of counts.
    pub fn log(&self) -> Option<f64> {
        let value = if self.value == 0.0 { self.half_an_event()? } else { self.value };
        let counts =
            self.invalid.is_empty() && !self.is_starved() && value.is_finite() && value > 0.0;
        counts.then(|| value.ln())
    }

    fn half_an_event(&self) -> Option<f64> {
        metric::find(&self.metric)?.half_an_event(self.requests?)
    }
}

/// Every metric that any trial of the workload has, and those of `expected` (workload → metric),
/// for every trial, so that missing values are visible.
pub fn of_trials<'a, I>(trials: I, expected: &BTreeMap<String, String>) -> Vec<Sample>
where
    I: IntoIterator<Item = &'a Trial>,
    I::IntoIter: Clone,
{
    let trials = trials.into_iter();
    let mut metrics: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for trial in trials.clone() {
        let known = metrics.entry(&trial.workload).or_default();
        known.extend(trial.observation.metrics.keys().map(String::as_str));
        known.extend(expected.get(&trial.workload).map(String::as_str));
    }
    trials
        .flat_map(|trial| {
            metrics[trial.workload.as_str()].iter().map(move |metric| sample(trial, metric))
        })
        .collect()
}

/// A variant's values of a workload's primary metric.
#[derive(Debug, Clone, PartialEq)]
pub struct DecidingValues {
    /// The workload's label.
    pub workload: String,
    /// The metric.
    pub metric: String,
    /// The variant.
    pub variant: String,
    /// Logarithms of the valid values.
    pub logs: Vec<f64>,
}

/// The values in plan order.
pub fn deciding_values(results: &Results) -> Vec<DecidingValues> {
    let plan = &results.header.plan;
    let mut all = Vec::new();
    for spec in &plan.workloads {
        let Some(metric) = &spec.primary else { continue };
        for variant in &plan.variants {
            let mine = results
                .trials
                .iter()
                .filter(|trial| trial.workload == spec.name && trial.variant == variant.name);
            let logs = mine.filter_map(|trial| sample(trial, metric).log()).collect();
            all.push(DecidingValues {
                workload: spec.name.clone(),
                metric: metric.clone(),
                variant: variant.name.clone(),
                logs,
            });
        }
    }
    all
}

/// The sample of one metric of one trial.
pub fn sample(trial: &Trial, metric: &str) -> Sample {
    let observation = &trial.observation;
    let mut invalid: Vec<InvalidReason> =
        observation.invalid.iter().filter(|invalid| invalid.applies_to(metric)).cloned().collect();
    let reported = observation.metrics.get(metric).copied();
    let requests = resolution::of_trial(observation, metric).map(|resolution| resolution.events);
    // A reported value implies at least one request, even if its rate rounds to 0.
    let requests = requests.map(|requests| requests.max(u64::from(reported.is_some())));
    let bound = || {
        metric::find(metric)?.starved_value(observation.duration_ns).filter(|_| requests == Some(0))
    };
    let value = reported.or_else(bound);
    if value.is_none() && invalid.is_empty() {
        invalid.push(InvalidReason::Foreign { text: format!("the trial reported no {metric}") });
    }
    Sample {
        workload: trial.workload.clone(),
        metric: metric.to_string(),
        variant: trial.variant.clone(),
        round: Some(trial.round),
        sequence: trial.sequence,
        value: value.unwrap_or(f64::NAN),
        requests,
        invalid,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Observation;

    fn trial(variant: &str, metrics: &[(&str, f64)], invalid: Vec<InvalidReason>) -> Trial {
        let metrics = metrics.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        let observation = Observation { metrics, invalid, ..Observation::default() };
        let (workload, variant) = ("w".to_string(), variant.to_string());
        Trial { sequence: 0, workload, round: 0, position: 0, variant, started_ms: 0, observation }
    }

    #[test]
    fn a_trial_without_values_is_still_a_sample_of_every_metric() {
        let refused = InvalidReason::WriteFailed {
            attribute: "scheduler".into(),
            wanted: "kyber".into(),
            error: "EINVAL".into(),
        };
        let trials =
            [trial("none", &[("iops", 5.0)], vec![]), trial("kyber", &[], vec![refused.clone()])];
        let samples = of_trials(&trials, &[("w".to_string(), "latency_p99_us".to_string())].into());
        assert_eq!(samples.len(), 4);
        let kyber: Vec<_> = samples.iter().filter(|sample| sample.variant == "kyber").collect();
        assert!(
            kyber
                .iter()
                .all(|sample| sample.value.is_nan() && sample.invalid == vec![refused.clone()])
        );
        let missing =
            samples.iter().find(|s| s.variant == "none" && s.metric == "latency_p99_us").unwrap();
        assert_eq!(missing.invalid[0].to_string(), "the trial reported no latency_p99_us");
    }

    #[test]
    fn a_trial_without_a_completion_bounds_rates_and_latencies() {
        let mut trials = [
            trial("none", &[("iops", 5.0), ("write_iops", 5.0)], vec![]),
            trial("bfq", &[], vec![]),
        ];
        trials.iter_mut().for_each(|trial| trial.observation.duration_ns = 2_000_000_000);
        let of = |i: usize, metric: &str| sample(&trials[i], metric);
        for (i, metric, bound) in
            [(0, "read_iops", 0.0), (1, "iops", 0.0), (1, "readers.read_latency_p99_us", 2e6)]
        {
            let found = of(i, metric);
            assert_eq!(
                (found.value, found.requests, found.is_starved(), found.log()),
                (bound, Some(0), true, None)
            );
        }
        assert!(!of(0, "write_iops").is_starved() && of(0, "write_iops").requests == Some(10));
        for meaningless in ["fairness_jain", "longest_wait_ms", "nothing_known"] {
            assert!(!of(1, meaningless).invalid.is_empty(), "{meaningless}");
        }
        trials[1].observation.invalid.push(InvalidReason::Interrupted { by: "SIGINT".to_string() });
        assert!(!sample(&trials[1], "iops").is_starved(), "what was cut off shows no starvation");
    }

    #[test]
    fn a_reason_that_spoils_one_metric_leaves_the_others_valid() {
        let few = InvalidReason::TooFewIos {
            metric: "latency_p99_us".to_string(),
            count: 3,
            needed: 1000,
        };
        let trials = [trial("none", &[("iops", 5.0), ("latency_p99_us", 9.0)], vec![few])];
        let samples = of_trials(&trials, &BTreeMap::new());
        assert!(samples.iter().find(|s| s.metric == "iops").unwrap().invalid.is_empty());
        assert_eq!(samples.iter().find(|s| s.metric == "latency_p99_us").unwrap().invalid.len(), 1);
    }
}
