//! `schedlab advise`: a recommendation from a trace and a model, with reasons and a plan to confirm
//! it.

mod answer;
mod trace;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use experiment::notation;
use experiment::plan::ArenaFacts;
use experiment::results::Ending;
use lab::advise::{Advice, Case, Request, case, write};
use lab::fit;
use lab::output::Output;
use lab::resolve::programs::Agreement;
use lab::signals::Stop;
use machine::Root;
use report::{Columns, number};
use serde_json::json;

use answer::Action;

use super::experiment::{Beside, Measured, measure_on, quoted};
use super::fleet::known_of;
use super::plan::resolve;
use crate::cli::{AdviseArgs, ConductArgs};
use crate::failure::{INVALID, REACHED, cut_short, usage};
use crate::out;
use crate::progress::Progress;
use crate::report_files;
use crate::rights;

pub(crate) fn run(root: &Root, args: &AdviseArgs) -> Result<u8> {
    let trace = Path::new(&args.subject);
    let is_trace = trace.is_file();
    let mut cautions = Vec::new();
    if !is_trace {
        let known = machine::device::find(root, &args.subject);
        let device = known.map_err(|e| {
            usage(format!(
                "{e}; and there is no such trace, which would be a file of schedlab trace record"
            ))
        })?;
        cautions.extend(experiment_on(root, &device.name));
    }
    let stop = Stop::install()?;
    let dir = Output::of(args.out.clone(), "advice-").open()?.path().to_path_buf();
    let trace = if is_trace { trace.to_path_buf() } else { trace::of(args, &dir, &stop)? };
    if stop.signal().is_some() {
        return Ok(cut_short());
    }
    let in_sim = args.arena.is_some_and(ArenaFacts::is_in_process);
    let give_up = |model: Option<&String>| match in_sim {
        true => rights::give_up(
            &[Some(trace.clone()), model.map(PathBuf::from)].map(Option::unwrap_or_default),
            Some(&dir),
        ),
        false => Ok(()),
    };
    if is_trace {
        give_up(args.model.as_ref())?;
    }
    let (model, warnings) = model_of(root, args, &trace, is_trace, &dir)?;
    if !is_trace {
        give_up(Some(&model))?;
    }
    let request = Request {
        trace,
        model,
        arena: args.arena,
        schedulers: args.schedulers.clone(),
        open_loop: args.open_loop,
        cache_dir: args.cache_dir.clone(),
        device: args.confirm_on.clone().or_else(|| (!is_trace).then(|| args.subject.clone())),
        seed: args.seed,
    };
    let case = case(&request)?;
    let Some(mut advice) = replayed(root, args, &case, &dir)? else { return Ok(cut_short()) };
    advice.cautions.extend(cautions.into_iter().chain(warnings));
    let confirm = confirmation(root, &case, &advice, &dir)?;
    let drive = request.device.as_deref().and_then(|name| machine::device::find(root, name).ok());
    let known = known_of(root, drive.and_then(|drive| drive.model).as_deref());
    let command = confirm
        .as_ref()
        .map(|plan| format!("sudo schedlab run {}", quoted(plan.display().to_string())));
    if args.json {
        let all = json!({ "advice": advice, "confirm": confirm, "command": command, "writes": case.writes(), "fleet": known });
        out::line(serde_json::to_string_pretty(&all)?)?;
    } else {
        let action = Action::of(root, &case, &advice);
        let command = command.as_deref();
        show(args, &Shown { advice: &advice, case: &case, dir: &dir, command, action })?;
        if args.verbose && !known.is_empty() {
            out::line("\nWhat the fleet knows of drives of this model:")?;
            known.iter().try_for_each(|said| out::hanging("- ", said))?;
        }
    }
    Ok(if advice.expected.iter().any(|of| of.latency_mean_us.is_some()) {
        REACHED
    } else {
        INVALID
    })
}

/// A caution if another schedlab changes the device's settings.
fn experiment_on(root: &Root, name: &str) -> Option<String> {
    let pid = machine::journal::owner_on_machine(root, name)?;
    Some(format!(
        "another schedlab (process {pid}) changes the settings of {name} and may load it: record again when it has ended"
    ))
}

/// Parts of the answer.
struct Shown<'a> {
    advice: &'a Advice,
    case: &'a Case,
    dir: &'a Path,
    /// The comparison on the real disk.
    command: Option<&'a str>,
    action: Action,
}

/// Writes the plan of the real comparison, where this machine has its device.
fn confirmation(root: &Root, case: &Case, advice: &Advice, dir: &Path) -> Result<Option<PathBuf>> {
    if machine::device::find(root, &case.confirm_on).is_err() {
        return Ok(None);
    }
    let path = dir.join("confirm.toml");
    write(&path, &case.confirmation(advice)?, std::slice::from_ref(&advice.sentence))?;
    Ok(Some(path))
}

/// The model that the user names, or one that is fitted and left in the directory; and what speaks
/// against it.
fn model_of(
    root: &Root,
    args: &AdviseArgs,
    trace: &Path,
    is_trace: bool,
    dir: &Path,
) -> Result<(String, Vec<String>)> {
    if let Some(model) = &args.model {
        return Ok((model.clone(), Vec::new()));
    }
    let fitted = fit_model(root, args, trace, is_trace)?;
    let path = dir.join("model.toml");
    machine::files::replace_at(&path, fitted.description.as_bytes())?;
    Ok((path.display().to_string(), fitted.warnings))
}

/// Fits a model of the recorded disk: of a hard disk that is at hand from reads of its own, of any
/// other from the trace.
fn fit_model(root: &Root, args: &AdviseArgs, trace: &Path, is_trace: bool) -> Result<fit::Fitted> {
    let turns = !is_trace
        && machine::device::find(root, &args.subject)?.kind == machine::device::Kind::Rotational;
    if turns {
        let (stop, progress) = (Stop::install()?, Progress::new(args.quiet || args.json));
        let request = fit::Request {
            device: args.subject.clone(),
            writes_from: Some(trace.to_path_buf()),
            loop_dir: PathBuf::from("/var/tmp"),
            seed: args.seed,
            ..fit::Request::default()
        };
        fit::fit(root, &request, &stop, &progress)
    } else {
        let mut next = String::from(
            "give --model FILE.toml (sudo schedlab fit DEVICE --out FILE.toml) or a name of schedlab list devices",
        );
        if !is_trace {
            next.push_str(", or record it while it works, for longer with --for");
        }
        fit::fit_trace(trace, args.seed).with_context(|| format!("{}: {next}", args.subject))
    }
}

/// None if interrupted.
fn replayed(root: &Root, args: &AdviseArgs, case: &Case, dir: &Path) -> Result<Option<Advice>> {
    let conduct = ConductArgs {
        out: Some(dir.join("replay")),
        resume: false,
        destroy_data: None,
        loop_dir: PathBuf::from("/var/tmp"),
        cache_dir: args.cache_dir.clone(),
        trace: None,
        run_as: None,
        json: args.json,
        verbose: false,
        quiet: args.quiet,
        monitor: Default::default(),
        fail_if: Default::default(),
    };
    let resolved = resolve(case.plan.clone())?;
    let asked = resolved.plan.trial.clone();
    let beside = Beside { check: None, writes: &[dir] };
    let one = Measured {
        root,
        resolved,
        asked: &asked,
        args: &conduct,
        agreement: Agreement::Given,
        beside: &beside,
    };
    let stop = Stop::install()?;
    let mut progress = Progress::new(args.quiet || args.json);
    if !args.verbose {
        progress = progress.without_remarks();
    }
    let (store, end) = measure_on(one, &stop, &progress)?;
    stop.end_at_once(out::report_cut);
    if matches!(end.reason.ending(), Ending::Interrupted | Ending::Failed) {
        out::note(format_args!("{}: {}", end.reason.word(), end.reason));
        return Ok(None);
    }
    let record = lab::store::read(&store)?;
    let analysis = experiment::analyze(&record, None);
    report_files::write_all(&store, &analysis, Some(&report_files::evidence(&record)))?;
    Ok(Some(case.advice(&analysis)))
}

fn show(args: &AdviseArgs, shown: &Shown<'_>) -> Result<()> {
    let Shown { advice, case, dir, command, action } = shown;
    answer::show(case, advice, action)?;
    if args.verbose {
        explain(advice)?;
    }
    out::line("")?;
    if !args.verbose {
        let Advice { arena, model, .. } = advice;
        let text = format!(
            "Replayed in the {} arena on {model}, mean latency {}; --verbose prints every \
             scheduler and the reasons.",
            arena.name,
            agreement(advice)
        );
        out::paragraph(&text)?;
    }
    advice.cautions.iter().try_for_each(|caution| out::hanging("- ", caution))?;
    match command {
        Some(command) => out::command("Confirm:  ", command)?,
        None => out::hanging(
            "Confirm:  ",
            &format!(
                "this machine has no {}; name a disk of the same kind by --confirm-on DEVICE",
                case.confirm_on
            ),
        )?,
    }
    if let Some(writes) = case.writes().filter(|_| command.is_some()) {
        out::hanging("          ", &writes)?;
    }
    out::line(format_args!("Report:   {}", dir.join("replay/report.html").display()))
}

/// Every scheduler, the costs of the best one, the reasons, and how far to trust the replay.
fn explain(advice: &Advice) -> Result<()> {
    out::line("")?;
    out::table(&table(advice))?;
    if !advice.costs.is_empty() {
        out::line("\nLoses:")?;
        advice.costs.iter().try_for_each(|cost| out::hanging("- ", &answer::loss(cost)))?;
    }
    out::line("\nWhy:")?;
    advice.reasons.iter().try_for_each(|reason| out::hanging("- ", reason))?;
    out::line("\nHow far to trust it:")?;
    let Advice { arena, model, trust, .. } = advice;
    out::hanging(
        "- ",
        &format!(
            "replayed in the {} arena ({}) on the model {model}",
            arena.name, arena.schedulers
        ),
    )?;
    match trust.model.as_slice() {
        [] => out::hanging(
            "- ",
            "of the model's error nothing is known: it was not made by schedlab fit",
        )?,
        lines => lines.iter().try_for_each(|line| {
            out::hanging("- ", &format!("the model on reads that were held out: {line}"))
        })?,
    }
    out::hanging("- ", &format!("mean latency {}", agreement(advice)))
}

/// How the latency of the replay compares with the recorded one.
fn agreement(advice: &Advice) -> String {
    let trust = &advice.trust;
    match (trust.recorded_mean_us, trust.replayed_mean_us, trust.replayed_to_recorded) {
        (Some(recorded), Some(replayed), Some(ratio)) => format!(
            "{} under {} ({} to the recorded {})",
            number::latency_ns(replayed * 1e3),
            advice.baseline,
            notation::change(ratio),
            number::latency_ns(recorded * 1e3)
        ),
        _ => "not comparable, as the trace has no latencies".into(),
    }
}

fn table(advice: &Advice) -> Columns {
    let mut table =
        Columns::new(["SCHEDULER", "MEAN µs", "P99 µs", "AGAINST BASELINE", "INTERVAL", "VERDICT"]);
    let us =
        |value: Option<f64>| value.map_or_else(|| "invalid".to_owned(), |us| format!("{us:.0}"));
    for of in &advice.expected {
        let [estimate, interval] = match of.change() {
            _ if of.variant == advice.baseline => ["baseline".to_owned(), String::new()],
            None => ["-".to_owned(), "-".to_owned()],
            Some(change) => [change.estimate(), change.interval()],
        };
        table.row([
            of.variant.clone(),
            us(of.latency_mean_us),
            us(of.latency_p99_us),
            estimate,
            interval,
            of.verdict.map_or_else(String::new, |verdict| format!("{verdict:?}").to_lowercase()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use lab::advise::{VARIANTS, set_words};

    use crate::command::settings;

    #[test]
    fn every_default_variant_is_named_as_set_reads_it() {
        for variant in experiment::plan::parse_variants(&VARIANTS).expect("the variants are words")
        {
            let words = set_words(&variant);
            let setting = settings::read(&words).expect("set reads it");
            assert_eq!(
                (setting.scheduler.as_ref(), &setting.tunables),
                (Some(&variant.scheduler), &variant.tunables),
                "{words:?}"
            );
            assert!(
                variant.name.starts_with(&variant.scheduler),
                "{}: named after what it sets",
                variant.name
            );
            let linux = elevator::LINUX.iter().any(|row| row.name == variant.scheduler);
            let known = |name: &String| {
                elevator::find(&variant.scheduler).is_some_and(|kind| kind.tunable(name).is_some())
            };
            assert!(linux && variant.tunables.keys().all(known), "{words:?}");
        }
    }
}
