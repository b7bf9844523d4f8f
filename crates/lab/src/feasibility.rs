//! How many rounds fit into a budget and what they can detect. Reported before the first trial; a
//! design that can detect nothing is refused.

use anyhow::Result;
use experiment::feasibility::Feasibility;
use experiment::plan::{Method, Plan};

use crate::failure::usage;
use crate::length;

pub fn of(plan: &Plan) -> Feasibility {
    Feasibility::of(&plan.criteria, plan.variants.len().saturating_sub(1), length::rounds(plan))
}

/// Refuses a plan that cannot give an interval. The error states the required rounds or budget.
pub fn check(plan: &Plan) -> Result<()> {
    let found = of(plan);
    if found.is_possible() || plan.budget.figures_only {
        return Ok(());
    }
    let Feasibility { rounds, least_rounds: least, comparisons, .. } = found;
    let aimed = length::ROUNDS_AIMED_AT as u32;
    let among =
        if comparisons > 1 { format!(" with {comparisons} comparisons") } else { String::new() };
    let other = match plan.criteria.method {
        Method::Fixed | Method::ThreeSigma => String::new(),
        Method::Spending => {
            ", take --method fixed, which compares two rounds or more once, or --open-ended"
                .to_owned()
        }
        Method::Anytime => {
            ", take --method fixed, which compares two rounds or more once".to_owned()
        }
    };
    let figures = "or measure without verdicts: --figures-only (budget.figures_only in a plan)";
    if plan.budget.rounds.is_some_and(|fixed| fixed < least) {
        return Err(usage(format!(
            "--rounds: too few for an interval (found {rounds}, expected at least {least}{among}); give --rounds {aimed}{other}, {figures}"
        )));
    }
    let budget =
        |rounds: u32| (f64::from(rounds) * length::round_s(plan) + length::before_s(plan)).ceil();
    Err(usage(format!(
        "--budget: too short for an interval (found room for {rounds} rounds in {:.0} s, expected at least {least}{among}); give --budget {:.0}s \
         for {least} rounds or {:.0}s for {}, or shorter trials{other}, {figures}",
        plan.budget.time_s,
        budget(least),
        budget(aimed.max(2 * least)),
        aimed.max(2 * least)
    )))
}

/// Describes what the plan can detect.
pub fn words(plan: &Plan) -> String {
    let found = of(plan);
    let time = if plan.arena.is_virtual() { " of simulated time" } else { "" };
    let (rounds, s) = (found.rounds, if found.rounds == 1 { "" } else { "s" });
    let fit = match plan.budget.rounds {
        Some(fixed) if fixed <= rounds => format!("{fixed} round{s}"),
        _ => format!("about {rounds} round{s} fit into {:.0} s{time}", plan.budget.time_s),
    };
    // Programs run to their end, so the planned length is only what the budget allows.
    let programs = plan.workloads.iter().filter(|spec| load::programs::find(&spec.kind).is_some());
    let programs: Vec<&str> = programs.map(|spec| spec.name.as_str()).collect();
    let fit = if programs.is_empty() || plan.budget.rounds.is_some() {
        fit
    } else {
        let each = length::round_s(plan) / (plan.variants.len() * plan.workloads.len()) as f64;
        format!("{fit} if a trial of {} takes {each:.1} s or less", programs.join(" and "))
    };
    match found.words() {
        Some(words) if found.is_possible() => format!("{fit}: {words}"),
        _ => format!("{fit}: too few for an interval or a verdict"),
    }
}
