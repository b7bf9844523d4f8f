//! `schedlab watch` and `schedlab watch history`.

mod round;

pub(crate) use round::{program, will_stay};

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use experiment::history::changes::changes;
use experiment::plan;
use machine::systemd::Timer;
use machine::{Device, Root};
use report::Columns;
use serde_json::json;

use super::experiment::settle;
use super::plan::plan_of;
use crate::cli::{ApplyArg, HistoryArgs, WatchAddArgs, WatchArgs, WatchCommand};
use crate::failure::{REACHED, usage};
use crate::out;
use lab::arena::disk::{DiskArena, Target};
use lab::resolve::Resolved;
use lab::resolve::programs::ProgramOptions;
use lab::watch::history::{History, Outcome};
use lab::watch::window::{Days, Window};
use lab::watch::{self, Apply, Watch, units};

const BUDGET: &str = "5min";
/// Read-only.
const WORKLOAD: &str = "randread";

pub(crate) fn watch(root: &Root, args: &WatchArgs) -> Result<u8> {
    match &args.what {
        WatchCommand::Add(args) => add(root, args),
        WatchCommand::List { json } => list(root, *json),
        WatchCommand::Run { watch, now, consent, run_as } => {
            let watch = Watch::load(root, &name_of(root, watch)?)?;
            DiskArena::require_root()?;
            let programs = ProgramOptions { agreement: consent.agreement(), user: run_as.clone() };
            round::test(root, &watch, *now, &programs)
        }
        WatchCommand::History(args) => history(root, args),
        WatchCommand::Remove { watch, force } => remove(root, &name_of(root, watch)?, *force),
    }
}

/// By the watch's name, or any name of its device that `watch add` accepts.
fn name_of(root: &Root, word: &str) -> Result<String> {
    if watch::names(root).iter().any(|name| name == word) {
        return Ok(word.to_owned());
    }
    let identity = machine::device::find(root, word).ok().map(|device| device.identity);
    let is_of =
        |watch: &Watch| Some(&watch.identity) == identity.as_ref() || watch.plan.device == word;
    let all = Watch::all(root).into_iter();
    let names: Vec<String> = all
        .filter_map(|(name, watch)| watch.is_ok_and(|watch| is_of(&watch)).then_some(name))
        .collect();
    match names.as_slice() {
        [name] => Ok(name.clone()),
        // Device gone or file unreadable: use the name that `watch add` would have chosen.
        [] if word.contains('/') => Ok(watch::name_for(Path::new(word))),
        [] => Ok(word.to_owned()),
        several => Err(usage(format!(
            "{word}: has several watches (found {}); name one of them",
            several.join(", ")
        ))),
    }
}

fn add(root: &Root, args: &WatchAddArgs) -> Result<u8> {
    let device = watched(root, args)?;
    let watch = described(root, args, &device)?;
    let files = files(root, &watch)?;
    if args.design.dry_run {
        for (path, text) in &files {
            out::print(format_args!("# {}\n{text}\n", path.display()))?;
        }
        return Ok(REACHED);
    }
    DiskArena::require_root()?;
    let name = &watch.name;
    if let Some((path, _)) = files.iter().find(|(path, _)| path.exists()) {
        return Err(usage(format!(
            "watch {name}: exists already ({}); remove it first (schedlab watch remove {name}), or give another --name",
            path.display()
        )));
    }
    machine::persist::install_files(root, &key(name), &format!("the watch {name}"), &files)?;
    let timer = format!("{}.timer", units::name(name));
    let started = match machine::systemd::enable(root, &timer) {
        Ok(started) => started,
        Err(error) => {
            let files: Vec<_> = files.into_iter().map(|(path, text)| (path, Some(text))).collect();
            machine::persist::remove_files(
                root,
                &key(name),
                &format!("the watch {name}"),
                &files,
                false,
            )?;
            return Err(error.into());
        }
    };
    let when = format!("{}, {}", watch.every, watch.between);
    out::line(format_args!(
        "watching {} as {name}: {when} (schedlab watch list)",
        device.path.display()
    ))?;
    cautions(&watch, &device, started);
    Ok(REACHED)
}

fn cautions(watch: &Watch, device: &Device, started: Timer) {
    let name = &watch.name;
    match started {
        Timer::Started => {}
        Timer::AtBoot => {
            out::note("note: systemd is not running; the timer starts at the next boot")
        }
        Timer::Never => out::note(format_args!(
            "note: systemd is not installed; let cron start this when the window opens: {} watch run {name}",
            watch.program.display()
        )),
    }
    if has_only_a_name(device) {
        out::note(format_args!(
            "note: {} has no world-wide name and no serial number: any device that has this name later is tested",
            device.path.display()
        ));
    }
    if !round::will_stay(&watch.program) {
        out::note(format_args!(
            "note: the service starts {}, which may be removed; install schedlab and add the watch with the installed program",
            watch.program.display()
        ));
    }
}

fn has_only_a_name(device: &Device) -> bool {
    device.identity.starts_with("name ")
}

fn files(root: &Root, watch: &Watch) -> Result<Vec<(PathBuf, String)>> {
    let units = units::units(root, watch)
        .map_err(|e| usage(e.to_string()))?
        .map(|unit| (unit.path, unit.text));
    Ok([(watch::path(root, &watch.name), watch.to_toml())].into_iter().chain(units).collect())
}

/// For locks and the journal.
fn key(name: &str) -> String {
    format!("watch-{name}")
}

/// Only permanent devices.
fn watched(root: &Root, args: &WatchAddArgs) -> Result<Device> {
    if let Some(why) = args.design.arena.watch_refusal {
        return Err(usage(why));
    }
    let word = &args.design.device;
    if Target::is_temporary(word)? {
        return Err(usage(format!(
            "--device {word}: a temporary device is gone when the experiment ends; name a disk"
        )));
    }
    machine::device::find(root, word).map_err(|e| usage(e.to_string()))
}

fn described(root: &Root, args: &WatchAddArgs, device: &Device) -> Result<Watch> {
    let between: Window = args.between.parse().map_err(|e| usage(format!("--between: {e}")))?;
    let every: Days = args.every.parse().map_err(|e| usage(format!("--every: {e}")))?;
    let percent = |flag: &str, word: &str| {
        plan::parse_percent(word).map_err(|e| usage(format!("{flag}: {e}")))
    };
    let max_busy = percent("--max-busy", &args.max_busy)?;
    if !(args.max_load.is_finite() && args.max_load > 0.0) {
        return Err(usage(format!(
            "--max-load {}: out of range; give a number above 0, e.g. 0.3",
            args.max_load
        )));
    }
    let mut design = args.design.clone();
    if design.budget.is_none() {
        design.budget = Some(BUDGET.to_owned());
    }
    if design.workload.is_empty() {
        design.workload = vec![WORKLOAD.to_owned()];
    }
    let destroys = match &args.destroy_data {
        Some(word) => {
            let named = machine::device::find(root, word)
                .map_err(|e| usage(format!("--destroy-data: {e}")))?;
            if named.identity != device.identity {
                return Err(usage(format!(
                    "--destroy-data {word}: not the watched device; name {}",
                    device.path.display()
                )));
            }
            if has_only_a_name(device) {
                return Err(usage(format!(
                    "--destroy-data {word}: {} has no world-wide name and no serial number, so at the next test another disk could \
                     have its name, and its data would be lost; watch it with a workload that only reads",
                    device.path.display()
                )));
            }
            true
        }
        None => false,
    };
    let name = args.name.clone().unwrap_or_else(|| watch::name_for(&device.path));
    let Resolved { mut plan, workloads, .. } =
        settle(plan_of(root, &design, &args.schedulers, args.baseline.as_deref(), None)?, &design)?;
    plan.name = format!("{} again", plan.name);
    if !destroys && (plan.files.is_some() || workloads.write()) {
        return Err(usage(format!(
            "{0}: the workloads write, which destroys its data; choose a workload that only reads, e.g. --workload {WORKLOAD}, without \
             --fs, or allow it with --destroy-data {0}",
            device.path.display()
        )));
    }
    let mut watch = Watch::new(&name, &device.identity, (between, every), round::program()?, plan)?;
    watch.max_load = args.max_load;
    watch.max_busy = max_busy;
    watch.apply = match args.apply {
        ApplyArg::Never => Apply::Never,
        ApplyArg::Set => Apply::Set,
    };
    watch.tell.clone_from(&args.tell);
    watch.run_as.clone_from(&args.run_as);
    watch.destroy_data = destroys;
    watch.keep_reports = args.keep_reports;
    watch.textfile = args.textfile.as_deref().map(textfile).transpose()?;
    let (needed, there) = (watch.plan.budget.time_s, between.length().as_secs_f64());
    if needed > there {
        return Err(usage(format!(
            "--between {between}: shorter than a test ({:.0} min); widen it, or give a smaller --budget",
            needed / 60.0
        )));
    }
    Ok(watch)
}

fn textfile(path: &Path) -> Result<PathBuf> {
    let whole = std::path::absolute(path)?;
    if whole.extension().is_none_or(|end| end != "prom") {
        return Err(usage(format!(
            "--textfile {}: node_exporter reads no such file; write FILE.prom",
            path.display()
        )));
    }
    if !whole.parent().is_some_and(Path::is_dir) {
        return Err(usage(format!(
            "--textfile {}: its directory does not exist; make it",
            path.display()
        )));
    }
    Ok(whole)
}

fn list(root: &Root, json: bool) -> Result<u8> {
    let mut rows = Vec::new();
    let mut table = Columns::new(["WATCH", "DEVICE", "WORK", "WHEN", "LAST TEST", "VERDICT"]);
    for (name, watch) in Watch::all(root) {
        let watch = match watch {
            Ok(watch) => watch,
            Err(error) => {
                let why = format!("{error:#}; or: schedlab watch remove {name} --force");
                table.row([&name, "", "", "", "cannot be read", &why]);
                rows.push(json!({"name": name, "error": why}));
                continue;
            }
        };
        let history = History::of(root, &watch.identity)?;
        let last = history.entries.iter().rev().find(|entry| entry.watch == watch.name);
        let measured = history.last_measured(&watch.name);
        let work: Vec<&str> = watch.plan.workloads.iter().map(|spec| spec.name.as_str()).collect();
        let when = format!("{}, {}", watch.every, watch.between);
        let told = match last.map(|last| &last.outcome) {
            None => String::new(),
            Some(Outcome::Measured(_)) => last.map_or_else(String::new, |last| last.at.clone()),
            Some(Outcome::Skipped { why }) => format!("skipped: {why}"),
            Some(Outcome::Failed { why }) => format!("failed: {why}"),
        };
        let verdict = measured.map_or("none yet", |measured| measured.sentence.as_str());
        let (device, work_list) = (watch.plan.device.as_str(), work.join(","));
        table.row([watch.name.as_str(), device, &work_list, &when, &told, verdict]);
        rows.push(
            json!({"name": watch.name, "device": watch.plan.device, "identity": watch.identity, "workloads": work,
            "every": watch.every, "between": watch.between, "apply": watch.apply, "last": last,
            "recommended": measured.and_then(|measured| measured.recommended.as_deref())}),
        );
    }
    if json {
        out::line(serde_json::to_string_pretty(&rows)?)?;
    } else if rows.is_empty() {
        out::line("no watches; add one with: schedlab watch add --device DEVICE")?;
    } else {
        out::table(&table)?;
    }
    Ok(REACHED)
}

fn remove(root: &Root, name: &str, force: bool) -> Result<u8> {
    let config = watch::path(root, name);
    let watch = match Watch::load(root, name) {
        Ok(watch) => watch,
        // An unreadable or incomplete watch must stay removable.
        Err(_) if force => return remove_whatever_is_there(root, name),
        Err(error)
            if units::paths(root, name).iter().chain([&config]).any(|path| path.exists()) =>
        {
            return Err(error.context(format!(
                "watch {name}: not removed (schedlab watch remove {name} --force removes its timer, service and file anyway)"
            )));
        }
        Err(error) => return Err(error),
    };
    DiskArena::require_root()?;
    // The config file may be edited, the units may not.
    let files: Vec<_> = files(root, &watch)?
        .into_iter()
        .map(|(path, text)| if path == config { (path, None) } else { (path, Some(text)) })
        .collect();
    let timer = format!("{}.timer", units::name(name));
    machine::systemd::disable(root, &timer)?;
    if let Err(error) = machine::persist::remove_files(
        root,
        &key(name),
        &format!("the watch {name}"),
        &files,
        force,
    ) {
        // Nothing was removed, so the timer continues.
        machine::systemd::enable(root, &timer)?;
        return Err(error.into());
    }
    machine::systemd::reload(root)?;
    out::line(format_args!(
        "removed the watch {name}; its history is retained: schedlab watch history"
    ))?;
    Ok(REACHED)
}

fn remove_whatever_is_there(root: &Root, name: &str) -> Result<u8> {
    watch::check_name(name)?;
    DiskArena::require_root()?;
    let files = units::paths(root, name).into_iter().chain([watch::path(root, name)]);
    let files: Vec<_> = files.map(|path| (path, None)).collect();
    if files
        .iter()
        .any(|(path, _)| path.extension().is_some_and(|end| end == "timer") && path.exists())
    {
        machine::systemd::disable(root, &format!("{}.timer", units::name(name)))?;
    }
    machine::persist::remove_files(root, &key(name), &format!("the watch {name}"), &files, true)?;
    machine::systemd::reload(root)?;
    out::line(format_args!(
        "removed the remains of the watch {name}; its history is retained: schedlab watch history"
    ))?;
    Ok(REACHED)
}

fn history(root: &Root, args: &HistoryArgs) -> Result<u8> {
    let histories = match &args.device {
        None => History::all(root)?,
        Some(word) => {
            let device = machine::device::find(root, word).map_err(|e| usage(e.to_string()))?;
            vec![History::of(root, &device.identity)?]
        }
    };
    let run_length = f64::from(args.false_alarm_every);
    let there = histories.iter().filter(|history| !history.entries.is_empty());
    let changed: Vec<_> =
        there.map(|history| (history, changes(&history.entries, run_length))).collect();
    let there: Vec<_> = changed
        .iter()
        .map(|(history, changes)| report::history::History {
            entries: &history.entries,
            broken: history.broken,
            changes,
            run_length,
        })
        .collect();
    if let Some(path) = &args.out {
        if there.is_empty() {
            return Err(usage(nothing(args.device.as_deref())));
        }
        machine::files::replace_at(path, report::history::page(&there)?.as_bytes())?;
    }
    if args.json {
        let entries: Vec<_> = there.iter().flat_map(|history| history.entries).collect();
        let changes: Vec<_> = there.iter().flat_map(|history| history.changes).collect();
        out::line(serde_json::to_string_pretty(&json!({"entries": entries, "changes": changes}))?)?;
    } else if there.is_empty() {
        out::line(nothing(args.device.as_deref()))?;
    } else {
        for history in &there {
            out::print(report::history::terminal(history, out::width()))?;
        }
        if let Some(path) = &args.out {
            out::line(format_args!("\n{}", path_of(path)))?;
        }
    }
    Ok(REACHED)
}

fn nothing(device: Option<&str>) -> String {
    let of = device.map_or_else(String::new, |device| format!(" of {device}"));
    format!(
        "no history{of} yet; add a watch with: schedlab watch add --device {}",
        device.unwrap_or("DEVICE")
    )
}

fn path_of(path: &Path) -> String {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}
