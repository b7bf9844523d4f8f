//! tune.json: the search, its winner, the confirmation and the recommendation.

use std::collections::BTreeMap;
use std::fmt;

use experiment::analysis::{Analysis, Verdict};
use experiment::notation::{self, Change};
use experiment::plan::Plan;
use experiment::results::Trial;
use experiment::search::{BASELINE, Point, Search, belief};
use experiment::stats::{Interval, Moments, sequence};
use serde::Serialize;

use super::objective::Constraint;
use super::outcome::{BranchOut, SearchEnd, SearchSummary, Step};
use super::session::effect;

#[derive(Debug, Clone, Serialize)]
pub struct Tuned {
    pub schema: u32,
    pub schedlab: String,
    pub arena: String,
    /// As named by the user.
    pub device: String,
    /// Stable name.
    pub identity: Option<String>,
    pub workloads: Vec<String>,
    pub objective: String,
    pub constraints: Vec<String>,
    /// The variant to beat.
    pub default: String,
    /// Judging by the search; None without constraints.
    pub default_holds: Option<bool>,
    pub space: Vec<BranchOut>,
    pub points: u64,
    pub search: SearchOut,
    /// None: nothing looked better than the default.
    pub winner: Option<Winner>,
    /// On fresh evidence.
    pub confirmation: Option<Confirmation>,
    /// None unless the winner was confirmed.
    pub pruning: Option<Pruning>,
    /// None: keep the default.
    pub recommended: Option<Recommended>,
    pub answer: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct SearchOut {
    pub trials: u32,
    pub why: SearchEnd,
    /// The best setting over time.
    pub curve: Vec<Step>,
    /// All settings tried, the default first.
    pub candidates: Vec<CandidateOut>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CandidateOut {
    pub variant: String,
    /// Trials before this candidate's first one.
    pub after_trials: u32,
    pub rounds: usize,
    /// Number of invalid rounds.
    pub invalid: u32,
    /// Mean log ratio to the default, positive when better.
    pub effect: Option<f64>,
    /// None without constraints.
    pub holds: Option<bool>,
    pub state: String,
}

#[derive(Debug, Clone, Serialize)]
pub struct Winner {
    pub variant: String,
    /// Mean ratio to the default, above 1 when better. Biased upwards by selection.
    pub searched_ratio: f64,
    pub rounds: usize,
}

#[derive(Debug, Clone, Serialize)]
pub struct Confirmation {
    /// Relative to OUT.
    pub dir: String,
    pub rounds: usize,
    /// Rounds of the search, which count at a level corrected for selection.
    pub search_rounds: usize,
    /// Mean ratio to the default in fresh rounds, above 1 when better.
    pub ratio: Option<f64>,
    /// Ends of the interval; None: unbounded.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// 1 − alpha.
    pub confidence: f64,
    pub verdict: Verdict,
    /// Whether each constraint is shown to hold.
    pub constraints: Vec<(String, bool)>,
}

/// The result of resetting the winner's settings to their defaults.
#[derive(Debug, Clone, Serialize)]
pub struct Pruning {
    pub steps: Vec<PruneStep>,
    /// Number of settings reset.
    pub put_back: usize,
    /// Number of settings of the winner.
    pub settings: usize,
    /// Number of settings left when the budget ran out.
    pub untried: usize,
    /// The remaining settings.
    pub variant: String,
    /// Whether this is recommended instead of the winner.
    pub accepted: bool,
    /// Mean ratio to the winner, above 1 when better.
    pub ratio: Option<f64>,
    /// Ends of the interval; None: unbounded.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Lower bound on the remaining gain over the default.
    pub least_gain: Option<f64>,
}

/// A comparison of the winner with a variant of fewer settings.
#[derive(Debug, Clone, Serialize)]
pub struct PruneStep {
    /// Relative to OUT.
    pub dir: String,
    /// As the winner's `NAME=VALUE`.
    pub settings: Vec<String>,
    pub rounds: usize,
    /// Mean ratio to the winner, above 1 when better.
    pub ratio: Option<f64>,
    /// Ends of the interval; None: unbounded.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// 1 − alpha.
    pub confidence: f64,
    /// Whether the loss is shown to be below the margin and the constraints to hold.
    pub put_back: bool,
}

/// Larger recommendations need a caveat unless pruning shows that each setting is needed.
const MAX_UNPRUNED: usize = 3;

/// Read by `schedlab persist --from OUT`.
#[derive(Debug, Clone, Serialize)]
pub struct Recommended {
    /// As named by the user.
    pub device: String,
    /// Stable name, or empty.
    pub identity: String,
    /// The medium in it, by the kernel's count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diskseq: Option<u64>,
    pub arena: String,
    pub scheduler: String,
    pub tunables: BTreeMap<String, String>,
    /// Settings not shown to be needed; empty for up to [`MAX_UNPRUNED`] settings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_shown_needed: Vec<String>,
    pub verdict: Why,
    /// UTC; None in virtual time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Why {
    /// Always `better`.
    pub verdict: Verdict,
    pub default: String,
    pub change: String,
    pub confidence: f64,
}

pub fn searched(
    search: &Search,
    course: &SearchSummary,
    variants: &[String],
    constrained: bool,
) -> SearchOut {
    let candidates =
        search.candidates().iter().enumerate().filter(|(number, _)| *number < course.first.len());
    let of = |(number, c): (usize, &experiment::search::Candidate)| CandidateOut {
        variant: variants[number].clone(),
        after_trials: course.first[number],
        rounds: c.rounds(),
        invalid: c.invalid,
        effect: Some(c.effect()).filter(|_| c.rounds() > 0),
        holds: constrained.then(|| c.feasible()),
        state: format!("{:?}", c.state).to_lowercase(),
    };
    SearchOut {
        trials: course.trials,
        why: course.why,
        curve: course.curve.clone(),
        candidates: candidates.map(of).collect(),
    }
}

/// Effects per round relative to the baseline; positive when better.
pub fn effects(plan: &Plan, trials: &[Trial]) -> Vec<f64> {
    let mut rounds: BTreeMap<u32, (Vec<Trial>, Vec<Trial>)> = BTreeMap::new();
    for trial in trials {
        let (own, baseline) = rounds.entry(trial.round).or_default();
        if trial.variant == plan.baseline() {
            baseline.push(trial.clone())
        } else {
            own.push(trial.clone())
        }
    }
    rounds.values().filter_map(|(own, baseline)| effect(plan, own, baseline)).collect()
}

/// Whether these trials show that the other variant satisfies each constraint in every workload
/// that reports it.
pub fn constraints_shown(
    plan: &Plan,
    trials: &[Trial],
    alpha: f64,
    constraints: &[Constraint],
) -> Vec<(String, bool)> {
    let shown = |c: &Constraint| {
        let mut told = plan.workloads.iter().filter_map(|workload| {
            let of = trials
                .iter()
                .filter(|t| t.variant != plan.baseline() && t.workload == workload.name);
            let excesses: Vec<f64> = of.filter_map(|trial| c.excess(&trial.observation)).collect();
            (!excesses.is_empty())
                .then(|| sequence::interval(&Moments::of(&excesses), alpha).high < 0.0)
        });
        let first = told.next();
        first.is_some_and(|first| first && told.all(|shown| shown))
    };
    constraints.iter().map(|c| (c.text.clone(), shown(c))).collect()
}

/// The ratio for a log ratio; None for an unbounded end.
pub fn end(log: f64) -> Option<f64> {
    Some(log.exp()).filter(|ratio| log.is_finite() && ratio.is_finite())
}

/// Combines the fresh rounds with those of the search.
pub fn confirmed(
    plan: &Plan,
    search: &Search,
    winner: usize,
    trials: &[Trial],
    analysis: &Analysis,
    alpha: f64,
    constraints: &[Constraint],
) -> Confirmation {
    let fresh = effects(plan, trials);
    let candidate = &search.candidates()[winner];
    let seen: Vec<f64> = candidate.effects.values().copied().collect();
    let point: &Point = candidate.point.as_ref().expect("a winner is a point of the space");
    let interval = belief::interval(search.space(), point, &seen, &fresh, alpha);
    let invalid = analysis
        .comparisons
        .iter()
        .any(|comparison| comparison.primary && comparison.verdict == Verdict::Invalid);
    Confirmation {
        dir: "confirm".to_owned(),
        rounds: fresh.len(),
        search_rounds: seen.len(),
        ratio: Some(Moments::of(&fresh).mean.exp()).filter(|_| !fresh.is_empty()),
        low: end(interval.low),
        high: end(interval.high),
        confidence: 1.0 - alpha,
        verdict: if invalid || fresh.is_empty() {
            Verdict::Invalid
        } else {
            verdict(&interval, plan.criteria.margin.ln_1p())
        },
        constraints: constraints_shown(plan, trials, alpha, constraints),
    }
}

fn verdict(interval: &Interval, margin: f64) -> Verdict {
    if interval.low > margin {
        Verdict::Better
    } else if interval.high < -margin {
        Verdict::Worse
    } else if experiment::compare::equivalent(interval, margin) {
        Verdict::Equivalent
    } else {
        Verdict::Inconclusive
    }
}

impl Confirmation {
    pub fn holds(&self) -> bool {
        self.verdict == Verdict::Better && self.constraints.iter().all(|(_, shown)| *shown)
    }

    /// Formats as `+8.3 % [+6.1, +10.4]`.
    pub fn words(&self) -> String {
        change_words(self.ratio, self.low, self.high)
    }
}

fn change_words(ratio: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    ratio.map_or_else(|| "no value".to_owned(), |ratio| Change { ratio, low, high }.to_string())
}

impl Pruning {
    /// The remaining gain over the default, with a lower bound.
    pub fn gain_words(&self, winner: &Confirmation) -> String {
        let ratio = winner.ratio.zip(self.ratio).map(|(winner, loss)| winner * loss);
        let words = |ratio: Option<f64>, none: &str| {
            ratio.map_or_else(|| none.to_owned(), notation::change)
        };
        format!("{}, at least {}", words(ratio, "no value"), words(self.least_gain, "open"))
    }
}

/// Settings not shown to be needed, as `NAME=VALUE`. A setting is needed if resetting it alone is
/// worse.
pub fn not_shown_needed(
    tunables: &BTreeMap<String, String>,
    pruning: Option<&Pruning>,
) -> Vec<String> {
    let all: Vec<String> = tunables.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if all.len() <= MAX_UNPRUNED {
        return Vec::new();
    }
    let steps = || pruning.into_iter().flat_map(|pruning| &pruning.steps);
    let is_needed = |setting: &String| {
        steps().any(|step| {
            step.settings == [setting.clone()]
                && !step.put_back
                && step.high.is_some_and(|high| high < 1.0)
        })
    };
    all.into_iter().filter(|setting| !is_needed(setting)).collect()
}

impl Recommended {
    /// A warning for the user; None if the setting is minimal.
    pub fn caveat(&self) -> Option<String> {
        let (open, all) = (self.not_shown_needed.len(), self.tunables.len());
        (open > 0).then(|| {
            format!(
                "not minimal: {open} of its {all} settings are not shown to be needed ({})",
                self.not_shown_needed.join(" ")
            )
        })
    }
}

impl fmt::Display for Pruning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "pruned     {} of {} settings reset to default: {}",
            self.put_back, self.settings, self.variant
        )?;
        if self.put_back > 0 {
            writeln!(
                f,
                "  against the winner {} in fresh rounds",
                change_words(self.ratio, self.low, self.high)
            )?;
        }
        if self.put_back > 0 && !self.accepted {
            writeln!(f, "  not recommended: the remaining gain is not shown to exceed the margin")?;
        }
        for step in &self.steps {
            let stays = if step.put_back { "reset to default" } else { "kept" };
            writeln!(
                f,
                "  without {}: {} at {:.1} %, {} rounds: {stays}",
                step.settings.join(" "),
                change_words(step.ratio, step.low, step.high),
                step.confidence * 100.0,
                step.rounds
            )?;
        }
        if self.untried > 0 {
            writeln!(f, "  {} of them not tried: the budget is spent", self.untried)?;
        }
        Ok(())
    }
}

impl fmt::Display for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = format!("{} on {} ({})", self.workloads.join(", "), self.device, self.arena);
        writeln!(f, "{on}\nobjective: {}", self.objective)?;
        if !self.constraints.is_empty() {
            writeln!(f, "must hold: {}", self.constraints.join(", "))?;
        }
        if self.default_holds == Some(false) {
            writeln!(f, "the default, {}, does not satisfy it", self.default)?;
        }
        let tried = self.search.candidates.len().saturating_sub(1);
        writeln!(
            f,
            "\nsearched   {}, {} of {} (ended by: {})",
            text::counted(self.search.trials.into(), "trial"),
            text::counted(tried as u64, "setting"),
            self.points,
            self.search.why.name()
        )?;
        if let Some(winner) = &self.winner {
            writeln!(f, "winner     {}", winner.variant)?;
            writeln!(
                f,
                "  search estimate  {} over {} in {} (best of {tried}, biased upwards)",
                notation::change(winner.searched_ratio),
                self.default,
                text::counted(winner.rounds as u64, "round")
            )?;
        }
        if let Some(confirmation) = &self.confirmation {
            writeln!(
                f,
                "  confirmed        {} at {:.0} %, {} fresh rounds and {} of the search: {}",
                confirmation.words(),
                confirmation.confidence * 100.0,
                confirmation.rounds,
                confirmation.search_rounds,
                word(confirmation.verdict)
            )?;
            for (constraint, shown) in &confirmation.constraints {
                writeln!(
                    f,
                    "  {constraint}: {}",
                    if *shown { "holds" } else { "not shown to hold" }
                )?;
            }
        }
        if let Some(pruning) = &self.pruning {
            write!(f, "{pruning}")?;
        }
        writeln!(f, "\n{}", self.answer)
    }
}

pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => "invalid",
    }
}

/// None without constraints.
pub fn default_holds(search: &Search, constraints: &[Constraint]) -> Option<bool> {
    (!constraints.is_empty()).then(|| search.candidates()[BASELINE].feasible())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(settings: &[&str], put_back: bool, high: Option<f64>) -> PruneStep {
        PruneStep {
            dir: "prune-1".into(),
            settings: settings.iter().map(ToString::to_string).collect(),
            rounds: 9,
            ratio: Some(0.97),
            low: Some(0.9),
            high,
            confidence: 0.95,
            put_back,
        }
    }

    #[test]
    fn more_than_three_settings_are_minimal_only_if_each_is_shown_to_be_needed() {
        let tunables = |n: usize| {
            (0..n).map(|i| (format!("t{i}"), "1".to_owned())).collect::<BTreeMap<_, _>>()
        };
        let mut pruning = Pruning {
            steps: vec![
                step(&["t0=1"], false, Some(0.99)),
                step(&["t1=1"], false, Some(1.01)),
                step(&["t2=1"], false, None),
                step(&["t3=1", "t4=1"], false, Some(0.99)),
            ],
            put_back: 0,
            settings: 5,
            untried: 2,
            variant: "a".into(),
            accepted: false,
            ratio: None,
            low: None,
            high: None,
            least_gain: None,
        };
        assert_eq!(not_shown_needed(&tunables(4), Some(&pruning)), ["t1=1", "t2=1", "t3=1"]);
        assert_eq!(not_shown_needed(&tunables(4), None).len(), 4, "nothing was pruned");
        assert!(not_shown_needed(&tunables(3), None).is_empty());
        pruning.steps = ["t0=1", "t1=1", "t2=1", "t3=1"]
            .iter()
            .map(|one| step(&[one], false, Some(0.99)))
            .collect();
        assert!(not_shown_needed(&tunables(4), Some(&pruning)).is_empty());
    }
}
