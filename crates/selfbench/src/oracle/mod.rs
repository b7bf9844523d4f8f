//! Compares our Linux 2.6.20 schedulers with the original, script by script.
//!
//! The original is a program that the user builds from a kernel tree; nothing of a kernel is in
//! this repository. It reads a scheduler and a script per line and prints a line of dispatches
//! each; an empty line flushes its output. Its first line states kernel version and HZ. A script
//! that shows a difference is minimised and printed in the format of `properties::original`.

mod program;

use std::fmt;

use anyhow::{Context, Result, bail};
use elevator::{ElevatorKind, find};
use lab::failure::usage;
use properties::original::{
    Case, Column, Corpus, Script, digest, drive, generate, minimise, shown,
};

use crate::cli::BenchOracleArgs;
use program::Program;

const SCHEDULERS: [&str; 4] = ["noop", "deadline", "anticipatory", "cfq"];
const BATCH: u64 = 64;
const FAULT: &str = "FAULT";
/// Differences minimised and shown per scheduler.
const SHOWN: usize = 3;

#[derive(Debug)]
struct Outcome {
    column: Column,
    scripts: u64,
    dispatches: usize,
    /// Scripts on which the original faulted, and nothing can be compared.
    faults: u64,
    differences: u64,
    shown: Vec<Difference>,
}

#[derive(Debug)]
struct Difference {
    seed: u64,
    script: Script,
    original: String,
    ours: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { column, scripts, dispatches, faults, differences, shown } = self;
        writeln!(
            f,
            "{column}: {scripts} scripts, {dispatches} dispatches, {differences} differ, the original faulted on {faults}"
        )?;
        for Difference { seed, script, original, ours } in shown {
            writeln!(
                f,
                "  seed {seed}, minimised: {script}\n    original{original}\n    ours    {ours}"
            )?;
        }
        Ok(())
    }
}

/// Fails if anything differs.
pub(crate) fn run(args: &BenchOracleArgs, mut say: impl FnMut(String) -> Result<()>) -> Result<()> {
    let kinds = schedulers(args.only.as_deref())?;
    let mut programs: Vec<Program> =
        args.program.iter().map(|path| Program::start(path)).collect::<Result<_>>()?;
    if let Some(text) = &args.script {
        let script = text.parse::<Script>().map_err(|error| usage(format!("--script: {error}")))?;
        return one(&mut programs, &kinds, &script, say);
    }
    let mut differences = 0;
    for program in &mut programs {
        for kind in &kinds {
            let outcome = compare(program, kind, args.from, args.scripts)?;
            differences += outcome.differences;
            say(outcome.to_string())?;
        }
    }
    if let Some(path) = &args.corpus {
        let corpus = corpus(&mut programs, &kinds, args.from, args.scripts)?;
        std::fs::write(path, corpus.to_string())
            .with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    if differences > 0 {
        bail!("{differences} scripts differ from the original");
    }
    Ok(())
}

fn schedulers(only: Option<&str>) -> Result<Vec<&'static ElevatorKind>> {
    let names = match only {
        None => SCHEDULERS.to_vec(),
        Some(name) if SCHEDULERS.contains(&name) => vec![name],
        Some(name) => {
            return Err(usage(format!(
                "--only {name}: follows no original (expected {})",
                SCHEDULERS.join(", ")
            )));
        }
    };
    Ok(names.into_iter().map(|name| find(name).expect("a row of the table")).collect())
}

fn ours(kind: &ElevatorKind, hz: u32, script: &Script) -> String {
    match drive(kind, hz, script) {
        Ok(dispatches) => shown(&dispatches),
        Err(panic) => format!(" PANIC {}", panic.lines().next().unwrap_or_default()),
    }
}

fn one(
    programs: &mut [Program],
    kinds: &[&'static ElevatorKind],
    script: &Script,
    mut say: impl FnMut(String) -> Result<()>,
) -> Result<()> {
    for program in programs {
        for kind in kinds {
            let answer = program.answer(kind.name, script)?;
            let hz = program.hz;
            say(format!(
                "{}@{hz}\n  original{answer}\n  ours    {}\n",
                kind.name,
                ours(kind, hz, script)
            ))?;
        }
    }
    Ok(())
}

fn compare(
    program: &mut Program,
    kind: &'static ElevatorKind,
    from: u64,
    scripts: u64,
) -> Result<Outcome> {
    let hz = program.hz;
    let mut outcome = Outcome {
        column: Column { kind, hz },
        scripts,
        dispatches: 0,
        faults: 0,
        differences: 0,
        shown: Vec::new(),
    };
    let mut seed = from;
    while seed < from + scripts {
        let seeds: Vec<u64> = (seed..(seed + BATCH).min(from + scripts)).collect();
        let batch: Vec<Script> = seeds.iter().map(|seed| generate(*seed)).collect();
        let answers = program.answers(kind.name, &batch)?;
        for ((seed, script), original) in seeds.iter().zip(&batch).zip(answers) {
            if original.contains(FAULT) {
                outcome.faults += 1;
                continue;
            }
            outcome.dispatches += original.split_ascii_whitespace().count();
            if original == ours(kind, hz, script) {
                continue;
            }
            outcome.differences += 1;
            if outcome.shown.len() < SHOWN {
                outcome.shown.push(shortest(program, kind, *seed, script)?);
            }
        }
        seed += BATCH;
    }
    Ok(outcome)
}

fn shortest(
    program: &mut Program,
    kind: &ElevatorKind,
    seed: u64,
    script: &Script,
) -> Result<Difference> {
    let hz = program.hz;
    let script = minimise(script, |script| {
        let answer = program.answer(kind.name, script);
        answer.is_ok_and(|answer| !answer.contains(FAULT) && answer != ours(kind, hz, script))
    });
    let (original, ours) = (program.answer(kind.name, &script)?, ours(kind, hz, &script));
    Ok(Difference { seed, script, original, ours })
}

/// The original's answers, as test data.
fn corpus(
    programs: &mut [Program],
    kinds: &[&'static ElevatorKind],
    from: u64,
    scripts: u64,
) -> Result<Corpus> {
    let mut cases: Vec<Case> = (from..from + scripts)
        .map(|seed| Case { script: generate(seed), digests: Vec::new() })
        .collect();
    let mut columns = Vec::new();
    for program in programs {
        for kind in kinds {
            columns.push(Column { kind, hz: program.hz });
            for batch in cases.chunks_mut(BATCH as usize) {
                let scripts: Vec<Script> = batch.iter().map(|case| case.script.clone()).collect();
                for (case, answer) in batch.iter_mut().zip(program.answers(kind.name, &scripts)?) {
                    case.digests.push((!answer.contains(FAULT)).then(|| digest(&answer)));
                }
            }
        }
    }
    Ok(Corpus { columns, cases })
}
