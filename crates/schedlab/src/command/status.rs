//! `schedlab status`: the progress of an experiment.

use std::path::Path;

use anyhow::Result;
use experiment::comparison::Verdict;
use experiment::notation::Change;
use lab::standing::{self, Standing, State, VariantStanding, WorkloadStanding};
use report::number::{percent, span_ms};
use text::counted;

use crate::cli::StatusArgs;
use crate::failure::REACHED;
use crate::out;

const CUT_OFF: u8 = 1;

pub(crate) fn run(args: &StatusArgs) -> Result<u8> {
    let dir = args.dir.clone().map_or_else(standing::newest, Ok)?;
    let standing = standing::standing(&dir)?;
    if args.json {
        out::line(serde_json::to_string_pretty(&standing)?)?;
    } else {
        words(&standing, &dir).iter().try_for_each(out::line)?;
    }
    Ok(if standing.state == State::CutOff { CUT_OFF } else { REACHED })
}

fn words(standing: &Standing, dir: &Path) -> Vec<String> {
    let Standing { name, arena, device, state, trials, invalid_trials, spent_s, share, .. } =
        standing;
    let left =
        standing.left_s.map_or_else(String::new, |left| format!(", at most {} left", span(left)));
    let state = match state {
        State::Measuring { pid } => {
            let by = pid.map_or_else(String::new, |pid| format!(" by process {pid}"));
            format!("measured{by}: {} done{left}", percent(*share))
        }
        State::Ended { why, text } => format!("ended: {why}: {text}"),
        State::CutOff => format!(
            "cut off after {} and not measured now; repeat its command with --out {} --resume",
            percent(*share),
            dir.display()
        ),
    };
    let simulated = if standing.is_virtual { " of virtual time" } else { "" };
    let mut lines = vec![
        if name.contains(device.as_str()) {
            format!("{name}, {arena} arena")
        } else {
            format!("{name} on {device}, {arena} arena")
        },
        state,
        format!(
            "{}, {invalid_trials} invalid, in {}{simulated}: {}",
            counted(*trials as u64, "trial"),
            span(*spent_s),
            dir.display()
        ),
    ];
    standing.workloads.iter().for_each(|workload| lines.extend(of_workload(workload)));
    lines
}

fn of_workload(workload: &WorkloadStanding) -> Vec<String> {
    let WorkloadStanding { name, rounds, planned, variants } = workload;
    // Decided variants leave their time to the others, so the estimate can be exceeded.
    let of = Some(planned).filter(|planned| **planned as usize >= *rounds);
    let of = of.map_or_else(String::new, |planned| format!(" of about {planned}"));
    let widest = variants.iter().map(|variant| variant.name.chars().count()).max().unwrap_or(0);
    let mut lines = vec![String::new(), format!("{name}: {rounds}{of} rounds")];
    lines.extend(
        variants
            .iter()
            .map(|variant| format!("  {:widest$}  {}", variant.name, of_variant(variant))),
    );
    lines
}

fn of_variant(variant: &VariantStanding) -> String {
    let Some(comparison) = &variant.comparison else {
        let what = if variant.is_baseline { "baseline" } else { "no evidence yet" };
        return format!("{what}, {}", counted(variant.trials as u64, "trial"));
    };
    let verdict = format!("{:?}", comparison.verdict).to_lowercase();
    let effect = comparison.ratio.map_or_else(String::new, |ratio| {
        format!(" {}", Change { ratio, low: comparison.low, high: comparison.high })
    });
    let end = if variant.decided { end_of(comparison.verdict) } else { "" };
    format!("{verdict}{effect} after {}{end}", counted(u64::from(comparison.rounds), "round"))
}

/// How a variant ended that is measured no more.
fn end_of(verdict: Verdict) -> &'static str {
    if verdict == Verdict::Inconclusive { ", stopped" } else { ", decided" }
}

fn span(seconds: f64) -> String {
    span_ms((seconds.max(0.0) * 1e3) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_that_ends_inconclusive_is_not_called_decided() {
        assert_eq!(end_of(Verdict::Inconclusive), ", stopped");
        assert_eq!(end_of(Verdict::Worse), ", decided");
    }
}
