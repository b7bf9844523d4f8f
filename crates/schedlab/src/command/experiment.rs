//! `schedlab compare` and `schedlab run`: one experiment from the user's words to the report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use experiment::plan::{self, ArenaKind, Budget, Plan, TrialLength};
use experiment::record::{End, Ending, Environment, Event, Header, Note, Record};
use host::Root;
use jiff::Timestamp;

use crate::cli::{CompareArgs, ConductArgs, DesignArgs, RunArgs};
use crate::command::plan::{checked, plan_of};
use crate::command::study::has_void;
use crate::failure::{FAILED, REACHED, VOID, usage};
use crate::out;
use crate::progress::Progress;
use crate::report_files;
use lab::arena::Arena;
use lab::arena::host::Target;
use lab::arena::open::within;
use lab::conduct::{self, Conductor};
use lab::resolve::{locate_files, locate_patches};
use lab::signals::Stop;
use lab::store::Store;

/// Compares what the flags name.
pub(crate) fn compare(root: &Root, args: &CompareArgs) -> Result<u8> {
    let plan = plan_of(root, &args.design, (&args.schedulers, args.baseline.as_deref()))?;
    as_designed(root, plan, &args.design, &args.conduct)
}

/// Checks and carries out a plan that was made of flags, or prints it.
pub(super) fn as_designed(root: &Root, mut plan: Plan, design: &DesignArgs, conduct: &ConductArgs) -> Result<u8> {
    locate_patches(&mut plan, None)?;
    let asked = plan.trial.clone();
    let plan = settled(plan, design)?;
    if design.plan_only {
        out::print(plan.to_toml())?;
        return Ok(REACHED);
    }
    carry_out(root, plan, &asked, conduct)
}

/// The checked plan of a design: with a number of blocks and no budget, it is as long as these blocks take.
pub(super) fn settled(mut plan: Plan, design: &DesignArgs) -> Result<Plan> {
    locate_files(&mut plan, None);
    let mut plan = checked(plan)?;
    if design.budget.is_none() && plan.budget.blocks.is_some() {
        // The usual budget has set the length of a trial; that many blocks are measured, however long they take.
        plan.budget.time_s = plan.budget.time_s.max(4.0 * conduct::expected_s(&plan));
    }
    Ok(plan)
}

/// Longer than any plan.
const LARGEST_PLAN: u64 = 4 << 20;

/// Runs a plan file.
pub(crate) fn run(root: &Root, args: &RunArgs) -> Result<u8> {
    let named = || args.plan.display().to_string();
    let unreadable = |e| usage(format!("{}: cannot read the plan: {e}", named()));
    let found = std::fs::metadata(&args.plan).map_err(unreadable)?;
    if !found.is_file() || found.len() > LARGEST_PLAN {
        return Err(usage(format!("{}: not a plan; name a regular file of at most 4 MiB", named())));
    }
    let text = std::fs::read_to_string(&args.plan).map_err(unreadable)?;
    let mut plan = Plan::from_toml(&text).map_err(|e| usage(format!("{}: {e}", named())))?;
    for note in Plan::notes(&text) {
        out::note(format_args!("note: {}: {note}", named()));
    }
    locate_patches(&mut plan, args.plan.parent())?;
    locate_files(&mut plan, args.plan.parent());
    if let Some(word) = &args.budget {
        plan.budget.time_s = plan::parse_duration_s(word).map_err(|e| usage(format!("--budget: {e}")))?;
    }
    planned(root, plan, &args.conduct)
}

/// Checks and carries out a plan that was read from a file.
pub(crate) fn planned(root: &Root, plan: Plan, conduct: &ConductArgs) -> Result<u8> {
    let asked = plan.trial.clone();
    carry_out(root, checked(plan)?, &asked, conduct)
}

/// `asked` is the length of trials that the user named; the plan's own has what was chosen.
fn carry_out(root: &Root, mut plan: Plan, asked: &TrialLength, args: &ConductArgs) -> Result<u8> {
    if args.resume {
        plan.trial = trial_of_record(asked, args)?;
    }
    let (stop, progress) = (Stop::install()?, Progress::new(args.quiet || args.json));
    let (dir, end) = within(root, &plan, &args.opening(), &stop, &progress, |arena| {
        let (mut store, record) = open_store(&plan, args, arena)?;
        if let Some(format) = args.trace {
            arena.trace(format.into(), &store.dir().join(report_files::TRACES))?;
        }
        let end = Conductor::new(&plan, &record, arena, &mut store, &stop, &progress).run()?;
        Ok((store.dir().to_path_buf(), end))
    })?;
    conclude(&dir, &end, args)
}

/// Trials of one record are all of one length: a resumed experiment goes on with its record's.
fn trial_of_record(asked: &TrialLength, args: &ConductArgs) -> Result<TrialLength> {
    let dir = args.out.as_deref().expect("clap requires --out with --resume");
    let trial = lab::store::read(dir)?.header.plan.trial;
    let other = |asked: Option<u64>, recorded: Option<u64>| asked.is_some() && asked != recorded;
    if other(asked.duration_ms, trial.duration_ms) || other(asked.warmup_ms, trial.warmup_ms) {
        return Err(usage(format!(
            "{}: measured in trials of {} ms with {} ms of warm-up, and another length would be another experiment; leave it out, or \
             name another --out",
            dir.display(),
            trial.duration_ms.unwrap_or_default(),
            trial.warmup_ms.unwrap_or_default()
        )));
    }
    Ok(trial)
}

/// A new record, or the one to go on with.
pub(super) fn open_store(plan: &Plan, args: &ConductArgs, arena: &mut dyn Arena) -> Result<(Store, Record)> {
    let environment = arena.capture()?;
    let now = Timestamp::now();
    if !args.resume {
        let dir = args
            .out
            .clone()
            .unwrap_or_else(|| Path::new("schedlab-out").join(now.strftime("%Y%m%dT%H%M%SZ").to_string()));
        let header = Header {
            schema: plan::SCHEMA,
            schedlab: env!("CARGO_PKG_VERSION").to_owned(),
            plan: plan.clone(),
            environment,
            // Virtual time begins at 0: the same plan gives the same record, byte for byte.
            started_unix_ms: if plan.arena.is_virtual() {
                0
            } else {
                u64::try_from(now.as_millisecond()).context("clock: before 1970")?
            },
            command: repeat_command(),
        };
        let store = Store::create(&dir, &header)?;
        return Ok((store, Record::new(header)));
    }
    let dir = args.out.as_deref().expect("clap requires --out with --resume");
    let (mut store, mut record) = Store::resume(dir)?;
    same_experiment(&record.header, plan, &environment, dir)?;
    let at_ms = record.last_ms();
    let at = (!plan.arena.is_virtual()).then(|| now.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
    let note = Note { at_ms, event: Event::Resumed { trials: record.trials.len() as u64, at } };
    store.append(&experiment::record::Line::Note(note.clone()))?;
    record.notes.push(note);
    Ok((store, record))
}

/// A record is one experiment on one machine: only the budget may be another when it is resumed.
fn same_experiment(header: &Header, plan: &Plan, environment: &Environment, dir: &Path) -> Result<()> {
    let comparable = |plan: &Plan| Plan { budget: Budget::default(), ..plan.clone() };
    if comparable(&header.plan) != comparable(plan) {
        return Err(usage(format!(
            "{}: holds the record of another plan; go on with its own: schedlab run {}/plan.toml --out {0} --resume",
            dir.display(),
            dir.display()
        )));
    }
    let same = [
        ("kernel", "release"),
        ("device", "identity"),
        ("device", "size_bytes"),
        ("device", "description"),
        ("traces", "replayed"),
    ];
    for (section, name) in same {
        let (then, now) = (of(&header.environment, section, name), of(environment, section, name));
        let temporary = plan.arena == ArenaKind::Disk && section == "device" && Target::is_temporary(&plan.device)?;
        if then != now && !temporary {
            return Err(usage(format!(
                "{section}: another {name} (found {}, expected {}), and trials of different machines are never joined; name another --out",
                now.as_deref().unwrap_or("unknown"),
                then.as_deref().unwrap_or("unknown")
            )));
        }
    }
    same_kernels(header, environment)?;
    let none = BTreeMap::new();
    let versions = |facts: &'_ Environment| facts.get("programs").unwrap_or(&none).clone();
    let (then, now) = (versions(&header.environment), versions(environment));
    for (label, version) in &now {
        let before = then.get(label).map_or("unknown", String::as_str);
        if before != version {
            return Err(usage(format!(
                "workload {label}: another version of its program (found {version}, expected {before}), and trials of different programs are never \
                 joined; name another --out"
            )));
        }
    }
    Ok(())
}

/// In the kernel arena the kernels and modules are part of the experiment: an edited patch gives another build.
fn same_kernels(header: &Header, environment: &Environment) -> Result<()> {
    let (then, now) = (&header.environment, environment);
    let names = |env: &Environment| env.get("kernel").map(|facts| facts.keys().cloned().collect()).unwrap_or_default();
    let all: BTreeSet<String> = [names(then), names(now)].into_iter().flat_map(|names: Vec<String>| names).collect();
    for name in all.iter().filter(|_| header.plan.arena == ArenaKind::Kernel) {
        let (then, now) = (of(then, "kernel", name), of(now, "kernel", name));
        if then != now {
            return Err(usage(format!(
                "kernel: another {name} (found {}, expected {}), and trials of different kernels are never joined; restore the patch, \
                 or name another --out",
                now.as_deref().unwrap_or("unknown"),
                then.as_deref().unwrap_or("unknown")
            )));
        }
    }
    Ok(())
}

fn of(env: &Environment, section: &str, name: &str) -> Option<String> {
    env.get(section)?.get(name).cloned()
}

fn conclude(dir: &Path, end: &End, args: &ConductArgs) -> Result<u8> {
    let record = lab::store::read(dir)?;
    let study = experiment::study(&record, None);
    let actuator = report_files::actuator_paths(dir, &record);
    let evidence = report::Evidence { actuator: &actuator, ..report_files::evidence(&record) };
    let files = report_files::write_all(dir, &study, Some(&evidence))?;
    if args.json {
        out::print(report::json(&study)?)?;
    } else {
        let options = out::report_options(args.verbose);
        out::print(report::terminal::render(&study, Some(&evidence), &files, &options))?;
    }
    let ending = end.reason.ending();
    if ending == Ending::BudgetSpent && record.header.plan.budget.blocks.is_some() {
        out::note(format_args!("the budget ended before every block of the plan was measured: {}", end.reason));
    }
    Ok(match ending {
        Ending::Interrupted | Ending::Failed => {
            out::note(format_args!("{}: {}", end.reason.word(), end.reason));
            FAILED
        }
        _ if has_void(&study) => VOID,
        _ => REACHED,
    })
}

/// The command that repeats the experiment, quoted so that a shell reads it back; without the place of this one's results.
pub(super) fn repeat_command() -> String {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    words.next();
    let mut kept = vec!["schedlab".to_owned()];
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" => drop(words.next()),
            "--resume" => {}
            word if word.starts_with("--out=") => {}
            _ => kept.push(quoted(word)),
        }
    }
    kept.join(" ")
}

fn quoted(word: String) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
