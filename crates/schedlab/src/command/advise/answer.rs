//! The answer of `schedlab advise`: the recorded work, the advice, what it makes worse, and the
//! commands that apply and undo it, in at most five lines.

use anyhow::Result;
use experiment::analysis::Cost;
use experiment::metric::label_of;
use experiment::notation::Change;
use lab::advise::{Advice, Case, Expected, scheduler_in_effect};
use machine::Root;
use machine::settings::Change as Settings;
use report::number;

use crate::command::settings::{command, read};
use crate::out;

/// How the advice is carried out on this machine.
pub(super) enum Action {
    /// The commands that apply and undo it.
    Set { apply: String, undo: String },
    /// Why there is nothing to set.
    Nothing(String),
}

impl Action {
    pub(super) fn of(root: &Root, case: &Case, advice: &Advice) -> Action {
        let Some(words) = &advice.set else {
            return Action::Nothing("nothing to change".to_owned());
        };
        let device = match machine::device::find(root, &case.confirm_on) {
            Ok(device) => device,
            Err(_) => {
                let device = &case.confirm_on;
                return Action::Nothing(format!("not on this machine, which has no {device}"));
            }
        };
        let setting = match read(words) {
            Ok(setting) => setting,
            Err(problem) => return Action::Nothing(format!("not on this kernel: {problem:#}")),
        };
        match Settings::plan(root, &device, &setting) {
            Err(problem) => Action::Nothing(format!("not on this kernel: {problem}")),
            Ok(change) => {
                let path = device.path.display().to_string();
                let [apply, undo] = [&setting, &change.undo()]
                    .map(|setting| format!("sudo {}", command(&path, setting)));
                Action::Set { apply, undo }
            }
        }
    }
}

/// Prints the lines.
pub(super) fn show(case: &Case, advice: &Advice, action: &Action) -> Result<()> {
    out::hanging("Recorded: ", &recorded(case))?;
    let best = advice.expected.iter().find(|of| Some(&of.variant) == advice.best.as_ref());
    match best.and_then(|best| Some((&best.variant, best.change()?))) {
        Some((variant, change)) => {
            out::hanging("Advice:   ", &format!("use {variant}: mean latency {change}"))?;
            out::hanging("Loses:    ", &losses(&advice.costs))?;
        }
        None => {
            out::hanging("Advice:   ", &advice.sentence)?;
            if let Some(next) = next_best(advice) {
                out::hanging("Closest:  ", &next)?;
            }
        }
    }
    match action {
        Action::Set { apply, undo } => {
            out::command("Apply:    ", apply)?;
            out::command("Undo:     ", undo)
        }
        Action::Nothing(why) => out::hanging("Apply:    ", why),
    }
}

/// The work, and how the device serves it now.
fn recorded(case: &Case) -> String {
    let device = &case.device;
    let scheduler = match scheduler_in_effect(device) {
        Some(name) => format!(" under {name}"),
        None => String::new(),
    };
    let latency = &device.total.latency_ns;
    let latency = match latency.count {
        0 => "no latencies".to_owned(),
        _ => {
            let [mean, p99] = [latency.mean, latency.p99 as f64].map(number::latency_ns);
            format!("mean {mean}, p99 {p99}")
        }
    };
    let total = &device.total;
    format!(
        "{}, {}{scheduler}: {} requests, {latency}",
        device.name,
        number::span_ms(device.span_ns() / 1_000_000),
        number::count(total.reads + total.writes + total.others),
    )
}

fn losses(costs: &[Cost]) -> String {
    match costs {
        [] => "nothing that was compared".to_owned(),
        [one] => loss(one),
        [first, others @ ..] => format!("{}; {} more with --verbose", loss(first), others.len()),
    }
}

/// A metric on which the advice is worse, by how much.
pub(super) fn loss(cost: &Cost) -> String {
    let metric = label_of(&cost.metric).unwrap_or_else(|| cost.metric.clone());
    let change = cost.ratio.map(|ratio| Change { ratio, low: cost.low, high: cost.high });
    change.map_or_else(|| metric.clone(), |change| format!("{metric} {change}"))
}

/// The fastest variant but the baseline, with its verdict.
fn next_best(advice: &Advice) -> Option<String> {
    let next: &Expected =
        advice.expected.iter().find(|of| of.variant != advice.baseline && of.change().is_some())?;
    let verdict = next.verdict.map(|verdict| format!(", {verdict:?}").to_lowercase());
    Some(format!(
        "{}: mean latency {}{}",
        next.variant,
        next.change()?,
        verdict.unwrap_or_default()
    ))
}
