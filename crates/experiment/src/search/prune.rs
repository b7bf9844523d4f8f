//! Reverts unneeded settings of a confirmed winner W, by backward elimination.
//!
//! Each step measures W and W with more settings reverted, in fresh rounds; they stay reverted only
//! if the interval of log(rest ÷ W) is above −margin. So all reverts together cost less than one
//! margin, and a small budget keeps W. The first step tries all settings that lost nothing in the
//! search; a failed group is halved. The claims are one family at alpha by the fallback procedure
//! (Wiens 2003), behind the claim that W beats the default as a gate (Dmitrienko et al. 2003).

use crate::stats::Interval;

use crate::search::race::Search;
use crate::search::space::{Point, Space};

/// One step: the setting compared with the winner, and the level.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The setting after the reverts.
    pub point: Point,
    /// Reverted settings with their values in the winner.
    pub settings: Vec<(String, String)>,
    /// The two-sided level of this step's interval.
    pub alpha: f64,
    /// Remaining at least, including this one.
    pub steps: usize,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Its settings are reverted.
    Reverted,
    /// Its settings stay; a group's halves are tried next.
    Kept,
}

/// A running elimination.
#[derive(Debug, Clone)]
pub struct Pruner {
    space: Space,
    current: Point,
    /// Groups of dimensions to try, the next one last.
    waiting: Vec<Vec<usize>>,
    alpha: f64,
    margin: f64,
    /// The interval of the current point against the winner; `None` while nothing is reverted.
    loss: Option<Interval>,
}

impl Pruner {
    /// Prunes a search's winner; `margin` is a log ratio.
    ///
    /// # Panics
    /// If the winner is not a point of the space.
    pub fn new(search: &Search, winner: usize, margin: f64, alpha: f64) -> Pruner {
        let candidates = search.candidates();
        let point = candidates[winner].point.clone().expect("a winner is a point of the space");
        let space = search.space().clone();
        let defaults = space.default_of(point.branch);
        let turned = (0..point.levels.len()).filter(|i| point.levels[*i] != defaults.levels[*i]);
        let loss = |dimension: usize| {
            let reverted = put_back(&space, &point, &[dimension]);
            let known =
                candidates.iter().find(|c| c.point.as_ref() == Some(&reverted) && c.rounds() > 0);
            known.map_or(0.0, |known| candidates[winner].effect() - known.effect())
        };
        let mut all: Vec<(f64, usize)> =
            turned.map(|dimension| (loss(dimension), dimension)).collect();
        // Stable: ties stay in the order of the space.
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (unneeded, needed): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|(loss, _)| *loss <= margin);
        let mut waiting: Vec<Vec<usize>> =
            needed.into_iter().rev().map(|(_, dimension)| vec![dimension]).collect();
        waiting.extend(
            Some(unneeded.into_iter().map(|(_, dimension)| dimension).collect())
                .filter(|g: &Vec<_>| !g.is_empty()),
        );
        Pruner { space, current: point, waiting, alpha, margin, loss: None }
    }

    /// The next step; `None` once every setting was tried.
    pub fn next(&self) -> Option<Step> {
        let group = self.waiting.last()?;
        let dimensions = &self.space.branches()[self.current.branch].dimensions;
        let setting = |dimension: &usize| {
            let of = &dimensions[*dimension];
            (of.name.clone(), of.levels[self.current.levels[*dimension]].clone())
        };
        let settings: usize = self.waiting.iter().map(Vec::len).sum();
        let parts = if group.len() > 1 { 0.5 * group.len() as f64 } else { 1.0 };
        Some(Step {
            point: put_back(&self.space, &self.current, group),
            settings: group.iter().map(setting).collect(),
            alpha: self.alpha * parts / settings as f64,
            steps: self.waiting.len() + usize::from(group.len() > 1),
        })
    }

    /// The interval of log(rest ÷ winner) at the step's level, positive when better.
    ///
    /// # Panics
    /// If there was no step.
    pub fn report(&mut self, interval: &Interval) -> Outcome {
        let step = self.next().expect("a step was asked for");
        let group = self.waiting.pop().expect("a step has a group");
        if interval.low > -self.margin {
            self.current = step.point;
            self.loss = Some(*interval);
            return Outcome::Reverted;
        }
        self.alpha -= step.alpha;
        if group.len() > 1 {
            let (first, second) = group.split_at(group.len().div_ceil(2));
            self.waiting.extend([second.to_vec(), first.to_vec()]);
        }
        Outcome::Kept
    }

    /// Settings still to be tried.
    pub fn untried(&self) -> usize {
        self.waiting.iter().map(Vec::len).sum()
    }

    /// The current point.
    pub fn current(&self) -> &Point {
        &self.current
    }

    /// The interval of log(rest ÷ winner), positive when better; `None` while nothing is reverted.
    pub fn loss(&self) -> Option<&Interval> {
        self.loss.as_ref()
    }

    /// Whether the current point may replace the winner, whose gain over the default is at least
    /// `low`.
    pub fn recommendable(&self, low: f64) -> bool {
        self.loss.is_some_and(|loss| low + loss.low > self.margin)
    }
}

fn put_back(space: &Space, point: &Point, dimensions: &[usize]) -> Point {
    let (mut other, default) = (point.clone(), space.default_of(point.branch));
    dimensions.iter().for_each(|dimension| other.levels[*dimension] = default.levels[*dimension]);
    other
}

#[cfg(test)]
mod tests {
    use crate::stats::{Moments, sequence};

    use super::*;
    use crate::search::ledger::{self, Candidate};
    use crate::search::propose::Proposals;
    use crate::search::race::{Mode, Options};
    use crate::search::space::tests::dimension;
    use crate::search::space::{Branch, Space};

    /// Builds a search over five settings of one scheduler, all changed by the winner.
    fn search() -> Search {
        let dimensions = ["a", "b", "c", "d", "e"].map(|name| dimension(name, 2, 0)).to_vec();
        let space = Space::new(vec![Branch { name: "s".to_owned(), dimensions }]).unwrap();
        let options = Options {
            seed: 1,
            mode: Mode::Fresh,
            margin: 0.01,
            trials: 10,
            width: 2,
            patience: None,
            proposals: Proposals::Mixed,
        };
        let mut search = Search::new(space, None, options);
        search.add_for_tests(winner());
        search
    }

    fn winner() -> Candidate {
        seen(vec![1; 5], &[0.4, 0.41])
    }

    fn seen(levels: Vec<usize>, effects: &[f64]) -> Candidate {
        let mut candidate = Candidate::new(Some(Point { branch: 0, levels }));
        for (round, effect) in effects.iter().enumerate() {
            candidate.take(round as u32, &ledger::Outcome { effect: Some(*effect), excess: None });
        }
        candidate
    }

    /// The truth: `a` gives 30 %, `d` 8 %, the others nothing.
    fn truth(point: &Point) -> f64 {
        0.3 * point.levels[0] as f64 + 0.08 * point.levels[3] as f64
    }

    fn noise(state: &mut u64, sd: f64) -> f64 {
        let mut sum = 0.0;
        for _ in 0..12 {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += (*state >> 11) as f64 / (1_u64 << 53) as f64;
        }
        sd * (sum - 6.0)
    }

    type Rule = fn(&mut Pruner, &Interval) -> Outcome;

    /// Prunes with this noise; returns the result and its true loss against the winner.
    fn pruned(rule: Rule, rounds: usize, sd: f64, seed: u64) -> (Point, f64) {
        let search = search();
        let mut pruner = Pruner::new(&search, 1, 0.01_f64.ln_1p(), 0.05);
        let full = truth(search.candidates()[1].point.as_ref().unwrap());
        let mut state = seed;
        while let Some(step) = pruner.next() {
            let difference = truth(&step.point) - full;
            let values: Vec<f64> =
                (0..rounds).map(|_| difference + noise(&mut state, sd)).collect();
            rule(&mut pruner, &sequence::interval(&Moments::of(&values), step.alpha));
        }
        (pruner.current().clone(), full - truth(pruner.current()))
    }

    #[test]
    fn of_five_settings_the_two_that_matter_stay_and_the_three_others_go() {
        let (left, loss) = pruned(Pruner::report, 20, 0.004, 1);
        assert_eq!((left.levels, loss), (vec![1, 0, 0, 1, 0], 0.0));
    }

    #[test]
    fn a_budget_too_small_to_show_anything_leaves_the_winner() {
        assert_eq!(pruned(Pruner::report, 2, 0.05, 1).0.levels, [1; 5]);
    }

    /// The mutant: a setting goes unless its removal is shown to lose.
    fn unless_shown_to_lose(pruner: &mut Pruner, interval: &Interval) -> Outcome {
        let lost = interval.high < 0.0;
        pruner.report(&if lost { *interval } else { Interval { low: 0.0, high: 0.0 } })
    }

    /// Eliminations that revert something that matters.
    fn harmful(rule: Rule, rounds: usize, sd: f64, n: u64) -> u64 {
        (0..n).map(|seed| u64::from(pruned(rule, rounds, sd, seed * 7919 + 1).1 > 0.01)).sum()
    }

    #[test]
    fn what_matters_is_put_back_in_at_most_five_of_a_hundred_eliminations_and_a_rule_that_asks_for_proof_of_loss_is_caught()
     {
        let n = 400;
        for (rounds, sd) in [(6, 0.05), (12, 0.05), (30, 0.05), (8, 0.2)] {
            let kept = harmful(Pruner::report, rounds, sd, n);
            assert!(kept <= n / 20, "{kept} of {n} with {rounds} rounds of {sd}");
        }
        assert!(harmful(unless_shown_to_lose, 8, 0.2, n) > n / 2);
    }

    #[test]
    fn the_levels_of_the_steps_that_claim_nothing_sum_to_less_than_alpha() {
        let shown = Interval { low: 0.0, high: 0.1 };
        for course in 0_u32..512 {
            let mut pruner = Pruner::new(&search(), 1, 0.01, 0.05);
            let (mut used, mut steps) = (0.0, 0);
            while let Some(step) = pruner.next() {
                let interval = if course >> steps & 1 == 1 { shown } else { Interval::UNBOUNDED };
                assert!(
                    step.alpha > 0.0 && used + step.alpha <= 0.05 + 1e-12,
                    "course {course}: {used} + {}",
                    step.alpha
                );
                if pruner.report(&interval) == Outcome::Kept {
                    used += step.alpha;
                }
                steps += 1;
            }
            assert!(steps <= 9, "a group of five takes nine steps at most");
        }
    }

    #[test]
    fn a_group_goes_first_and_is_halved_and_what_the_search_saw_lose_is_tried_last() {
        let mut search = search();
        search.add_for_tests(seen(vec![1, 1, 0, 1, 1], &[0.40, 0.40]));
        search.add_for_tests(seen(vec![0, 1, 1, 1, 1], &[0.1]));
        let mut pruner = Pruner::new(&search, 1, 0.01, 0.05);
        let mut names = Vec::new();
        while let Some(step) = pruner.next() {
            names.push(step.settings.iter().map(|(name, _)| name.as_str()).collect::<String>());
            pruner.report(&Interval::UNBOUNDED);
        }
        assert_eq!(names, ["bdec", "bd", "b", "d", "ec", "e", "c", "a"]);
        assert!(!pruner.recommendable(1.0) && pruner.loss().is_none());
    }

    #[test]
    fn what_is_left_is_recommended_only_if_its_own_gain_exceeds_the_margin() {
        let search = search();
        let mut pruner = Pruner::new(&search, 1, 0.01, 0.05);
        pruner.report(&Interval { low: -0.005, high: 0.005 });
        assert!(pruner.recommendable(0.02) && !pruner.recommendable(0.012));
    }
}
