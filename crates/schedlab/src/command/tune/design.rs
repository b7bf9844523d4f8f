//! The design of a search, fixed before the first trial.

use std::collections::BTreeMap;

use anyhow::Result;
use elevator::{Initial, QueueFacts};
use experiment::plan;
use machine::{Root, device};

use crate::cli::{ConductArgs, DesignArgs, FailIfArgs, MethodArg, MonitorArgs, TuneArgs};
use crate::command::plan::{
    designed, every_scheduler, named_schedulers, present_scheduler, resolve,
};
use crate::failure::usage;
use lab::arena::disk::Target;
use lab::arena::model::Model;
use lab::resolve::bare;
use lab::tune::design::{CONFIRM_ROUNDS, Design, LEAST_SEARCH, OVERHEAD_S, SWEEP_ROUNDS, each_s};
use lab::tune::objective::{Constraint, Objective};
use lab::tune::space::{Attribute, Field, SpaceRequest, build_on, modelled_attributes};

/// Trials that the default trial length aims at on a real machine.
const TRIALS_AIMED_AT: f64 = 150.0;
const USUAL_BUDGET: &str = "10m";

pub(super) fn design(root: &Root, args: &TuneArgs) -> Result<Design> {
    if args.arena.is_cpu() {
        return Err(usage(
            "--arena cpu: a search covers the tunables of I/O schedulers only; turn one CPU setting at a time: schedlab sweep --arena cpu, \
             or compare several together: schedlab compare --arena cpu",
        ));
    }
    let objective = Objective::parse(args.objective.as_deref())?;
    let constraints: Vec<Constraint> =
        args.constraint.iter().map(|word| Constraint::parse(word)).collect::<Result<_>>()?;
    let (design, time_s) = design_args(args)?;
    let schedulers = match args.schedulers.as_slice() {
        [] => every_scheduler(root, &design)?,
        named => named_schedulers(root, &design, named)?,
    };
    let baseline = baseline(root, args, &schedulers)?;
    let request =
        SpaceRequest { schedulers, tunables: args.tunables.clone(), fixed: fixed(&args.fix)? };
    let field = field(root, args, &request)?;
    let other = field
        .space
        .points()
        .map(|point| field.variant(&point))
        .find(|variant| variant.name != baseline);
    let other = other.expect("a space that can be searched has two points");
    let mut plan = designed(&design, vec![bare(&baseline), other], args.destroy_data.as_deref())?;
    plan.name = format!("search: {}", plan.name);
    objective.decide(&mut plan.workloads);
    let resolved = resolve(plan)?;
    let plan = &resolved.plan;
    let workloads = plan.workloads.len() as u32;
    let trials = match (args.trials, time_s) {
        (Some(trials), _) => trials,
        (None, Some(time_s)) => (time_s / each_s(plan)) as u32,
        (None, None) => {
            let quarter = field
                .space
                .one_at_a_time()
                .saturating_mul(SWEEP_ROUNDS)
                .div_ceil(4)
                .clamp(40, 2000) as u32;
            workloads * (quarter + 2 * CONFIRM_ROUNDS.1)
        }
    };
    let least = workloads * (LEAST_SEARCH + 2 * CONFIRM_ROUNDS.0);
    if trials < least {
        let (words, remedy) = match args.trials {
            Some(_) => (format!("--trials {trials}"), format!("--trials {least}")),
            None => {
                let needed = (f64::from(least) * each_s(plan) * 1.05).ceil();
                (
                    format!("the budget holds {trials} trials, which"),
                    format!("--budget {needed:.0}s, or shorter trials (--trial-time)"),
                )
            }
        };
        return Err(usage(format!(
            "{words}: too few for a search of {workloads} workload{} and a confirmation of {} rounds; give at least {remedy}",
            if workloads == 1 { "" } else { "s" },
            CONFIRM_ROUNDS.0
        )));
    }
    let time_s = time_s.filter(|_| !plan.arena.is_virtual());
    let alpha = plan.criteria.alpha;
    let patience = field.space.one_at_a_time().clamp(40, 10_000) as u32;
    let objective_word = args.objective.clone();
    Ok(Design {
        resolved,
        field,
        objective,
        objective_word,
        constraints,
        trials,
        time_s,
        alpha,
        request,
        patience,
    })
}

pub(super) fn conduct_args(args: &TuneArgs) -> ConductArgs {
    ConductArgs {
        out: args.out.clone(),
        resume: args.resume,
        destroy_data: args.destroy_data.clone(),
        loop_dir: args.loop_dir.clone(),
        cache_dir: args.cache_dir.clone(),
        trace: None,
        run_as: args.run_as.clone(),
        json: args.json,
        verbose: false,
        quiet: args.quiet,
        monitor: MonitorArgs::default(),
        fail_if: FailIfArgs::default(),
    }
}

/// Also returns the search's time limit, if it has one.
fn design_args(args: &TuneArgs) -> Result<(DesignArgs, Option<f64>)> {
    let virtual_time = args.arena.is_virtual();
    let budget = match (&args.budget, args.trials) {
        (Some(word), _) => Some(word.clone()),
        (None, None) if !virtual_time => Some(USUAL_BUDGET.to_owned()),
        _ => None,
    };
    let seconds =
        |word: &String| plan::parse_duration_s(word).map_err(|e| usage(format!("--budget: {e}")));
    let time_s = budget.as_ref().map(seconds).transpose()?;
    let trial_time = args.trial_time.clone().or_else(|| {
        let each = time_s.map_or(1.2, |s| s / TRIALS_AIMED_AT / args.workload.len() as f64);
        let ms = ((each - OVERHEAD_S) * 1000.0 * 5.0 / 6.0).clamp(200.0, 5000.0);
        (!virtual_time).then(|| format!("{ms:.0}ms"))
    });
    let design = DesignArgs {
        figures_only: false,
        arena: args.arena,
        device: args.device.clone(),
        kernel: args.kernel.clone(),
        workload: args.workload.clone(),
        place: args.place.clone(),
        clients: args.clients,
        budget: None,
        rounds: "auto".to_owned(),
        seed: args.seed,
        margin: args.margin.clone(),
        alpha: args.alpha.clone(),
        method: MethodArg::Anytime,
        open_ended: false,
        trial_time,
        warmup: args.warmup.clone(),
        dry_run: false,
    };
    Ok((design, time_s))
}

fn fixed(words: &[String]) -> Result<BTreeMap<String, String>> {
    let pair = |word: &String| {
        let pair =
            word.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
        let (name, value) = pair.ok_or_else(|| {
            usage(format!("--fix {word}: no value; write NAME=VALUE, e.g. nr_requests=128"))
        })?;
        Ok((name.to_owned(), value.to_owned()))
    };
    words.iter().map(pair).collect()
}

fn baseline(root: &Root, args: &TuneArgs, schedulers: &[String]) -> Result<String> {
    const KERNELS_CHOICE: &str = "mq-deadline";
    if let Some(name) = &args.baseline {
        return Ok(name.clone());
    }
    if !args.arena.is_virtual()
        && let Some(now) = present_scheduler(root, &args.device)?
    {
        return Ok(now);
    }
    let usual = schedulers.iter().find(|name| *name == KERNELS_CHOICE).or(schedulers.first());
    usual.cloned().ok_or_else(|| usage("search space: no scheduler; name some with --schedulers"))
}

fn field(root: &Root, args: &TuneArgs, request: &SpaceRequest) -> Result<Field> {
    if args.arena.is_virtual() {
        let model = Model::read(&args.device)?;
        return Field::of(request, &build_on(&model), |scheduler| {
            modelled_attributes(&model, scheduler)
        });
    }
    let temporary = Target::is_temporary(&args.device)?;
    let found = if temporary {
        None
    } else {
        Some(device::find(root, &args.device).map_err(|e| usage(e.to_string()))?)
    };
    let present = present_scheduler(root, &args.device)?;
    let read = |name: &str| {
        let path = root.sys("block").join(&found.as_ref()?.name).join("queue").join(name);
        std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
    };
    let build =
        elevator::Build { rotational: read("rotational") == Some(1), ..elevator::Build::default() };
    let shown = |name: &str| read(name).map(|value| value.to_string());
    Field::of(request, &build, |scheduler| {
        let tags = read("nr_requests").filter(|_| present.as_deref() == Some("none"));
        let facts = QueueFacts { scheduler, tags, shown: &shown };
        let rows = elevator::QUEUE_ATTRIBUTES
            .iter()
            .filter(|row| !row.levels.is_empty() && is_turned(row.name, request));
        let attributes = rows.filter_map(|row| {
            // The current value of an attribute that the scheduler initialises is no default under
            // another one.
            let own = !matches!(row.initial, Initial::Scheduler(_))
                || present.as_deref() == Some(scheduler);
            let usual = || row.default(&facts).and_then(|value| value.parse().ok());
            let default = read(row.name).filter(|_| own).or_else(usual);
            let mut levels = row.levels(&facts);
            if row.name == "nr_requests" && scheduler == "none" {
                // Without a scheduler, nr_requests cannot exceed the hardware's tags.
                levels.retain(|level| default.is_some_and(|tags| *level <= tags));
            }
            let there = found.is_none() || read(row.name).is_some();
            there.then(|| Attribute { name: row.name.to_owned(), default, levels })
        });
        attributes.collect()
    })
}

/// Attributes of the page cache are searched only if the user names them.
fn is_turned(name: &str, request: &SpaceRequest) -> bool {
    const OF_THE_CACHE: [&str; 2] = ["read_ahead_kb", "wbt_lat_usec"];
    let named = request.tunables.iter().any(|own| own == name) || request.fixed.contains_key(name);
    !OF_THE_CACHE.contains(&name) || named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fixed_is_a_name_and_a_value() {
        assert_eq!(fixed(&["nr_requests=64".to_owned()]).unwrap()["nr_requests"], "64");
        for word in ["nr_requests", "=64", "nr_requests="] {
            assert!(
                fixed(&[word.to_owned()]).unwrap_err().to_string().contains("NAME=VALUE"),
                "{word}"
            );
        }
    }
}
