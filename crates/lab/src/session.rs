//! Opens the results file of an experiment: a new one, or one to resume of the same plan, machine
//! and programs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use experiment::plan::{self, Budget, Plan};
use experiment::results::{Environment, Event, Header, Note, Results};
use jiff::Timestamp;
use text::build;

use crate::arena::Arena;
use crate::driver::ResultsLog;
use crate::failure::usage;
use crate::output::Output;
use crate::signals::Stop;
use crate::store::{Memory, Store};

#[derive(Debug, Clone)]
pub struct ResultsOptions {
    pub output: Output,
    /// Whether to resume the existing results; requires a named directory.
    pub resume: bool,
    pub command: String,
}

pub fn open(
    plan: &Plan,
    options: &ResultsOptions,
    arena: &mut dyn Arena,
    stop: &Stop,
) -> Result<(Store, Results)> {
    let environment = arena.capture()?;
    let now = Timestamp::now();
    let (Output::Named(dir), true) = (&options.output, options.resume) else {
        let header = header(plan, environment, &options.command, now)?;
        let store = Store::create(options.output.open()?, &header)?;
        return Ok((store, Results::new(header)));
    };
    let (mut store, mut results) = Store::resume(dir, stop)?;
    same_experiment(&results.header, plan, &environment, dir)?;
    let at_ms = results.last_ms();
    let at = (!plan.arena.is_virtual()).then(|| now.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
    let mut notes =
        vec![Note { at_ms, event: Event::Resumed { trials: results.trials.len() as u64, at } }];
    if results.header.plan.budget != plan.budget && !results.trials.is_empty() {
        let event = Event::BudgetChanged { time_s: plan.budget.time_s, rounds: plan.budget.rounds };
        notes.push(Note { at_ms, event });
    }
    append_notes(&mut store, &mut results, notes)?;
    Ok((store, results))
}

pub fn in_memory(plan: &Plan, command: &str, arena: &mut dyn Arena) -> Result<(Memory, Results)> {
    let header = header(plan, arena.capture()?, command, Timestamp::now())?;
    Ok((Memory::new(&header)?, Results::new(header)))
}

fn header(plan: &Plan, environment: Environment, command: &str, now: Timestamp) -> Result<Header> {
    Ok(Header {
        schema: plan::SCHEMA,
        schedlab: build::identity().to_owned(),
        plan: plan.clone(),
        environment,
        // Virtual time begins at 0, so that equal plans give equal files, byte for byte.
        started_unix_ms: if plan.arena.is_virtual() {
            0
        } else {
            u64::try_from(now.as_millisecond()).context("clock: before 1970")?
        },
        command: command.to_owned(),
    })
}

pub fn append_notes(
    store: &mut dyn ResultsLog,
    results: &mut Results,
    notes: Vec<Note>,
) -> Result<()> {
    for note in notes {
        store.append_note(note.clone())?;
        results.notes.push(note);
    }
    Ok(())
}

/// Resuming may change only the budget.
fn same_experiment(
    header: &Header,
    plan: &Plan,
    environment: &Environment,
    dir: &Path,
) -> Result<()> {
    if let Some(why) = build::difference(&header.schedlab, build::identity()) {
        return Err(usage(format!(
            "{}: {why}; continue it with that build, or name another --out",
            dir.display()
        )));
    }
    let comparable = |plan: &Plan| Plan { budget: Budget::default(), ..plan.clone() };
    if comparable(&header.plan) != comparable(plan) {
        return Err(usage(format!(
            "{}: holds the results file of another plan; continue that plan: schedlab run {}/plan.toml --out {0} --resume",
            dir.display(),
            dir.display()
        )));
    }
    let same = [
        ("kernel", "release"),
        ("device", "identity"),
        ("device", "size_bytes"),
        ("device", "description"),
        ("traces", "replayed"),
    ];
    for (section, name) in same {
        let (then, now) = (of(&header.environment, section, name), of(environment, section, name));
        let temporary = section == "device" && plan.has_temporary_device();
        if then != now && !temporary {
            return Err(usage(format!(
                "{section}: another {name} (found {}, expected {}), and trials of different machines cannot be combined; name another --out",
                now.as_deref().unwrap_or("unknown"),
                then.as_deref().unwrap_or("unknown")
            )));
        }
    }
    same_kernels(header, environment)?;
    let none = BTreeMap::new();
    let versions = |facts: &'_ Environment| facts.get("programs").unwrap_or(&none).clone();
    let (then, now) = (versions(&header.environment), versions(environment));
    for (label, version) in &now {
        let before = then.get(label).map_or("unknown", String::as_str);
        if before != version {
            return Err(usage(format!(
                "workload {label}: another version of its program (found {version}, expected {before}), and trials of different \
                 programs cannot be combined; name another --out"
            )));
        }
    }
    Ok(())
}

/// In the kernel arena, kernels and modules must match too: an edited patch gives another build.
fn same_kernels(header: &Header, environment: &Environment) -> Result<()> {
    let (then, now) = (&header.environment, environment);
    let names = |env: &Environment| {
        env.get("kernel").map(|facts| facts.keys().cloned().collect()).unwrap_or_default()
    };
    let all: BTreeSet<String> =
        [names(then), names(now)].into_iter().flat_map(|names: Vec<String>| names).collect();
    for name in all.iter().filter(|_| header.plan.arena.chooses_kernel()) {
        let (then, now) = (of(then, "kernel", name), of(now, "kernel", name));
        if then != now {
            return Err(usage(format!(
                "kernel: another {name} (found {}, expected {}), and trials of different kernels cannot be combined; restore the \
                 patch, or name another --out",
                now.as_deref().unwrap_or("unknown"),
                then.as_deref().unwrap_or("unknown")
            )));
        }
    }
    Ok(())
}

fn of(env: &Environment, section: &str, name: &str) -> Option<String> {
    env.get(section)?.get(name).cloned()
}
