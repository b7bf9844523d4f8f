//! Bisection over steps, with verdicts that may err and steps that cannot be compared.
//!
//! Step 0 is good, step n bad. If the middle step cannot be compared (build, boot, evidence), the
//! search moves away by doubling distances, since neighbours often share the fault; if only such
//! steps remain, the answer is their range. Each verdict has its part of the error
//! ([`ErrorShares`], Bonferroni). Source: `git bisect` and its `skip`. Departure: the order depends
//! on the verdicts alone, so that a log can be replayed. The caller follows first parents.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    Untested,
    Good,
    Bad,
    /// Tried, but could not be compared.
    Skipped,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    Good,
    Bad,
    Skipped,
}

/// The last good and the first bad step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bracket {
    pub good: usize,
    pub bad: usize,
}

impl Bracket {
    /// Whether they are neighbours, so that one step is responsible.
    #[must_use]
    pub fn is_one_step(&self) -> bool {
        self.bad == self.good + 1
    }
}

/// A search over steps 0 to n.
#[derive(Debug, Clone)]
pub struct Bisection {
    steps: Vec<StepState>,
}

impl Bisection {
    /// A search between a good step 0 and a bad step `last`.
    ///
    /// # Panics
    /// If `last` is 0.
    #[must_use]
    pub fn new(last: usize) -> Bisection {
        assert!(last > 0, "the ends are different steps");
        let mut steps = vec![StepState::Untested; last + 1];
        steps[0] = StepState::Good;
        steps[last] = StepState::Bad;
        Bisection { steps }
    }

    #[must_use]
    pub fn bracket(&self) -> Bracket {
        let bad = self
            .steps
            .iter()
            .position(|state| *state == StepState::Bad)
            .expect("the last step is bad");
        let good = self.steps[..bad]
            .iter()
            .rposition(|state| *state == StepState::Good)
            .expect("the first is good");
        Bracket { good, bad }
    }

    /// The next step; `None` once [`Bisection::bracket`] is the answer.
    #[must_use]
    pub fn next_step(&self) -> Option<usize> {
        let Bracket { good, bad } = self.bracket();
        let between = good + 1..bad;
        let skipped =
            between.clone().filter(|step| self.steps[*step] == StepState::Skipped).count();
        let middle = good + (bad - good) / 2;
        // 0, 1, 2, 4, … steps away from the middle, on the side with more to learn.
        let away =
            if skipped == 0 { 0 } else { 1_usize << (skipped - 1).min(usize::BITS as usize - 2) };
        let untested = between.filter(|step| self.steps[*step] == StepState::Untested);
        untested
            .min_by_key(|step| (step.abs_diff(middle).abs_diff(away), step.abs_diff(middle), *step))
    }

    /// # Panics
    /// If the step is an end, outside the bracket, or was tried before.
    pub fn record(&mut self, step: usize, finding: Finding) {
        let Bracket { good, bad } = self.bracket();
        assert!(good < step && step < bad, "step {step} lies between {good} and {bad}");
        assert!(self.steps[step] == StepState::Untested, "step {step} is tried once");
        self.steps[step] = match finding {
            Finding::Good => StepState::Good,
            Finding::Bad => StepState::Bad,
            Finding::Skipped => StepState::Skipped,
        };
    }

    /// Returns the trials that remain if each gives a verdict.
    #[must_use]
    pub fn verdicts_left(&self) -> u32 {
        let Bracket { good, bad } = self.bracket();
        let untested =
            (good + 1..bad).filter(|step| self.steps[*step] == StepState::Untested).count();
        halvings(bad - good).min(u32::try_from(untested).unwrap_or(u32::MAX))
    }
}

/// Halvings until a bracket's ends are neighbours.
#[must_use]
pub fn halvings(width: usize) -> u32 {
    width.next_power_of_two().trailing_zeros()
}

/// The share of the error for the verdicts of an undisturbed bisection; the rest is for additional
/// ones.
const PLANNED_SHARE: f64 = 0.75;

/// The error of each verdict, divided in advance.
///
/// Necessary verdicts (ends, halvings, final neighbours) share three quarters of alpha equally.
/// Each additional one (a larger experiment, a skipped step) takes half of the rest, so any number
/// stays within alpha.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorShares {
    pub alpha: f64,
    /// Verdicts needed without skipped steps.
    pub planned: u32,
}

impl ErrorShares {
    #[must_use]
    pub fn of(alpha: f64, last: usize) -> ErrorShares {
        ErrorShares { alpha, planned: halvings(last) + 2 }
    }

    /// `further` counts additional verdicts from 0.
    #[must_use]
    pub fn of_verdict(&self, further: Option<u32>) -> f64 {
        match further {
            None => PLANNED_SHARE * self.alpha / f64::from(self.planned),
            Some(number) => {
                (1.0 - PLANNED_SHARE)
                    * self.alpha
                    * 0.5_f64.powi(i32::try_from(number).unwrap_or(i32::MAX - 1) + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bisects `last` steps of which `first_bad` and all later ones are bad, and `skips` cannot be
    /// compared; returns the bracket and the steps tried.
    fn bisect(last: usize, first_bad: usize, skips: &[usize]) -> (Bracket, Vec<usize>) {
        let mut search = Bisection::new(last);
        let mut tried = Vec::new();
        while let Some(step) = search.next_step() {
            let finding = match step {
                step if skips.contains(&step) => Finding::Skipped,
                step if step < first_bad => Finding::Good,
                _ => Finding::Bad,
            };
            search.record(step, finding);
            tried.push(step);
        }
        (search.bracket(), tried)
    }

    #[test]
    fn the_planted_step_is_found_wherever_it_is_in_as_many_trials_as_halvings() {
        for last in 1..=130 {
            for first_bad in 1..=last {
                let (bracket, tried) = bisect(last, first_bad, &[]);
                assert_eq!(bracket, Bracket { good: first_bad - 1, bad: first_bad });
                assert!(tried.len() <= halvings(last) as usize, "{last} steps took {tried:?}");
            }
        }
        assert_eq!(bisect(64, 37, &[]).1, [32, 48, 40, 36, 38, 37]);
    }

    #[test]
    fn the_search_leaves_a_run_of_broken_steps_by_doubled_distances() {
        let broken: Vec<usize> = (20..=44).collect();
        let (bracket, tried) = bisect(64, 50, &broken);
        assert_eq!(bracket, Bracket { good: 49, bad: 50 });
        assert_eq!(
            &tried[..6],
            [32, 31, 30, 28, 24, 16],
            "the middle, then 1, 2, 4, 8 and 16 away from it"
        );
        let (bracket, _) = bisect(64, 37, &broken);
        assert_eq!(bracket, Bracket { good: 19, bad: 45 }, "any of these may be to blame");
    }

    #[test]
    fn an_end_that_is_next_to_the_other_needs_no_trial() {
        let search = Bisection::new(1);
        assert_eq!((search.next_step(), search.verdicts_left()), (None, 0));
        assert!(search.bracket().is_one_step());
        let search = Bisection::new(64);
        assert_eq!(search.verdicts_left(), 6);
    }

    #[test]
    fn the_parts_of_the_error_are_never_more_than_the_whole() {
        for last in [1, 2, 3, 64, 1000] {
            let shares = ErrorShares::of(0.05, last);
            let planned: f64 = (0..shares.planned).map(|_| shares.of_verdict(None)).sum();
            let further: f64 = (0..2000).map(|number| shares.of_verdict(Some(number))).sum();
            assert!(planned + further <= 0.05 * (1.0 + 1e-12), "{planned} + {further}");
            assert!((planned - 0.0375).abs() < 1e-12 && shares.of_verdict(Some(0)) > 0.0);
        }
        assert_eq!(ErrorShares::of(0.05, 64).planned, 8);
    }

    proptest! {
        #[test]
        fn any_set_of_skipped_steps_gives_the_smallest_range_that_holds_the_planted_one(
            last in 1_usize..90,
            at in 0.0_f64..1.0,
            skipped in prop::collection::vec(any::<bool>(), 90),
        ) {
            let first_bad = 1 + ((at * last as f64) as usize).min(last - 1);
            let skips: Vec<usize> = (1..last).filter(|step| skipped[*step]).collect();
            let (bracket, tried) = bisect(last, first_bad, &skips);
            let good = (0..first_bad).rev().find(|step| !skips.contains(step)).unwrap();
            let bad = (first_bad..=last).find(|step| !skips.contains(step)).unwrap();
            prop_assert_eq!(bracket, Bracket { good, bad });
            let mut once = tried.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), tried.len(), "no step is tried twice");
        }

        #[test]
        fn wrong_verdicts_still_end_with_neighbours_of_different_verdicts(last in 1_usize..90, coins in prop::collection::vec(0_u8..3, 90)) {
            let mut search = Bisection::new(last);
            while let Some(step) = search.next_step() {
                search.record(step, [Finding::Good, Finding::Bad, Finding::Skipped][usize::from(coins[step])]);
            }
            let Bracket { good, bad } = search.bracket();
            prop_assert!((good + 1..bad).all(|step| search.steps[step] == StepState::Skipped));
        }
    }
}
