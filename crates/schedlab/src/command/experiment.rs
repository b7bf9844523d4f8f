//! `schedlab compare` and `schedlab run`: one experiment, from the command line to the report.

use std::path::{Path, PathBuf};

use anyhow::Result;
use experiment::plan::{self, ArenaFacts, MAX_TIME_S, Plan, TrialLength};
use experiment::results::{End, EndReason, Ending, Environment, Results};
use lab::arena::Arena;
use lab::console::Console;
use lab::feasibility;
use lab::length;
use lab::output::{self, Output};
use lab::progress::Progress as _;
use lab::resolve::programs::{self, Agreement, ProgramOptions};
use lab::resolve::{Resolved, locate_files, locate_patches};
use lab::run::{Destination, Experiment, Hooks, Outcome, Pilot, Place, run};
use lab::session::ResultsOptions;
use lab::signals::Stop;
use lab::store;
use machine::Root;
use machine::files::Bounded;
use text::limits::PLAN_BYTES;

use crate::cli::{CompareArgs, ConductArgs, DesignArgs, FailIfArgs, MonitorArgs, RunArgs};
use crate::command::commands::plan_of_commands;
use crate::command::plan::{plan_of, resolve};
use crate::failure::{self, REACHED, usage};
use crate::monitor::Monitor;
use crate::out;
use crate::progress::Progress;
use crate::report_files;
use crate::rights;

pub(crate) fn compare(root: &Root, args: &CompareArgs) -> Result<u8> {
    give_up_rights(args.design.arena, &[], args.conduct.out.as_deref(), &args.conduct.monitor)?;
    let plan = plan_of_comparison(root, args)?;
    let asked = plan.trial.clone();
    let resolved = settle(plan, &args.design)?;
    as_designed(root, resolved, &asked, &args.design, &args.conduct)
}

pub(super) fn plan_of_comparison(root: &Root, args: &CompareArgs) -> Result<Plan> {
    let baseline = args.baseline.as_deref();
    if !args.commands.commands.is_empty() {
        return plan_of_commands(&args.commands, &args.design, baseline);
    }
    // clap does not enforce `requires = "commands"` together with a conflicting option.
    for (flag, given) in
        [("--names", !args.commands.names.is_empty()), ("--metric", args.commands.metric.is_some())]
    {
        if given {
            return Err(usage(format!("{flag}: belongs to --commands; leave it out")));
        }
    }
    let destroy_data = args.conduct.destroy_data.as_deref();
    plan_of(root, &args.design, &args.schedulers, baseline, destroy_data)
}

pub(super) fn give_up_rights(
    arena: &ArenaFacts,
    reads: &[PathBuf],
    out: Option<&Path>,
    monitor: &MonitorArgs,
) -> Result<()> {
    monitor.reserve()?;
    if !arena.is_in_process() {
        return Ok(());
    }
    let out = out.unwrap_or(Path::new(output::PARENT));
    let results: Vec<&Path> = [out].into_iter().chain(monitor.directory()).collect();
    rights::give_up_but(reads, &results)
}

pub(super) fn as_designed(
    root: &Root,
    resolved: Resolved,
    asked: &TrialLength,
    design: &DesignArgs,
    conduct: &ConductArgs,
) -> Result<u8> {
    if design.dry_run {
        return print_plan(
            &resolved,
            &ProgramOptions::typed(conduct.run_as.as_deref()),
            conduct.json,
        );
    }
    carry_out(root, resolved, asked, conduct, Agreement::Given)
}

/// With comments on the programs that the plan starts and the effects it can detect.
fn print_plan(resolved: &Resolved, programs: &ProgramOptions, json: bool) -> Result<u8> {
    let plan = &resolved.plan;
    feasibility::check(plan)?;
    let started = programs.announced(&programs::named(resolved));
    if json {
        let feasibility = feasibility::of(plan);
        let all =
            serde_json::json!({ "plan": plan, "starts": started, "feasibility": feasibility });
        out::line(serde_json::to_string_pretty(&all)?)?;
        return Ok(REACHED);
    }
    let lines = started.iter().cloned().chain([feasibility::words(plan)]);
    let comments: String = lines.map(|line| format!("# {line}\n")).collect();
    out::print(format_args!("{comments}{}", plan.to_toml()))?;
    Ok(REACHED)
}

/// A fixed number of rounds without a budget sets the budget.
pub(super) fn settle(mut plan: Plan, design: &DesignArgs) -> Result<Resolved> {
    locate_patches(&mut plan, None)?;
    locate_files(&mut plan, None);
    let mut resolved = resolve(plan)?;
    let plan = &mut resolved.plan;
    if design.budget.is_none() && plan.budget.rounds.is_some() {
        // The default budget has chosen the trial length; allow four times the expected time.
        plan.budget.time_s = plan.budget.time_s.max(4.0 * length::expected_s(plan)).min(MAX_TIME_S);
    }
    Ok(resolved)
}

pub(super) fn plan_of_file(path: &Path) -> Result<Plan> {
    let named = || path.display().to_string();
    let text = PLAN_BYTES.read_text_file(path);
    let text = text.map_err(|e| usage(format!("{}: cannot read the plan: {e}", named())))?;
    let mut plan = Plan::from_toml(&text).map_err(|e| usage(format!("{}: {e}", named())))?;
    locate_patches(&mut plan, path.parent())?;
    locate_files(&mut plan, path.parent());
    Ok(plan)
}

pub(super) fn files_of(plan: &Plan) -> Vec<PathBuf> {
    let words =
        plan.workloads.iter().flat_map(|workload| workload.params.values()).chain([&plan.device]);
    words.map(PathBuf::from).filter(|path| path.exists()).collect()
}

pub(crate) fn run_plan(root: &Root, args: &RunArgs) -> Result<u8> {
    let plan = plan_to_run(args)?;
    let agreement = args.consent.agreement();
    if args.dry_run {
        let programs = ProgramOptions { agreement, user: args.conduct.run_as.clone() };
        return print_plan(&resolve(plan)?, &programs, args.conduct.json);
    }
    planned(root, plan, &args.conduct, agreement)
}

/// Drops the privileges that the plan does not need.
pub(super) fn plan_to_run(args: &RunArgs) -> Result<Plan> {
    let mut plan = plan_of_file(&args.plan)?;
    if let Some(word) = &args.budget {
        plan.budget.time_s =
            plan::parse_duration_s(word).map_err(|e| usage(format!("--budget: {e}")))?;
    }
    give_up_rights(
        plan.arena,
        &files_of(&plan),
        args.conduct.out.as_deref(),
        &args.conduct.monitor,
    )?;
    Ok(plan)
}

pub(crate) fn planned(
    root: &Root,
    plan: Plan,
    conduct: &ConductArgs,
    agreement: Agreement,
) -> Result<u8> {
    let asked = plan.trial.clone();
    carry_out(root, resolve(plan)?, &asked, conduct, agreement)
}

/// `asked` is the user's trial length; the plan has the chosen one.
fn carry_out(
    root: &Root,
    resolved: Resolved,
    asked: &TrialLength,
    args: &ConductArgs,
    agreement: Agreement,
) -> Result<u8> {
    let (dir, _) =
        measure(Measured { root, resolved, asked, args, agreement, beside: &Beside::default() })?;
    conclude(root, &dir, args)
}

/// A check of the environment that may refuse it.
pub(super) type Check<'a> = dyn Fn(&Environment) -> Result<()> + 'a;

#[derive(Default)]
pub(super) struct Beside<'a> {
    pub(super) check: Option<&'a Check<'a>>,
    /// Further directories that are written to afterwards.
    pub(super) writes: &'a [&'a Path],
}

pub(super) struct Along<'a> {
    pub(super) beside: &'a Beside<'a>,
    pub(super) progress: &'a Progress,
}

impl Hooks for Along<'_> {
    fn check(&self, arena: &mut dyn Arena) -> Result<()> {
        self.beside.check.map_or(Ok(()), |check| check(&arena.capture()?))
    }

    fn planned(&self, plan: &Plan) {
        self.progress.remark(&feasibility::words(plan));
    }

    fn begin(&self, plan: &Plan, dir: Option<&Path>) -> Result<()> {
        let monitor = self.progress.monitor();
        if plan.arena.is_in_process() {
            let beside =
                self.beside.writes.iter().copied().chain(monitor.and_then(Monitor::directory));
            let all: Vec<&Path> = dir.into_iter().chain(beside).collect();
            rights::write_only_below(&all)?;
        }
        monitor.map_or(Ok(()), |monitor| monitor.serve(plan))
    }

    fn concluded(&self, dir: &Path, results: &Results) -> Result<()> {
        let analysis = experiment::analyze(results, None);
        report_files::write_all(dir, &analysis, Some(&report_files::evidence(results))).map(drop)
    }
}

pub(super) struct Measured<'a> {
    pub(super) root: &'a Root,
    pub(super) resolved: Resolved,
    /// The user's trial length; the plan has the chosen one.
    pub(super) asked: &'a TrialLength,
    pub(super) args: &'a ConductArgs,
    pub(super) agreement: Agreement,
    pub(super) beside: &'a Beside<'a>,
}

/// Returns the results directory and how the experiment ended.
pub(super) fn measure(mut of: Measured<'_>) -> Result<(PathBuf, End)> {
    let args = of.args;
    if args.resume {
        of.resolved.plan.trial = trial_of_results(of.asked, args)?;
    } else {
        feasibility::check(&of.resolved.plan)?;
        store::check_free(args.out.as_deref())?;
    }
    let (stop, progress) =
        (Stop::install()?, Progress::watched(args.quiet || args.json, &args.monitor)?);
    let done = measure_on(of, &stop, &progress)?;
    stop.end_at_once(out::report_cut);
    Ok(done)
}

/// Like [`measure`], on a console that later experiments share.
pub(super) fn measure_on(
    of: Measured<'_>,
    stop: &Stop,
    progress: &Progress,
) -> Result<(PathBuf, End)> {
    let Measured { root, resolved, asked, args, agreement, beside } = of;
    let experiment = Experiment {
        place: Place::New { resolved, root, opening: &args.opening(agreement) },
        pilot: Pilot::Run { asked },
        results: Destination::Directory(results_options(args)),
        hooks: &Along { beside, progress },
    };
    let Outcome { end, kept } = run(experiment, Console::new(stop, progress))?;
    if let Some(monitor) = progress.monitor() {
        monitor.ended(end.reason.word());
    }
    Ok((kept.directory(), end))
}

/// All trials of a results file have one length, so a resumed experiment keeps the file's.
fn trial_of_results(asked: &TrialLength, args: &ConductArgs) -> Result<TrialLength> {
    let dir = args.out.as_deref().expect("clap requires --out with --resume");
    let trial = lab::store::read(dir)?.header.plan.trial;
    let other = |asked: Option<u64>, recorded: Option<u64>| asked.is_some() && asked != recorded;
    if other(asked.duration_ms, trial.duration_ms) || other(asked.warmup_ms, trial.warmup_ms) {
        return Err(usage(format!(
            "{}: measured in trials of {} ms with {} ms of warm-up, and trials of another length are another experiment; leave the option out, or \
             name another --out",
            dir.display(),
            trial.duration_ms.unwrap_or_default(),
            trial.warmup_ms.unwrap_or_default()
        )));
    }
    Ok(trial)
}

pub(super) fn results_options(args: &ConductArgs) -> ResultsOptions {
    ResultsOptions {
        output: Output::of(args.out.clone(), ""),
        resume: args.resume,
        command: repeat_command(),
    }
}

fn conclude(root: &Root, dir: &Path, args: &ConductArgs) -> Result<u8> {
    conclude_results(
        dir,
        &lab::store::read(dir)?,
        &Shown { root, json: args.json, verbose: args.verbose, fail_if: &args.fail_if },
    )
}

pub(super) struct Shown<'a> {
    pub(super) root: &'a Root,
    pub(super) json: bool,
    pub(super) verbose: bool,
    pub(super) fail_if: &'a FailIfArgs,
}

pub(super) fn conclude_results(dir: &Path, results: &Results, shown: &Shown<'_>) -> Result<u8> {
    let analysis = experiment::analyze(results, None);
    let actuator = report_files::actuator_paths(dir, results);
    let evidence = report::Evidence { actuator: &actuator, ..report_files::evidence(results) };
    let files = report_files::write_all(dir, &analysis, Some(&evidence))?;
    if shown.json {
        out::print(report::json(&analysis)?)?;
    } else {
        let options = out::analysis_options(shown.root, shown.verbose);
        out::report(&report::terminal::render(&analysis, Some(&evidence), &files, &options))?;
        if results.header.plan.variants.iter().any(|variant| variant.scheduler.contains('@')) {
            let dir = quoted(dir.display().to_string());
            out::command("Mail it:  ", &format!("schedlab report {dir} --export lkml"))?;
        }
    }
    let Some(End { reason, .. }) = &results.end else { return Ok(shown.fail_if.status(&analysis)) };
    let ending = reason.ending();
    if matches!(reason, EndReason::ResultsFull { .. }) {
        out::note(format_args!("{}: {reason}", reason.word()));
    } else if ending == Ending::BudgetSpent && results.header.plan.budget.rounds.is_some() {
        out::note(format_args!(
            "the budget ended before every round of the plan was measured: {reason}"
        ));
    }
    Ok(match ending {
        Ending::Interrupted | Ending::Failed => {
            out::note(format_args!("{}: {reason}", reason.word()));
            failure::cut_short()
        }
        _ => shown.fail_if.status(&analysis),
    })
}

/// The command line that repeats the experiment, without the output options.
pub(super) fn repeat_command() -> String {
    repeat_command_without(&[])
}

/// Also omits these flags, which affect only how the result is shown.
pub(super) fn repeat_command_without(flags: &[&str]) -> String {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.next();
    let mut kept = vec!["schedlab".to_owned()];
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" | "--metrics-file" | "--metrics-listen" => drop(words.next()),
            "--resume" => {}
            word if flags.contains(&word) => {}
            word if ["--out=", "--metrics-file=", "--metrics-listen="]
                .iter()
                .any(|flag| word.starts_with(flag)) => {}
            _ => kept.push(quoted(word)),
        }
    }
    kept.join(" ")
}

pub(super) fn quoted(word: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
