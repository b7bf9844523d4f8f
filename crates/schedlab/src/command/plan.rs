//! From the user's words to a plan that can be carried out.
//!
//! Flags and plan files meet here: old names are translated aloud, what is left open is filled in, and whatever can be known to be
//! wrong without touching the machine is refused with the next step.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use elevator::Named;
use experiment::metric;
use experiment::metric::Direction;
use experiment::plan::{
    self, ArenaKind, Arm, Better, Budget, Criteria, FileSystemSpec, Method, OwnMetric, Plan, TrialLength, WorkloadSpec,
};
use host::Root;
use host::device;
use runner::{Form, RunnerKind};
use workload::WorkloadKind;

use crate::arena::host::Target;
use crate::arena::kernel;
use crate::arena::sim::{Model, Setting};
use crate::cli::{DesignArgs, MethodArg};
use crate::conduct;
use crate::failure::usage;
use crate::out;
use crate::words::nearest;
use crate::work::{self, Program};

mod processors;

impl From<MethodArg> for Method {
    fn from(arg: MethodArg) -> Method {
        match arg {
            MethodArg::Anytime => Method::Anytime,
            MethodArg::Fixed => Method::Fixed,
            MethodArg::ThreeSigma => Method::ThreeSigma,
        }
    }
}

/// The plan that compares schedulers, all that there are if none is named, not yet checked. Unless a baseline is named, it is what
/// the device has now.
pub(super) fn plan_of(
    root: &Root,
    design: &DesignArgs,
    (schedulers, baseline): (&[String], Option<&str>),
) -> Result<Plan> {
    if design.arena_kind().is_cpu() {
        return processors::plan_of(design, schedulers, baseline);
    }
    let arms = if schedulers.is_empty() {
        every_scheduler(root, design)?.into_iter().map(|name| bare(&name)).collect()
    } else {
        plan::parse_arms(schedulers).map_err(|e| usage(format!("--schedulers: {e}")))?
    };
    let mut plan = designed(design, arms)?;
    let now = if plan.arena == ArenaKind::Disk { present_scheduler(root, &design.device)? } else { None };
    let present = now.and_then(|now| plan.arms.iter().find(|arm| is_plain(arm, &now)).map(|arm| arm.name.clone()));
    plan.baseline = baseline.map(str::to_owned).or(present);
    Ok(plan)
}

/// The plan that the flags of a design describe, with these arms, not yet checked; its baseline is the first of them.
pub(super) fn designed(design: &DesignArgs, arms: Vec<Arm>) -> Result<Plan> {
    let seconds = |flag: &str, word: &str| plan::parse_duration_s(word).map_err(|e| usage(format!("{flag}: {e}")));
    let percent = |flag: &str, word: &str| plan::parse_percent(word).map_err(|e| usage(format!("{flag}: {e}")));
    let millis = |flag: &str, word: &Option<String>| -> Result<Option<u64>> {
        let is_zero = |word: &str| word.trim_end_matches(|c: char| c.is_ascii_alphabetic()) == "0";
        let ms = |word: &String| match flag {
            "--warmup" if is_zero(word) => Ok(0),
            _ => seconds(flag, word).map(|s| (s * 1000.0).round() as u64),
        };
        word.as_ref().map(ms).transpose()
    };
    let blocks = match design.blocks.as_str() {
        "auto" => None,
        word => Some(word.parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(|| {
            usage(format!("--blocks: {word:?} is neither auto nor a number above 0, e.g. --blocks 12"))
        })?),
    };
    let time_s = match &design.budget {
        Some(word) => seconds("--budget", word)?,
        None => Budget::default().time_s,
    };
    let mut workloads = plan::parse_workloads(&design.workload).map_err(|e| usage(format!("--workload: {e}")))?;
    for load in &design.place.background {
        let load = plan::parse_background(load).map_err(|e| usage(format!("--background: {e}")))?;
        workloads.iter_mut().for_each(|workload| workload.background.push(load.clone()));
    }
    if let Some(clients) = design.clients {
        set_clients(&mut workloads, clients)?;
    }
    Ok(Plan {
        schema: plan::SCHEMA,
        name: format!("{} on {}", design.workload.join(", "), design.device),
        arena: design.arena_kind(),
        device: design.device.clone(),
        kernel: design.kernel.clone(),
        seed: design.seed,
        baseline: None,
        budget: Budget { time_s, blocks, no_early_stop: blocks.is_some() },
        trial: TrialLength {
            duration_ms: millis("--trial-time", &design.trial_time)?,
            warmup_ms: millis("--warmup", &design.warmup)?,
        },
        criteria: Criteria {
            margin: percent("--margin", &design.margin)?,
            alpha: percent("--alpha", &design.alpha)?,
            method: design.method.into(),
            ..Criteria::default()
        },
        limits: plan::Limits::default(),
        arms,
        workloads,
        files: design.place.fs.map(|kind| FileSystemSpec {
            kind: kind.name().to_owned(),
            mkfs: design.place.mkfs_options.clone().unwrap_or_default(),
            mount: design.place.mount_options.clone().unwrap_or_default(),
        }),
        metrics: Vec::new(),
        published: Vec::new(),
    })
}

/// A scheduler as the kernel sets it up.
pub(crate) fn bare(scheduler: &str) -> Arm {
    Arm { name: scheduler.to_owned(), scheduler: scheduler.to_owned(), tunables: BTreeMap::new() }
}

/// Gives every workload that has clients, and does not say how many, this number of them.
fn set_clients(workloads: &mut [WorkloadSpec], clients: u32) -> Result<()> {
    let mut taken = false;
    for spec in workloads.iter_mut() {
        let accepts = match runner::find(&spec.kind) {
            Some(kind) => kind.options.iter().any(|option| option.name == "clients"),
            None => work::find(&spec.kind)?.accepts.contains(&"clients"),
        };
        if accepts {
            spec.params.entry("clients".to_owned()).or_insert_with(|| clients.to_string());
            taken = true;
        }
    }
    if taken {
        Ok(())
    } else {
        Err(usage(format!("--clients {clients}: none of the workloads has a number of clients")))
    }
}

/// Whether an arm is a scheduler as the kernel sets it up, under whatever name the user knows it.
fn is_plain(arm: &Arm, scheduler: &str) -> bool {
    let name = match elevator::resolve(&arm.scheduler) {
        Named::Renamed { now, .. } => now.name,
        _ => &arm.scheduler,
    };
    name == scheduler && arm.tunables.is_empty()
}

/// The scheduler that the device has now; a temporary loop device has none yet, and starts with `none`.
pub(super) fn present_scheduler(root: &Root, word: &str) -> Result<Option<String>> {
    if Target::is_temporary(word)? {
        return Ok(Some("none".to_owned()));
    }
    Ok(device::find(root, word).map_err(|e| usage(e.to_string()))?.scheduler)
}

/// Every scheduler that there is to choose from: on the host those that the device offers (for the device behind loop:SIZE, which is
/// not made yet, those that it will offer), in virtual time those of current Linux.
pub(super) fn every_scheduler(root: &Root, design: &DesignArgs) -> Result<Vec<String>> {
    let word = design.device.as_str();
    if design.arena_kind().is_virtual() {
        return Ok(elevator::LINUX.iter().map(|row| row.name.to_owned()).collect());
    }
    if Target::is_temporary(word)? {
        return Ok(host::loopdev::offered_for_new_loop(root));
    }
    let device = device::find(root, word).map_err(|e| usage(format!("{e}; or name them with --schedulers")))?;
    if let Some(why) = &device.no_scheduler {
        return Err(usage(format!("{} has no I/O scheduler to compare: {why}", device.path.display())));
    }
    Ok(device.available_schedulers.into_iter().chain(device.unloaded_schedulers).collect())
}

/// Finds the patches that arms name: where they are named from here, or else beside the plan.
pub(super) fn locate_patches(plan: &mut Plan, beside: Option<&Path>) -> Result<()> {
    let mut arms = plan.arms.iter_mut().filter(|_| plan.arena == ArenaKind::Kernel);
    arms.try_for_each(|arm| locate_patch(arm, beside))
}

/// Finds the files that programs name: where they are named from here, or else beside the plan. Whole paths afterwards, since a watch
/// runs the plan from elsewhere.
pub(super) fn locate_files(plan: &mut Plan, beside: Option<&Path>) {
    for spec in &mut plan.workloads {
        let Some(kind) = runner::find(&spec.kind) else { continue };
        for option in kind.all_options().filter(|option| option.form == Form::File) {
            let Some(named) = spec.params.get_mut(option.name) else { continue };
            let places = [Some(Path::new("").join(&*named)), beside.map(|dir| dir.join(&*named))];
            let found = places.into_iter().flatten().find_map(|place| std::fs::canonicalize(place).ok());
            if let Some(found) = found.as_deref().and_then(Path::to_str) {
                found.clone_into(named);
            }
        }
    }
}

/// Finds the patch of one arm.
pub(super) fn locate_patch(arm: &mut Arm, beside: Option<&Path>) -> Result<()> {
    let Some((name, patch)) = arm.scheduler.split_once('@') else { return Ok(()) };
    if Path::new(patch).is_file() {
        return Ok(());
    }
    let other = beside.map(|dir| dir.join(patch));
    match other.as_ref().filter(|other| other.is_file()) {
        Some(other) => {
            arm.scheduler = format!("{name}@{}", other.display());
            Ok(())
        }
        None => Err(usage(format!(
            "arm {}: there is no patch {patch}{}; {name}@FILE runs {name} of a kernel with that patch",
            arm.name,
            beside.map_or_else(String::new, |dir| format!(", neither here nor in {}", dir.display()))
        ))),
    }
}

/// Checks a plan against what there is, and fills in what it leaves open.
pub(crate) fn checked(mut plan: Plan) -> Result<Plan> {
    processors::check_arena(&plan)?;
    processors::settle(&mut plan);
    for arm in &mut plan.arms {
        check_arm(plan.arena, plan.kernel.as_deref(), arm)?;
    }
    check_virtual(&plan)?;
    processors::check_work(&plan)?;
    for spec in &mut plan.workloads {
        match runner::find(&spec.kind) {
            Some(kind) => complete_program(kind, spec, &mut plan.files, &mut plan.metrics)?,
            None => complete_workload(spec)?,
        }
        let primary = spec.primary.as_deref().unwrap_or_default();
        if plan.metrics.iter().all(|own| own.name != primary) {
            check_primary(&spec.name, primary)?;
        }
        for load in &mut spec.background {
            if plan.arena.is_cpu() {
                processors::complete_load(&spec.name, load)?;
                continue;
            }
            let kind = work::find_load(&spec.name, &load.kind)?;
            load.params = complete(kind, &load.params, &format!("{}, background {}", spec.name, load.kind))?;
        }
    }
    plan.check().map_err(|e| usage(e.to_string()))?;
    plan.baseline = Some(plan.baseline().to_owned());
    if plan.arena != ArenaKind::Kernel && plan.kernel.is_some() {
        return Err(usage(
            "--kernel (kernel in a plan): only the kernel arena chooses its kernel; leave it out".to_owned(),
        ));
    }
    if plan.arena.is_virtual() {
        in_virtual_time(&mut plan)?;
    }
    let (duration, warmup) = conduct::trial_length(&plan);
    let ms = |d: std::time::Duration| u64::try_from(d.as_millis()).expect("a trial is shorter than 584 million years");
    plan.trial = TrialLength { duration_ms: Some(ms(duration)), warmup_ms: Some(ms(warmup)) };
    let round_s = conduct::round_s(&plan);
    if plan.budget.time_s < round_s {
        return Err(usage(format!(
            "the budget of {} s is shorter than one block of every workload with its precondition, about {round_s:.1} s: give \
             --budget {:.0}s or more (budget.time_s in a plan), or shorter trials",
            plan.budget.time_s,
            (12.0 * round_s).ceil()
        )));
    }
    Ok(plan)
}

/// Fills in what a workload of the load engine leaves open.
fn complete_workload(spec: &mut WorkloadSpec) -> Result<()> {
    let kind = work::find(&spec.kind)?;
    spec.params = complete(kind, &spec.params, &spec.name)?;
    spec.primary.get_or_insert_with(|| kind.primary.to_owned());
    if !spec.share.is_plain() {
        return Err(usage(format!(
            "workload {}: {} is done by schedlab itself, which has no share of its own; give io_weight, io_max or ioprio to programs and to \
             the background",
            spec.name, spec.kind
        )));
    }
    Ok(())
}

fn complete(
    kind: &'static WorkloadKind,
    given: &BTreeMap<String, String>,
    label: &str,
) -> Result<BTreeMap<String, String>> {
    let pairs = given.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let params = kind.params(pairs).map_err(|e| usage(format!("workload {label}: {e}")))?;
    Ok(kind.show(&params).into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The same for a program: also the file system that it needs, and the metrics that only it reports.
fn complete_program(
    kind: &'static RunnerKind,
    spec: &mut WorkloadSpec,
    files: &mut Option<FileSystemSpec>,
    metrics: &mut Vec<OwnMetric>,
) -> Result<()> {
    let program = Program::of(kind, spec)?;
    spec.params = program.options.pairs().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    if program.needs_files() && files.is_none() {
        *files = Some(FileSystemSpec { kind: "ext4".to_owned(), mkfs: String::new(), mount: String::new() });
    }
    for (name, more_is_better) in (kind.own_metrics)(&program.options) {
        let better = if more_is_better { Better::Higher } else { Better::Lower };
        match metrics.iter().find(|own| own.name == name) {
            Some(own) if own.better != better => {
                return Err(usage(format!(
                    "workload {}: the plan says otherwise which way {name} is better",
                    spec.name
                )));
            }
            Some(_) => {}
            None => metrics.push(OwnMetric { name, better }),
        }
    }
    spec.primary.get_or_insert_with(|| (kind.primary)(&program.options));
    Ok(())
}

/// Programs, file systems and load in the background need a machine.
fn check_virtual(plan: &Plan) -> Result<()> {
    if !plan.arena.is_virtual() {
        return Ok(());
    }
    let program = plan.workloads.iter().find(|spec| runner::find(&spec.kind).is_some());
    if let Some(spec) = program {
        return Err(usage(format!(
            "workload {}: the program {} is measured on this machine only (--arena disk); a program runs in virtual time, without verdicts, with \
             schedlab kernel exec",
            spec.name, spec.kind
        )));
    }
    if plan.files.is_some() {
        return Err(usage("--fs (files in a plan): only on this machine; in the kernel arena an arm takes fs=ext4"));
    }
    if plan.workloads.iter().any(|spec| !spec.background.is_empty()) {
        return Err(usage(
            "--background: only on this machine; in virtual time take a workload with several kinds of clients, e.g. mixed",
        ));
    }
    Ok(())
}

/// An arm's scheduler exists and takes its tunables, as far as that can be known without the device.
fn check_arm(arena: ArenaKind, kernel: Option<&str>, arm: &mut Arm) -> Result<()> {
    match arena {
        ArenaKind::Disk => current_name(arm),
        ArenaKind::Cpu => processors::check_arm(arm),
        // In the simulator an old name means the old scheduler.
        ArenaKind::Sim => Setting::of(arm).map(drop),
        ArenaKind::Kernel => kernel::Setting::of(arm)?.check_known(kernel),
    }
}

/// The schedulers that the user names to choose from, by their present names; each must be one of those that there are.
pub(super) fn named_schedulers(root: &Root, design: &DesignArgs, words: &[String]) -> Result<Vec<String>> {
    let arena = design.arena_kind();
    let offered = if arena == ArenaKind::Disk { every_scheduler(root, design)? } else { Vec::new() };
    let one = |word: &String| -> Result<String> {
        let mut arm = bare(word);
        check_arm(arena, design.kernel.as_deref(), &mut arm)?;
        if arena == ArenaKind::Disk && !offered.contains(&arm.scheduler) {
            let nearest = nearest(word, offered.iter().map(String::as_str));
            return Err(usage(format!(
                "{} does not offer the scheduler {word:?}{nearest}; it offers {}",
                design.device,
                offered.join(", ")
            )));
        }
        Ok(arm.scheduler)
    };
    words.iter().map(one).collect()
}

/// A metric that decides exists, and can decide.
fn check_primary(workload: &str, primary: &str) -> Result<()> {
    match metric::find(primary) {
        Some(row) if row.direction == Direction::Descriptive => Err(usage(format!(
            "workload {workload}: {primary} describes, and cannot decide: more of it is neither better nor worse; see: schedlab list metrics"
        ))),
        Some(_) => Ok(()),
        None => {
            let nearest = nearest(primary, metric::METRICS.iter().map(|metric| metric.name));
            Err(usage(format!(
                "workload {workload}: no metric is called {primary:?}{nearest}; see: schedlab list metrics; of a figure of a program of your \
                 own say which way it improves: better=higher or better=lower"
            )))
        }
    }
}

/// In virtual time nobody waits: a trial is as long as the device needs for enough requests, and the usual budget is no bound but
/// room for thirty blocks.
fn in_virtual_time(plan: &mut Plan) -> Result<()> {
    const BLOCKS: f64 = 30.0;
    let model = Model::read(&plan.device)?;
    if plan.trial.duration_ms.is_none() && plan.budget.time_s == Budget::default().time_s {
        plan.trial.duration_ms = Some(model.look(|device| device.trial_ms()));
    }
    let needed_s = plan.budget.blocks.map_or(BLOCKS, f64::from) * conduct::round_s(plan);
    if plan.budget.blocks.is_some() || plan.budget.time_s == Budget::default().time_s {
        plan.budget.time_s = plan.budget.time_s.max(2.0 * needed_s);
    }
    Ok(())
}

/// Replaces an old name of a scheduler by today's, aloud; refuses one that is gone.
fn current_name(arm: &mut Arm) -> Result<()> {
    match elevator::resolve(&arm.scheduler) {
        Named::Current(_) | Named::Unknown => Ok(()),
        Named::Renamed { now, why } => {
            out::note(format_args!("note: {} is measured as {}: {why}", arm.scheduler, now.name));
            now.name.clone_into(&mut arm.scheduler);
            Ok(())
        }
        Named::Gone { fate, nearest } => Err(usage(format!(
            "{} cannot be measured on this kernel: {fate}; the nearest choice is {} ({})",
            arm.scheduler, nearest.name, nearest.help
        ))),
    }
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
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let plan = Plan::from_toml(&std::fs::read_to_string(&path).unwrap());
            let mut plan = plan.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            locate_patches(&mut plan, path.parent()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            locate_files(&mut plan, path.parent());
            let plan = checked(plan).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            // What is written into an experiment's directory gives the same experiment again.
            assert_eq!(checked(Plan::from_toml(&plan.to_toml()).unwrap()).unwrap(), plan, "{}", path.display());
            seen += 1;
        }
        assert!(seen >= 3, "the plans of record are in plans/");
    }

    #[test]
    fn a_patch_is_found_beside_the_plan_and_a_missing_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("my.patch"), "").unwrap();
        let located = |scheduler: &str, beside| {
            let mut arm = Arm { scheduler: scheduler.to_owned(), ..plan::parse_arm("a=kyber").unwrap() };
            locate_patch(&mut arm, beside).map(|()| arm.scheduler)
        };
        let there = format!("kyber@{}", dir.path().join("my.patch").display());
        assert_eq!(located("kyber@my.patch", Some(dir.path())).unwrap(), there);
        assert_eq!(located(&there, None).unwrap(), there);
        assert_eq!(located("kyber", None).unwrap(), "kyber");
        let error = located("kyber@my.patch", None).unwrap_err().to_string();
        assert!(error.contains("no patch my.patch"), "{error}");
        let error = located("kyber@other.patch", Some(dir.path())).unwrap_err().to_string();
        assert!(error.contains(&format!("neither here nor in {}", dir.path().display())), "{error}");
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
        assert_eq!(length("time_s = 2"), of(100, 20), "shorter than a tenth of a second measures the start only");
        assert_eq!(length("time_s = 100000"), of(10_000, 2000), "more blocks are better than longer trials");
    }

    #[test]
    fn a_budget_too_short_for_one_block_is_refused_with_one_that_would_do() {
        let text = "device = \"loop:16M\"\n[budget]\ntime_s = 1\n[trial]\nduration_ms = 2000\n[[arm]]\nname = \"a\"\n\
                    scheduler = \"none\"\n[[arm]]\nname = \"b\"\nscheduler = \"bfq\"\n[[workload]]\nname = \"r\"\nkind = \"randread\"\n";
        let error = checked(Plan::from_toml(text).unwrap()).unwrap_err().to_string();
        assert!(error.contains("7.3 s") && error.contains("--budget 88s"), "{error}");
    }

    #[test]
    fn the_present_scheduler_is_recognised_under_its_old_name_and_not_with_other_tunables() {
        let arm = |word: &str| plan::parse_arm(word).unwrap();
        assert!(is_plain(&arm("deadline"), "mq-deadline") && is_plain(&arm("mine=mq-deadline"), "mq-deadline"));
        assert!(!is_plain(&arm("bfq:slice_idle=0"), "bfq") && !is_plain(&arm("none"), "bfq"));
    }
}
