//! The guarantees: failures counted over simulated experiments, and compared with a binomial bound.

use statrs::distribution::{Binomial, DiscreteCDF};

use super::engine::{Rule, Setup, Table, covers_at_every_look, experiment, run_both};
use super::noise::{KINDS, Noise};

/// Rounds, and looks, of an experiment without a budget.
pub const LOOKS: usize = 100;
/// Rounds of an experiment with a budget.
pub const PLANNED: usize = 24;
/// Variants other than the baseline.
pub const VARIANTS: usize = 3;

/// One guarantee under one kind of noise.
#[derive(Debug, Clone, PartialEq)]
pub struct Guarantee {
    /// The name of the rule.
    pub rule: &'static str,
    /// The noise.
    pub noise: Noise,
    /// The counted event.
    pub what: &'static str,
    /// How many cases were counted.
    pub cases: u64,
    /// The share of failures.
    pub found: f64,
    /// The guaranteed maximum share.
    pub guaranteed: f64,
    /// Beyond it chance is ruled out: the 99.99 % point of the binomial distribution.
    pub bound: f64,
}

impl Guarantee {
    /// Whether the guarantee is kept.
    pub fn kept(&self) -> bool {
        self.found <= self.bound
    }

    fn new(
        rule: &'static str,
        noise: Noise,
        what: &'static str,
        failed: u64,
        cases: u64,
        guaranteed: f64,
    ) -> Guarantee {
        let binomial = Binomial::new(guaranteed, cases).expect("a share is a probability");
        let bound = binomial.inverse_cdf(0.9999) as f64 / cases as f64;
        Guarantee {
            rule,
            noise,
            what,
            cases,
            found: failed as f64 / cases as f64,
            guaranteed,
            bound,
        }
    }
}

pub(super) fn guarantees(
    rule: Rule,
    noises: &[Noise],
    experiments: u64,
    alpha: f64,
    seed: u64,
) -> Vec<Guarantee> {
    noises.iter().flat_map(|noise| of_noise(rule, *noise, experiments, alpha, seed)).collect()
}

/// The scenarios: log ratios of the variants, margin, and the failure counted.
fn of_noise(rule: Rule, noise: Noise, experiments: u64, alpha: f64, seed: u64) -> Vec<Guarantee> {
    let table = Table::new(rule, VARIANTS, alpha);
    let margin = 0.01_f64.ln_1p();
    let setup = |effects: [f64; VARIANTS], margin: f64| Setup {
        noise,
        round_sd: 0.02,
        effects: effects.to_vec(),
        margin,
        invalid: 0.0,
    };
    let run = |setup: &Setup| Counts::of(setup, &table, experiments, seed);
    let guarantee =
        |what, failed, cases| Guarantee::new(rule.name, noise, what, failed, cases, alpha);

    let sharp = setup([0.0; VARIANTS], 1e-9);
    let uncovered: u64 = (0..experiments)
        .map(|i| {
            covers_at_every_look(&sharp, &table, seed + i)
                .iter()
                .filter(|covered| !**covered)
                .count() as u64
        })
        .sum();
    let same_sharp = run(&sharp);
    let same = run(&setup([0.0; VARIANTS], margin));
    let up = 0.05_f64.ln_1p();
    let planted = run(&setup([0.0, up, -up], margin));
    let beyond = run(&setup([margin * 1.001; VARIANTS], margin));
    let tiny = run(&setup([0.001, -0.001, 0.001], 1e-9));
    let n = experiments;
    vec![
        guarantee(
            "A/A, margin 0: any variant called better or worse",
            same_sharp.false_difference,
            n,
        ),
        guarantee("A/A, margin 0: interval misses at any look", uncovered, n * VARIANTS as u64),
        guarantee("A/A, margin 1 %: any variant called better or worse", same.false_difference, n),
        guarantee("A/A, margin 1 %: shown interval misses", same.missed, n * VARIANTS as u64),
        Guarantee::new(
            rule.name,
            noise,
            "A/A, margin 1 %: shown interval of an `equivalent` misses",
            same.missed_inside,
            n * VARIANTS as u64,
            rule.equal_error * alpha,
        ),
        guarantee("0, +5 %, -5 %: any false verdict of difference", planted.false_difference, n),
        guarantee("0, +5 %, -5 %: any false `equivalent`", planted.false_equivalence, n),
        guarantee("0, +5 %, -5 %: shown interval misses", planted.missed, n * VARIANTS as u64),
        guarantee(
            "±0.1 %, margin 0: any variant called better that is worse, or the reverse",
            tiny.false_difference,
            n,
        ),
        guarantee("all just beyond 1 %: any false `equivalent`", beyond.false_equivalence, n),
    ]
}

/// Events during a budget (docs/decisions/0020-spending.md): identical variants, any called better
/// or worse.
pub(super) fn budget_events(experiments: u64, alpha: f64, seed: u64) -> Vec<Guarantee> {
    let whole = Rule::spending(PLANNED);
    let table = |rule: Rule| Table::new(rule, VARIANTS, alpha);
    let mut guarantees = Vec::new();
    for noise in KINDS {
        let setup = |invalid: f64| Setup {
            noise,
            round_sd: 0.02,
            effects: vec![0.0; VARIANTS],
            margin: 1e-9,
            invalid,
        };
        let guarantee = |what, failed, guaranteed| {
            Guarantee::new(whole.name, noise, what, failed, experiments, guaranteed)
        };
        for (what, rounds, invalid) in [
            (
                "A/A, the time ends after 15 of 24 rounds: any variant called better or worse",
                15,
                0.0,
            ),
            ("A/A, every fifth round is invalid: any variant called better or worse", PLANNED, 0.2),
        ] {
            let counts =
                Counts::of(&setup(invalid), &table(Rule { rounds, ..whole }), experiments, seed);
            guarantees.push(guarantee(what, counts.false_difference, alpha));
        }
        let tables = [table(Rule { gives_up: false, ..whole }), table(Rule::sequence(LOOKS))];
        let failed =
            |i: &u64| run_both(&setup(0.0), [&tables[0], &tables[1]], seed + i).contains(&true);
        let failed = (0..experiments).filter(failed).count() as u64;
        let what = "A/A, the budget is raised to 100 rounds when nothing is decided: any variant called better or worse";
        guarantees.push(guarantee(what, failed, 2.0 * alpha));
    }
    guarantees
}

#[derive(Default)]
struct Counts {
    false_difference: u64,
    false_equivalence: u64,
    missed: u64,
    missed_inside: u64,
}

impl Counts {
    fn of(setup: &Setup, table: &Table, experiments: u64, seed: u64) -> Counts {
        let mut counts = Counts::default();
        for i in 0..experiments {
            let endings = experiment(setup, table, seed + i);
            let pairs = || endings.iter().zip(&setup.effects);
            let margin = setup.margin;
            counts.false_difference += u64::from(
                pairs().any(|(end, effect)| end.claim.is_false_difference(*effect, margin)),
            );
            counts.false_equivalence += u64::from(
                pairs().any(|(end, effect)| end.claim.is_false_equivalence(*effect, margin)),
            );
            for (end, _) in pairs().filter(|(end, effect)| !end.shown.contains(**effect)) {
                if end.inside { counts.missed_inside += 1 } else { counts.missed += 1 }
            }
        }
        counts
    }
}
