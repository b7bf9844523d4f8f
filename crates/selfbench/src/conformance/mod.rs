//! Compares the simulator with the kernel arena on the same trials.
//!
//! Each trial is compared three ways. The guest disk's log is replayed through the model: every
//! request must complete at the same nanosecond, given its submission. Under `none` the order of
//! completions and the end must also be equal. And the metrics of both arenas must agree within
//! bounds ([`lab::arena::agreement`]).

mod cases;
mod compare;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use experiment::plan::Plan;
use serde::Serialize;

pub(crate) use compare::Row;

use lab::arena::agreement;
use lab::arena::kernel::KernelArena;
use lab::arena::parallel::on_all_cpus;
use lab::arena::sim::SimArena;
use lab::arena::{TrialSpec, VariantIndex};
use lab::console::Console;
use lab::failure::usage;
use lab::progress::Progress;
use lab::resolve::Resolved;
use lab::signals::Stop;

/// More than any trial here has.
const LOG: u32 = 400_000;
const SEED: u64 = 7;
/// Arenas cannot agree more closely than seeds do: these show how far the simulator's own values
/// vary with clients' choices and turnarounds.
const MORE_SEEDS: std::ops::Range<u64> = 100..106;

#[derive(Debug, Default)]
pub(crate) struct Options {
    pub(crate) quick: bool,
    /// Only trials whose `disk/workload/scheduler` contains this.
    pub(crate) only: Option<String>,
    pub(crate) cache: Option<PathBuf>,
    /// The kernel, as for `kernel build --source`.
    pub(crate) kernel: Option<String>,
    pub(crate) logs: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Report {
    kernel: String,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn broken(&self) -> Vec<String> {
        self.rows.iter().flat_map(Row::broken).collect()
    }
}

pub(crate) fn run(options: &Options, stop: &Stop, progress: &dyn Progress) -> Result<Report> {
    let mut report = Report { kernel: String::new(), rows: Vec::new() };
    for disk in agreement::DISKS.iter().chain(agreement::FLASH) {
        let wanted: Vec<cases::Case> = cases::of(disk, options.quick)
            .into_iter()
            .filter(|case| {
                options.only.as_ref().is_none_or(|only| case.name().contains(only.as_str()))
            })
            .collect();
        if !wanted.is_empty() {
            of_disk(disk, &wanted, options, Console::new(stop, progress), &mut report)?;
        }
    }
    if report.rows.is_empty() {
        return Err(usage(
            "no trial of the table has a name that holds the text of --only".to_owned(),
        ));
    }
    Ok(report)
}

/// Builds one plan per arena, since the settings around a scheduler differ.
fn of_disk(
    disk: &str,
    wanted: &[cases::Case],
    options: &Options,
    console: Console<'_>,
    report: &mut Report,
) -> Result<()> {
    let Console { stop, progress } = console;
    let real = cases::plan(disk, wanted, &cases::Side::Kernel(options.kernel.as_deref()))?;
    let kernel = crate::arenas::kernel(&real, options.cache.as_deref(), stop, progress)?;
    report.kernel = kernel.releases().join(", ");
    let simulated =
        cases::plan(disk, wanted, &cases::Side::Sim { linux: agreement::linux(&report.kernel) })?;
    let sim = crate::arenas::sim(Resolved::read(simulated.clone())?, stop)?;
    let rows = on_all_cpus(wanted, &|case: &cases::Case| -> Result<Row> {
        let row = one(case, &simulated, &sim, &kernel, options).with_context(|| case.name())?;
        progress.prepare(&case.name(), 0, 1);
        Ok(row)
    });
    for row in rows {
        report.rows.push(row?);
    }
    Ok(())
}

fn one(
    case: &cases::Case,
    plan: &Plan,
    sim: &SimArena,
    kernel: &KernelArena,
    options: &Options,
) -> Result<Row> {
    let workload = plan.workloads.iter().position(|spec| spec.name == case.workload.name);
    let workload = workload.expect("the plan is made of the cases");
    let variant =
        plan.variants.iter().position(|variant| variant.name == case.scheduler).map(VariantIndex);
    let variant = variant.expect("the plan is made of the cases");
    let trial = TrialSpec {
        workload,
        seed: SEED,
        duration: case.workload.duration(),
        warmup: Duration::ZERO,
    };
    let mut commands = compare::CommandLog::default();
    let simulated = sim.observed(variant, &trial, &mut commands)?;
    let (measured, log) = kernel.logged(variant, &trial, LOG)?;
    if let Some(dir) = &options.logs {
        keep(dir, case, &commands, &log)?;
    }
    let log = ::sim::conformance::Log::read(&log)?;
    let replayed = compare::replayed(&log, kernel.model().make(SEED)?.as_mut());
    let others = MORE_SEEDS.map(|seed| {
        let mut commands = compare::CommandLog::default();
        let observation = sim.observed(variant, &TrialSpec { seed, ..trial }, &mut commands)?;
        Ok((observation, commands))
    });
    let others = others.collect::<Result<Vec<_>>>()?;
    Ok(compare::row(case, &simulated, &commands, &measured, &log, &others, replayed))
}

fn keep(
    dir: &std::path::Path,
    case: &cases::Case,
    commands: &compare::CommandLog,
    log: &[u8],
) -> Result<()> {
    let path = |side: &str| dir.join(format!("{}.{side}", case.name().replace('/', "-")));
    std::fs::create_dir_all(dir)?;
    let log = ::sim::conformance::Log::read(log)?;
    std::fs::write(path("sim"), commands.lines())?;
    std::fs::write(path("kernel"), compare::lines(&log))?;
    Ok(())
}
