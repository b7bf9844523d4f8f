//! The evidence about each candidate of a search.
//!
//! An effect is log(candidate ÷ default) within one round, positive when better. With constraints,
//! a trial's excess is log(metric ÷ bound) of the worst one: above 0 is a violation.

use std::collections::BTreeMap;

use crate::search::space::Point;

/// Prior round-to-round SD of an effect.
const PRIOR_SD: f64 = 0.02;
/// Weight of the prior, in observations.
const PRIOR_WEIGHT: f64 = 2.0;
/// A candidate with this many invalid trials and no valid one is given up.
const HOPELESS: u32 = 2;

/// The outcome of a candidate's trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// log(candidate ÷ default), positive when better; `None` if either trial is invalid.
    pub effect: Option<f64>,
    /// log(metric ÷ bound) of the worst constraint, if any.
    pub excess: Option<f64>,
}

/// A candidate's state in the race.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Still measured against the incumbent.
    Racing,
    /// The current or a former incumbent.
    Incumbent,
    /// Beating the incumbent by the margin is ruled out.
    Dropped,
    /// Its trials are invalid.
    Hopeless,
}

/// A candidate with its evidence.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// `None` for a default outside the space.
    pub point: Option<Point>,
    /// Effects by round.
    pub effects: BTreeMap<u32, f64>,
    /// Constraint excesses by round.
    pub excesses: BTreeMap<u32, f64>,
    /// Rounds requested, invalid ones included.
    pub asked: u32,
    /// Invalid rounds.
    pub invalid: u32,
    /// Where it stands.
    pub state: State,
}

impl Candidate {
    pub(crate) fn new(point: Option<Point>) -> Candidate {
        let (effects, excesses) = (BTreeMap::new(), BTreeMap::new());
        Candidate { point, effects, excesses, asked: 0, invalid: 0, state: State::Racing }
    }

    /// Returns the mean effect; 0 without evidence.
    pub fn effect(&self) -> f64 {
        mean(self.effects.values().copied())
    }

    /// Returns the mean excess over the constraints; at most 0 if they hold.
    pub fn excess(&self) -> f64 {
        mean(self.excesses.values().copied())
    }

    /// Whether its constraints hold so far.
    pub fn feasible(&self) -> bool {
        self.excess() <= 0.0
    }

    /// Returns the number of valid trials.
    pub fn rounds(&self) -> usize {
        self.effects.len()
    }

    pub(crate) fn is_hopeless(&self) -> bool {
        self.effects.is_empty() && self.invalid >= HOPELESS
    }

    pub(crate) fn take(&mut self, round: u32, outcome: &Outcome) {
        match outcome.effect {
            Some(effect) => {
                self.effects.insert(round, effect);
                self.excesses.extend(outcome.excess.map(|excess| (round, excess)));
            }
            None => self.invalid += 1,
        }
    }

    /// Ranks by effect; infeasible candidates after all others by excess (Deb's rule).
    pub(crate) fn utility(&self) -> f64 {
        const BEHIND: f64 = -1e3;
        if self.feasible() { self.effect() } else { BEHIND - self.excess() }
    }
}

/// The difference over common rounds if any, and the number of those.
pub(crate) fn difference(a: &Candidate, b: &Candidate) -> (f64, usize) {
    if !(a.feasible() && b.feasible()) {
        return (a.utility() - b.utility(), a.rounds().min(b.rounds()));
    }
    let common: Vec<f64> = a
        .effects
        .iter()
        .filter_map(|(round, effect)| Some(effect - b.effects.get(round)?))
        .collect();
    if common.is_empty() {
        return (a.effect() - b.effect(), a.rounds().min(b.rounds()));
    }
    let n = common.len();
    (mean(common), n)
}

/// Whether outcomes are identical in all common rounds.
pub(crate) fn alike(a: &Candidate, b: &Candidate) -> bool {
    let mut pairs = a
        .effects
        .iter()
        .filter_map(|(round, effect)| Some((effect, b.effects.get(round)?)))
        .peekable();
    pairs.peek().is_some() && pairs.all(|(one, other)| one == other)
}

/// The round-to-round SD of an effect, over all candidates.
pub(crate) fn spread<'a>(candidates: impl Iterator<Item = &'a Candidate>) -> f64 {
    let (mut squares, mut degrees) = (PRIOR_WEIGHT * PRIOR_SD * PRIOR_SD, PRIOR_WEIGHT);
    for candidate in candidates.filter(|candidate| candidate.rounds() > 1) {
        let centre = candidate.effect();
        squares += candidate.effects.values().map(|effect| (effect - centre).powi(2)).sum::<f64>();
        degrees += candidate.rounds() as f64 - 1.0;
    }
    (squares / degrees).sqrt()
}

fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, n) = values.into_iter().fold((0.0, 0), |(sum, n), value| (sum + value, n + 1));
    if n == 0 { 0.0 } else { sum / f64::from(n) }
}
