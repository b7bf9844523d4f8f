//! `schedlab compare` and `schedlab run`: one experiment from the user's words to the report.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use elevator::Named;
use experiment::metric;
use experiment::plan::{self, Arm, Budget, Criteria, Method, Plan, TrialLength};
use experiment::record::{End, Header, Note, Record};
use host::Root;
use host::device;
use jiff::Timestamp;

use crate::arena::Arena;
use crate::arena::host::{HostArena, Target};
use crate::cli::{CompareArgs, ConductArgs, MethodArg, RunArgs};
use crate::command::study::has_void;
use crate::conduct::{self, Conductor};
use crate::failure::{FAILED, REACHED, VOID, usage};
use crate::progress::Progress;
use crate::report::{self, Evidence, terminal};
use crate::signals::Stop;
use crate::store::Store;
use crate::words::nearest;

/// Compares what the flags name.
pub(crate) fn compare(root: &Root, args: &CompareArgs) -> Result<u8> {
    let mut plan = checked(plan_of(root, args)?)?;
    if args.budget.is_none() && plan.budget.blocks.is_some() {
        // The usual budget has set the length of a trial; that many blocks are measured, however long they take.
        plan.budget.time_s = plan.budget.time_s.max(4.0 * conduct::expected_s(&plan));
    }
    if args.plan_only {
        print!("{}", plan.to_toml());
        return Ok(REACHED);
    }
    carry_out(root, plan, &args.conduct)
}

/// Runs a plan file.
pub(crate) fn run(root: &Root, args: &RunArgs) -> Result<u8> {
    let named = || args.plan.display().to_string();
    let text =
        std::fs::read_to_string(&args.plan).map_err(|e| usage(format!("cannot read the plan {}: {e}", named())))?;
    let plan = Plan::from_toml(&text).map_err(|e| usage(format!("{}: {e}", named())))?;
    carry_out(root, checked(plan)?, &args.conduct)
}

impl From<MethodArg> for Method {
    fn from(arg: MethodArg) -> Method {
        match arg {
            MethodArg::Anytime => Method::Anytime,
            MethodArg::Fixed => Method::Fixed,
            MethodArg::ThreeSigma => Method::ThreeSigma,
        }
    }
}

fn plan_of(root: &Root, args: &CompareArgs) -> Result<Plan> {
    let seconds = |flag: &str, word: &str| plan::parse_duration_s(word).map_err(|e| usage(format!("{flag}: {e}")));
    let percent = |flag: &str, word: &str| plan::parse_percent(word).map_err(|e| usage(format!("{flag}: {e}")));
    let millis = |flag: &str, word: &Option<String>| -> Result<Option<u64>> {
        word.as_ref().map(|word| seconds(flag, word).map(|s| (s * 1000.0).round() as u64)).transpose()
    };
    let blocks = match args.blocks.as_str() {
        "auto" => None,
        word => Some(word.parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(|| {
            usage(format!("--blocks: {word:?} is neither auto nor a number above 0, e.g. --blocks 12"))
        })?),
    };
    let time_s = match &args.budget {
        Some(word) => seconds("--budget", word)?,
        None => Budget::default().time_s,
    };
    let now = present_scheduler(root, &args.device)?;
    let schedulers =
        if args.schedulers.is_empty() { every_scheduler(root, &args.device)? } else { args.schedulers.clone() };
    let arms = plan::parse_arms(&schedulers).map_err(|e| usage(format!("--schedulers: {e}")))?;
    let workloads = plan::parse_workloads(&args.workload).map_err(|e| usage(format!("--workload: {e}")))?;
    let baseline = args.baseline.clone().or_else(|| now.filter(|now| arms.iter().any(|arm| arm.name == *now)));
    Ok(Plan {
        schema: plan::SCHEMA,
        name: format!("{} on {}", args.workload.join(", "), args.device),
        arena: plan::ArenaKind::Host,
        device: args.device.clone(),
        seed: args.seed,
        baseline,
        budget: Budget { time_s, blocks, no_early_stop: blocks.is_some() },
        trial: TrialLength {
            duration_ms: millis("--trial-time", &args.trial_time)?,
            warmup_ms: millis("--warmup", &args.warmup)?,
        },
        criteria: Criteria {
            margin: percent("--margin", &args.margin)?,
            alpha: percent("--alpha", &args.alpha)?,
            method: args.method.into(),
            ..Criteria::default()
        },
        limits: plan::Limits::default(),
        arms,
        workloads,
    })
}

/// The scheduler that the device has now; a temporary loop device has none yet, and starts with `none`.
fn present_scheduler(root: &Root, word: &str) -> Result<Option<String>> {
    if Target::is_temporary(word)? {
        return Ok(Some("none".to_owned()));
    }
    Ok(device::find(root, word).map_err(|e| usage(e.to_string()))?.scheduler)
}

/// Every scheduler that the device offers. The device behind loop:SIZE is not made yet, so another one of its kind answers.
fn every_scheduler(root: &Root, word: &str) -> Result<Vec<String>> {
    let word = if Target::is_temporary(word)? { "loop0" } else { word };
    let device = device::find(root, word).map_err(|e| usage(format!("{e}; or name them with --schedulers")))?;
    Ok(device.available_schedulers.into_iter().chain(device.unloaded_schedulers).collect())
}

/// Checks a plan against what there is, and fills in what it leaves open.
fn checked(mut plan: Plan) -> Result<Plan> {
    for arm in &mut plan.arms {
        current_name(arm)?;
    }
    for spec in &mut plan.workloads {
        let kind = workload::find(&spec.kind).map_err(|e| usage(e.to_string()))?;
        let given = spec.params.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        let params = kind.params(given).map_err(|e| usage(format!("workload {}: {e}", spec.name)))?;
        spec.params = kind.show(&params).into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let primary = spec.primary.get_or_insert_with(|| kind.primary.to_owned());
        if metric::find(primary).is_none() {
            let nearest = nearest(primary, metric::METRICS.iter().map(|metric| metric.name));
            return Err(usage(format!(
                "workload {}: no metric is called {primary:?}{nearest}; see: schedlab list metrics",
                spec.name
            )));
        }
    }
    plan.check().map_err(|e| usage(e.to_string()))?;
    plan.baseline = Some(plan.baseline().to_owned());
    let (duration, warmup) = conduct::trial_length(&plan);
    let ms = |d: std::time::Duration| u64::try_from(d.as_millis()).expect("a trial is shorter than 584 million years");
    plan.trial = TrialLength { duration_ms: Some(ms(duration)), warmup_ms: Some(ms(warmup)) };
    Ok(plan)
}

/// Replaces an old name of a scheduler by today's, aloud; refuses one that is gone.
fn current_name(arm: &mut Arm) -> Result<()> {
    match elevator::resolve(&arm.scheduler) {
        Named::Current(_) | Named::Unknown => Ok(()),
        Named::Renamed { now, why } => {
            eprintln!("note: {} is measured as {}: {why}", arm.scheduler, now.name);
            now.name.clone_into(&mut arm.scheduler);
            Ok(())
        }
        Named::Gone { fate, nearest } => Err(usage(format!(
            "{} cannot be measured on this kernel: {fate}; the nearest choice is {} ({})",
            arm.scheduler, nearest.name, nearest.help
        ))),
    }
}

fn carry_out(root: &Root, plan: Plan, args: &ConductArgs) -> Result<u8> {
    let stop = Stop::install()?;
    let progress = Progress::new(args.quiet || args.json);
    HostArena::require_root()?;
    for outcome in host::restore_all(root)? {
        progress.say(&format!("an earlier schedlab ended uncleanly: {outcome}"));
    }
    let mut arena = HostArena::open(root, &plan, args, &stop, &progress)?;
    let result = measured(&plan, args, &mut arena, &stop, &progress);
    progress.clear();
    // Whatever happened, the machine is put back before anything else is said.
    let put_back = arena.finish();
    let (dir, end) = match (result, put_back) {
        (Ok(done), Ok(words)) => {
            words.iter().for_each(|word| progress.say(word));
            done
        }
        (Ok(_), Err(error)) => return Err(error),
        (Err(error), Ok(_)) => return Err(error),
        (Err(error), Err(also)) => {
            return Err(error.context(format!("and the settings could not be put back: {also:#}")));
        }
    };
    conclude(&dir, &end, args)
}

fn measured(
    plan: &Plan,
    args: &ConductArgs,
    arena: &mut HostArena<'_>,
    stop: &Stop,
    progress: &Progress,
) -> Result<(PathBuf, End)> {
    arena.rehearse(plan)?;
    let (mut store, record) = open_store(plan, args, arena)?;
    let end = Conductor::new(plan, &record, arena, &mut store, stop, progress).run()?;
    Ok((store.dir().to_path_buf(), end))
}

/// A new record, or the one to go on with.
fn open_store(plan: &Plan, args: &ConductArgs, arena: &mut HostArena<'_>) -> Result<(Store, Record)> {
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
            started_unix_ms: u64::try_from(now.as_millisecond()).context("the clock is before 1970")?,
            command: repeat_command(),
        };
        let store = Store::create(&dir, &header)?;
        return Ok((store, Record::new(header)));
    }
    let dir = args.out.as_deref().expect("clap requires --out with --resume");
    let (mut store, mut record) = Store::resume(dir)?;
    same_experiment(&record.header, plan, &environment, dir)?;
    let at_ms = record.last_ms();
    let text = format!("{}; {} trials were there", now.strftime("%Y-%m-%d %H:%M:%S UTC"), record.trials.len());
    let note = Note { at_ms, event: "resumed".to_owned(), text };
    store.append(&experiment::record::Line::Note(note.clone()))?;
    record.notes.push(note);
    Ok((store, record))
}

/// A record is one experiment on one machine: only the budget may be another when it is resumed.
fn same_experiment(
    header: &Header,
    plan: &Plan,
    environment: &experiment::record::Environment,
    dir: &Path,
) -> Result<()> {
    let comparable = |plan: &Plan| Plan { budget: Budget::default(), trial: TrialLength::default(), ..plan.clone() };
    if comparable(&header.plan) != comparable(plan) {
        return Err(usage(format!(
            "{} holds the record of another plan; go on with its own: schedlab run {}/plan.toml --out {0} --resume",
            dir.display(),
            dir.display()
        )));
    }
    for (section, name) in [("kernel", "release"), ("device", "identity"), ("device", "size_bytes")] {
        let of = |env: &experiment::record::Environment| env.get(section).and_then(|facts| facts.get(name)).cloned();
        let (then, now) = (of(&header.environment), of(environment));
        let temporary = section == "device" && Target::is_temporary(&plan.device)?;
        if then != now && !temporary {
            return Err(usage(format!(
                "the {section}'s {name} was {} and is {} now: trials of different machines are never joined; name another --out",
                then.as_deref().unwrap_or("unknown"),
                now.as_deref().unwrap_or("unknown")
            )));
        }
    }
    Ok(())
}

fn conclude(dir: &Path, end: &End, args: &ConductArgs) -> Result<u8> {
    let record = crate::store::read(dir)?;
    let study = experiment::study(&record, None);
    let evidence = Evidence::of(&record);
    let files = report::write_all(dir, &study, Some(&evidence))?;
    if args.json {
        print!("{}", report::json::render(&study)?);
    } else {
        let options = terminal::Options::of_stdout(args.verbose);
        print!("{}", terminal::render(&study, Some(&evidence), &files, &options));
    }
    Ok(match end.why.as_str() {
        "interrupted" | "failed" => {
            eprintln!("{}: {}", end.why, end.text);
            FAILED
        }
        _ if has_void(&study) => VOID,
        _ => REACHED,
    })
}

/// The command line, quoted so that a shell reads it back.
fn repeat_command() -> String {
    let plain =
        |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=./:,%+@".contains(c));
    let quoted = |word: String| if plain(&word) { word } else { format!("'{}'", word.replace('\'', r"'\''")) };
    let mut words: Vec<String> = std::env::args().map(quoted).collect();
    if let Some(first) = words.first_mut() {
        "schedlab".clone_into(first);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_of_record_can_be_run() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
        let mut seen = 0;
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let plan = Plan::from_toml(&std::fs::read_to_string(&path).unwrap());
            let plan = plan.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let plan = checked(plan).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            // What is written into an experiment's directory gives the same experiment again.
            assert_eq!(checked(Plan::from_toml(&plan.to_toml()).unwrap()).unwrap(), plan, "{}", path.display());
            seen += 1;
        }
        assert!(seen >= 3, "the plans of record are in plans/");
    }

    #[test]
    fn a_trial_is_as_long_as_a_dozen_blocks_allow() {
        let text = |budget: &str| {
            format!(
                "device = \"loop:16M\"\n[budget]\n{budget}\n[[arm]]\nname = \"a\"\nscheduler = \"none\"\n[[arm]]\nname = \"b\"\n\
                 scheduler = \"bfq\"\n[[workload]]\nname = \"r\"\nkind = \"randread\"\n"
            )
        };
        let length = |budget: &str| checked(Plan::from_toml(&text(budget)).unwrap()).unwrap().trial;
        let of = |ms: u64, warmup: u64| TrialLength { duration_ms: Some(ms), warmup_ms: Some(warmup) };
        assert_eq!(length("time_s = 60"), of(2058, 411));
        assert_eq!(length("time_s = 1"), of(100, 20), "shorter than a tenth of a second measures the start only");
        assert_eq!(length("time_s = 100000"), of(10_000, 2000), "more blocks are better than longer trials");
    }
}
