//! Compares every variant of a cell with the best one, whichever it is, and with the baseline.

use super::cell::{ALPHA, Aspect, Described, Entry, Factor, Values};
use crate::metric::Direction;
use crate::stats::fixed::{critical, paired_t};
use crate::stats::{Interval, Moments};

type Rounds = [(u32, f64)];

/// All variants on one metric, the best estimate first.
pub(super) fn aspect(values: &Values<'_>, baseline: &str) -> Aspect {
    let logs = values.logs();
    let mut invalid: Vec<(String, String)> =
        values.invalid.iter().map(|(variant, why)| ((*variant).to_owned(), why.clone())).collect();
    for (variant, _) in &values.variants {
        if !logs.iter().any(|(name, _)| name == variant) {
            invalid.push((
                (*variant).to_owned(),
                format!("a trial has no {} above 0, and so no ratio", values.metric),
            ));
        }
    }
    let level = ALPHA / logs.len().saturating_sub(1).max(1) as f64;
    let mut rule = Paired::at(level);
    let means: Vec<f64> = logs.iter().map(|(_, rounds)| mean(rounds)).collect();
    let leader = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sign = if values.direction == Direction::LowerIsBetter { -1.0 } else { 1.0 };
    let mut entries = Vec::new();
    for (at, (variant, rounds)) in logs.iter().enumerate() {
        let (mut low, mut high) = (0.0_f64, 0.0_f64);
        for (_, other_variant) in
            logs.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, named)| named)
        {
            let interval = rule.interval(other_variant, rounds);
            (low, high) = (low.max(interval.low), high.max(interval.high));
        }
        let base = logs.iter().find(|(name, _)| name == baseline && name != variant);
        entries.push(Entry {
            variant: variant.clone(),
            mean: (sign * means[at]).exp(),
            rounds: rounds.len() as u32,
            against_baseline: base.map(|(_, base)| {
                let interval = rule.interval(rounds, base);
                factor(Moments::of(&differences(rounds, base)).mean, &interval)
            }),
            regret: factor(leader - means[at], &Interval { low, high }),
            among_best: low <= 0.0,
        });
    }
    // Stable: equal variants stay in plan order.
    entries.sort_by(|a, b| a.regret.factor.total_cmp(&b.regret.factor));
    let lower_is_better = values.direction == Direction::LowerIsBetter;
    Aspect {
        metric: values.metric.to_owned(),
        lower_is_better,
        entries,
        starved: values.starved.clone(),
        invalid,
    }
}

/// Each variant's mean with its own interval.
pub(super) fn described(values: &Values<'_>) -> Vec<Described> {
    let of = |(variant, rounds): &(&str, Vec<(u32, f64)>)| {
        let moments = Moments::of(&rounds.iter().map(|(_, value)| *value).collect::<Vec<_>>());
        let interval = paired_t(&moments, ALPHA);
        Described {
            variant: (*variant).to_owned(),
            mean: moments.mean,
            low: finite(interval.low),
            high: finite(interval.high),
        }
    };
    values.variants.iter().map(of).collect()
}

struct Paired {
    level: f64,
    known: Vec<(usize, f64)>,
}

impl Paired {
    fn at(level: f64) -> Paired {
        Paired { level, known: Vec::new() }
    }

    fn interval(&mut self, a: &Rounds, b: &Rounds) -> Interval {
        let moments = Moments::of(&differences(a, b));
        if moments.n < 2 {
            return Interval::UNBOUNDED;
        }
        let known = self.known.iter().find(|(n, _)| *n == moments.n).map(|(_, t)| *t);
        let t = known.unwrap_or_else(|| {
            let t = critical(moments.n as f64 - 1.0, self.level);
            self.known.push((moments.n, t));
            t
        });
        Interval::around(moments.mean, t * moments.sd / (moments.n as f64).sqrt())
    }
}

/// Returns `a` − `b` in common rounds; both are sorted.
pub(super) fn differences(a: &Rounds, b: &Rounds) -> Vec<f64> {
    let of = |(round, value): &(u32, f64)| {
        let at = b.binary_search_by_key(round, |(round, _)| *round).ok()?;
        Some(value - b[at].1)
    };
    a.iter().filter_map(of).collect()
}

pub(super) fn mean(rounds: &Rounds) -> f64 {
    rounds.iter().map(|(_, value)| value).sum::<f64>() / rounds.len().max(1) as f64
}

pub(super) fn factor(difference: f64, interval: &Interval) -> Factor {
    Factor {
        factor: difference.exp(),
        low: finite(interval.low.exp()),
        high: finite(interval.high.exp()),
    }
    .without_zero()
}

impl Factor {
    /// An unbounded lower end is the factor 0, which is omitted.
    fn without_zero(self) -> Factor {
        Factor { low: self.low.filter(|low| *low > 0.0), ..self }
    }
}

pub(super) fn finite(value: f64) -> Option<f64> {
    Some(value).filter(|value| value.is_finite())
}
