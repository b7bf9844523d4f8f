//! Plans of the cpu arena: variants are settings of the machine's CPUs, and workloads need no
//! device.

use std::time::Duration;

use anyhow::Result;
use experiment::plan::{self, Plan, Variant, WorkloadSpec};
use load::programs::cpu::spec_of;
use load::programs::{Needs, RUN_OF_VARIANT, RUNNERS};
use machine::placement::Policy;

use crate::arena::under_test::UnderTest;
use crate::failure::usage;
use crate::workloads::Workloads;

/// The disk of a guest in which something does I/O, if the plan names none.
const DEFAULT_DISK: &str = "nvme";

/// Refuses CPU workloads on devices and device workloads on CPUs.
pub(super) fn check_work(plan: &Plan, workloads: &Workloads) -> Result<()> {
    if plan.arena.is_cpu() && plan.files.is_some() {
        return Err(usage("--fs (files in a plan): CPUs hold no files; leave it out"));
    }
    for (spec, workload) in plan.workloads.iter().zip(workloads.iter()) {
        let Some(program) = workload.program() else {
            if plan.arena.is_cpu() {
                return Err(works_on_a_device(spec));
            }
            continue;
        };
        let of_cpus = program.kind.needs_with(&program.options) == Needs::Cpus;
        if plan.arena.is_cpu() && !of_cpus {
            return Err(works_on_a_device(spec));
        }
        if !plan.arena.is_cpu() && of_cpus {
            return Err(usage(format!(
                "workload {}: {} does no I/O, so I/O schedulers do not affect it; to compare CPU settings, use --arena cpu, or --arena kernel without a device",
                spec.name, spec.kind
            )));
        }
        if of_cpus && !spec.share.is_plain() {
            return Err(usage(format!(
                "workload {}: io_weight, io_max and ioprio are shares of a device, which a CPU experiment does not have; remove them",
                spec.name
            )));
        }
    }
    Ok(())
}

/// Refuses a policy of deadline for work that it would not apply to: threads do not inherit it.
pub(super) fn check_policies(plan: &Plan, workloads: &Workloads) -> Result<()> {
    let is_deadline = |variant: &&Variant| {
        let policy = variant.tunables.get("policy").map(|text| text.parse());
        matches!(policy, Some(Ok(Policy::Deadline { .. })))
    };
    let Some(variant) = plan.variants.iter().find(is_deadline) else { return Ok(()) };
    for workload in workloads.iter() {
        let Some(program) = workload.program() else { continue };
        let spec = spec_of(program.kind, &program.options, Duration::ZERO, 0);
        if spec.is_some_and(|spec| !spec.is_of_one_thread()) {
            return Err(usage(format!(
                "variant {}: only the first thread of a program can have the policy deadline, and {} works in others; take linpack, cyclic:threads=1 or frames:threads=1",
                variant.name, workload.name
            )));
        }
    }
    Ok(())
}

/// Checks that variants have a command line exactly if a workload runs it.
pub(super) fn check_commands(under_test: &UnderTest, plan: &Plan) -> Result<()> {
    let runs_it = |spec: &WorkloadSpec| {
        spec.params.get("run").is_some_and(|line| line.contains(RUN_OF_VARIANT))
    };
    let own = under_test.commands();
    let without =
        plan.variants.iter().find(|variant| own.iter().all(|(name, _)| *name != variant.name));
    if let (Some(spec), Some(variant)) = (plan.workloads.iter().find(|spec| runs_it(spec)), without)
    {
        return Err(usage(format!(
            "variant {}: has no command line, which {RUN_OF_VARIANT} of workload {} stands for; add run = \"…\" to its tunables",
            variant.name, spec.name
        )));
    }
    let ignores_it = plan.workloads.iter().find(|spec| !runs_it(spec));
    if let (Some((variant, _)), Some(spec)) = (own.first(), ignores_it) {
        return Err(usage(format!(
            "variant {variant}: workload {} does not run its command line; give the workload run = \"{RUN_OF_VARIANT}\"",
            spec.name
        )));
    }
    Ok(())
}

fn works_on_a_device(spec: &WorkloadSpec) -> anyhow::Error {
    let own = RUNNERS.iter().filter(|row| row.needs == Needs::Cpus).map(|row| row.name);
    usage(format!(
        "workload {}: {} needs a device; for CPUs use {}, or any program: command:run=…",
        spec.name,
        spec.kind,
        own.collect::<Vec<_>>().join(", ")
    ))
}

/// Programs that can run without a device do so by default.
pub(super) fn settle(plan: &mut Plan) -> Result<()> {
    if !plan.arena.is_cpu() {
        return Ok(());
    }
    for spec in plan.workloads.iter_mut() {
        // A guest has no sockets.
        if plan.arena.is_virtual() && spec.kind == "messaging" {
            spec.params.entry("pipes".to_owned()).or_insert_with(|| "true".to_owned());
        }
        if load::programs::find(&spec.kind)
            .is_some_and(|kind| kind.options.iter().any(|option| option.name == "on"))
        {
            spec.params.entry("on".to_owned()).or_insert_with(|| "cpu".to_owned());
        }
    }
    let needs_disk = |spec: &WorkloadSpec| {
        spec.kind == "build" || spec.background.iter().any(|load| load.kind == "io")
    };
    match (plan.device == plan::CPU_DEVICE, plan.workloads.iter().any(needs_disk)) {
        (true, true) if plan.arena.is_virtual() => DEFAULT_DISK.clone_into(&mut plan.device),
        (false, false) => {
            return Err(usage(format!(
                "device {}: nothing here does I/O, so I/O schedulers do not affect it; leave out --device, or take --workload build or --background io",
                plan.device
            )));
        }
        _ => {}
    }
    Ok(())
}

/// Refuses the CPU device in other arenas.
pub(super) fn check_arena(plan: &Plan) -> Result<()> {
    if plan.device != plan::CPU_DEVICE || plan.arena.is_cpu() {
        return Ok(());
    }
    Err(usage(format!(
        "device cpu: not in the {} arena, CPUs are measured on this machine only; take --arena cpu and leave out the device",
        plan.arena.name
    )))
}
