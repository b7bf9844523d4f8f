//! `--repeat N`: measures one plan several times, hours apart, and pools the results.

use std::path::Path;

use ::experiment::analysis::Analysis;
use ::experiment::plan::TrialLength;
use ::experiment::pool;
use ::experiment::results::Results;
use anyhow::{Context, Result};
use jiff::{SignedDuration, Zoned};
use lab::feasibility;
use lab::output::Output;
use lab::repeats::{self, Repeat};
use lab::resolve::Resolved;
use lab::resolve::programs::{self, Agreement};
use lab::signals::Stop;
use machine::Root;
use machine::files::Dir;
use machine::systemd::later;

use super::analyze::write_again;
use super::experiment::{
    self, Beside, Measured, give_up_rights, measure_on, plan_of_comparison, plan_to_run, settle,
};
use super::plan::resolve;
use super::watch;
use crate::cli::{CompareArgs, ConductArgs, DEFAULT_STATE_DIR, MonitorArgs, RunArgs, Several};
use crate::failure::{self, usage};
use crate::out;
use crate::progress::Progress;
use crate::report_files;

pub(crate) fn compare(root: &Root, args: &CompareArgs, several: &Several) -> Result<u8> {
    if args.design.dry_run {
        return experiment::compare(root, args);
    }
    give_up_rights(args.design.arena, &[], args.conduct.out.as_deref(), &args.conduct.monitor)?;
    let plan = plan_of_comparison(root, args)?;
    let asked = plan.trial.clone();
    let resolved = settle(plan, &args.design)?;
    measure(root, &resolved, &asked, several, &args.conduct, Agreement::Given)
}

pub(crate) fn run(root: &Root, args: &RunArgs, several: &Several) -> Result<u8> {
    if args.dry_run {
        return experiment::run_plan(root, args);
    }
    let plan = plan_to_run(args)?;
    let asked = plan.trial.clone();
    measure(root, &resolve(plan)?, &asked, several, &args.conduct, args.consent.agreement())
}

/// Measures the next repeat (all missing ones in virtual time), pools the finished ones, and
/// schedules the next.
fn measure(
    root: &Root,
    resolved: &Resolved,
    asked: &TrialLength,
    several: &Several,
    args: &ConductArgs,
    agreement: Agreement,
) -> Result<u8> {
    let plan = &resolved.plan;
    feasibility::check(plan)?;
    let dir = Output::of(args.out.clone(), "repeats-").open()?;
    repeats::keep_plan(&dir, plan)?;
    let (stop, progress) =
        (Stop::install()?, Progress::watched(args.quiet || args.json, &args.monitor)?);
    let mut done = false;
    for number in 1..=several.number {
        let resume = match repeats::look(dir.path(), number)? {
            Repeat::Whole(_) => continue,
            Repeat::Unfinished => true,
            Repeat::Missing => false,
        };
        if done && !plan.arena.is_virtual() {
            break;
        }
        done = true;
        let own = own_args(args, &dir, number, resume);
        let mut of_repeat = repeats::plan_of(plan, number);
        // The trial length chosen in the first repeat applies to all; an interrupted repeat keeps
        // its own.
        let length = repeats::trial_length(dir.path(), if resume { number } else { 1 })?;
        let asked = length.as_ref().unwrap_or(asked);
        of_repeat.trial = length.clone().unwrap_or(of_repeat.trial);
        let beside = Beside { check: None, writes: &[dir.path()] };
        let beside = &beside;
        let one = Measured {
            root,
            resolved: Resolved { plan: of_repeat, ..resolved.clone() },
            asked,
            args: &own,
            agreement: agreement.clone(),
            beside,
        };
        let (_, end) = measure_on(one, &stop, &progress)?;
        if end.reason.ending().is_early() {
            let (word, next) = (
                end.reason.word(),
                continuing(root, resolved, several, args, agreement, &dir)?.join(" "),
            );
            out::note(format_args!(
                "repeat {number}: {word}: {}; continue with: {next}",
                end.reason
            ));
            return Ok(failure::cut_short());
        }
        write_again(&dir.file(&repeats::name(number)))?;
    }
    stop.end_at_once(out::report_cut);
    let status = conclude(root, &dir, several, args)?;
    if let Some(next) = missing(&dir, several)? {
        start_later(root, next, resolved, several, args, agreement, &dir)?;
    }
    Ok(status)
}

fn own_args(args: &ConductArgs, dir: &Dir, number: u32, resume: bool) -> ConductArgs {
    ConductArgs {
        out: Some(dir.file(&repeats::name(number))),
        resume,
        destroy_data: args.destroy_data.clone(),
        loop_dir: args.loop_dir.clone(),
        cache_dir: args.cache_dir.clone(),
        run_as: args.run_as.clone(),
        monitor: MonitorArgs::default(),
        fail_if: args.fail_if.clone(),
        ..*args
    }
}

fn missing(dir: &Dir, several: &Several) -> Result<Option<u32>> {
    for number in 1..=several.number {
        if !matches!(repeats::look(dir.path(), number)?, Repeat::Whole(_)) {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

fn conclude(root: &Root, dir: &Dir, several: &Several, args: &ConductArgs) -> Result<u8> {
    let mut all_results: Vec<(String, Results)> = Vec::new();
    for number in 1..=several.number {
        if let Repeat::Whole(results) = repeats::look(dir.path(), number)? {
            all_results.push((repeats::name(number), *results));
        }
    }
    let (analysis, evidence) = match all_results.as_slice() {
        [(_, only)] => (::experiment::analyze(only, None), Some(report_files::evidence(only))),
        several_results => (pooled(several_results, several.number)?, None),
    };
    let files = report_files::write_all(dir.path(), &analysis, evidence.as_ref())?;
    if args.json {
        out::print(report::json(&analysis)?)?;
    } else {
        let options = out::analysis_options(root, args.verbose);
        out::report(&report::terminal::render(&analysis, evidence.as_ref(), &files, &options))?;
    }
    Ok(args.fail_if.status(&analysis))
}

fn pooled(all_results: &[(String, Results)], planned: u32) -> Result<Analysis> {
    let all_results: Vec<(String, &Results)> =
        all_results.iter().map(|(name, results)| (name.clone(), results)).collect();
    pool::pool_results(&all_results, None, Some(planned))
        .map_err(|difference| usage(difference.to_string()))
}

/// Uses systemd, or else prints the command.
fn start_later(
    root: &Root,
    next: u32,
    resolved: &Resolved,
    several: &Several,
    args: &ConductArgs,
    agreement: Agreement,
    dir: &Dir,
) -> Result<()> {
    let of = format!("repeat {} of {} is measured", next - 1, several.number);
    let mut command = continuing(root, resolved, several, args, agreement, dir)?;
    let by_hand = |why: &str| {
        let words: Vec<String> = command.iter().cloned().map(experiment::quoted).collect();
        out::note(format_args!(
            "{of}; {why}: start the next in {} or later (cron, at or by hand): {}",
            several.word,
            words.join(" ")
        ));
    };
    if !rustix::process::geteuid().is_root() {
        by_hand("without root no timer is made");
        return Ok(());
    }
    let at = Zoned::now()
        .saturating_add(SignedDuration::try_from(several.every).unwrap_or(SignedDuration::MAX));
    let unit = format!("schedlab-repeat-{next}-{}", at.timestamp().as_second());
    let here = std::env::current_dir().context("working directory: unknown")?;
    let program = watch::program()?;
    if machine::systemd::runs(root) {
        command[0] = program.display().to_string();
        command.push("--quiet".to_owned());
        later(root, &unit, several.every, &here, &command)?;
        out::note(format_args!(
            "{of}; the next begins at {}, unless the machine is restarted (cancel it: systemctl stop {unit}.timer)",
            at.strftime("%Y-%m-%d %H:%M")
        ));
        if !watch::will_stay(&program) {
            out::note(format_args!(
                "note: the timer starts {}, which may be removed until then",
                program.display()
            ));
        }
    } else {
        by_hand("systemd is not running");
    }
    Ok(())
}

fn continuing(
    root: &Root,
    resolved: &Resolved,
    several: &Several,
    args: &ConductArgs,
    agreement: Agreement,
    dir: &Dir,
) -> Result<Vec<String>> {
    let text = |path: &Path| {
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
    };
    let mut words = vec!["schedlab".to_owned()];
    let mut push = |all: &[&str]| words.extend(all.iter().map(|word| (*word).to_owned()));
    let state = root.state("");
    if state.components().ne(Path::new(DEFAULT_STATE_DIR).components()) {
        push(&["--state-dir", &text(&state)]);
    }
    let number = several.number.to_string();
    push(&[
        "run",
        &text(&dir.file("plan.toml")),
        "--out",
        &text(dir.path()),
        "--repeat",
        &number,
        "--every",
        &several.word,
    ]);
    push(&["--loop-dir", &text(&args.loop_dir)]);
    if let Some(cache) = &args.cache_dir {
        push(&["--cache-dir", &text(cache)]);
    }
    if let Some(device) = &args.destroy_data {
        push(&["--destroy-data", device]);
    }
    if let Some(user) = &args.run_as {
        push(&["--as", user]);
    }
    if agreement == Agreement::Given && !programs::named(resolved).is_empty() {
        push(&["--allow-commands"]);
    }
    Ok(words)
}
