//! The detectable effects of a design, before it is run.
//!
//! The round-to-round SD is unknown beforehand, so the first statement is in units of it, for the
//! variant compared first (level α over the number of comparisons); one in percent follows after
//! the first rounds. Both assume a single look at the last round ([`crate::stats::power`]).

use serde::Serialize;
use text::percent;

use crate::plan::{Criteria, Method};
use crate::stats::power::{detectable, power};
use crate::stats::spending::{self, Design, Sides};
use crate::stats::{fixed, sequence};

/// The power implied by "detects".
pub const WANTED_POWER: f64 = 0.8;

/// Maximum rounds tried for a first interval.
const MAX_ROUNDS: u32 = 1000;

/// Detectable effects at a number of rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Feasibility {
    /// Rounds per workload.
    pub rounds: u32,
    /// Minimum rounds for an interval.
    pub least_rounds: u32,
    /// Variants other than the baseline, which share the error.
    pub comparisons: u32,
    /// Power for an effect of one round-to-round SD beyond the margin; `None` for a rule without
    /// levels.
    pub power_at_1_sd: Option<f64>,
    /// The smallest effect beyond the margin with 80 % power, in round-to-round SDs.
    pub detectable_sd: Option<f64>,
    /// The margin, as a fraction.
    pub margin: f64,
}

impl Feasibility {
    /// Judges `rounds` rounds per workload by these criteria.
    pub fn of(criteria: &Criteria, comparisons: usize, rounds: u32) -> Feasibility {
        let comparisons = comparisons.max(1);
        let critical = critical(criteria, comparisons, rounds);
        let n = rounds as usize;
        Feasibility {
            rounds,
            least_rounds: least_rounds(criteria, comparisons),
            comparisons: u32::try_from(comparisons).unwrap_or(u32::MAX),
            power_at_1_sd: critical.map(|critical| power(n, 1.0, critical)),
            detectable_sd: critical.and_then(|critical| detectable(n, critical, WANTED_POWER)),
            margin: criteria.margin,
        }
    }

    /// Whether an interval is possible.
    pub fn is_possible(&self) -> bool {
        self.rounds >= self.least_rounds
    }

    /// The effect detectable with 80 % power at this SD of log ratios, as a fraction: 0.07 for 7 %.
    pub fn detectable_effect(&self, sd: f64) -> Option<f64> {
        let effect = (self.margin.ln_1p() + self.detectable_sd? * sd).exp_m1();
        Some(effect).filter(|effect| effect.is_finite())
    }

    /// Describes the result as text, before the noise is known.
    pub fn words(&self) -> Option<String> {
        let (power, sd) = (self.power_at_1_sd?, self.detectable_sd?);
        let beyond = if self.margin > 0.0 {
            format!(" beyond the margin of {}", percent(self.margin))
        } else {
            String::new()
        };
        Some(format!(
            "finds an effect as large as the round-to-round SD (1 sd){beyond} with a probability of {:.0} %, one of {sd:.1} sd with {:.0} %",
            power * 100.0,
            WANTED_POWER * 100.0
        ))
    }
}

/// Returns the minimum rounds for an interval of the variant compared first.
pub fn least_rounds(criteria: &Criteria, comparisons: usize) -> u32 {
    let level = criteria.alpha / comparisons.max(1) as f64;
    match criteria.method {
        Method::Spending => spending::FIRST_LOOK as u32,
        Method::Anytime => (2..MAX_ROUNDS)
            .find(|n| sequence::critical_t(*n as usize, level).is_some())
            .unwrap_or(MAX_ROUNDS),
        Method::Fixed | Method::ThreeSigma => 2,
    }
}

/// The critical |t| at the last of this many rounds.
fn critical(criteria: &Criteria, comparisons: usize, rounds: u32) -> Option<f64> {
    let level = criteria.alpha / comparisons as f64;
    if rounds < 2 {
        return None;
    }
    match criteria.method {
        Method::Spending => {
            let planned = rounds as usize;
            spending::critical_t(Design::of(planned), planned, level, Sides::Two)
        }
        Method::Anytime => sequence::critical_t(rounds as usize, level),
        Method::Fixed => Some(fixed::critical(f64::from(rounds) - 1.0, level)),
        Method::ThreeSigma => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: Method, comparisons: usize, rounds: u32) -> Feasibility {
        Feasibility::of(&Criteria { method, ..Criteria::default() }, comparisons, rounds)
    }

    #[test]
    fn two_rounds_give_no_interval_by_a_sequence_and_a_hopelessly_wide_one_by_students_t() {
        let sequence = of(Method::Anytime, 1, 2);
        assert!(
            !sequence.is_possible()
                && sequence.detectable_sd.is_none()
                && sequence.words().is_none(),
            "{sequence:?}"
        );
        let fixed = of(Method::Fixed, 1, 2);
        assert!(fixed.is_possible() && fixed.power_at_1_sd.expect("a level") < 0.15, "{fixed:?}");
        assert!(!of(Method::Fixed, 1, 1).is_possible());
        let spending = [2, 3, 4].map(|rounds| of(Method::Spending, 3, rounds).is_possible());
        assert_eq!(spending, [false, false, true], "the first look is after the fourth round");
    }

    #[test]
    fn more_rounds_find_smaller_effects_and_more_variants_larger_ones_only() {
        for method in [Method::Anytime, Method::Spending, Method::Fixed] {
            let sd =
                |comparisons, rounds| of(method, comparisons, rounds).detectable_sd.expect("found");
            assert!(sd(1, 12) > sd(1, 24) && sd(1, 24) > sd(1, 48), "{method:?}");
            assert!(sd(5, 12) > sd(1, 12), "{method:?}");
            assert!(of(method, 30, 12).least_rounds >= of(method, 1, 12).least_rounds);
        }
        let [sequence, spending, fixed] = [Method::Anytime, Method::Spending, Method::Fixed]
            .map(|method| of(method, 1, 12).detectable_sd.expect("found"));
        assert!(sequence > spending && spending > fixed, "{sequence}, {spending}, {fixed}");
        let (at_the_cap, beyond) = (of(Method::Spending, 1, 200), of(Method::Spending, 1, 20_000));
        assert!(beyond.detectable_sd < at_the_cap.detectable_sd, "{beyond:?}");
    }

    #[test]
    fn the_words_say_what_is_found_in_the_round_to_round_sd_and_later_in_percent() {
        let twelve = of(Method::Fixed, 1, 12);
        let words = "finds an effect as large as the round-to-round SD (1 sd) beyond the margin of 1 % with a probability of 88 %, \
                     one of 0.9 sd with 80 %";
        assert_eq!(twelve.words().as_deref(), Some(words));
        // 0.9 SD of 5 %, beyond 1 %.
        let effect = twelve.detectable_effect(0.05).expect("finite");
        assert!((effect - 0.055).abs() < 0.003, "{effect}");
        assert_eq!(of(Method::ThreeSigma, 1, 12).words(), None);
    }
}
