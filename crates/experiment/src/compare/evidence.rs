//! Selects the evidence: from one metric's samples to log values of a variant and the baseline.
//!
//! A round counts if both have a valid value. Several values of a variant in one round are averaged
//! on the log scale, so that a round is one unit of evidence. A trial without completions bounds
//! the round's ratio if the other one has some: its rate is below that of one request, its latency
//! at least the trial's length. Two variants without a single undesired event are equal in a round.

use std::collections::{BTreeMap, BTreeSet};

use crate::reason::{Cause, Example, Reason};
use crate::results::InvalidReason;
use crate::samples::Sample;
use crate::stats::Moments;

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Evidence {
    /// Values, one per counted round, or all without rounds.
    pub(super) variant: Vec<f64>,
    /// Likewise.
    pub(super) baseline: Vec<f64>,
    /// The rounds of those pairs, in order; empty without rounds.
    pub(super) rounds: Vec<u32>,
    /// Rounds with a bound for the variant, and for the baseline.
    pub(super) starved: [u32; 2],
    /// Rounds without an undesired event under the variant, and under the baseline.
    pub(super) free: [u32; 2],
    pub(super) paired: bool,
    /// Number of rounds, including invalid ones.
    pub(super) total: u32,
    pub(super) invalid: u32,
    /// Neither evidence nor invalid.
    pub(super) unfinished: u32,
    pub(super) reasons: Vec<Reason>,
}

impl Evidence {
    /// Returns log(variant / baseline) by round; empty without rounds.
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

pub(super) struct Cells<'a> {
    by_variant: BTreeMap<&'a str, BTreeMap<u32, Cell<'a>>>,
    paired: bool,
}

#[derive(Default)]
struct Cell<'a> {
    valid: Vec<f64>,
    /// Of those, values that are half an event instead of none.
    free: usize,
    /// Logarithm of a single request's rate, per trial.
    of_one_request: Vec<f64>,
    starved: Vec<&'a Sample>,
    invalid: Vec<&'a Sample>,
}

enum Value {
    Measured(f64),
    Bound(f64),
    Nothing,
}

impl Cell<'_> {
    /// The logarithm of the value. A zero rate is bounded by that of one request, whose size the
    /// other cell gives.
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

    fn is_free_of_events(&self) -> bool {
        !self.valid.is_empty() && self.free == self.valid.len()
    }

    /// The round is then unfinished, as after a crash, rather than invalid.
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
    /// Ignores all rounds if any sample has none.
    pub(super) fn of(samples: &[&'a Sample]) -> Cells<'a> {
        let paired = samples.iter().all(|sample| sample.round.is_some());
        let mut by_variant: BTreeMap<&str, BTreeMap<u32, Cell>> = BTreeMap::new();
        for sample in samples {
            let round = if paired { sample.round.unwrap_or_default() } else { 0 };
            let cell = by_variant.entry(&sample.variant).or_default().entry(round).or_default();
            match sample.log() {
                Some(log) => {
                    cell.valid.push(log);
                    cell.free += usize::from(sample.is_free_of_events());
                    cell.of_one_request
                        .extend(sample.requests.map(|requests| log - (requests as f64).ln()));
                }
                None if sample.is_starved() => cell.starved.push(sample),
                None => cell.invalid.push(sample),
            }
        }
        Cells { by_variant, paired }
    }

    pub(super) fn paired(&self) -> bool {
        self.paired
    }

    /// At most the first `most` rounds that count.
    pub(super) fn evidence(&self, variant: &str, baseline: &str, most: usize) -> Evidence {
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
            pairs(variants, baselines, baseline, most)
        } else {
            groups(&variants[&0], &baselines[&0])
        }
    }
}

fn pairs(
    variants: &BTreeMap<u32, Cell<'_>>,
    baselines: &BTreeMap<u32, Cell<'_>>,
    baseline: &str,
    most: usize,
) -> Evidence {
    let mut evidence = Evidence { paired: true, ..Evidence::default() };
    let mut left_out = LeftOut::default();
    let (mut incomplete, mut beside) = (0, 0);
    for (round, cell) in variants {
        if evidence.rounds.len() == most {
            break;
        }
        let Some(base) =
            baselines.get(round).filter(|base| !base.was_interrupted() && !cell.was_interrupted())
        else {
            incomplete += 1;
            continue;
        };
        evidence.total += 1;
        let (variant, baseline) = match (cell.value(base), base.value(cell)) {
            (Value::Measured(variant), Value::Measured(baseline)) => {
                let free = [cell, base].map(Cell::is_free_of_events);
                evidence.free.iter_mut().zip(free).for_each(|(all, free)| *all += u32::from(free));
                // Numbers of requests say nothing of events that did not occur.
                (variant, if free == [true; 2] { variant } else { baseline })
            }
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
        free: [0; 2],
        paired: false,
        total: total as u32,
        invalid: invalid as u32,
        unfinished: 0,
        reasons: left_out.reasons(total as u32, false),
    }
}

/// Omitted rounds and the first example, by class of reason.
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

    /// Returns one reason per class, the most frequent first.
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
