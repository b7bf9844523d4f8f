//! Which guarantees a scheduler keeps: a search for counter-examples, whose output is the book's
//! table. Inputs are the same at every call, so the table changes only with a scheduler, guarantee
//! or property.

use std::fmt;

use elevator::{ElevatorKind, Guarantee};
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use crate::guarantees::{FLOW_PROPERTIES, Scenario};
use crate::properties::{PROPERTIES, assess};
use crate::strategy::{inputs, scenarios, search_by};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// No counter-example was found.
    Holds { cases: u32 },
    Broken {
        /// How the property is broken.
        why: String,
        /// Empty for properties of single requests.
        smallest: String,
    },
    /// A remark, not a guarantee.
    Untested,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Holds { cases } => write!(f, "no counter-example in {cases} cases"),
            Verdict::Broken { why, smallest } if smallest.is_empty() => write!(f, "{why}"),
            Verdict::Broken { why, smallest } => write!(f, "{why}. Scenario: {smallest}"),
            Verdict::Untested => Ok(()),
        }
    }
}

fn properties_of(guarantee: &Guarantee) -> &'static [&'static str] {
    match guarantee {
        Guarantee::WorkConserving => &["never_idle_while_holding_work"],
        Guarantee::IdlesWithTimer => &["idling_ends_by_a_timer"],
        Guarantee::ArrivalOrder => &["order_of_arrival"],
        Guarantee::Ascending { .. } | Guarantee::Sweeping { .. } => &["order_of_sectors"],
        Guarantee::PassedAtMost { .. } => &["passed_at_most"],
        Guarantee::WaitsAtMostMs(_) => &["waits_at_most", "no_flow_starves"],
        Guarantee::MeetsFeasibleDeadlines => &["meets_feasible_deadlines"],
        Guarantee::MeetsWhatEdfMeets => &["meets_what_edf_meets"],
        Guarantee::LagAtMost { .. } => &["lag_at_most"],
        Guarantee::ShareWithin { .. } => &["share_within"],
        Guarantee::LatencyInsideCurve => &["latency_inside_the_curve"],
        Guarantee::Insulates { .. } => &["insulated_from_others"],
        Guarantee::RealTimeBehind { .. } => &["real_time_first"],
        Guarantee::AnyClock => &["served_when_the_clock_jumps"],
        Guarantee::NotKept { .. } | Guarantee::LinearTime => &[],
    }
}

/// Includes guarantees marked as not kept.
pub fn verdicts(kind: &ElevatorKind, cases: u32) -> Vec<(&'static Guarantee, Verdict)> {
    let all = kind.guarantees.iter().flat_map(|guarantee| match guarantee {
        Guarantee::NotKept { guarantees, .. } => guarantees.iter(),
        guarantee => std::slice::from_ref(guarantee).iter(),
    });
    all.map(|guarantee| (guarantee, verdict(kind, guarantee, cases))).collect()
}

fn verdict(kind: &ElevatorKind, guarantee: &'static Guarantee, cases: u32) -> Verdict {
    let only = kind.guaranteeing(std::slice::from_ref(guarantee));
    let names = properties_of(guarantee);
    let (mut tested, runner) =
        (0, || TestRunner::new_with_rng(crate::strategy::config(cases), rng()));
    for property in PROPERTIES.iter().filter(|property| names.contains(&property.name)) {
        tested += cases;
        if let Err((why, input)) =
            search_by(runner(), &inputs(), |input| assess(property, &only, input))
        {
            let steps = input.steps.len();
            return Verdict::Broken { why, smallest: format!("{steps} requests") };
        }
    }
    for property in FLOW_PROPERTIES.iter().filter(|property| names.contains(&property.name)) {
        tested += cases;
        let found: Result<(), (String, Scenario)> =
            search_by(runner(), &scenarios(), |scenario| assess(property, &only, scenario));
        if let Err((why, scenario)) = found {
            return Verdict::Broken { why, smallest: scenario.to_string() };
        }
    }
    if tested == 0 { Verdict::Untested } else { Verdict::Holds { cases: tested } }
}

/// Always the same.
fn rng() -> TestRng {
    TestRng::deterministic_rng(RngAlgorithm::ChaCha)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{FAIR, SWEEP};

    #[test]
    fn a_guarantee_that_is_broken_comes_with_a_scenario_of_two_flows() {
        const LAG: &[Guarantee] = &[Guarantee::LagAtMost { costs: 2, slack_kib: 0 }];
        const NOT_KEPT: &[Guarantee] =
            &[Guarantee::NotKept { guarantees: LAG, because: "it looks at sectors" }];
        let (kept, broken) = (verdicts(&FAIR, 16), verdicts(&SWEEP.guaranteeing(NOT_KEPT), 16));
        assert!(
            kept.iter().all(|(_, verdict)| *verdict == Verdict::Holds { cases: 16 }),
            "{kept:?}"
        );
        let text = broken[0].1.to_string();
        assert!(
            text.contains("flow 1") && !text.contains("flow 2"),
            "the smallest has two flows: {text}"
        );
        assert_eq!(verdicts(&SWEEP.guaranteeing(NOT_KEPT), 16), broken, "the search is repeatable");
    }
}
