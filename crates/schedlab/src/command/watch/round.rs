//! One test of a watch, from the timer to the history entry.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use experiment::analysis::Analysis;
use experiment::history::finding::{self, Finding};
use experiment::notation;
use experiment::plan::Plan;
use experiment::results::Results;
use jiff::{Timestamp, Zoned};
use machine::files::{Dir, programs};
use machine::{Change, Device, Root, Setting};
use report::export::Exported;

use crate::cli::{ConductArgs, FailIfArgs, MonitorArgs};
use crate::command::experiment::planned;
use crate::failure::{FAILED, REACHED};
use crate::out;
use lab::resolve::programs::ProgramOptions;
use lab::signals::Stop;
use lab::watch::history::{Entry, History, Measured, Outcome};
use lab::watch::quiet::{self, NotNow};
use lab::watch::{Apply, Watch};

/// Opening, warm-up trials, comparison.
const BESIDE: Duration = Duration::from_secs(60);

/// A test skipped for the hour or for noise is not a failure, only recorded.
pub(crate) fn test(root: &Root, watch: &Watch, now: bool, programs: &ProgramOptions) -> Result<u8> {
    let Some(_mine) = watch.lock(root)? else {
        out::note(format_args!("{} is being tested by another process", watch.name));
        return Ok(REACHED);
    };
    let device = match machine::device::find_by_identity(root, &watch.identity, &watch.plan.device)
    {
        Ok(device) => device,
        Err(error) => {
            let why = format!(
                "{error}; if the device was replaced, remove the watch (schedlab watch remove {0}) and add it again",
                watch.name
            );
            return note(root, watch, &watch.plan.device, Outcome::Failed { why: why.clone() })
                .map(|()| {
                    out::note(format_args!("{}: {why}", watch.name));
                    FAILED
                });
        }
    };
    let named = device.path.display().to_string();
    if !now && let Some(why) = not_now(root, watch, &device)? {
        out::line(format_args!("{}: not tested: {why}", watch.name))?;
        note(root, watch, &named, Outcome::Skipped { why: why.to_string() })?;
        return Ok(REACHED);
    }
    let plan = Plan { device: named.clone(), ..watch.plan.clone() };
    match measure(root, watch, plan, programs) {
        Ok((measured, status)) => conclude(root, watch, &device, measured).map(|()| status),
        Err(error) => {
            note(root, watch, &named, Outcome::Failed { why: format!("{error:#}") })?;
            Err(error)
        }
    }
}

/// Returns the reason if no quiet moment came.
fn not_now(root: &Root, watch: &Watch, device: &Device) -> Result<Option<NotNow>> {
    let stop = Stop::install()?;
    let began = Instant::now();
    let left = watch.between.left(Zoned::now().time()).unwrap_or_default();
    let needed = Duration::from_secs_f64(watch.plan.budget.time_s) + BESIDE;
    let mut listen = || quiet::listen(root, &device.name);
    quiet::wait(watch, left, needed, &mut listen, &|| began.elapsed(), &stop)
}

fn measure(
    root: &Root,
    watch: &Watch,
    plan: Plan,
    programs: &ProgramOptions,
) -> Result<(Measured, u8)> {
    let report = format!("{}-{}", Timestamp::now().strftime("%Y%m%dT%H%M%SZ"), watch.name);
    // Two tests may begin in the same second.
    let made =
        lab::output::numbered(&Dir::make(History::of(root, &watch.identity)?.dir())?, &report)?;
    let dir = made.path().to_owned();
    let report = made.path().file_name().map_or(report, |name| name.to_string_lossy().into_owned());
    let conduct = ConductArgs {
        destroy_data: watch.destroy_data.then(|| plan.device.clone()),
        out: Some(dir.clone()),
        quiet: true,
        resume: false,
        loop_dir: "/var/tmp".into(),
        cache_dir: None,
        trace: None,
        run_as: programs.user.clone(),
        json: false,
        verbose: false,
        monitor: MonitorArgs::default(),
        fail_if: FailIfArgs::default(),
    };
    let status = planned(root, plan, &conduct, programs.agreement.clone())?;
    let results = lab::store::read(&dir)?;
    let path = dir.join("analysis.json");
    let text =
        fs::read_to_string(&path).with_context(|| format!("{}: cannot read", path.display()))?;
    let analysis: Analysis =
        serde_json::from_str(&text).with_context(|| format!("{} is broken", path.display()))?;
    if let Some(path) = &watch.textfile
        && let Err(error) = write_textfile(path, &watch.name, &results, &analysis)
    {
        // The test counts even without its metrics file.
        out::note(format_args!("{}: no metrics written: {error:#}", watch.name));
    }
    Ok((Measured::of(&analysis, &results, report), status))
}

/// World-readable regardless of the service's umask: node_exporter runs as another user.
fn write_textfile(path: &Path, name: &str, results: &Results, analysis: &Analysis) -> Result<()> {
    let exported = Exported { name, results, analysis };
    let text =
        report::export::export("openmetrics", &exported)?.context("openmetrics: not a format")?;
    let (dir, file) = Dir::of_file(path)?;
    dir.replace(&file, text.as_bytes())?;
    dir.set_mode(&file, 0o644)?;
    Ok(())
}

fn conclude(root: &Root, watch: &Watch, device: &Device, mut measured: Measured) -> Result<()> {
    let mut history = History::of(root, &watch.identity)?;
    let former = finding::standing(&history.entries, &watch.name, &watch.plan.variants);
    let change =
        former.as_ref().and_then(|former| former.changed_by(&measured, watch.plan.criteria.alpha));
    measured.changed = change.is_some();
    let former = former.map(|former| former.variant.to_owned());
    let stands =
        if measured.changed { None } else { former.clone() }.or(measured.recommended.clone());
    measured.applied = match (watch.apply, &stands) {
        (Apply::Set, Some(variant)) if measured.recommended.is_some() => {
            apply(root, watch, device, variant)?
        }
        _ => None,
    };
    let words = words(watch, device, &measured, &VerdictChange { former, finding: change });
    let changed = measured.changed;
    let at = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let named = device.path.display().to_string();
    history.append(
        root,
        Entry {
            at,
            watch: watch.name.clone(),
            device: named,
            outcome: Outcome::Measured(measured.into()),
        },
    )?;
    history.prune(&watch.name, watch.keep_reports);
    out::line(&words)?;
    if changed && let Some(command) = &watch.tell {
        tell(command, &words);
    }
    Ok(())
}

struct VerdictChange {
    former: Option<String>,
    finding: Option<Finding>,
}

fn words(watch: &Watch, device: &Device, measured: &Measured, change: &VerdictChange) -> String {
    let (device, now) =
        (device.path.display(), measured.recommended.as_deref().unwrap_or("no advice"));
    let changed = match (&change.former, &change.finding) {
        (None, _) => format!("The first verdict on {device}."),
        (Some(before), Some(Finding { workload, metric, ratio, low, high })) => format!(
            "The verdict on {device} has changed from {before} to {now}: {metric} of {workload} under {now}, against {before}, by {} \
             since that verdict.",
            notation::Change { ratio: *ratio, low: Some(*low), high: Some(*high) }
        ),
        (Some(before), None) if before == now => format!("The verdict on {device} is unchanged."),
        (Some(before), None) => format!(
            "The verdict on {device} is unchanged: {before}. This test alone gives {now}; what differs between the tests is within their noise."
        ),
    };
    let applied =
        measured.applied.as_ref().map_or_else(String::new, |what| format!("\nSet: {what}"));
    let hint = match (&measured.applied, watch.apply) {
        (None, Apply::Never) if measured.changed => {
            "\nNothing was changed; to apply the recommendation: schedlab set"
        }
        _ => "",
    };
    format!("{changed} {}{applied}{hint}", measured.sentence)
}

/// Returns what changed, if anything.
fn apply(root: &Root, watch: &Watch, device: &Device, variant: &str) -> Result<Option<String>> {
    let variant = watch
        .plan
        .variants
        .iter()
        .find(|known| known.name == variant)
        .context("recommendation: not a variant of the plan")?;
    let setting =
        Setting { scheduler: Some(variant.scheduler.clone()), tunables: variant.tunables.clone() };
    let done = Change::plan(root, device, &setting)?.carry_out()?;
    let changed: Vec<String> =
        done.changed.iter().map(|change| format!("{}={}", change.attribute, change.new)).collect();
    Ok(Some(changed.join(" ")).filter(|words| !words.is_empty()))
}

/// A failure is only reported.
fn tell(command: &str, words: &str) {
    let mut shell = programs::helper_at(Path::new("/bin/sh"));
    shell
        .args(["-c", command])
        .env("PATH", programs::path_of_the_user())
        .env_remove("LC_ALL")
        .stdin(Stdio::piped());
    programs::pass_env(&mut shell, &["LANG"]);
    let told = shell.spawn().and_then(|mut child| {
        if let Some(mut stdin) = child.stdin.take() {
            // A command may ignore its standard input.
            let _ = writeln!(stdin, "{words}");
        }
        child.wait()
    });
    match told {
        Ok(status) if status.success() => {}
        Ok(status) => {
            out::note(format_args!("the command of --tell ended with {status}: {command}"))
        }
        Err(error) => {
            out::note(format_args!("the command of --tell could not be started: {error}"))
        }
    }
}

fn note(root: &Root, watch: &Watch, device: &str, outcome: Outcome) -> Result<()> {
    let at = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let entry = Entry { at, watch: watch.name.clone(), device: device.to_owned(), outcome };
    History::of(root, &watch.identity)?.append(root, entry)
}

pub(crate) fn program() -> Result<std::path::PathBuf> {
    let exe = std::env::current_exe().context("schedlab: cannot find its own executable")?;
    Ok(fs::canonicalize(&exe).unwrap_or(exe))
}

/// Not in /tmp or a build directory.
pub(crate) fn will_stay(program: &Path) -> bool {
    !program.starts_with("/tmp") && !program.components().any(|part| part.as_os_str() == "target")
}
