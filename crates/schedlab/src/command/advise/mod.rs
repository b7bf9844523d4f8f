//! `schedlab advise`: a recommendation from a trace and a model, with reasons and a plan to confirm
//! it.

mod trace;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use experiment::notation::{self, Change};
use experiment::plan::ArenaFacts;
use experiment::results::Ending;
use lab::advise::{Advice, Case, Request, case, write};
use lab::fit;
use lab::output::Output;
use lab::resolve::programs::Agreement;
use lab::signals::Stop;
use machine::Root;
use report::Columns;
use serde_json::json;

use super::experiment::{Beside, Measured, measure, quoted};
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
    if !is_trace {
        let known = machine::device::find(root, &args.subject);
        known.map_err(|e| {
            usage(format!(
                "{e}; and there is no such trace, which would be a file of schedlab trace record"
            ))
        })?;
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
    let model = match &args.model {
        Some(model) => model.clone(),
        None => fitted(root, args, &trace, is_trace, &dir)?,
    };
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
    let Some(advice) = replayed(root, args, &case, &dir)? else { return Ok(cut_short()) };
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
        show(&advice, &case, &dir, command.as_deref())?;
        if !known.is_empty() {
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

fn confirmation(root: &Root, case: &Case, advice: &Advice, dir: &Path) -> Result<Option<PathBuf>> {
    if machine::device::find(root, &case.confirm_on).is_err() {
        return Ok(None);
    }
    let path = dir.join("confirm.toml");
    write(&path, &case.confirmation(advice)?, std::slice::from_ref(&advice.sentence))?;
    Ok(Some(path))
}

/// Fits a model of the recorded disk into the directory: from new reads for a hard disk in this
/// machine, otherwise from the trace.
fn fitted(
    root: &Root,
    args: &AdviseArgs,
    trace: &Path,
    is_trace: bool,
    dir: &Path,
) -> Result<String> {
    let turns = !is_trace
        && machine::device::find(root, &args.subject)?.kind == machine::device::Kind::Rotational;
    let fitted = if turns {
        let (stop, progress) = (Stop::install()?, Progress::new(args.quiet || args.json));
        let request = fit::Request {
            device: args.subject.clone(),
            writes_from: Some(trace.to_path_buf()),
            loop_dir: PathBuf::from("/var/tmp"),
            seed: args.seed,
            ..fit::Request::default()
        };
        fit::fit(root, &request, &stop, &progress)?
    } else {
        let mut next = String::from(
            "give --model FILE.toml (sudo schedlab fit DEVICE --out FILE.toml) or a name of schedlab list devices",
        );
        if !is_trace {
            next.push_str(", or record it while it works, for longer with --for");
        }
        fit::fit_trace(trace, args.seed).with_context(|| format!("{}: {next}", args.subject))?
    };
    if !args.quiet {
        fitted.warnings.iter().for_each(out::note);
    }
    let path = dir.join("model.toml");
    machine::files::replace_at(&path, fitted.description.as_bytes())?;
    Ok(path.display().to_string())
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
    let (store, end) = measure(one)?;
    if matches!(end.reason.ending(), Ending::Interrupted | Ending::Failed) {
        out::note(format_args!("{}: {}", end.reason.word(), end.reason));
        return Ok(None);
    }
    let record = lab::store::read(&store)?;
    let analysis = experiment::analyze(&record, None);
    report_files::write_all(&store, &analysis, Some(&report_files::evidence(&record)))?;
    Ok(Some(case.advice(&analysis)))
}

fn show(advice: &Advice, case: &Case, dir: &Path, command: Option<&str>) -> Result<()> {
    out::paragraph(&advice.sentence)?;
    // Only for a disk of this machine.
    if let Some(words) = advice.set.as_ref().filter(|_| command.is_some()) {
        let set: Vec<String> = words.iter().map(|word| quoted(word.clone())).collect();
        out::line(format_args!(
            "until the next boot: sudo schedlab set {} {}",
            quoted(case.confirm_on.clone()),
            set.join(" ")
        ))?;
    }
    out::line("")?;
    out::table(&table(advice))?;
    out::line("\nWhy:")?;
    advice.reasons.iter().try_for_each(|reason| out::hanging("- ", reason))?;
    out::line("\nHow far to trust it:")?;
    let trust = &advice.trust;
    let Advice { arena, model, baseline, .. } = advice;
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
    let agreement = match (
        trust.recorded_mean_us,
        trust.replayed_mean_us,
        trust.replayed_to_recorded,
    ) {
        (Some(recorded), Some(replayed), Some(ratio)) => format!(
            "mean latency as recorded {recorded:.0} µs, in the replay under {baseline} {replayed:.0} µs: {}",
            notation::change(ratio)
        ),
        _ => "the trace has no latencies, so that the replay cannot be compared with it".into(),
    };
    out::hanging("- ", &agreement)?;
    advice.cautions.iter().try_for_each(|caution| out::hanging("- ", caution))?;
    match command {
        Some(command) => out::line(format_args!("\nConfirm it on the real disk:\n  {command}"))?,
        None => {
            out::line("")?;
            out::paragraph(&format!(
                "No plan to confirm it: this machine has no {}; name a disk of the same kind by --confirm-on DEVICE",
                case.confirm_on
            ))?
        }
    }
    if let Some(writes) = case.writes().filter(|_| command.is_some()) {
        out::line(format_args!("  {writes}"))?;
    }
    out::line(format_args!(
        "\nthe report of the replay is {}",
        dir.join("replay/report.html").display()
    ))
}

fn table(advice: &Advice) -> Columns {
    let mut table =
        Columns::new(["SCHEDULER", "MEAN µs", "P99 µs", "AGAINST BASELINE", "INTERVAL", "VERDICT"]);
    let us =
        |value: Option<f64>| value.map_or_else(|| "invalid".to_owned(), |us| format!("{us:.0}"));
    for of in &advice.expected {
        let change = of.ratio.map(|ratio| Change { ratio, low: of.low, high: of.high });
        let [estimate, interval] = match change {
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
