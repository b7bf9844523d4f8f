//! One simulated experiment: shuffled rounds, a look after each, variants stopped as decided.
//!
//! Intervals, claims and step-down are the product's (`stats::spending`, `stats::sequence`,
//! `compare`, `stats::holm`). For millions of looks the moments are incremental and the critical
//! values tabulated; a test compares the result with `compare`.

use super::noise::{Noise, Source};
use crate::compare::{differs, equivalent};
use crate::stats::holm::{StepDown, step_down};
use crate::stats::spending::{Design, Look, Sides, critical_t};
use crate::stats::{Interval, Running, futility, sequence};

/// Critical t from planned rounds, rounds so far, level and look; `None`: no t suffices yet.
pub type Critical = fn(usize, usize, f64, Look) -> Option<f64>;

/// A rule under test.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name in tables.
    pub name: &'static str,
    /// Rounds that its bounds are for.
    pub planned: usize,
    /// Maximum rounds; one look after each.
    pub rounds: usize,
    /// Critical t of "differs".
    pub differ: Critical,
    /// Critical t of "equivalent".
    pub equal: Critical,
    /// Error of the interval shown if equivalent, in units of the level.
    pub equal_error: f64,
    /// Whether hopeless variants are given up.
    pub gives_up: bool,
}

impl Rule {
    /// The confidence sequence.
    pub const fn sequence(rounds: usize) -> Rule {
        let critical = |_: usize, n: usize, level: f64, _: Look| sequence::critical_t(n, level);
        Rule {
            name: "confidence sequence",
            planned: rounds,
            rounds,
            differ: critical,
            equal: critical,
            equal_error: 1.0,
            gives_up: false,
        }
    }

    /// Uses group-sequential bounds for a budget of `rounds`.
    pub const fn spending(rounds: usize) -> Rule {
        Rule {
            name: "spending",
            differ: |planned, n, level, look| {
                critical_t(Design { look, ..Design::of(planned) }, n, level, Sides::Two)
            },
            equal: |planned, n, level, look| {
                critical_t(Design { look, ..Design::of(planned) }, n, level, Sides::One)
            },
            equal_error: 2.0,
            gives_up: true,
            ..Rule::sequence(rounds)
        }
    }

    /// The same with a look after each round of a long experiment, too; nothing is given up.
    pub const fn each_round(rounds: usize) -> Rule {
        const fn design(planned: usize, look: Look) -> Design {
            Design { look, each_round: true, ..Design::of(planned) }
        }
        Rule {
            name: "a look each round",
            differ: |planned, n, level, look| {
                critical_t(design(planned, look), n, level, Sides::Two)
            },
            equal: |planned, n, level, look| {
                critical_t(design(planned, look), n, level, Sides::One)
            },
            gives_up: false,
            ..Rule::spending(rounds)
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) noise: Noise,
    pub(super) round_sd: f64,
    /// True log ratio of each variant other than the baseline.
    pub(super) effects: Vec<f64>,
    pub(super) margin: f64,
    /// Probability that a round is invalid for a variant.
    pub(super) invalid: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ending {
    pub(super) claim: Claim,
    pub(super) rounds: usize,
    pub(super) shown: Interval,
    /// Whether it lies inside the margin, at the confidence of two one-sided bounds.
    pub(super) inside: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Claim {
    More,
    Less,
    Equivalent,
    Nothing,
}

impl Claim {
    pub(super) fn is_false_difference(self, effect: f64, margin: f64) -> bool {
        (self == Claim::More && effect <= margin) || (self == Claim::Less && effect >= -margin)
    }

    pub(super) fn is_false_equivalence(self, effect: f64, margin: f64) -> bool {
        self == Claim::Equivalent && effect.abs() >= margin
    }
}

pub(super) struct Table {
    pub(super) rule: Rule,
    alpha: f64,
    planned: Halves,
    last: Halves,
}

/// Entry [k − 1][n] is the critical t over √n at level alpha / k.
struct Halves {
    differ: Vec<Vec<f64>>,
    equal: Vec<Vec<f64>>,
}

impl Table {
    pub(super) fn new(rule: Rule, m: usize, alpha: f64) -> Table {
        let half = |critical: Critical, look: Look| {
            let entry = |k: usize, n: usize| {
                let t =
                    if n < 2 { None } else { critical(rule.planned, n, alpha / k as f64, look) };
                t.map_or(f64::INFINITY, |t| t / (n as f64).sqrt())
            };
            (1..=m).map(|k| (0..=rule.rounds).map(|n| entry(k, n)).collect()).collect()
        };
        let halves =
            |look| Halves { differ: half(rule.differ, look), equal: half(rule.equal, look) };
        Table { rule, alpha, planned: halves(Look::Planned), last: halves(Look::Last) }
    }

    fn interval(&self, half: &[Vec<f64>], variant: &Running, level: f64) -> Interval {
        let k = (self.alpha / level).round() as usize;
        let moments = variant.moments();
        match half[k - 1][moments.n] {
            half if half.is_finite() => Interval::around(moments.mean, half * moments.sd),
            _ => Interval::UNBOUNDED,
        }
    }

    fn gives_up(&self, variant: &Running, margin: f64) -> bool {
        let design = Design::of(self.rule.planned);
        self.rule.gives_up
            && futility::hopeless(&variant.moments(), design, margin, self.alpha).is_some()
    }
}

pub(super) fn experiment(setup: &Setup, table: &Table, seed: u64) -> Vec<Ending> {
    let m = setup.effects.len();
    let mut source = Source::new(setup.noise, setup.round_sd, seed);
    let mut variants = vec![Running::default(); m];
    let mut claims = vec![Claim::Nothing; m];
    let mut given_up = vec![false; m];
    let mut levels = looks(table, &table.planned, &variants, setup.margin);
    let mut ended = false;
    for round in 1..=table.rule.rounds {
        measure_round(setup, &mut source, &mut variants, |variant| {
            claims[variant] == Claim::Nothing && !given_up[variant]
        });
        ended = round == table.rule.rounds;
        levels = looks(table, &table.planned, &variants, setup.margin);
        claim(&mut claims, &levels, &variants);
        for i in 0..m {
            given_up[i] |=
                claims[i] == Claim::Nothing && table.gives_up(&variants[i], setup.margin);
        }
        if (0..m).all(|i| claims[i] != Claim::Nothing || given_up[i]) {
            break;
        }
    }
    // The last look applies to those measured to the end.
    let last = |i: usize| ended && claims[i] == Claim::Nothing && !given_up[i];
    let at_last: Vec<bool> = (0..m).map(last).collect();
    if at_last.contains(&true) {
        let half = |i: usize, level: f64, kind: fn(&Halves) -> &[Vec<f64>]| {
            table.interval(
                kind(if at_last[i] { &table.last } else { &table.planned }),
                &variants[i],
                level,
            )
        };
        levels = step_downs(m, table.alpha, setup.margin, half);
        claim(&mut claims, &levels, &variants);
    }
    let [differ, equal] = levels;
    (0..m)
        .map(|i| {
            let decided_at = differ.decided_at[i].or(equal.decided_at[i]);
            let level = decided_at.unwrap_or(differ.current.min(equal.current));
            let inside = claims[i] == Claim::Equivalent;
            let halves = if at_last[i] { &table.last } else { &table.planned };
            let half = if inside { &halves.equal } else { &halves.differ };
            let shown = table.interval(half, &variants[i], level);
            Ending { claim: claims[i], rounds: variants[i].moments().n, shown, inside }
        })
        .collect()
}

fn claim(claims: &mut [Claim], [differ, equal]: &[StepDown; 2], variants: &[Running]) {
    for (i, claim) in claims.iter_mut().enumerate().filter(|(_, claim)| **claim == Claim::Nothing) {
        if differ.decided_at[i].is_some() {
            *claim = if variants[i].moments().mean > 0.0 { Claim::More } else { Claim::Less };
        } else if equal.decided_at[i].is_some() {
            *claim = Claim::Equivalent;
        }
    }
}

/// Runs the first rule and, if undecided, the second: whether either called a variant different.
pub(super) fn run_both(setup: &Setup, [first, second]: [&Table; 2], seed: u64) -> Vec<bool> {
    // Equal seeds give equal rounds: the longer experiment contains the shorter one unless a
    // variant stopped.
    let different = |ending: &Ending| matches!(ending.claim, Claim::More | Claim::Less);
    let (first, second) = (experiment(setup, first, seed), experiment(setup, second, seed));
    let undecided = first.iter().all(|ending| ending.claim == Claim::Nothing);
    first
        .iter()
        .zip(&second)
        .map(|(first, second)| different(first) || undecided && different(second))
        .collect()
}

/// Runs without stopping: whether each interval at the whole alpha covered the truth at every look.
pub(super) fn covers_at_every_look(setup: &Setup, table: &Table, seed: u64) -> Vec<bool> {
    let mut source = Source::new(setup.noise, setup.round_sd, seed);
    let mut variants = vec![Running::default(); setup.effects.len()];
    let mut covered = vec![true; variants.len()];
    for _ in 0..table.rule.rounds {
        measure_round(setup, &mut source, &mut variants, |_| true);
        for (i, variant) in variants.iter().enumerate() {
            covered[i] &= table
                .interval(&table.planned.differ, variant, table.alpha)
                .contains(setup.effects[i]);
        }
    }
    covered
}

fn looks(table: &Table, halves: &Halves, variants: &[Running], margin: f64) -> [StepDown; 2] {
    let at = |i: usize, level: f64, kind: fn(&Halves) -> &[Vec<f64>]| {
        table.interval(kind(halves), &variants[i], level)
    };
    step_downs(variants.len(), table.alpha, margin, at)
}

/// The two families of claims.
fn step_downs(
    m: usize,
    alpha: f64,
    margin: f64,
    at: impl Fn(usize, f64, fn(&Halves) -> &[Vec<f64>]) -> Interval,
) -> [StepDown; 2] {
    [
        step_down(m, alpha, |i, level| differs(&at(i, level, |halves| &halves.differ), margin)),
        step_down(m, alpha, |i, level| equivalent(&at(i, level, |halves| &halves.equal), margin)),
    ]
}

fn measure_round(
    setup: &Setup,
    source: &mut Source,
    variants: &mut [Running],
    active: impl Fn(usize) -> bool,
) {
    use rand::RngExt;
    use rand::seq::SliceRandom;

    const BASELINE: usize = usize::MAX;
    let mut order: Vec<usize> = (0..variants.len()).filter(|variant| active(*variant)).collect();
    order.push(BASELINE);
    order.shuffle(source.rng());
    let mut baseline = 0.0;
    let mut values = vec![0.0; variants.len()];
    for variant in &order {
        let noise = source.next();
        if *variant == BASELINE {
            baseline = noise
        } else {
            values[*variant] = setup.effects[*variant] + noise
        }
    }
    for variant in order.into_iter().filter(|variant| *variant != BASELINE) {
        if setup.invalid == 0.0 || !source.rng().random_bool(setup.invalid) {
            variants[variant].push(values[variant] - baseline);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Verdict;
    use crate::compare::{Looks, Question, compare};
    use crate::metric::Direction;
    use crate::plan::{Criteria, Method};
    use crate::samples::Sample;

    fn samples(round: u32, baseline: f64, values: &[Option<f64>]) -> Vec<Sample> {
        let sample = |variant: String, log: f64| Sample {
            workload: "w".to_string(),
            metric: "iops".to_string(),
            variant,
            round: Some(round),
            sequence: 0,
            value: log.exp(),
            requests: None,
            invalid: Vec::new(),
        };
        let variants = values
            .iter()
            .enumerate()
            .filter_map(|(i, log)| Some(sample(format!("variant{i}"), (*log)?)));
        std::iter::once(sample("base".to_string(), baseline)).chain(variants).collect()
    }

    #[test]
    fn the_simulated_looks_and_the_compare_reach_the_same_verdicts_at_the_same_round() {
        check(Method::Anytime, Rule::sequence(60));
        check(Method::Spending, Rule::spending(40));
    }

    fn check(method: Method, rule: Rule) {
        let criteria = Criteria { method, ..Criteria::default() };
        let margin = criteria.margin.ln_1p();
        let table = Table::new(rule, 3, criteria.alpha);
        let variants: Vec<String> = (0..3).map(|i| format!("variant{i}")).collect();
        let setup = Setup {
            noise: Noise::Normal,
            round_sd: 0.015,
            effects: vec![0.0, 0.04, -0.03],
            margin,
            invalid: 0.0,
        };
        let question = Question {
            workload: "w",
            metric: "iops",
            primary: true,
            baseline: "base",
            variants: &variants,
            direction: Direction::HigherIsBetter,
            criteria: &criteria,
            looks: Looks { planned: Some(rule.rounds as u32), ..Looks::default() },
            projects: false,
        };
        let mut decided = 0;
        for seed in 0..20 {
            let mut source = Source::new(setup.noise, setup.round_sd, seed);
            let (mut running, mut all) = (vec![Running::default(); 3], Vec::new());
            for round in 0..40 {
                let baseline = source.next();
                let values: Vec<Option<f64>> =
                    setup.effects.iter().map(|effect| Some(effect + source.next())).collect();
                for (variant, value) in running.iter_mut().zip(&values) {
                    variant.push(value.expect("all variants are measured") - baseline);
                }
                all.extend(samples(round, baseline, &values));
                let compared = compare(&question, &all.iter().collect::<Vec<_>>());
                let [differ, equal] = looks(&table, &table.planned, &running, margin);
                for (i, comparison) in compared.iter().enumerate() {
                    let expected = match (differ.decided_at[i], equal.decided_at[i]) {
                        (Some(_), _) if running[i].moments().mean > 0.0 => Verdict::Better,
                        (Some(_), _) => Verdict::Worse,
                        (None, Some(_)) => Verdict::Equivalent,
                        (None, None) => Verdict::Inconclusive,
                    };
                    assert_eq!(
                        comparison.verdict, expected,
                        "seed {seed}, round {round}, variant {i}"
                    );
                    if expected == Verdict::Inconclusive {
                        let gives_up = table.gives_up(&running[i], margin);
                        assert_eq!(
                            comparison.given_up().is_some(),
                            gives_up,
                            "seed {seed}, round {round}, variant {i}"
                        );
                    }
                    decided += usize::from(expected != Verdict::Inconclusive);
                }
            }
        }
        assert!(decided > 500, "only {decided} verdicts were compared");
    }

    #[test]
    fn a_claim_is_false_exactly_when_the_truth_is_elsewhere() {
        assert!(
            Claim::More.is_false_difference(0.01, 0.01)
                && !Claim::More.is_false_difference(0.02, 0.01)
        );
        assert!(
            Claim::More.is_false_difference(-0.5, 0.01)
                && Claim::Less.is_false_difference(0.5, 0.01)
        );
        assert!(
            Claim::Equivalent.is_false_equivalence(-0.02, 0.01)
                && !Claim::Equivalent.is_false_equivalence(0.0, 0.01)
        );
        assert!(
            !Claim::Nothing.is_false_difference(0.0, 0.01)
                && !Claim::Nothing.is_false_equivalence(1.0, 0.01)
        );
    }
}
