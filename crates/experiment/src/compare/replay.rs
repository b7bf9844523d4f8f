//! Replays a complete table as an experiment with early stopping: round by round, a variant decided
//! or given up at a look has no later rounds. The rest is compared like any evidence.

use std::collections::BTreeMap;

use super::evidence::{Cells, Evidence};
use super::{Question, Rule, differs, equivalent};
use crate::plan::Method;
use crate::samples::Sample;
use crate::stats::holm::step_down;
use crate::stats::spending::{Look, Sides, interval};
use crate::stats::{Moments, Running};

/// A rule that does not look after each round measures all.
pub fn truncate_to_stops<'a>(question: &Question<'_>, samples: &[&'a Sample]) -> Vec<&'a Sample> {
    if question.criteria.method != Method::Spending || question.looks.planned.is_none() {
        return samples.to_vec();
    }
    let cells = Cells::of(samples);
    if !cells.paired() {
        return samples.to_vec();
    }
    let variants: Vec<Evidence> = question
        .variants
        .iter()
        .map(|variant| cells.evidence(variant, question.baseline, usize::MAX))
        .collect();
    let last = last_rounds(question, &variants);
    let kept = |sample: &&&Sample| match question
        .variants
        .iter()
        .position(|variant| *variant == sample.variant)
    {
        Some(variant) => last[variant].is_none_or(|last| sample.round <= Some(last)),
        None => true,
    };
    samples.iter().filter(kept).copied().collect()
}

fn last_rounds(question: &Question<'_>, variants: &[Evidence]) -> Vec<Option<u32>> {
    let margin = question.margin();
    let mut seen = vec![Running::default(); variants.len()];
    let mut last: Vec<Option<u32>> = vec![None; variants.len()];
    let mut by_round: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
    for (variant, evidence) in variants.iter().enumerate() {
        for (round, ratio) in evidence.rounds.iter().zip(evidence.log_ratios()) {
            by_round.entry(*round).or_default().push((variant, ratio));
        }
    }
    for (round, values) in by_round {
        for (variant, ratio) in values {
            if last[variant].is_none() {
                seen[variant].push(ratio);
            }
        }
        let moments: Vec<Moments> = seen.iter().map(Running::moments).collect();
        let at = |i: usize, level: f64, sides: Sides| match question.rule(true, &moments[i]) {
            Rule::Spending(mut design) => {
                // Within the table no look is the last one of a time budget.
                design.look = Look::Planned;
                interval(&moments[i], design, level, sides)
            }
            _ => unreachable!("the caller asked for looks within a budget"),
        };
        let differ = step_down(variants.len(), question.criteria.alpha, |i, level| {
            differs(&at(i, level, Sides::Two), margin)
        });
        let equal = step_down(variants.len(), question.criteria.alpha, |i, level| {
            equivalent(&at(i, level, Sides::One), margin)
        });
        for (i, last) in last.iter_mut().enumerate() {
            let stops = differ.decided_at[i].is_some()
                || equal.decided_at[i].is_some()
                || question.futile(&moments[i]).is_some()
                || question.looks.planned.is_some_and(|planned| moments[i].n >= planned as usize);
            if stops && last.is_none() {
                *last = Some(round);
            }
        }
    }
    last
}
