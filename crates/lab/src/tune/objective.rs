//! Objectives and constraints of a search.
//!
//! An objective is a metric or an expression over metrics. An expression's value becomes metric
//! `objective` (or `objective_cost` if lower is better) of every trial, so that results files,
//! statistics and reports need no special case.

use anyhow::Result;
use experiment::metric::{self, Direction, Metric};
use experiment::plan::WorkloadSpec;
use experiment::results::{InvalidReason, Observation};
use minijinja::{Environment, Value};

use crate::failure::usage;
use text::did_you_mean as nearest;

pub const ALIASES: [(&str, &str); 8] = [
    ("throughput", "throughput_mb_per_s"),
    ("tps", "iops"),
    ("latency", "latency_mean_us"),
    ("p50", "latency_p50_us"),
    ("p99", "latency_p99_us"),
    ("p999", "latency_p999_us"),
    ("read_p99", "read_latency_p99_us"),
    ("write_p99", "write_latency_p99_us"),
];

#[derive(Debug, Clone, PartialEq)]
pub enum Objective {
    /// The workloads' primary metrics.
    Own,
    Metric(&'static str),
    Expression {
        /// Without `min:` or `max:`.
        text: String,
        name: &'static str,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    pub text: String,
    pub metric: &'static str,
    /// Upper or lower bound.
    below: bool,
    /// In the metric's unit.
    bound: f64,
}

impl Objective {
    /// None selects [`Objective::Own`].
    pub fn parse(word: Option<&str>) -> Result<Objective> {
        let Some(word) = word.map(str::trim) else { return Ok(Objective::Own) };
        let (text, name) = match word.split_once(':') {
            Some(("min", text)) => (text.trim(), "objective_cost"),
            Some(("max", text)) => (text.trim(), "objective"),
            _ => (word, "objective"),
        };
        let is_name =
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if is_name {
            let row = find(text, "--objective")?;
            let minimise = name == "objective_cost";
            let natural = row.direction == Direction::LowerIsBetter;
            if !word.contains(':') || minimise == natural {
                if row.direction == Direction::Descriptive {
                    return Err(usage(format!(
                        "--objective {text}: {} has no better direction: more of it is neither better nor worse; choose one with min:{text} or max:{text}",
                        row.name
                    )));
                }
                return Ok(Objective::Metric(row.name));
            }
        }
        let objective = Objective::Expression { text: text.to_owned(), name };
        let unread = |e: &dyn std::fmt::Display| {
            usage(format!(
                "--objective {word}: cannot read the expression ({e}); write arithmetic over metrics, e.g. 'iops / latency_p99_us' or \
                 'min:read_p99 + write_p99'"
            ))
        };
        let environment = Environment::new();
        let compiled = environment.compile_expression(text).map_err(|e| unread(&e))?;
        let mut names: Vec<String> = compiled.undeclared_variables(false).into_iter().collect();
        names.sort();
        if names.is_empty() {
            return Err(unread(&"it names no metric"));
        }
        names.iter().try_for_each(|name| find(name, "--objective").map(drop))?;
        Ok(objective)
    }

    /// Makes the objective every workload's primary metric.
    pub fn decide(&self, workloads: &mut [WorkloadSpec]) {
        let name = match self {
            Objective::Own => return,
            Objective::Metric(name) | Objective::Expression { name, .. } => name,
        };
        workloads.iter_mut().for_each(|spec| spec.primary = Some((*name).to_owned()));
    }

    /// Adds an expression's value to a trial. It is invalid if a percentile in it is.
    pub fn complete(&self, observation: &mut Observation) {
        let Objective::Expression { text, name } = self else { return };
        if observation.metrics.is_empty() {
            return;
        }
        let environment = Environment::new();
        let compiled =
            environment.compile_expression(text).expect("it was compiled when it was read");
        let mut values: Vec<(String, f64)> =
            observation.metrics.iter().map(|(k, v)| (k.clone(), *v)).collect();
        for (alias, metric) in ALIASES {
            values.extend(observation.metrics.get(metric).map(|value| (alias.to_owned(), *value)));
        }
        let used = compiled.undeclared_variables(false);
        let full = |name: &str| {
            ALIASES
                .iter()
                .find(|(alias, _)| *alias == name)
                .map_or(name.to_owned(), |a| a.1.to_owned())
        };
        for reason in observation.invalid.clone() {
            if let InvalidReason::TooFewIos { metric, count, needed } = reason
                && used.iter().any(|name| full(name) == metric)
            {
                let metric = (*name).to_owned();
                observation.invalid.push(InvalidReason::TooFewIos { metric, count, needed });
            }
        }
        let value = compiled
            .eval(Value::from_iter(values))
            .ok()
            .and_then(|value| f64::try_from(value).ok());
        if let Some(value) = value.filter(|value| value.is_finite()) {
            observation.metrics.insert((*name).to_owned(), value);
        }
    }

    pub fn words(&self) -> String {
        match self {
            Objective::Own => "the workload's own primary metric".to_owned(),
            Objective::Metric(name) => (*name).to_owned(),
            Objective::Expression { text, name: "objective_cost" } => format!("minimize {text}"),
            Objective::Expression { text, .. } => format!("maximize {text}"),
        }
    }
}

impl Constraint {
    /// Parses `p99<20ms`, `iops > 500`, `fairness_jain >= 0.9`.
    pub fn parse(word: &str) -> Result<Constraint> {
        let refuse = |problem: &str| {
            usage(format!(
                "--constraint {word}: {problem}; write METRIC<VALUE or METRIC>VALUE, e.g. 'p99<20ms' or 'iops>500'"
            ))
        };
        let at = word.find(['<', '>']).ok_or_else(|| refuse("it has neither < nor >"))?;
        let (name, rest) = (word[..at].trim(), &word[at..]);
        if name.is_empty() {
            return Err(refuse("it names no metric"));
        }
        let row = find(name, "--constraint")?;
        let below = rest.starts_with('<');
        let value = rest[1..].trim_start_matches('=').trim();
        let unit_at =
            value.find(|c: char| c.is_alphabetic() || c == 'µ' || c == '%').unwrap_or(value.len());
        let number: f64 =
            value[..unit_at].trim().parse().map_err(|_| refuse("its bound is not a number"))?;
        let unit = value[unit_at..].trim();
        let scale = scale(row, unit).ok_or_else(|| {
            let units = units(row).iter().map(|(unit, _)| *unit).collect::<Vec<_>>().join(", ");
            refuse(&if unit.is_empty() {
                format!("the bound on {} needs a unit ({units})", row.name)
            } else {
                format!("unknown unit {unit:?} of {} (expected {units})", row.name)
            })
        })?;
        let bound = number * scale;
        if !(bound.is_finite() && bound > 0.0) {
            return Err(refuse("its bound must be above 0"));
        }
        Ok(Constraint { text: word.to_owned(), metric: row.name, below, bound })
    }

    /// log(metric ÷ bound), negated for lower bounds; above 0 when violated.
    pub fn excess(&self, observation: &Observation) -> Option<f64> {
        if observation.invalid.iter().any(|reason| reason.applies_to(self.metric)) {
            return None;
        }
        let value =
            observation.metrics.get(self.metric).copied().filter(|value| value.is_finite())?;
        let ratio =
            if self.below { value / self.bound } else { self.bound / value.max(f64::MIN_POSITIVE) };
        Some(ratio.max(f64::MIN_POSITIVE).ln())
    }
}

/// Accepted units, in multiples of the metric's.
fn units(row: &Metric) -> &'static [(&'static str, f64)] {
    match row.unit {
        "µs" => &[("us", 1.0), ("µs", 1.0), ("ms", 1e3), ("s", 1e6), ("ns", 1e-3)],
        "ms" => &[("ms", 1.0), ("us", 1e-3), ("µs", 1e-3), ("s", 1e3)],
        "MB/s" => &[("MB/s", 1.0), ("kB/s", 1e-3), ("GB/s", 1e3)],
        "of 1" => &[("", 1.0), ("%", 0.01)],
        _ => &[("", 1.0), ("IO/s", 1.0), ("k", 1e3)],
    }
}

/// A unit in multiples of the metric's. Times and rates require one.
fn scale(row: &Metric, unit: &str) -> Option<f64> {
    units(row).iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
}

fn find(name: &str, flag: &str) -> Result<&'static Metric> {
    let full = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, metric)| metric);
    let own = |row: &&Metric| !row.name.starts_with("objective");
    metric::METRICS.iter().filter(own).find(|row| row.name == full).ok_or_else(|| {
        let known = || {
            ALIASES
                .iter()
                .map(|(alias, _)| *alias)
                .chain(metric::METRICS.iter().filter(own).map(|row| row.name))
        };
        usage(format!(
            "{flag}: unknown metric {name:?} (expected one of {}); see schedlab list metrics{}",
            known().collect::<Vec<_>>().join(", "),
            nearest(name, known())
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation(metrics: &[(&str, f64)]) -> Observation {
        let metrics = metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Observation { metrics, ..Observation::default() }
    }

    fn refused<T>(result: Result<T>) -> String {
        result.err().expect("it is refused").to_string()
    }

    #[test]
    fn an_objective_is_a_metric_by_name_or_alias_or_an_expression() {
        assert_eq!(Objective::parse(None).unwrap(), Objective::Own);
        assert_eq!(Objective::parse(Some("p99")).unwrap(), Objective::Metric("latency_p99_us"));
        assert_eq!(Objective::parse(Some("min:p99")).unwrap(), Objective::Metric("latency_p99_us"));
        assert_eq!(Objective::parse(Some("iops")).unwrap(), Objective::Metric("iops"));
        let objective = Objective::parse(Some("iops / p99")).unwrap();
        let mut seen = observation(&[("iops", 500.0), ("latency_p99_us", 250.0)]);
        objective.complete(&mut seen);
        assert_eq!(seen.metrics["objective"], 2.0);
        let mut without = observation(&[("iops", 500.0)]);
        objective.complete(&mut without);
        assert!(!without.metrics.contains_key("objective"));
        let mut cost = observation(&[("iops", 500.0)]);
        Objective::parse(Some("min:iops")).unwrap().complete(&mut cost);
        assert_eq!(cost.metrics["objective_cost"], 500.0);
    }

    #[test]
    fn what_is_no_objective_is_refused_with_what_there_is() {
        for (word, says) in [
            ("iosp", "did you mean \"iops\""),
            ("iops / pp99", "unknown metric \"pp99\""),
            ("iops /", "cannot read the expression"),
            ("1 + 1", "it names no metric"),
            ("merges", "min:merges or max:merges"),
            ("objective", "unknown metric \"objective\""),
        ] {
            let message = refused(Objective::parse(Some(word)));
            assert!(message.contains(says), "{word}: {message}");
        }
    }

    #[test]
    fn a_constraint_is_told_in_any_unit_of_its_metric() {
        let seen =
            observation(&[("latency_p99_us", 25_000.0), ("iops", 400.0), ("fairness_jain", 0.95)]);
        let excess = |word: &str| Constraint::parse(word).unwrap().excess(&seen).unwrap();
        assert!((excess("p99<20ms") - (25.0_f64 / 20.0).ln()).abs() < 1e-12);
        assert!((excess("latency_p99_us <= 50000us") - 0.5_f64.ln()).abs() < 1e-12);
        assert!(
            excess("iops>500") > 0.0
                && excess("tps > 0.3k") < 0.0
                && excess("fairness_jain>=90%") < 0.0
        );
        assert_eq!(Constraint::parse("write_p99<1s").unwrap().excess(&seen), None);
    }

    #[test]
    fn what_is_no_constraint_is_refused_with_an_example() {
        for (word, says) in [
            ("p99", "neither < nor >"),
            ("p99<", "its bound is not a number"),
            ("p99<20", "latency_p99_us needs a unit (us, µs, ms"),
            ("p99<20MB/s", "unknown unit \"MB/s\" of latency_p99_us"),
            ("<20ms", "it names no metric"),
            ("p98<20ms", "unknown metric \"p98\""),
            ("p99<0ms", "above 0"),
        ] {
            let message = refused(Constraint::parse(word));
            assert!(message.contains(says), "{word}: {message}");
        }
    }
}
