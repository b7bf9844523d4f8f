//! Progress of a running experiment as OpenMetrics text.
//!
//! It uses gauges even for counts, so that it is also valid in the older Prometheus format, which
//! names counters differently (see `export`).

use std::collections::BTreeMap;

use experiment::results::Trial;

use crate::export::openmetrics::{Labels, Text};

/// Limits workload and variant pairs with samples: a search tries any number of settings.
const MOST_SERIES: usize = 1000;

#[derive(Debug, Clone, Default)]
pub struct Running {
    pub name: String,
    pub arena: String,
    pub device: String,
    pub version: String,
    pub is_virtual: bool,
    /// As in the results file's last line; `None` while running.
    pub ended: Option<String>,
    /// 0 to 1.
    pub share: f64,
    /// On the arena's clock.
    pub elapsed_s: f64,
    /// Upper bound of the remaining wall-clock time.
    pub left_s: Option<f64>,
    /// End of the last trial since 1970.
    pub last_trial_s: Option<f64>,
    variants: BTreeMap<(String, String), Variant>,
    /// Trials of pairs without samples.
    others: u64,
}

#[derive(Debug, Clone, Default)]
struct Variant {
    trials: u64,
    invalid: u64,
    /// The deciding metric, and its last value.
    last: Option<(String, f64)>,
    decided: bool,
}

impl Running {
    /// `metric` is the deciding one.
    pub fn measured(&mut self, trial: &Trial, metric: &str) {
        let Some(variant) = self.variant(&trial.workload, &trial.variant) else { return };
        variant.trials += 1;
        variant.invalid += u64::from(!trial.observation.invalid.is_empty());
        if let Some(value) = trial.observation.metrics.get(metric) {
            variant.last = Some((metric.to_owned(), *value));
        }
    }

    pub fn decided(&mut self, workload: &str, variant: &str) {
        if let Some(variant) = self.variant(workload, variant) {
            variant.decided = true;
        }
    }

    fn variant(&mut self, workload: &str, variant: &str) -> Option<&mut Variant> {
        let key = (workload.to_owned(), variant.to_owned());
        if self.variants.len() >= MOST_SERIES && !self.variants.contains_key(&key) {
            self.others += 1;
            return None;
        }
        Some(self.variants.entry(key).or_default())
    }

    pub fn openmetrics(&self) -> String {
        let mut text = Text::default();
        let of = || vec![("experiment", self.name.clone())];
        let mut about = of();
        about.extend([
            ("device", self.device.clone()),
            ("arena", self.arena.clone()),
            ("clock", if self.is_virtual { "virtual" } else { "real" }.to_owned()),
            ("schedlab", self.version.clone()),
        ]);
        text.family("run_about", "what is measured, and with what; always 1", [(about, 1.0)]);
        text.family(
            "run_active",
            "1 while it is measured, 0 once it has ended",
            [(of(), f64::from(u8::from(self.ended.is_none())))],
        );
        let ended = self.ended.as_ref().map(|why| {
            let mut labels = of();
            labels.push(("why", why.clone()));
            (labels, 1.0)
        });
        text.family("run_ended", "how it ended; always 1", ended);
        text.family(
            "run_done_ratio",
            "share of the plan that is done; it may end earlier, by verdicts",
            [(of(), self.share)],
        );
        text.family(
            "run_elapsed_seconds",
            "time spent on measuring, by the clock that run_about names",
            [(of(), self.elapsed_s)],
        );
        text.family(
            "run_left_seconds",
            "real time until its end, at most",
            self.left_s.map(|left| (of(), left)),
        );
        text.family(
            "run_last_trial_seconds",
            "end of the last trial, in seconds since 1970",
            self.last_trial_s.map(|at| (of(), at)),
        );
        let variants = |value: fn(&Variant) -> f64| {
            self.variants.iter().map(move |(key, variant)| (self.labels(key), value(variant)))
        };
        text.family(
            "run_trials",
            "trials so far, invalid ones among them",
            variants(|variant| variant.trials as f64),
        );
        text.family(
            "run_invalid_trials",
            "trials so far that are invalid in whole or part",
            variants(|variant| variant.invalid as f64),
        );
        text.family(
            "run_decided",
            "1 for a variant that is not measured any more: decided, refused or given up",
            variants(|variant| f64::from(u8::from(variant.decided))),
        );
        let last = self.variants.iter().filter_map(|(key, variant)| {
            let (metric, value) = variant.last.clone()?;
            let mut labels = self.labels(key);
            labels.push(("metric", metric));
            Some((labels, value))
        });
        text.family("run_last_value", "the deciding metric in the last trial, no verdict", last);
        text.family(
            "run_other_trials",
            "trials of further variants, which have no lines",
            (self.others > 0).then(|| (of(), self.others as f64)),
        );
        text.finish()
    }

    fn labels(&self, (workload, variant): &(String, String)) -> Labels {
        vec![
            ("experiment", self.name.clone()),
            ("workload", workload.clone()),
            ("variant", variant.clone()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use experiment::results::Observation;

    use super::*;

    fn trial(variant: &str, value: f64) -> Trial {
        let observation =
            Observation { metrics: [("iops".to_owned(), value)].into(), ..Observation::default() };
        Trial {
            sequence: 0,
            workload: "oltp".into(),
            round: 0,
            position: 0,
            variant: variant.into(),
            started_ms: 0,
            observation,
        }
    }

    #[test]
    fn a_run_has_its_share_its_trials_and_its_end() {
        let mut run = Running { name: "a \"b\"\n".into(), share: 0.25, ..Running::default() };
        run.measured(&trial("bfq", 120.5), "iops");
        run.measured(&trial("bfq", 121.5), "iops");
        run.decided("oltp", "bfq");
        let text = run.openmetrics();
        for line in [
            "schedlab_run_done_ratio{experiment=\"a \\\"b\\\"\\n\"} 0.25\n",
            "schedlab_run_trials{experiment=\"a \\\"b\\\"\\n\",workload=\"oltp\",variant=\"bfq\"} 2.0\n",
            "variant=\"bfq\",metric=\"iops\"} 121.5\n",
            "schedlab_run_active{experiment=\"a \\\"b\\\"\\n\"} 1.0\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
        assert!(
            text.ends_with("# EOF\n")
                && !text.contains("run_left_seconds")
                && !text.contains("run_ended")
        );
        run.ended = Some("verdicts-reached".into());
        assert!(run.openmetrics().contains("why=\"verdicts-reached\"} 1.0"));
    }

    #[test]
    fn a_search_of_many_settings_has_a_bounded_number_of_lines() {
        let mut run = Running::default();
        (0..MOST_SERIES + 7)
            .for_each(|at| run.measured(&trial(&format!("variant {at}"), 1.0), "iops"));
        run.measured(&trial("variant 3", 1.0), "iops");
        let text = run.openmetrics();
        assert_eq!(
            text.lines().filter(|line| line.starts_with("schedlab_run_trials{")).count(),
            MOST_SERIES
        );
        assert!(text.contains("schedlab_run_other_trials{experiment=\"\"} 7.0"), "{text}");
    }
}
