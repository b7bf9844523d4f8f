//! `schedlab sweep`: one tunable at a time.
//!
//! An ordinary experiment, whose baseline is the scheduler with defaults and whose variants are the
//! other values. Every arena, `--resume` and the family-wise error rate apply, and the report
//! recognises a sweep by its plan (`experiment::sweep`). This module builds the plan.

mod size;

use anyhow::Result;
use elevator::Named;
use experiment::plan::{self, Plan, Variant};
use lab::sweep::{Offer, Turn, choose};
use machine::Root;

use crate::cli::SweepArgs;
use crate::command::experiment::{as_designed, give_up_rights, settle};
use crate::command::plan::{designed, with_cpu_work};
use crate::failure::usage;
use crate::out;

const DEFAULT: &str = "default";

pub(crate) fn sweep(root: &Root, args: &SweepArgs) -> Result<u8> {
    give_up_rights(args.design.arena, &[], args.conduct.out.as_deref(), &args.conduct.monitor)?;
    let plan = plan_of(root, args)?;
    let asked = plan.trial.clone();
    let resolved = settle(plan, &args.design)?;
    let quiet = args.conduct.quiet || args.conduct.json || args.design.dry_run;
    size::tell(&resolved.plan, quiet)?;
    as_designed(root, resolved, &asked, &args.design, &args.conduct)
}

fn plan_of(root: &Root, args: &SweepArgs) -> Result<Plan> {
    let mut baseline = baseline(args)?;
    let offer = Offer::of(root, args.design.arena, &args.design.device, &baseline)?;
    let turns = choose(&offer, &args.tunables, &args.values, &mut |text| out::note(text))?;
    let mut design = args.design.clone();
    if offer.is_of_cpus {
        // Without a device there are no defaults to read back, so the plan sets them.
        for turn in &turns {
            let default = turn.of.default.map(|value| turn.of.text(value));
            default.map(|value| baseline.tunables.entry(turn.name.clone()).or_insert(value));
        }
        design = with_cpu_work(&design);
    }
    let mut plan =
        designed(&design, variants(&baseline, &turns), args.conduct.destroy_data.as_deref())?;
    plan.name = format!("{} of {}: {}", listed(&turns), baseline.scheduler, plan.name);
    plan.baseline = Some(DEFAULT.to_owned());
    size::plan(&mut plan, &args.design);
    Ok(plan)
}

/// Under its current name in arenas that run a current kernel.
fn baseline(args: &SweepArgs) -> Result<Variant> {
    let is_of_cpus = args.design.arena.is_cpu();
    let word = match &args.scheduler {
        Some(word) => word,
        None if is_of_cpus => DEFAULT,
        None => {
            return Err(usage(
                "--scheduler: missing; name the scheduler whose tunables are to be swept, e.g. --scheduler mq-deadline",
            ));
        }
    };
    let parsed = if is_of_cpus {
        plan::parse_cpu_variants(&[word], &lab::arena::cpu::keys())
            .map(|mut variants| variants.remove(0))
    } else {
        plan::parse_variant(word)
    };
    let variant = parsed.map_err(|e| usage(format!("--scheduler: {e}")))?;
    if variant.name != word {
        return Err(usage(format!(
            "--scheduler {word}: the baseline of a sweep is called {DEFAULT}; write {} without a label",
            variant.scheduler
        )));
    }
    let mut variant = Variant { name: DEFAULT.to_owned(), ..variant };
    if !is_of_cpus
        && !args.design.arena.is_in_process()
        && let Named::Renamed { now, why } = elevator::resolve(&variant.scheduler)
    {
        out::note(format_args!("note: {} is measured as {}: {why}", variant.scheduler, now.name));
        now.name.clone_into(&mut variant.scheduler);
    }
    Ok(variant)
}

fn variants(baseline: &Variant, turns: &[Turn]) -> Vec<Variant> {
    let mut variants = vec![baseline.clone()];
    for turn in turns {
        variants.extend(turn.values.iter().map(|value| {
            let value = turn.of.text(*value);
            let mut variant =
                Variant { name: format!("{}={value}", turn.name), ..baseline.clone() };
            variant.tunables.insert(turn.name.clone(), value);
            variant
        }));
    }
    variants
}

fn listed(turns: &[Turn]) -> String {
    match turns {
        [one] => one.name.clone(),
        [one, other] => format!("{} and {}", one.name, other.name),
        many => format!("{} tunables", many.len()),
    }
}

#[cfg(test)]
mod tests;
