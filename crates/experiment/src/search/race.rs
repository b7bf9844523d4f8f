//! The search: selects trials, and the candidates that stay in the race.
//!
//! A new candidate (*challenger*) gets one round, is dropped once its outcomes, noise included,
//! rule out beating the incumbent by the margin, and becomes the incumbent when ahead after as many
//! rounds (SMAC's intensification, Hutter et al. 2011; irace, López-Ibáñez et al. 2016). The last
//! part of the budget goes to possible winners. The winner is the luckiest of many: its effect is
//! reported only after a fresh comparison.

use std::collections::{BTreeMap, BTreeSet};

use crate::search::ledger::{Candidate, Outcome, State, alike, difference, spread};
use crate::search::propose::{Proposals, Proposer};
use crate::search::space::{Point, Space};

/// Candidate number of the default.
pub const BASELINE: usize = 0;

/// Standard errors a challenger may be behind before it is dropped.
const DOUBT: f64 = 1.0;
/// Rounds after which a leading challenger becomes the incumbent.
const MIN_LEADING_ROUNDS: usize = 4;
/// Rounds after which a challenger that is not ahead is dropped.
const MAX_TRAILING_ROUNDS: usize = 6;
const MAX_CHALLENGER_ROUNDS: usize = 12;
const POLISH: f64 = 0.25;
/// Challengers per further round of the incumbent.
const PER_CHALLENGERS: u64 = 8;

/// The meaning of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Virtual time: a trial is a function of candidate and round, so the default's trial of a
    /// round is made once.
    Reused,
    /// Real time: each round is new and compares default, incumbent and challengers.
    Fresh,
}

/// Options of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// Seed of every random choice.
    pub seed: u64,
    /// The meaning of a round.
    pub mode: Mode,
    /// Log ratio below which an advantage is not worth a trial.
    pub margin: f64,
    /// Maximum trials, including the default's.
    pub trials: u32,
    /// Concurrent challengers; at least 1.
    pub width: usize,
    /// Failed challengers in a row that end the search; `None`: only the budget does.
    pub patience: Option<u32>,
    /// Source of proposals.
    pub proposals: Proposals,
}

/// A requested trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// Candidate number; [`BASELINE`] is the default.
    pub candidate: usize,
    /// Round number.
    pub round: u32,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The trials are spent.
    Budget,
    /// Nothing is left to try.
    Exhausted,
    /// Too many challengers in a row failed.
    Patience,
}

/// A running search.
#[derive(Debug, Clone)]
pub struct Search {
    space: Space,
    options: Options,
    proposer: Proposer,
    candidates: Vec<Candidate>,
    incumbent: usize,
    racing: Vec<usize>,
    /// The incumbent when each challenger was proposed.
    origins: BTreeMap<usize, Point>,
    pending: BTreeSet<Request>,
    spent: u32,
    rounds: u32,
    fruitless: u32,
    exhausted: bool,
    ended: Option<Ended>,
}

impl Search {
    /// `baseline` is the default's point, if it is in the space.
    pub fn new(space: Space, baseline: Option<Point>, options: Options) -> Search {
        let mut proposer = Proposer::new(options.seed, options.proposals);
        if let Some(point) = &baseline {
            proposer.mark_tried(point.clone());
        }
        let candidates = vec![Candidate { state: State::Incumbent, ..Candidate::new(baseline) }];
        Search {
            space,
            options,
            proposer,
            candidates,
            incumbent: BASELINE,
            racing: Vec::new(),
            origins: BTreeMap::new(),
            pending: BTreeSet::new(),
            spent: 0,
            rounds: 0,
            fruitless: 0,
            exhausted: false,
            ended: None,
        }
    }

    /// The space.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Candidates by number; the default first.
    pub fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    /// The candidate to beat.
    pub fn incumbent(&self) -> usize {
        self.incumbent
    }

    /// Returns the total number of trials.
    pub fn trials(&self) -> u32 {
        self.options.trials
    }

    /// Trials requested so far.
    pub fn spent(&self) -> u32 {
        self.spent
    }

    /// The reason, once ended.
    pub fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// The candidate's settings, or `default` if not in the space.
    pub fn key(&self, candidate: usize) -> String {
        self.candidates[candidate]
            .point
            .as_ref()
            .map_or_else(|| "default".to_owned(), |point| self.space.key(point))
    }

    /// The next trials, in order of rounds with the default first; none after the end. They stay
    /// the same until all their outcomes are reported.
    #[allow(
        clippy::should_implement_trait,
        reason = "each call waits for what `report` brings: no iterator"
    )]
    pub fn next(&mut self) -> Vec<Request> {
        if self.pending.is_empty() && self.ended.is_none() {
            let wanted = self.wanted();
            self.spent += wanted.len() as u32;
            wanted.iter().for_each(|request| self.candidates[request.candidate].asked += 1);
            self.pending.extend(wanted);
        }
        let mut wanted: Vec<Request> = self.pending.iter().copied().collect();
        wanted.sort_by_key(|request| (request.round, request.candidate));
        wanted
    }

    /// Reports a trial's outcome. The default's own effect is 0 unless invalid.
    ///
    /// # Panics
    /// If the trial was not requested.
    pub fn report(&mut self, request: Request, outcome: &Outcome) {
        assert!(self.pending.remove(&request), "{request:?} was asked for");
        self.candidates[request.candidate].take(request.round, outcome);
        if self.pending.is_empty() {
            self.settle();
        }
    }

    /// The candidate to confirm, if any: the largest effect minus a standard error, so that one
    /// lucky trial does not beat six good ones. Among those within half the margin, or identical in
    /// outcome, the one with the fewest settings.
    pub fn chosen(&self) -> Option<usize> {
        let spread = self.spread();
        let careful = |c: &Candidate| c.utility() - spread / (c.rounds() as f64).sqrt();
        let baseline = &self.candidates[BASELINE];
        let worth = |c: &Candidate| c.feasible() && (c.effect() > 0.0 || !baseline.feasible());
        let measured =
            self.candidates.iter().enumerate().skip(1).filter(|(_, c)| c.rounds() > 0 && worth(c));
        let best = measured.clone().max_by(|(_, a), (_, b)| careful(a).total_cmp(&careful(b)))?.1;
        let close = measured.filter(|(_, c)| {
            careful(c) >= careful(best) - 0.5 * self.options.margin || self.same(c, best)
        });
        let turned =
            |c: &Candidate| c.point.as_ref().map_or(0, |point| self.space.departures(point));
        let order = |a: &Candidate, b: &Candidate| {
            turned(a).cmp(&turned(b)).then(careful(b).total_cmp(&careful(a)))
        };
        close.min_by(|(_, a), (_, b)| order(a, b)).map(|(number, _)| number)
    }

    #[cfg(test)]
    pub(crate) fn add_for_tests(&mut self, candidate: Candidate) {
        self.candidates.push(candidate);
    }

    /// Returns the round-to-round SD of an effect, over all candidates.
    pub fn spread(&self) -> f64 {
        spread(self.candidates[1..].iter())
    }

    /// Whether outcomes are identical, which on a real machine would be chance.
    fn same(&self, a: &Candidate, b: &Candidate) -> bool {
        self.options.mode == Mode::Reused && alike(a, b)
    }

    fn wanted(&mut self) -> Vec<Request> {
        let left = (self.options.trials - self.spent) as usize;
        let least = if self.options.mode == Mode::Fresh { 2 } else { 1 };
        if left < least {
            self.ended = Some(Ended::Budget);
            return Vec::new();
        }
        if self.options.patience.is_some_and(|patience| self.fruitless >= patience)
            && self.racing.is_empty()
        {
            self.exhausted = true;
        }
        let polishing = self.exhausted
            || f64::from(self.spent) >= f64::from(self.options.trials) * (1.0 - POLISH);
        let mut measured = if polishing { self.simpler() } else { self.racers() };
        if measured.is_empty() {
            measured = self.contenders();
        }
        if measured.is_empty() {
            let patience = self.options.patience.is_some_and(|patience| self.fruitless >= patience);
            self.ended = Some(if patience { Ended::Patience } else { Ended::Exhausted });
            return Vec::new();
        }
        let wanted = match self.options.mode {
            Mode::Reused => self.of_seeds(&measured, left),
            Mode::Fresh => self.of_one_round(measured, left),
        };
        if wanted.is_empty() {
            // No room for a trial together with the default's.
            self.ended = Some(Ended::Budget);
        }
        wanted
    }

    /// Each candidate in its next missing round, and the default if not measured yet.
    fn of_seeds(&self, measured: &[usize], left: usize) -> Vec<Request> {
        let mut wanted: Vec<Request> = Vec::new();
        for &candidate in measured {
            let request = Request { candidate, round: self.candidates[candidate].asked };
            let mut both = Vec::new();
            let default = Request { candidate: BASELINE, ..request };
            if request.round >= self.candidates[BASELINE].asked && !wanted.contains(&default) {
                both.push(default);
            }
            both.push(request);
            if wanted.len() + both.len() <= left {
                wanted.append(&mut both);
            }
        }
        wanted
    }

    fn of_one_round(&mut self, measured: Vec<usize>, left: usize) -> Vec<Request> {
        let round = self.rounds;
        self.rounds += 1;
        let all = std::iter::once(BASELINE).chain(measured).take(left);
        all.map(|candidate| Request { candidate, round }).collect()
    }

    /// The incumbent if due, those racing, and new challengers.
    fn racers(&mut self) -> Vec<usize> {
        let mut challengers = self.racing.clone();
        challengers.truncate(self.options.width);
        while challengers.len() < self.options.width {
            let incumbent = self.candidates[self.incumbent].point.clone();
            let Some(point) = self.proposer.next(&self.space, &self.candidates, incumbent.as_ref())
            else {
                self.exhausted = true;
                break;
            };
            let number = self.candidates.len();
            self.candidates.push(Candidate::new(Some(point)));
            self.origins.extend(incumbent.map(|point| (number, point)));
            self.racing.push(number);
            challengers.push(number);
        }
        let asked = u64::from(self.candidates[self.incumbent].asked);
        let due =
            asked < (2 + self.proposer.count() / PER_CHALLENGERS).min(MAX_CHALLENGER_ROUNDS as u64);
        let together = self.options.mode == Mode::Fresh && !challengers.is_empty();
        if self.incumbent != BASELINE && (due || together) {
            challengers.insert(0, self.incumbent);
        }
        challengers
    }

    /// Reverts one setting of the incumbent: ineffective ones do not belong in a recommendation.
    fn simpler(&mut self) -> Vec<usize> {
        if self.racing.is_empty()
            && let Some(incumbent) = self.candidates[self.incumbent].point.clone()
        {
            for point in self.space.reverts(&incumbent) {
                if self.racing.len() < self.options.width && self.proposer.mark_tried(point.clone())
                {
                    self.racing.push(self.candidates.len());
                    self.candidates.push(Candidate::new(Some(point)));
                }
            }
        }
        let mut measured = self.racing.clone();
        measured.truncate(self.options.width);
        if self.options.mode == Mode::Fresh && !measured.is_empty() && self.incumbent != BASELINE {
            measured.insert(0, self.incumbent);
        }
        measured
    }

    /// Lists possible winners by optimistic estimate.
    fn contenders(&self) -> Vec<usize> {
        let spread = self.spread();
        let hope = |c: &Candidate| c.utility() + DOUBT * spread / (c.rounds() as f64).sqrt();
        let known = |c: &Candidate| c.utility() - DOUBT * spread / (c.rounds() as f64).sqrt();
        let measured =
            || self.candidates.iter().enumerate().skip(1).filter(|(_, c)| c.rounds() > 0);
        let floor = measured().map(|(_, c)| known(c)).fold(0.0, f64::max);
        let mut open: Vec<(usize, &Candidate)> = measured()
            .filter(|(_, c)| hope(c) >= floor && (c.asked as usize) < MAX_CHALLENGER_ROUNDS)
            .collect();
        // A single one needs no decision.
        if measured().filter(|(_, c)| hope(c) >= floor).count() < 2 {
            return Vec::new();
        }
        open.sort_by(|(_, a), (_, b)| hope(b).total_cmp(&hope(a)));
        let mut kept: Vec<(usize, &Candidate)> = Vec::new();
        for (number, candidate) in open {
            if kept.len() < self.options.width.max(2)
                && !kept.iter().any(|(_, other)| self.same(candidate, other))
            {
                kept.push((number, candidate));
            }
        }
        kept.into_iter().map(|(number, _)| number).collect()
    }

    /// Drops and promotes on the evidence of all trials.
    fn settle(&mut self) {
        let spread = self.spread();
        for number in self.racing.clone() {
            let (challenger, incumbent) =
                (&self.candidates[number], &self.candidates[self.incumbent]);
            if challenger.is_hopeless() {
                self.leave(number, State::Hopeless);
                continue;
            }
            if challenger.rounds() == 0 || incumbent.rounds() == 0 {
                continue;
            }
            let (ahead, rounds) = difference(challenger, incumbent);
            let both = if self.incumbent == BASELINE { 1.0 } else { 2.0 };
            let noise = spread * (both / rounds as f64).sqrt();
            let needed = match (self.incumbent, self.options.mode) {
                (BASELINE, Mode::Reused) => 1,
                (BASELINE, Mode::Fresh) => 2,
                _ => incumbent.rounds().min(MIN_LEADING_ROUNDS),
            };
            let same = self.same(challenger, incumbent);
            let turned =
                |c: &Candidate| c.point.as_ref().map_or(0, |point| self.space.departures(point));
            if same && self.incumbent != BASELINE && turned(challenger) < turned(incumbent) {
                self.leave(number, State::Incumbent);
                self.incumbent = number;
            } else if same || ahead + DOUBT * noise < self.options.margin {
                self.leave(number, State::Dropped);
            } else if rounds >= needed && ahead > 0.0 {
                self.leave(number, State::Incumbent);
                self.incumbent = number;
            } else if rounds >= MAX_TRAILING_ROUNDS {
                self.leave(number, State::Dropped);
            }
        }
    }

    fn leave(&mut self, number: usize, state: State) {
        self.racing.retain(|other| *other != number);
        self.candidates[number].state = state;
        let won = state == State::Incumbent;
        self.fruitless = if won { 0 } else { self.fruitless + 1 };
        if let (Some(origin), Some(point)) =
            (self.origins.get(&number), &self.candidates[number].point)
        {
            self.proposer.record_outcome(origin, point, won);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::space::tests::small;

    fn with(effects: &[(&[usize], &[f64])]) -> Search {
        let options = Options {
            seed: 1,
            mode: Mode::Fresh,
            margin: 0.01,
            trials: 10,
            width: 2,
            patience: None,
            proposals: Proposals::Mixed,
        };
        let mut search = Search::new(small(), None, options);
        for (levels, effects) in effects {
            let mut candidate = Candidate::new(Some(Point { branch: 0, levels: levels.to_vec() }));
            for (round, effect) in effects.iter().enumerate() {
                candidate.take(round as u32, &Outcome { effect: Some(*effect), excess: None });
            }
            search.candidates.push(candidate);
        }
        search
    }

    #[test]
    fn one_lucky_trial_does_not_win_over_six_good_ones() {
        let search = with(&[(&[0, 1], &[0.125]), (&[2, 1], &[0.11, 0.12, 0.13, 0.11, 0.12, 0.13])]);
        assert_eq!(search.chosen(), Some(2));
    }

    #[test]
    fn of_settings_that_are_as_good_the_one_that_turns_the_least_is_chosen() {
        let good = [0.12, 0.121, 0.119, 0.12];
        let search = with(&[(&[0, 1], &good), (&[0, 0], &[0.118, 0.119, 0.117, 0.118])]);
        assert_eq!(search.chosen(), Some(2));
        let search = with(&[(&[0, 1], &good), (&[0, 0], &[0.10, 0.101, 0.099, 0.10])]);
        assert_eq!(search.chosen(), Some(1), "two percent are more than half of the margin");
    }

    #[test]
    fn nothing_is_chosen_that_did_not_look_better_than_the_default() {
        assert_eq!(with(&[(&[0, 1], &[-0.01, -0.02])]).chosen(), None);
        assert_eq!(with(&[]).chosen(), None);
    }
}
