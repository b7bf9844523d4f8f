//! `compare --commands`: a cpu-arena plan whose variants are command lines without settings.

use std::collections::BTreeMap;

use anyhow::Result;
use experiment::plan::{CPU, CPU_DEVICE, Plan, Variant};
use load::programs::RUN_OF_VARIANT;

use super::plan::designed;
use crate::cli::{CommandsArgs, DesignArgs};
use crate::failure::usage;

pub(super) fn plan_of_commands(
    commands: &CommandsArgs,
    design: &DesignArgs,
    baseline: Option<&str>,
) -> Result<Plan> {
    let variants = variants(commands)?;
    let title = variants.iter().map(|variant| variant.name.as_str()).collect::<Vec<_>>().join(", ");
    let work = format!(
        "commands=command:run={RUN_OF_VARIANT}:primary={}",
        commands.metric.unwrap_or_default().name()
    );
    let design = DesignArgs {
        arena: &CPU,
        device: CPU_DEVICE.to_owned(),
        workload: vec![work],
        ..design.clone()
    };
    let mut plan = designed(&design, variants, None)?;
    plan.name = title;
    plan.baseline = baseline.map(str::to_owned);
    // The uncounted first run of each command warms caches.
    plan.trial.warmup_ms.get_or_insert(0);
    Ok(plan)
}

fn variants(CommandsArgs { commands, names, .. }: &CommandsArgs) -> Result<Vec<Variant>> {
    if !names.is_empty() && names.len() != commands.len() {
        return Err(usage(format!(
            "--names: one for each command (found {}, expected {}); separate them by commas",
            names.len(),
            commands.len()
        )));
    }
    let names = if names.is_empty() { commands } else { names };
    for (i, (command, name)) in commands.iter().zip(names).enumerate() {
        if command.trim().is_empty() {
            return Err(usage(format!("--commands: number {} is empty; name a program", i + 1)));
        }
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            return Err(usage(format!(
                "--commands: number {} has no printable name in one line; give each one, e.g. --names old,new",
                i + 1
            )));
        }
        if names[..i].contains(name) {
            return Err(usage(format!(
                "--commands: two are called {name:?}; give each a name of its own, e.g. --names old,new"
            )));
        }
    }
    let variant = |(command, name): (&String, &String)| Variant {
        name: name.trim().to_owned(),
        scheduler: "default".to_owned(),
        tunables: BTreeMap::from([("run".to_owned(), command.clone())]),
    };
    Ok(commands.iter().zip(names).map(variant).collect())
}
