//! `schedlab compare` and `schedlab run`: one experiment from the user's words to the report.

use std::path::{Path, PathBuf};

use anyhow::Result;
use experiment::plan::{self, ArenaFacts, LONGEST_S, Plan, TrialLength};
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

/// Compares what the flags name.
pub(crate) fn compare(root: &Root, args: &CompareArgs) -> Result<u8> {
    give_up_rights(args.design.arena, &[], args.conduct.out.as_deref(), &args.conduct.monitor)?;
    let plan = plan_of_comparison(root, args)?;
    let asked = plan.trial.clone();
    let resolved = settle(plan, &args.design)?;
    as_designed(root, resolved, &asked, &args.design, &args.conduct)
}

/// The plan of what the flags name, not yet checked.
pub(super) fn plan_of_comparison(root: &Root, args: &CompareArgs) -> Result<Plan> {
    let baseline = args.baseline.as_deref();
    if !args.commands.commands.is_empty() {
        return plan_of_commands(&args.commands, &args.design, baseline);
    }
    // clap forgives a missing --commands beside what excludes it.
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

/// In the simulator root's rights are of no use; `reads` are files of the plan.
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

/// Carries out a plan that was made of flags, or prints it.
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

/// Prints a plan, with what it starts and what it can find in front as comments, or both as JSON.
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

/// The resolved plan of a design: with a number of rounds and no budget, it is as long as these
/// rounds take.
pub(super) fn settle(mut plan: Plan, design: &DesignArgs) -> Result<Resolved> {
    locate_patches(&mut plan, None)?;
    locate_files(&mut plan, None);
    let mut resolved = resolve(plan)?;
    let plan = &mut resolved.plan;
    if design.budget.is_none() && plan.budget.rounds.is_some() {
        // The usual budget has set the length of a trial; that many rounds are measured, in up to
        // four times the time that they should take.
        plan.budget.time_s = plan.budget.time_s.max(4.0 * length::expected_s(plan)).min(LONGEST_S);
    }
    Ok(resolved)
}

/// The plan of a file, not yet checked.
pub(super) fn plan_of_file(path: &Path) -> Result<Plan> {
    let named = || path.display().to_string();
    let text = PLAN_BYTES.read_text_file(path);
    let text = text.map_err(|e| usage(format!("{}: cannot read the plan: {e}", named())))?;
    let mut plan = Plan::from_toml(&text).map_err(|e| usage(format!("{}: {e}", named())))?;
    locate_patches(&mut plan, path.parent())?;
    locate_files(&mut plan, path.parent());
    Ok(plan)
}

/// Files that a plan names, which an experiment in the simulator reads.
pub(super) fn files_of(plan: &Plan) -> Vec<PathBuf> {
    let words =
        plan.workloads.iter().flat_map(|workload| workload.params.values()).chain([&plan.device]);
    words.map(PathBuf::from).filter(|path| path.exists()).collect()
}

/// Runs a plan file.
pub(crate) fn run_plan(root: &Root, args: &RunArgs) -> Result<u8> {
    let plan = plan_to_run(args)?;
    let agreement = args.consent.agreement();
    if args.dry_run {
        let programs = ProgramOptions { agreement, user: args.conduct.run_as.clone() };
        return print_plan(&resolve(plan)?, &programs, args.conduct.json);
    }
    planned(root, plan, &args.conduct, agreement)
}

/// Reads the plan of a plan file, and gives up the rights that it does not need.
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

/// Checks and carries out a plan that was read from a file.
pub(crate) fn planned(
    root: &Root,
    plan: Plan,
    conduct: &ConductArgs,
    agreement: Agreement,
) -> Result<u8> {
    let asked = plan.trial.clone();
    carry_out(root, resolve(plan)?, &asked, conduct, agreement)
}

/// `asked` is the length of trials that the user named; the plan's own has what was chosen.
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

/// A look at an environment, which may refuse it.
pub(super) type Check<'a> = dyn Fn(&Environment) -> Result<()> + 'a;

/// What a command does with an experiment beside measuring it.
#[derive(Default)]
pub(super) struct Beside<'a> {
    /// Looks at the environment before anything is measured or written.
    pub(super) check: Option<&'a Check<'a>>,
    /// Directories beside that of the results file in which something is written afterwards.
    pub(super) writes: &'a [&'a Path],
}

/// What the program does while an experiment is measured.
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

/// One experiment of a command's flags.
pub(super) struct Measured<'a> {
    pub(super) root: &'a Root,
    pub(super) resolved: Resolved,
    /// The length of trials that the user named; the plan's own is what was chosen.
    pub(super) asked: &'a TrialLength,
    pub(super) args: &'a ConductArgs,
    pub(super) agreement: Agreement,
    pub(super) beside: &'a Beside<'a>,
}

/// Measures a plan; the directory of its results file, and how it ended.
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

/// The same on a console that stays open for further experiments.
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

/// Trials of one results file are all of one length: a resumed experiment goes on with its results
/// file's.
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

/// Where the results file goes: --out, or a directory named after the time.
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

/// How the result of an experiment is shown.
pub(super) struct Shown<'a> {
    pub(super) root: &'a Root,
    pub(super) json: bool,
    pub(super) verbose: bool,
    pub(super) fail_if: &'a FailIfArgs,
}

/// Analyzes a results file that has ended, writes the reports into its directory, and prints one.
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

/// The command that repeats the experiment, quoted so that a shell reads it back; without the place
/// of this one's results.
pub(super) fn repeat_command() -> String {
    repeat_command_without(&[])
}

/// The same without these flags, which say how to show the result and not what it is.
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
