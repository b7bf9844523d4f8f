//! The result of a search: tune.json, the page, and text.

use std::path::{Path, PathBuf};

use anyhow::Result;
use experiment::plan::Variant;
use jiff::Timestamp;
use machine::files::Dir;
use serde::Serialize;

use super::page;
use crate::cli::TuneArgs;
use crate::failure::REACHED;
use crate::out;
use experiment::analysis::Verdict;
use lab::tune::commission::Commission;
use lab::tune::course::{CONFIRM, Done, Pruned};
use lab::tune::design::{Design, SWEEP_ROUNDS, branches, each_s};
use lab::tune::log::SEARCH;
use lab::tune::objective::Objective;
use lab::tune::outcome::BranchOut;
use lab::tune::result::{
    Confirmation, Recommended, Tuned, Why, Winner, default_holds, not_shown_needed, searched,
};

/// Output of `--dry-run --json`.
#[derive(Debug, Serialize)]
struct SpaceOut {
    points: u64,
    default: String,
    trials: u32,
    sweep_trials: u64,
    trial_s: f64,
    space: Vec<BranchOut>,
    /// For programs that run the trials elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    commission: Option<Commission>,
}

pub(super) fn show_space(design: &Design, args: &TuneArgs) -> Result<u8> {
    let space = &design.field.space;
    let shown = SpaceOut {
        points: space.size(),
        default: design.resolved.plan.variants[0].name.clone(),
        trials: design.trials,
        sweep_trials: space.one_at_a_time().saturating_mul(SWEEP_ROUNDS),
        trial_s: each_s(&design.resolved.plan),
        space: branches(&design.field),
        commission: design.commission(),
    };
    if args.json {
        out::line(serde_json::to_string_pretty(&shown)?)?;
        return Ok(REACHED);
    }
    for branch in space.branches() {
        out::line(&branch.name)?;
        for dimension in &branch.dimensions {
            let marked = |(i, level): (usize, &String)| {
                if i == dimension.default { format!("[{level}]") } else { level.clone() }
            };
            let levels: Vec<String> = dimension.levels.iter().enumerate().map(marked).collect();
            out::line(format!("  {:<20} {}", dimension.name, levels.join(" ")))?;
        }
    }
    out::line(format!(
        "\n{} settings; the default is {}; search and confirmation get {} trials of {:.1} s (sweeps of one tunable at a time would take {})",
        shown.points, shown.default, shown.trials, shown.trial_s, shown.sweep_trials
    ))?;
    Ok(REACHED)
}

pub(super) fn write(dir: &Dir, tuned: &Tuned) -> Result<Vec<PathBuf>> {
    let json = text::escaped(&serde_json::to_string_pretty(tuned)?).into_owned() + "\n";
    let files = [("tune.json", json), ("tune.html", page::render(tuned)?)];
    let mut written = Vec::new();
    for (name, text) in files {
        dir.replace(name, text.as_bytes())?;
        written.push(dir.file(name));
    }
    written.push(dir.file(SEARCH));
    if tuned.confirmation.is_some() {
        written.push(dir.file(CONFIRM));
    }
    written.extend(
        tuned.pruning.iter().flat_map(|pruning| &pruning.steps).map(|step| dir.file(&step.dir)),
    );
    Ok(written)
}

pub(super) fn tuned(design: &Design, done: &Done, dir: &Path) -> Tuned {
    let Done { search, course, environment, confirmation: compared } = done;
    let confirmation = compared.as_ref().and_then(|compared| compared.shown.clone());
    let pruned = compared.as_ref().and_then(|compared| compared.pruning.as_ref());
    let left = pruned.filter(|pruned| pruned.shown.accepted);
    let plan = &design.resolved.plan;
    let variant_of = |number: usize| -> Variant {
        match &search.candidates()[number].point {
            Some(point) if number != experiment::search::BASELINE => design.field.variant(point),
            _ => plan.variants[0].clone(),
        }
    };
    let variants: Vec<String> =
        (0..search.candidates().len()).map(|number| variant_of(number).name).collect();
    let number = compared.as_ref().map(|compared| compared.winner);
    let winner = number.map(|number| Winner {
        variant: variants[number].clone(),
        searched_ratio: search.candidates()[number].effect().exp(),
        rounds: search.candidates()[number].rounds(),
    });
    let fact = |name: &str| environment.get("device").and_then(|facts| facts.get(name)).cloned();
    let (identity, diskseq) = (fact("identity"), fact("diskseq"));
    let recommended =
        number.zip(confirmation.as_ref()).filter(|(_, c)| c.holds()).map(|(number, c)| {
            let Variant { scheduler, tunables, .. } =
                left.map_or_else(|| variant_of(number), |left| left.variant.clone());
            let verdict = Why {
                verdict: c.verdict,
                default: plan.variants[0].name.clone(),
                change: left.map_or_else(|| c.words(), |left| left.shown.gain_words(c)),
                confidence: c.confidence,
            };
            let date = (!plan.arena.is_virtual())
                .then(|| Timestamp::now().strftime("%Y-%m-%d").to_string());
            let (device, arena) = (plan.device.clone(), plan.arena.name.to_owned());
            let identity = identity.clone().unwrap_or_default();
            let diskseq = diskseq.as_ref().and_then(|text| text.parse().ok());
            let not_shown_needed = not_shown_needed(&tunables, pruned.map(|pruned| &pruned.shown));
            Recommended {
                device,
                identity,
                diskseq,
                arena,
                scheduler,
                tunables,
                not_shown_needed,
                verdict,
                date,
            }
        });
    let answer =
        answer(design, &variants, number, confirmation.as_ref(), recommended.as_ref(), left, dir);
    Tuned {
        schema: 1,
        schedlab: text::build::identity().to_owned(),
        arena: plan.arena.name.to_owned(),
        device: plan.device.clone(),
        identity,
        workloads: plan.workloads.iter().map(|workload| workload.name.clone()).collect(),
        objective: objective_words(design),
        constraints: design.constraints.iter().map(|c| c.text.clone()).collect(),
        default: plan.variants[0].name.clone(),
        default_holds: default_holds(search, &design.constraints),
        space: branches(&design.field),
        points: design.field.space.size(),
        search: searched(search, course, &variants, !design.constraints.is_empty()),
        winner,
        confirmation,
        pruning: pruned.map(|pruned| pruned.shown.clone()),
        recommended,
        answer,
    }
}

fn objective_words(design: &Design) -> String {
    let mut metrics: Vec<&str> = design
        .resolved
        .plan
        .workloads
        .iter()
        .filter_map(|workload| workload.primary.as_deref())
        .collect();
    metrics.dedup();
    let words = match design.objective {
        Objective::Own => metrics.join(", "),
        _ => design.objective.words(),
    };
    if design.resolved.plan.workloads.len() > 1 {
        format!("{words}, the geometric mean of the workloads' ratios")
    } else {
        words
    }
}

fn answer(
    design: &Design,
    variants: &[String],
    winner: Option<usize>,
    confirmation: Option<&Confirmation>,
    recommended: Option<&Recommended>,
    left: Option<&Pruned>,
    dir: &Path,
) -> String {
    let default = &design.resolved.plan.variants[0].name;
    let (Some(winner), Some(confirmation)) = (winner, confirmation) else {
        return format!(
            "no setting looked better than {default}: no improvement is confirmed, keep the default"
        );
    };
    let variant = &variants[winner];
    if let Some(recommended) = recommended {
        let keep = if design.resolved.plan.arena.has_disk() {
            let mut words = vec![format!("scheduler={}", recommended.scheduler)];
            words
                .extend(recommended.tunables.iter().map(|(name, value)| format!("{name}={value}")));
            format!(
                "\nset it now: schedlab set {} {}\npersist it: schedlab persist --from {}",
                recommended.device,
                words.join(" "),
                dir.display()
            )
        } else {
            String::new()
        };
        let variant = left.map_or(variant, |left| &left.shown.variant);
        let caveat = recommended.caveat().map(|words| format!("\n{words}")).unwrap_or_default();
        return format!("recommended: {variant}{caveat}{keep}");
    }
    let why = match confirmation.verdict {
        Verdict::Better => {
            let open: Vec<&str> = confirmation
                .constraints
                .iter()
                .filter(|(_, shown)| !shown)
                .map(|(text, _)| text.as_str())
                .collect();
            format!("{variant} is better, but {} is not shown to hold", open.join(" and "))
        }
        Verdict::Equivalent => {
            format!("{variant} is no better than {default} by more than the margin")
        }
        Verdict::Worse => format!("{variant} is worse than {default} on fresh rounds"),
        Verdict::Inconclusive => {
            format!("fresh rounds do not show that {variant} is better than {default}")
        }
        Verdict::Invalid => {
            format!(
                "the evidence about {variant} is invalid, see {}",
                dir.join("confirm").display()
            )
        }
    };
    format!(
        "no improvement is confirmed: keep the default ({default})\n{why}; alpha is spent, so no other setting is tried on this evidence: search \
         again with another --seed or a larger budget"
    )
}
