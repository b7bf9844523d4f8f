//! The commands of `selfbench`.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use experiment::calibration::{Calibration, calibrate};
use experiment::plan;

use crate::cli::{
    Bench, BenchConformanceArgs, BenchCpuArgs, BenchDrivesArgs, BenchEngineArgs, BenchFleetArgs,
    BenchKernelArgs, BenchLinpackArgs, BenchOracleArgs, BenchProfileArgs, BenchRecordArgs,
    BenchTuneArgs, Cli,
};
use crate::out;
use crate::progress::Progress;
use crate::{
    analysis, conformance, cpu, drives, engine, fleet, kernel, linpack, oracle, profile, record,
    tune,
};
use lab::arena;
use lab::failure::usage;
use lab::signals::Stop;

pub(crate) fn run(args: &Cli) -> Result<()> {
    match &args.what {
        Bench::Engine(args) => against_fio(args),
        Bench::Kernel(args) => of_the_arena(args),
        Bench::Linpack(args) => against_c(args),
        Bench::Fleet(args) => compared(args),
        Bench::Profile(args) => profiled(args),
        Bench::Record(args) => recorded(args),
        Bench::Analysis { trials } => {
            out::print(analysis::run(*trials)?)?;
            Ok(())
        }
        Bench::Conformance(args) => conform(args),
        Bench::Cpu(args) => against_this_machine(args),
        Bench::Drives(args) => against_drives(args),
        Bench::Oracle(args) => against_the_original(args),
        Bench::Tune(args) => search(args),
        Bench::Calibration { experiments } => calibration((*experiments).into()),
    }
}

fn against_fio(args: &BenchEngineArgs) -> Result<()> {
    let seconds = plan::parse_duration_s(&args.time).map_err(|e| usage(format!("--time: {e}")))?;
    let report = engine::run(&engine::Options {
        rounds: args.rounds,
        seconds,
        ..engine::Options::default()
    })?;
    show(args.json, &report)
}

fn recorded(args: &BenchRecordArgs) -> Result<()> {
    let seconds = plan::parse_duration_s(&args.time).map_err(|e| usage(format!("--time: {e}")))?;
    let schedlab = schedlab(args.schedlab.clone())?;
    let options =
        record::Options { rounds: args.rounds, seconds, schedlab, dir: "/dev/shm".into() };
    let report = record::run(&options)?;
    show(args.json, &report)
}

fn show<T: serde::Serialize + std::fmt::Display>(json: bool, report: &T) -> Result<()> {
    match json {
        true => Ok(out::line(serde_json::to_string_pretty(report)?)?),
        false => Ok(out::print(report)?),
    }
}

/// By default the program next to this one.
fn schedlab(chosen: Option<PathBuf>) -> Result<PathBuf> {
    match chosen {
        Some(path) => Ok(path),
        None => Ok(std::env::current_exe()?.with_file_name("schedlab")),
    }
}

fn against_this_machine(args: &BenchCpuArgs) -> Result<()> {
    let seconds = plan::parse_duration_s(&args.time).map_err(|e| usage(format!("--time: {e}")))?;
    let setting = |word: &String| {
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| usage(format!("--guest {word}: expected KEY=VALUE")))?;
        Ok((name.to_owned(), value.to_owned()))
    };
    let report = cpu::run(&cpu::Options {
        rounds: args.rounds,
        seconds,
        kernel: args.kernel.clone(),
        guest: args.guest.iter().map(setting).collect::<Result<_>>()?,
        only: args.only.clone(),
        schedlab: schedlab(args.schedlab.clone())?,
    })?;
    show(args.json, &report)
}

fn compared(args: &BenchFleetArgs) -> Result<()> {
    let report = fleet::run(args.machines, args.trials, args.liars, args.keep.as_deref())?;
    if args.json {
        out::print(serde_json::to_string_pretty(&report)?)?;
    } else {
        out::print(report)?;
    }
    Ok(())
}

fn profiled(args: &BenchProfileArgs) -> Result<()> {
    let report = profile::run(args.requests, args.processes, args.rounds);
    show(args.json, &report)
}

fn against_the_original(args: &BenchOracleArgs) -> Result<()> {
    // A scheduler's panic is a result here, and its text is in the report.
    std::panic::set_hook(Box::new(|_| {}));
    oracle::run(args, out::print)
}

fn against_c(args: &BenchLinpackArgs) -> Result<()> {
    let least_s =
        plan::parse_duration_s(&args.least).map_err(|e| usage(format!("--least: {e}")))?;
    load::cpu::linpack::check(args.array).map_err(|e| usage(format!("--array: {e}")))?;
    let options = linpack::Options { array: args.array, least_s, rounds: args.rounds };
    let report = linpack::run(&options, &Stop::install()?)?;
    show(args.json, &report)
}

fn of_the_arena(args: &BenchKernelArgs) -> Result<()> {
    let kernels =
        args.kernel.iter().map(|word| word.parse().map_err(|e: guest::Error| usage(e.to_string())));
    let cache = arena::kernel::cache(args.cache_dir.as_deref())?.dir().to_owned();
    let kernels = kernels.collect::<Result<_>>()?;
    let report =
        kernel::run(&kernel::Options { rounds: args.rounds, reads: args.reads, kernels, cache })?;
    show(args.json, &report)
}

fn conform(args: &BenchConformanceArgs) -> Result<()> {
    let BenchConformanceArgs { quick, only, json, markdown, logs, kernel, cache_dir } =
        args.clone();
    let options = conformance::Options { quick, only, cache: cache_dir, kernel, logs };
    let report = conformance::run(&options, &Stop::install()?, &Progress::default())?;
    if let Some(file) = markdown {
        std::fs::write(&file, report.markdown())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if json {
        out::line(serde_json::to_string_pretty(&report)?)?;
    } else {
        out::print(&report)?;
    }
    let broken = report.broken().len();
    if broken > 0 {
        bail!("{broken} differences are beyond their bounds: see above");
    }
    Ok(())
}

fn against_drives(args: &BenchDrivesArgs) -> Result<()> {
    let BenchDrivesArgs { disksim, only, with, json, markdown, logs } = args;
    let options = drives::Options {
        disksim: disksim.clone(),
        only: only.clone(),
        with: with.clone(),
        logs: logs.clone(),
    };
    let report = drives::run(&options)?;
    if let Some(file) = markdown {
        std::fs::write(file, report.markdown())
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    if *json { out::line(serde_json::to_string_pretty(&report)?) } else { out::print(&report) }
}

fn search(args: &BenchTuneArgs) -> Result<()> {
    let options = tune::Options { runs: args.rounds, only: args.only.clone() };
    let report = tune::run(&options, &Stop::install()?, &Progress::default())?;
    if args.json {
        out::line(serde_json::to_string_pretty(&report)?)?;
    } else {
        out::print(&report)?;
    }
    if report.broken() > 0 {
        bail!("{} guarantees are broken: the surfaces that say so above", report.broken());
    }
    Ok(())
}

fn calibration(experiments: u64) -> Result<()> {
    let report = calibrate(&Calibration {
        experiments,
        savings: (experiments / 2).max(1),
        ..Calibration::default()
    });
    out::print(&report)?;
    let broken = report.broken().len();
    if broken > 0 {
        bail!("{broken} guarantees are broken: the rows that say so above");
    }
    Ok(())
}
