//! One simulated experiment: blocks in shuffled order, a look after each, arms stopped as decided.
//!
//! The intervals, claims and the step-down are those of the product (`stats::sequence`, `judge`, `stats::holm`); only the
//! moments are kept incrementally and the critical values in a table, because a calibration is millions of looks.
//! A test below holds this against `judge` itself.

use super::noise::{Noise, Source};
use crate::judge::{differs, equivalent};
use crate::stats::Interval;
use crate::stats::holm::{StepDown, step_down};

/// A rule that turns n and a level into a critical t; none: no t is enough yet.
pub type Rule = fn(usize, f64) -> Option<f64>;

/// What is simulated.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) noise: Noise,
    /// Standard deviation of the log ratio of a block.
    pub(super) block_sd: f64,
    /// True log ratio of each arm other than the baseline.
    pub(super) effects: Vec<f64>,
    /// The margin, as a log ratio.
    pub(super) margin: f64,
    /// Most blocks; one look after each.
    pub(super) blocks: usize,
    /// Looks begin here: 1, or the last block for a design that looks once.
    pub(super) first_look: usize,
}

/// How an arm ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ending {
    pub(super) claim: Claim,
    pub(super) blocks: usize,
    /// The interval that the report would show.
    pub(super) shown: Interval,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    More,
    Less,
    Equivalent,
    Nothing,
}

impl Claim {
    /// Whether the claim is that the arm differs, and it is not so.
    pub(super) fn is_false_difference(self, effect: f64, margin: f64) -> bool {
        (self == Claim::More && effect <= margin) || (self == Claim::Less && effect >= -margin)
    }

    /// Whether the claim is that the arm is equivalent, and it is not so.
    pub(super) fn is_false_equivalence(self, effect: f64, margin: f64) -> bool {
        self == Claim::Equivalent && effect.abs() >= margin
    }
}

/// Critical values by level and number of blocks.
pub(super) struct Table {
    alpha: f64,
    half: Vec<Vec<f64>>,
}

impl Table {
    /// For up to `m` arms and `blocks` blocks. Entry [k − 1][n]: the critical t over √n at level alpha / k.
    pub(super) fn new(rule: Rule, m: usize, alpha: f64, blocks: usize) -> Table {
        let entry = |k: usize, n: usize| {
            let t = if n < 2 { None } else { rule(n, alpha / k as f64) };
            t.map_or(f64::INFINITY, |t| t / (n as f64).sqrt())
        };
        Table { alpha, half: (1..=m).map(|k| (0..=blocks).map(|n| entry(k, n)).collect()).collect() }
    }

    fn interval(&self, arm: &Running, level: f64) -> Interval {
        let k = (self.alpha / level).round() as usize;
        match self.half[k - 1][arm.n] {
            half if half.is_finite() => Interval::around(arm.mean, half * arm.sd()),
            _ => Interval::UNBOUNDED,
        }
    }
}

/// Runs one experiment with early stopping.
pub(super) fn experiment(setup: &Setup, table: &Table, seed: u64) -> Vec<Ending> {
    let m = setup.effects.len();
    let mut source = Source::new(setup.noise, setup.block_sd, seed);
    let mut arms = vec![Running::default(); m];
    let mut claims = vec![Claim::Nothing; m];
    let mut levels = looks(table, &arms, setup);
    for block in 1..=setup.blocks {
        measure_block(setup, &mut source, &mut arms, |arm| claims[arm] == Claim::Nothing);
        if block < setup.first_look {
            continue;
        }
        levels = looks(table, &arms, setup);
        for (i, claim) in claims.iter_mut().enumerate() {
            if levels[0].decided_at[i].is_some() {
                *claim = if arms[i].mean > 0.0 { Claim::More } else { Claim::Less };
            } else if levels[1].decided_at[i].is_some() {
                *claim = Claim::Equivalent;
            }
        }
        if claims.iter().all(|claim| *claim != Claim::Nothing) {
            break;
        }
    }
    let [differ, equal] = levels;
    (0..m)
        .map(|i| {
            let decided_at = differ.decided_at[i].or(equal.decided_at[i]);
            let level = decided_at.unwrap_or(differ.current.min(equal.current));
            Ending { claim: claims[i], blocks: arms[i].n, shown: table.interval(&arms[i], level) }
        })
        .collect()
}

/// Runs one experiment without stopping: for each arm, whether its interval at the whole alpha covered the truth at every look.
pub(super) fn always_covered(setup: &Setup, table: &Table, seed: u64) -> Vec<bool> {
    let mut source = Source::new(setup.noise, setup.block_sd, seed);
    let mut arms = vec![Running::default(); setup.effects.len()];
    let mut covered = vec![true; arms.len()];
    for _ in 0..setup.blocks {
        measure_block(setup, &mut source, &mut arms, |_| true);
        for (i, arm) in arms.iter().enumerate() {
            covered[i] &= table.interval(arm, table.alpha).contains(setup.effects[i]);
        }
    }
    covered
}

fn looks(table: &Table, arms: &[Running], setup: &Setup) -> [StepDown; 2] {
    let at = |i: usize, level: f64| table.interval(&arms[i], level);
    [
        step_down(arms.len(), table.alpha, |i, level| differs(&at(i, level), setup.margin)),
        step_down(arms.len(), table.alpha, |i, level| equivalent(&at(i, level), setup.margin)),
    ]
}

/// One trial of the baseline and of each active arm, in random order.
fn measure_block(setup: &Setup, source: &mut Source, arms: &mut [Running], active: impl Fn(usize) -> bool) {
    use rand::seq::SliceRandom;

    const BASELINE: usize = usize::MAX;
    let mut order: Vec<usize> = (0..arms.len()).filter(|arm| active(*arm)).collect();
    order.push(BASELINE);
    order.shuffle(source.rng());
    let mut baseline = 0.0;
    let mut values = vec![0.0; arms.len()];
    for arm in &order {
        let noise = source.next();
        if *arm == BASELINE { baseline = noise } else { values[*arm] = setup.effects[*arm] + noise }
    }
    for arm in order.into_iter().filter(|arm| *arm != BASELINE) {
        arms[arm].push(values[arm] - baseline);
    }
}

/// Mean and deviation, value by value (Welford 1962).
#[derive(Debug, Clone, Copy, Default)]
struct Running {
    n: usize,
    mean: f64,
    squares: f64,
}

impl Running {
    fn push(&mut self, value: f64) {
        self.n += 1;
        let before = value - self.mean;
        self.mean += before / self.n as f64;
        self.squares += before * (value - self.mean);
    }

    fn sd(&self) -> f64 {
        if self.n < 2 { 0.0 } else { (self.squares / (self.n as f64 - 1.0)).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Question, judge};
    use crate::metric::Direction;
    use crate::plan::Criteria;
    use crate::samples::Sample;
    use crate::stats::sequence;
    use crate::study::Verdict;

    /// The samples of one block, as a record would have them.
    fn samples(block: u32, baseline: f64, values: &[Option<f64>]) -> Vec<Sample> {
        let sample = |arm: String, log: f64| Sample {
            workload: "w".to_string(),
            metric: "iops".to_string(),
            arm,
            block: Some(block),
            sequence: 0,
            value: log.exp(),
            voids: Vec::new(),
        };
        let arms = values.iter().enumerate().filter_map(|(i, log)| Some(sample(format!("arm{i}"), (*log)?)));
        std::iter::once(sample("base".to_string(), baseline)).chain(arms).collect()
    }

    #[test]
    fn the_simulated_looks_and_the_judge_reach_the_same_verdicts_at_the_same_block() {
        let criteria = Criteria::default();
        let margin = criteria.margin.ln_1p();
        let table = Table::new(sequence::critical_t, 3, criteria.alpha, 60);
        let arms: Vec<String> = (0..3).map(|i| format!("arm{i}")).collect();
        let setup = Setup {
            noise: Noise::Normal,
            block_sd: 0.015,
            effects: vec![0.0, 0.04, -0.03],
            margin,
            blocks: 60,
            first_look: 1,
        };
        let question = Question {
            workload: "w",
            metric: "iops",
            primary: true,
            baseline: "base",
            arms: &arms,
            direction: Direction::HigherIsBetter,
            criteria: &criteria,
        };
        let mut compared = 0;
        for seed in 0..20 {
            let mut source = Source::new(setup.noise, setup.block_sd, seed);
            let (mut running, mut all) = (vec![Running::default(); 3], Vec::new());
            for block in 0..40 {
                let baseline = source.next();
                let values: Vec<Option<f64>> =
                    setup.effects.iter().map(|effect| Some(effect + source.next())).collect();
                for (arm, value) in running.iter_mut().zip(&values) {
                    arm.push(value.expect("all arms are measured") - baseline);
                }
                all.extend(samples(block, baseline, &values));
                let judged = judge(&question, &all.iter().collect::<Vec<_>>());
                let [differ, equal] = looks(&table, &running, &setup);
                for (i, judgement) in judged.iter().enumerate() {
                    let expected = match (differ.decided_at[i], equal.decided_at[i]) {
                        (Some(_), _) if running[i].mean > 0.0 => Verdict::Better,
                        (Some(_), _) => Verdict::Worse,
                        (None, Some(_)) => Verdict::Equivalent,
                        (None, None) => Verdict::Inconclusive,
                    };
                    assert_eq!(judgement.verdict, expected, "seed {seed}, block {block}, arm {i}");
                    compared += usize::from(expected != Verdict::Inconclusive);
                }
            }
        }
        assert!(compared > 500, "only {compared} verdicts were compared");
    }

    #[test]
    fn a_claim_is_false_exactly_when_the_truth_is_elsewhere() {
        assert!(Claim::More.is_false_difference(0.01, 0.01) && !Claim::More.is_false_difference(0.02, 0.01));
        assert!(Claim::More.is_false_difference(-0.5, 0.01) && Claim::Less.is_false_difference(0.5, 0.01));
        assert!(
            Claim::Equivalent.is_false_equivalence(-0.02, 0.01) && !Claim::Equivalent.is_false_equivalence(0.0, 0.01)
        );
        assert!(!Claim::Nothing.is_false_difference(0.0, 0.01) && !Claim::Nothing.is_false_equivalence(1.0, 0.01));
    }
}
