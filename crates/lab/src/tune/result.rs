//! tune.json: what was searched, what it showed, what was confirmed, and what is recommended.

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

/// What tune.json holds.
#[derive(Debug, Clone, Serialize)]
pub struct Tuned {
    /// Version of this format.
    pub schema: u32,
    /// The build of schedlab.
    pub schedlab: String,
    /// `disk`, `sim`, `kernel`.
    pub arena: String,
    /// As the user named it.
    pub device: String,
    /// The device's stable name, where it has one.
    pub identity: Option<String>,
    /// The work.
    pub workloads: Vec<String>,
    /// What was searched for, in words.
    pub objective: String,
    /// What had to hold.
    pub constraints: Vec<String>,
    /// What the winner had to beat.
    pub default: String,
    /// Whether the default itself holds the constraints, as far as the search saw; none without
    /// constraints.
    pub default_holds: Option<bool>,
    /// What could be chosen.
    pub space: Vec<BranchOut>,
    /// How many settings those are.
    pub points: u64,
    /// How the search went.
    pub search: SearchOut,
    /// The winner of the search; none when nothing looked better than the default.
    pub winner: Option<Winner>,
    /// What the fresh comparison showed; none when there was none.
    pub confirmation: Option<Confirmation>,
    /// What of the winner is not needed; none without a confirmed winner.
    pub pruning: Option<Pruning>,
    /// What to set; none when the default stays.
    pub recommended: Option<Recommended>,
    /// In a sentence.
    pub answer: String,
}

/// How a search went.
#[derive(Debug, Clone, Serialize)]
pub struct SearchOut {
    /// Trials of the search.
    pub trials: u32,
    /// Why it ended.
    pub why: SearchEnd,
    /// Best so far.
    pub curve: Vec<Step>,
    /// Everything that was tried, in order; the default first.
    pub candidates: Vec<CandidateOut>,
}

/// Something that was tried.
#[derive(Debug, Clone, Serialize)]
pub struct CandidateOut {
    /// What was set.
    pub variant: String,
    /// It was first measured after so many trials.
    pub after_trials: u32,
    /// Valid rounds.
    pub rounds: usize,
    /// Invalid ones.
    pub invalid: u32,
    /// Mean log ratio to the default, positive when better; none without a valid round.
    pub effect: Option<f64>,
    /// Whether the constraints held; none without constraints.
    pub holds: Option<bool>,
    /// `racing`, `incumbent`, `dropped`, `hopeless`.
    pub state: String,
}

/// What the search believes.
#[derive(Debug, Clone, Serialize)]
pub struct Winner {
    /// What was set.
    pub variant: String,
    /// Mean ratio to the default in the search, turned so that more is better. Selected evidence:
    /// too good on average.
    pub searched_ratio: f64,
    /// Rounds that this rests on.
    pub rounds: usize,
}

/// What the fresh comparison showed.
#[derive(Debug, Clone, Serialize)]
pub struct Confirmation {
    /// Where its results file and report are, below OUT.
    pub dir: String,
    /// Fresh rounds.
    pub rounds: usize,
    /// Rounds of the search that count beside, at the level that selection leaves them.
    pub search_rounds: usize,
    /// Mean ratio to the default over the fresh rounds, turned so that more is better.
    pub ratio: Option<f64>,
    /// Ends of the interval at 1 − alpha; none: open.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
    /// 1 − alpha.
    pub confidence: f64,
    /// The conclusion.
    pub verdict: Verdict,
    /// Each constraint, and whether the fresh rounds show that it holds.
    pub constraints: Vec<(String, bool)>,
}

/// What came of putting the winner's settings back to their defaults.
#[derive(Debug, Clone, Serialize)]
pub struct Pruning {
    /// One per comparison with the winner, in their order.
    pub steps: Vec<PruneStep>,
    /// How many of the winner's settings are back at their defaults.
    pub put_back: usize,
    /// How many of them it had.
    pub settings: usize,
    /// How many of them were not tried, because the budget was spent.
    pub untried: usize,
    /// What is left.
    pub variant: String,
    /// Whether it takes the winner's place in the recommendation.
    pub accepted: bool,
    /// Mean ratio of what is left to the winner, turned so that more is better; none while nothing
    /// is put back.
    pub ratio: Option<f64>,
    /// Ends of its interval; none: open.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
    /// The least ratio to the default that winner and loss leave together; none: open.
    pub least_gain: Option<f64>,
}

/// One comparison of the winner with what is left when more settings are put back.
#[derive(Debug, Clone, Serialize)]
pub struct PruneStep {
    /// Where its results file and report are, below OUT.
    pub dir: String,
    /// The settings that are put back, as `NAME=VALUE` of the winner.
    pub settings: Vec<String>,
    /// Rounds that count.
    pub rounds: usize,
    /// Mean ratio to the winner, turned so that more is better.
    pub ratio: Option<f64>,
    /// Ends of the interval at `confidence`; none: open.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
    /// 1 − the level of this step.
    pub confidence: f64,
    /// Whether the loss is shown to be less than the margin, and the constraints to hold.
    pub put_back: bool,
}

/// A recommendation of more settings is marked unless pruning shows that each is needed.
const MAX_UNPRUNED: usize = 3;

/// What to set: `schedlab persist --from OUT` reads this.
#[derive(Debug, Clone, Serialize)]
pub struct Recommended {
    /// As the user named it.
    pub device: String,
    /// The device's stable name; empty where it has none.
    pub identity: String,
    /// The medium in it, by the kernel's count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diskseq: Option<u64>,
    /// `disk`, `sim`, `kernel`.
    pub arena: String,
    /// The scheduler.
    pub scheduler: String,
    /// Tunables of it and attributes of the queue.
    pub tunables: BTreeMap<String, String>,
    /// Those of them that pruning has not shown to be needed, where there are more than three: the
    /// setting is not minimal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_shown_needed: Vec<String>,
    /// Why.
    pub verdict: Why,
    /// When, UTC; absent where time is virtual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// Why a setting is recommended.
#[derive(Debug, Clone, Serialize)]
pub struct Why {
    /// `better`.
    pub verdict: Verdict,
    /// Than this.
    pub default: String,
    /// The change, with its interval.
    pub change: String,
    /// At this confidence.
    pub confidence: f64,
}

/// The search's part of tune.json.
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

/// The effects of a variant on the baseline of its own plan, round by round; positive when better.
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

/// Each constraint, and whether these trials show that it holds for the variant that is not the
/// baseline: every workload that reports the metric has to show it.
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

/// A ratio from its logarithm; none for an open end.
pub fn end(log: f64) -> Option<f64> {
    Some(log.exp()).filter(|ratio| log.is_finite() && ratio.is_finite())
}

/// What the results file of the confirmation shows of the winner, together with what the search saw
/// of it.
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

/// The conclusion from an interval of the effect, positive when better.
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
    /// Whether the winner may be recommended.
    pub fn holds(&self) -> bool {
        self.verdict == Verdict::Better && self.constraints.iter().all(|(_, shown)| *shown)
    }

    /// `+8.3 % [+6.1, +10.4]`.
    pub fn words(&self) -> String {
        change_words(self.ratio, self.low, self.high)
    }
}

fn change_words(ratio: Option<f64>, low: Option<f64>, high: Option<f64>) -> String {
    ratio.map_or_else(|| "no value".to_owned(), |ratio| Change { ratio, low, high }.to_string())
}

impl Pruning {
    /// The change from the default of what is left: the winner's and the loss together, and the
    /// least that both leave.
    pub fn gain_words(&self, winner: &Confirmation) -> String {
        let ratio = winner.ratio.zip(self.ratio).map(|(winner, loss)| winner * loss);
        let words = |ratio: Option<f64>, none: &str| {
            ratio.map_or_else(|| none.to_owned(), notation::change)
        };
        format!("{}, at least {}", words(ratio, "no value"), words(self.least_gain, "open"))
    }
}

/// The settings that nothing shows to be needed, of a recommendation of more than [`MAX_UNPRUNED`]:
/// `NAME=VALUE`. A setting is needed if what is left without it alone is worse.
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
    /// A line for every format of the answer; none where the setting is minimal.
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
            "pruned     {} of {} settings put back to their defaults: {}",
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
            writeln!(
                f,
                "  not recommended: the gain that is left is not shown to exceed the margin"
            )?;
        }
        for step in &self.steps {
            let stays = if step.put_back { "put back" } else { "not shown to be unneeded" };
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
                "  search estimate  {} over {} in {} (the best of {tried} by chance: biased upwards)",
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

/// The word of a verdict.
pub fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Invalid => "invalid",
    }
}

/// Whether the default's constraints hold, as the search saw it.
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
