//! Resolves command-line flags and plan files to a complete plan.
//!
//! Deprecated names are replaced with a warning, and missing values get their defaults. Errors that
//! can be found without touching the machine are reported here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use experiment::metric;
use experiment::metric::Direction;
use experiment::plan::{
    Better, Budget, FileSystemSpec, MAX_TIME_S, OwnMetric, Plan, TrialLength, Variant, WorkloadSpec,
};

use crate::arena::kernel;
use crate::arena::under_test::{Controls, UnderTest};
use crate::controllers;
use crate::failure::usage;
use crate::length;
use crate::workloads::{Program, Runs, Workloads};
use text::did_you_mean as nearest;

mod cpu;
pub mod programs;

/// A scheduler with its default settings.
pub fn bare(scheduler: &str) -> Variant {
    Variant {
        name: scheduler.to_owned(),
        scheduler: scheduler.to_owned(),
        tunables: BTreeMap::new(),
    }
}

/// Resolves paths of patches relative to the current directory or else to the plan's directory.
pub fn locate_patches(plan: &mut Plan, beside: Option<&Path>) -> Result<()> {
    let mut variants = plan.variants.iter_mut().filter(|_| plan.arena.chooses_kernel());
    variants.try_for_each(|variant| locate_patch(variant, beside))
}

/// The same for the files of programs. The paths become absolute, because a watch runs the plan
/// from another directory.
pub fn locate_files(plan: &mut Plan, beside: Option<&Path>) {
    for spec in &mut plan.workloads {
        let Some(kind) = load::programs::find(&spec.kind) else { continue };
        for option in kind.all_options().filter(|option| option.form == text::Form::File) {
            let Some(named) = spec.params.get_mut(option.name) else { continue };
            let places = [Some(Path::new("").join(&*named)), beside.map(|dir| dir.join(&*named))];
            let found =
                places.into_iter().flatten().find_map(|place| std::fs::canonicalize(place).ok());
            if let Some(found) = found.as_deref().and_then(Path::to_str) {
                found.clone_into(named);
            }
        }
    }
}

pub fn locate_patch(variant: &mut Variant, beside: Option<&Path>) -> Result<()> {
    let Some((name, word)) = variant.scheduler.split_once('@') else { return Ok(()) };
    let path = kernel::path_of(word);
    if path.exists() {
        return Ok(());
    }
    let number = word.strip_prefix(path.to_str().unwrap_or(word)).unwrap_or_default();
    let other = beside.map(|dir| dir.join(path));
    match other.as_ref().filter(|other| other.exists()) {
        Some(other) => {
            variant.scheduler = format!("{name}@{}{number}", other.display());
            Ok(())
        }
        None => Err(usage(format!(
            "variant {}: there is no patch {}{}; {name}@FILE runs {name} of a kernel with that patch, {name}@DIR with all of a directory, \
             {name}@DIR#3 with the first three",
            variant.name,
            path.display(),
            beside
                .map_or_else(String::new, |dir| format!(", neither here nor in {}", dir.display()))
        ))),
    }
}

#[derive(Debug, Clone)]
pub struct Resolved {
    /// The completed plan, for the results file and for display.
    pub plan: Plan,
    pub workloads: Workloads,
    pub under_test: UnderTest,
}

impl Resolved {
    /// Reads a plan without checking it: one from a results file or a segment, or one made by the
    /// program.
    pub fn read(mut plan: Plan) -> Result<Resolved> {
        let under_test = UnderTest::read(&mut plan, &mut |_| ())?;
        let workloads = Workloads::read(&mut plan)?;
        Ok(Resolved { plan, workloads, under_test })
    }
}

/// Reads, checks and completes a plan.
///
/// # Errors
/// Every error that can be found without touching the machine.
pub fn resolve(mut plan: Plan, say: &mut dyn FnMut(&str)) -> Result<Resolved> {
    cpu::check_arena(&plan)?;
    cpu::settle(&mut plan)?;
    let under_test = UnderTest::read(&mut plan, say)?;
    check_virtual(&plan)?;
    let workloads = Workloads::read(&mut plan)?;
    cpu::check_work(&plan, &workloads)?;
    cpu::check_policies(&plan, &workloads)?;
    cpu::check_commands(&under_test, &plan)?;
    complete_workloads(&mut plan, &workloads)?;
    plan.check().map_err(|e| usage(e.to_string()))?;
    plan.baseline = Some(plan.baseline().to_owned());
    check_controls(&workloads, &under_test, say)?;
    if !plan.arena.chooses_kernel() && plan.kernel.is_some() {
        return Err(usage(
            "--kernel (kernel in a plan): only the kernel arena chooses its kernel; leave it out"
                .to_owned(),
        ));
    }
    if let Some(trial_ms) = under_test.model().map(|model| model.look(|device| device.trial_ms())) {
        in_virtual_time(&mut plan, trial_ms);
    } else if plan.arena.is_virtual() {
        in_virtual_time(&mut plan, CPU_TRIAL_MS);
    }
    let (duration, warmup) = length::trial_length(&plan);
    let ms = |d: std::time::Duration| {
        u64::try_from(d.as_millis()).expect("a trial is shorter than 584 million years")
    };
    plan.trial = TrialLength { duration_ms: Some(ms(duration)), warmup_ms: Some(ms(warmup)) };
    let cycle_s = length::cycle_s(&plan);
    if plan.budget.time_s < cycle_s {
        return Err(usage(format!(
            "budget: shorter than one round of every workload with its precondition (found {} s, expected about {cycle_s:.1} s); give \
             --budget {:.0}s or more (budget.time_s in a plan), or shorter trials",
            plan.budget.time_s,
            (12.0 * cycle_s).ceil()
        )));
    }
    // The results file begins with the completed plan, which must be readable again.
    plan.check().map_err(|e| usage(e.to_string()))?;
    Ok(Resolved { plan, workloads, under_test })
}

/// Sets the primary metric and the requirements of programs.
fn complete_workloads(plan: &mut Plan, workloads: &Workloads) -> Result<()> {
    for (spec, workload) in plan.workloads.iter_mut().zip(workloads.iter()) {
        match &workload.runs {
            Runs::Program(program) => {
                complete_program(program, spec, &mut plan.files, &mut plan.metrics)?;
            }
            Runs::Engine(work) => {
                spec.primary.get_or_insert_with(|| work.kind.primary.to_owned());
                check_share(spec)?;
            }
        }
        let primary = spec.primary.as_deref().unwrap_or_default();
        if plan.metrics.iter().all(|own| own.name != primary) {
            check_primary(&spec.name, primary)?;
        }
    }
    Ok(())
}

/// Refuses a share for a workload of the load engine.
fn check_share(spec: &WorkloadSpec) -> Result<()> {
    if spec.share.is_plain() {
        return Ok(());
    }
    Err(usage(format!(
        "workload {}: {} runs inside schedlab, which has no I/O share of its own; set io_weight, io_max or ioprio on programs and background loads only",
        spec.name, spec.kind
    )))
}

fn complete_program(
    program: &Program,
    spec: &mut WorkloadSpec,
    files: &mut Option<FileSystemSpec>,
    metrics: &mut Vec<OwnMetric>,
) -> Result<()> {
    if program.needs_files() && files.is_none() {
        *files = Some(FileSystemSpec {
            kind: "ext4".to_owned(),
            mkfs: String::new(),
            mount: String::new(),
        });
    }
    for (name, more_is_better) in (program.kind.own_metrics)(&program.options) {
        let better = if more_is_better { Better::Higher } else { Better::Lower };
        match metrics.iter().find(|own| own.name == name) {
            Some(own) if own.better != better => {
                return Err(usage(format!(
                    "workload {}: two directions for the metric {name}; remove one from the plan",
                    spec.name
                )));
            }
            Some(_) => {}
            None => metrics.push(OwnMetric { name, better }),
        }
    }
    spec.primary.get_or_insert_with(|| (program.kind.primary)(&program.options));
    Ok(())
}

/// Refuses programs, file systems and background load in virtual time.
fn check_virtual(plan: &Plan) -> Result<()> {
    if !plan.arena.is_virtual() {
        return Ok(());
    }
    let program = plan.workloads.iter().find(|spec| load::programs::find(&spec.kind).is_some());
    if let Some(spec) = program.filter(|_| !plan.arena.is_cpu()) {
        return Err(usage(format!(
            "workload {}: the program {} is measured on this machine only (--arena disk); a program runs in virtual time, without verdicts, with \
             schedlab kernel exec",
            spec.name, spec.kind
        )));
    }
    if plan.files.is_some() {
        return Err(usage(
            "--fs (files in a plan): only on this machine; in the kernel arena a variant takes fs=ext4",
        ));
    }
    if plan.workloads.iter().any(|spec| !spec.background.is_empty()) && !plan.arena.is_cpu() {
        return Err(usage(
            "--background: only on this machine; in virtual time take a workload with several kinds of clients, e.g. mixed",
        ));
    }
    Ok(())
}

/// Checks that the flows with settings in a variant are in the plan; warns about settings that the
/// scheduler ignores.
fn check_controls(
    workloads: &Workloads,
    under_test: &UnderTest,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    let flows: BTreeSet<&str> = workloads.flows().map(|flow| flow.name.as_str()).collect();
    let flows: Vec<&str> = flows.into_iter().collect();
    for Controls { variant, scheduler, all } in under_test.controls() {
        controllers::check_flows(variant, all, &flows)?;
        controllers::remarks(variant, scheduler, all).iter().for_each(|remark| say(remark));
    }
    Ok(())
}

fn check_primary(workload: &str, primary: &str) -> Result<()> {
    match metric::find(primary) {
        Some(row) if row.direction == Direction::Descriptive => Err(usage(format!(
            "workload {workload}: {primary} has no better direction and cannot decide: more of it is neither better nor worse; see: schedlab list metrics"
        ))),
        Some(_) => Ok(()),
        None => {
            let nearest = nearest(primary, metric::METRICS.iter().map(|metric| metric.name));
            Err(usage(format!(
                "workload {workload}: unknown metric {primary:?}; see schedlab list metrics{nearest}; for a metric of your own program, set its direction: better=higher or better=lower"
            )))
        }
    }
}

/// Of a trial of a CPU scheduler in virtual time: thousands of wake-ups and slices.
const CPU_TRIAL_MS: u64 = 10_000;

/// Virtual time is cheap: trials last as long as the device needs for enough requests, and the
/// default budget is extended to thirty rounds.
fn in_virtual_time(plan: &mut Plan, trial_ms: u64) {
    const ROUNDS: f64 = 30.0;
    if plan.trial.duration_ms.is_none() && plan.budget.time_s == Budget::default().time_s {
        plan.trial.duration_ms = Some(trial_ms);
    }
    let needed_s = plan.budget.rounds.map_or(ROUNDS, f64::from) * length::cycle_s(plan);
    if plan.budget.rounds.is_some() || plan.budget.time_s == Budget::default().time_s {
        plan.budget.time_s = plan.budget.time_s.max(2.0 * needed_s).min(MAX_TIME_S);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(plan: Plan) -> Result<Resolved> {
        super::resolve(plan, &mut |_| ())
    }

    #[test]
    fn every_plan_of_results_can_be_run() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
        let mut seen = 0;
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let plan = Plan::from_toml(&std::fs::read_to_string(&path).unwrap());
            let mut plan = plan.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            locate_patches(&mut plan, path.parent())
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            locate_files(&mut plan, path.parent());
            let resolved = resolve(plan).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            // The plan written into an experiment's directory reproduces the experiment.
            let again = resolve(Plan::from_toml(&resolved.plan.to_toml()).unwrap()).unwrap();
            assert_eq!(again.plan, resolved.plan, "{}", path.display());
            let workloads = |resolved: &Resolved| format!("{:?}", resolved.workloads);
            assert!(workloads(&again) == workloads(&resolved), "{}: other work", path.display());
            seen += 1;
        }
        assert!(seen >= 3, "the plans of record are in plans/");
    }

    /// hdparm prints MB of 2^20 bytes, the metric uses 10^6. A published figure of hdparm is a
    /// number of its table, or the mean of three runs, times 1.048576.
    #[test]
    fn plans_compare_with_hdparms_figures_in_the_metrics_unit() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for name in ["hdparm", "kyber-delay", "mq-deadline-sweep"] {
            let plan = std::fs::read_to_string(root.join(format!("plans/{name}.toml"))).unwrap();
            let published = Plan::from_toml(&plan).unwrap().published;
            assert!(!published.is_empty(), "{name}");
            for figure in published {
                let table = figure.source.split([':', ',']).next().unwrap();
                let table =
                    std::fs::read_to_string(root.join("data/published").join(table)).unwrap();
                let numbers: Vec<f64> =
                    table.split([',', '\n']).filter_map(|cell| cell.parse().ok()).collect();
                // A table with several runs has the columns run, cached reads and buffered reads,
                // with three rows per scheduler.
                let cells = |row: &str| {
                    row.split(',').filter_map(|cell| cell.parse::<f64>().ok()).collect::<Vec<_>>()
                };
                let rows: Vec<Vec<f64>> =
                    table.lines().map(cells).filter(|row| row.len() == 3).collect();
                let means = rows.chunks(3).flat_map(|runs| {
                    (1..3).map(|i| runs.iter().map(|run| run[i]).sum::<f64>() / 3.0)
                });
                let is_it = |mb: f64| (mb * 1.048_576 - figure.value).abs() < 0.011;
                assert!(numbers.iter().copied().chain(means).any(is_it), "{name}: {figure:?}");
            }
        }
    }

    #[test]
    fn a_patch_is_found_beside_the_plan_and_a_missing_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("my.patch"), "").unwrap();
        let located = |scheduler: &str, beside| {
            let mut variant = Variant {
                scheduler: scheduler.to_owned(),
                ..experiment::plan::parse_variant("a=kyber").unwrap()
            };
            locate_patch(&mut variant, beside).map(|()| variant.scheduler)
        };
        let there = format!("kyber@{}", dir.path().join("my.patch").display());
        assert_eq!(located("kyber@my.patch", Some(dir.path())).unwrap(), there);
        assert_eq!(located(&there, None).unwrap(), there);
        assert_eq!(located("kyber", None).unwrap(), "kyber");
        let error = located("kyber@my.patch", None).unwrap_err().to_string();
        assert!(error.contains("no patch my.patch"), "{error}");
        let error = located("kyber@other.patch", Some(dir.path())).unwrap_err().to_string();
        assert!(
            error.contains(&format!("neither here nor in {}", dir.path().display())),
            "{error}"
        );
    }

    #[test]
    fn a_trial_is_as_long_as_a_dozen_rounds_allow() {
        let text = |budget: &str| {
            format!(
                "device = \"loop:16M\"\n[budget]\n{budget}\n[[variant]]\nname = \"a\"\nscheduler = \"none\"\n[[variant]]\nname = \"b\"\n\
                 scheduler = \"bfq\"\n[[workload]]\nname = \"r\"\nkind = \"randread\"\n"
            )
        };
        let length =
            |budget: &str| resolve(Plan::from_toml(&text(budget)).unwrap()).unwrap().plan.trial;
        let of =
            |ms: u64, warmup: u64| TrialLength { duration_ms: Some(ms), warmup_ms: Some(warmup) };
        assert_eq!(length("time_s = 60"), of(2058, 411));
        assert_eq!(
            length("time_s = 2"),
            of(100, 20),
            "shorter than a tenth of a second measures the start only"
        );
        assert_eq!(
            length("time_s = 100000"),
            of(10_000, 2000),
            "more rounds are better than longer trials"
        );
    }

    #[test]
    fn a_remark_names_the_scheduler_that_runs() {
        let text = "arena = 'kernel'\ndevice = 'hp97560'\n[[variant]]\nname = 'a'\nscheduler = 'none'\n[[variant]]\nname = 'b'\n\
                    scheduler = 'deadline'\ntunables = { 'io.weight@reader' = '50' }\n[[workload]]\nname = 'w'\nkind = 'flows'\n";
        let mut said = Vec::new();
        let mut say = |note: &str| said.push(note.to_owned());
        super::resolve(Plan::from_toml(text).unwrap(), &mut say).unwrap();
        assert!(said.iter().any(|note| note.contains("no effect under mq-deadline")), "{said:?}");
    }

    #[test]
    fn a_budget_too_short_for_one_round_is_refused_with_one_that_would_do() {
        let text = "device = \"loop:16M\"\n[budget]\ntime_s = 1\n[trial]\nduration_ms = 2000\n[[variant]]\nname = \"a\"\n\
                    scheduler = \"none\"\n[[variant]]\nname = \"b\"\nscheduler = \"bfq\"\n[[workload]]\nname = \"r\"\nkind = \"randread\"\n";
        let error = resolve(Plan::from_toml(text).unwrap()).unwrap_err().to_string();
        assert!(error.contains("7.3 s") && error.contains("--budget 88s"), "{error}");
    }
}
