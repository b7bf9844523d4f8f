//! What counts and what does not: from the samples of one metric to the log values of a variant and
//! its baseline.
//!
//! A round counts when both the variant and the baseline have a valid value in it. What is left out
//! is counted and named with its first example; nothing disappears. Several valid values of one
//! variant in one round (foreign tables have them) are averaged on the log scale, so that a round
//! stays one unit of evidence.
//!
//! A trial in which nothing completed bounds the round's ratio, as long as something completed in
//! the other one's trial: its rate is less than that of one request, its latency at least the
//! length of the trial. The bound stands for the value.

use std::collections::{BTreeMap, BTreeSet};

use crate::reason::{Cause, Example, Reason};
use crate::results::InvalidReason;
use crate::samples::Sample;
use crate::stats::Moments;

/// The evidence about one variant.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Evidence {
    /// Log values of the variant: one per counted round, or all where there are no rounds.
    pub(super) variant: Vec<f64>,
    /// Log values of the baseline: in the same rounds, or all.
    pub(super) baseline: Vec<f64>,
    /// The rounds of those pairs, in the same order; empty where there are no rounds.
    pub(super) rounds: Vec<u32>,
    /// How many of those rounds have a bound for the variant, and for the baseline.
    pub(super) starved: [u32; 2],
    /// Whether the two are pairs.
    pub(super) paired: bool,
    /// How many rounds (or observations) there are, invalid ones included.
    pub(super) total: u32,
    /// How many of them are invalid.
    pub(super) invalid: u32,
    /// Rounds that were not finished: no evidence, and nothing against the evidence either.
    pub(super) unfinished: u32,
    /// What was left out and why.
    pub(super) reasons: Vec<Reason>,
}

impl Evidence {
    /// log(variant / baseline) of each round; empty where there are no rounds.
    pub(super) fn log_ratios(&self) -> Vec<f64> {
        if !self.paired {
            return Vec::new();
        }
        self.variant
            .iter()
            .zip(&self.baseline)
            .map(|(variant, baseline)| variant - baseline)
            .collect()
    }
}

/// All samples of one metric of one workload, sorted by variant and round.
pub(super) struct Cells<'a> {
    by_variant: BTreeMap<&'a str, BTreeMap<u32, Cell<'a>>>,
    paired: bool,
}

#[derive(Default)]
struct Cell<'a> {
    valid: Vec<f64>,
    /// The logarithm of the rate of a single request in each of those trials that count them.
    of_one_request: Vec<f64>,
    starved: Vec<&'a Sample>,
    invalid: Vec<&'a Sample>,
}

/// What a cell has to say in a round.
enum Value {
    Measured(f64),
    Bound(f64),
    Nothing,
}

impl Cell<'_> {
    /// The logarithm of the value. A rate of nothing is bounded by that of one request, of which
    /// the other cell knows the size.
    fn value(&self, other: &Cell<'_>) -> Value {
        let mean = |logs: &[f64]| Moments::of(logs).mean;
        if !self.valid.is_empty() {
            return Value::Measured(mean(&self.valid));
        }
        let waits: Vec<f64> =
            self.starved.iter().filter(|s| s.value > 0.0).map(|s| s.value.ln()).collect();
        let bounds = if waits.is_empty() { &other.of_one_request } else { &waits };
        if self.starved.is_empty() || bounds.is_empty() {
            Value::Nothing
        } else {
            Value::Bound(mean(bounds))
        }
    }

    /// Whether the variant's only trial in the round was cut off by the user: a round that was not
    /// finished, like one that a crash cut off, and nothing that speaks against the evidence of the
    /// others.
    fn was_interrupted(&self) -> bool {
        let interrupted = |sample: &&Sample| {
            sample
                .invalid
                .iter()
                .any(|invalid| matches!(invalid, InvalidReason::Interrupted { .. }))
        };
        self.valid.is_empty() && self.invalid.iter().any(interrupted)
    }
}

impl<'a> Cells<'a> {
    /// Sorts the samples. If any of them has no round, none is taken to have one.
    pub(super) fn of(samples: &[&'a Sample]) -> Cells<'a> {
        let paired = samples.iter().all(|sample| sample.round.is_some());
        let mut by_variant: BTreeMap<&str, BTreeMap<u32, Cell>> = BTreeMap::new();
        for sample in samples {
            let round = if paired { sample.round.unwrap_or_default() } else { 0 };
            let cell = by_variant.entry(&sample.variant).or_default().entry(round).or_default();
            match sample.log() {
                Some(log) => {
                    cell.valid.push(log);
                    cell.of_one_request
                        .extend(sample.requests.map(|requests| log - (requests as f64).ln()));
                }
                None if sample.is_starved() => cell.starved.push(sample),
                None => cell.invalid.push(sample),
            }
        }
        Cells { by_variant, paired }
    }

    /// Whether there are rounds.
    pub(super) fn paired(&self) -> bool {
        self.paired
    }

    /// The evidence about `variant` against `baseline`.
    pub(super) fn evidence(&self, variant: &str, baseline: &str) -> Evidence {
        let nothing = BTreeMap::new();
        let variants = self.by_variant.get(variant).unwrap_or(&nothing);
        let baselines = self.by_variant.get(baseline).unwrap_or(&nothing);
        for (name, cells) in [(variant, variants), (baseline, baselines)] {
            if cells.is_empty() {
                let reasons = vec![Reason::NoValue { variant: name.to_string() }];
                return Evidence { paired: self.paired, reasons, ..Evidence::default() };
            }
        }
        if self.paired {
            pairs(variants, baselines, baseline)
        } else {
            groups(&variants[&0], &baselines[&0])
        }
    }
}

fn pairs(
    variants: &BTreeMap<u32, Cell<'_>>,
    baselines: &BTreeMap<u32, Cell<'_>>,
    baseline: &str,
) -> Evidence {
    let mut evidence = Evidence { paired: true, ..Evidence::default() };
    let mut left_out = LeftOut::default();
    let (mut incomplete, mut beside) = (0, 0);
    for (round, cell) in variants {
        let Some(base) =
            baselines.get(round).filter(|base| !base.was_interrupted() && !cell.was_interrupted())
        else {
            incomplete += 1;
            continue;
        };
        evidence.total += 1;
        let (variant, baseline) = match (cell.value(base), base.value(cell)) {
            (Value::Measured(variant), Value::Measured(baseline)) => (variant, baseline),
            (Value::Bound(variant), Value::Measured(baseline)) => {
                evidence.starved[0] += 1;
                (variant, baseline)
            }
            (Value::Measured(variant), Value::Bound(baseline)) => {
                evidence.starved[1] += 1;
                (variant, baseline)
            }
            _ => {
                evidence.invalid += 1;
                for empty in [cell, base].into_iter().filter(|cell| cell.valid.is_empty()) {
                    left_out.add(*round, &[&empty.invalid[..], &empty.starved[..]].concat());
                }
                continue;
            }
        };
        beside += cell.invalid.len() + base.invalid.len();
        evidence.rounds.push(*round);
        evidence.variant.push(variant);
        evidence.baseline.push(baseline);
    }
    evidence.reasons = left_out.reasons(evidence.total, true);
    evidence.unfinished = incomplete;
    if incomplete > 0 {
        evidence
            .reasons
            .push(Reason::Unfinished { rounds: incomplete, baseline: baseline.to_string() });
    }
    if beside > 0 {
        evidence.reasons.push(Reason::InvalidBesideValid { trials: beside });
    }
    evidence
}

fn groups(variant: &Cell<'_>, baseline: &Cell<'_>) -> Evidence {
    let mut left_out = LeftOut::default();
    let invalid = [&variant.invalid, &variant.starved, &baseline.invalid, &baseline.starved];
    for (i, sample) in invalid.into_iter().flatten().enumerate() {
        left_out.add(i as u32, &[sample]);
    }
    let invalid: usize = invalid.iter().map(|samples| samples.len()).sum();
    let total = invalid + variant.valid.len() + baseline.valid.len();
    Evidence {
        variant: variant.valid.clone(),
        baseline: baseline.valid.clone(),
        rounds: Vec::new(),
        starved: [0; 2],
        paired: false,
        total: total as u32,
        invalid: invalid as u32,
        unfinished: 0,
        reasons: left_out.reasons(total as u32, false),
    }
}

/// What was left out, by class of reason: the rounds, and the first example.
#[derive(Default)]
struct LeftOut(BTreeMap<String, (BTreeSet<u32>, Example)>);

impl LeftOut {
    fn add(&mut self, round: u32, samples: &[&Sample]) {
        for sample in samples {
            let mut causes: Vec<Cause> =
                sample.invalid.iter().cloned().map(Cause::Invalid).collect();
            if sample.is_starved() {
                causes.push(Cause::NothingCompleted);
            } else if causes.is_empty() {
                causes.push(Cause::NotPositive {
                    metric: sample.metric.clone(),
                    value: sample.value,
                });
            }
            for cause in causes {
                let class = cause.class().to_string();
                let example =
                    || Example { round: sample.round, variant: sample.variant.clone(), cause };
                self.0.entry(class).or_insert_with(|| (BTreeSet::new(), example())).0.insert(round);
            }
        }
    }

    /// One reason for each class, the most frequent first.
    fn reasons(self, total: u32, rounds: bool) -> Vec<Reason> {
        let mut classes: Vec<_> = self.0.into_iter().collect();
        classes.sort_by(|a, b| b.1.0.len().cmp(&a.1.0.len()).then_with(|| a.0.cmp(&b.0)));
        let reason = |(_, (places, example)): (String, (BTreeSet<u32>, Example))| Reason::LeftOut {
            count: places.len(),
            total,
            rounds,
            example,
        };
        classes.into_iter().map(reason).collect()
    }
}
