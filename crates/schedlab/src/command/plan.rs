//! Builds a plan from a command's flags. `lab::resolve` validates it, as it does plan files.

use anyhow::Result;
use elevator::Named;
use experiment::plan::{
    self, Budget, Criteria, FileSystemSpec, Method, Plan, TrialLength, Variant, WorkloadSpec,
};
use lab::arena::disk::Target;
use lab::arena::under_test::check_variant;
use lab::arena::{cpu, kernel_cpu};
use lab::resolve::{Resolved, bare};
use lab::workloads;
use machine::{Root, device};

use crate::cli::{DesignArgs, MethodArg};
use crate::failure::usage;
use crate::out;

const DEFAULT_WORKLOADS: [&str; 2] = ["oltp", "mixed"];

/// For a device that may not be written to.
const READ_ONLY_WORKLOADS: [&str; 2] = ["randread", "dss"];

/// Old names are replaced with a note on standard error.
pub(super) fn resolve(plan: Plan) -> Result<Resolved> {
    lab::resolve::resolve(plan, &mut |note| out::note(note))
}

impl From<MethodArg> for Method {
    fn from(arg: MethodArg) -> Method {
        match arg {
            MethodArg::Spending => Method::Spending,
            MethodArg::Anytime => Method::Anytime,
            MethodArg::Fixed => Method::Fixed,
            MethodArg::ThreeSigma => Method::ThreeSigma,
        }
    }
}

/// By default all available schedulers against the current one.
pub(super) fn plan_of(
    root: &Root,
    design: &DesignArgs,
    schedulers: &[String],
    baseline: Option<&str>,
    destroy_data: Option<&str>,
) -> Result<Plan> {
    if design.arena.is_cpu() {
        return plan_of_cpu(design, schedulers, baseline);
    }
    let variants = if schedulers.is_empty() {
        every_scheduler(root, design)?.into_iter().map(|name| bare(&name)).collect()
    } else {
        plan::parse_variants(schedulers).map_err(|e| usage(format!("--schedulers: {e}")))?
    };
    let mut plan = designed(design, variants, destroy_data)?;
    let now = if plan.arena.has_disk() { present_scheduler(root, &design.device)? } else { None };
    let present = now.and_then(|now| {
        plan.variants
            .iter()
            .find(|variant| is_plain(variant, &now))
            .map(|variant| variant.name.clone())
    });
    plan.baseline = baseline.map(str::to_owned).or(present);
    Ok(plan)
}

/// The first variant is the baseline; `destroy_data` is the device that may be written to.
pub(super) fn designed(
    design: &DesignArgs,
    variants: Vec<Variant>,
    destroy_data: Option<&str>,
) -> Result<Plan> {
    let seconds = |flag: &str, word: &str| {
        plan::parse_duration_s(word).map_err(|e| usage(format!("{flag}: {e}")))
    };
    let percent = |flag: &str, word: &str| {
        plan::parse_percent(word).map_err(|e| usage(format!("{flag}: {e}")))
    };
    let millis = |flag: &str, word: &Option<String>| -> Result<Option<u64>> {
        let is_zero = |word: &str| word.trim_end_matches(|c: char| c.is_ascii_alphabetic()) == "0";
        let ms = |word: &String| match flag {
            "--warmup" if is_zero(word) => Ok(0),
            _ => seconds(flag, word).map(|s| (s * 1000.0).round() as u64),
        };
        word.as_ref().map(ms).transpose()
    };
    let rounds = match design.rounds.as_str() {
        "auto" => None,
        word => Some(word.parse::<u32>().ok().filter(|n| *n > 0).ok_or_else(|| {
            usage(format!(
                "--rounds: {word:?} is not auto or a number above 0; write e.g. --rounds 12"
            ))
        })?),
    };
    let time_s = match &design.budget {
        Some(word) => seconds("--budget", word)?,
        None => Budget::default().time_s,
    };
    let named = match design.workload.as_slice() {
        [] => default_workloads(design, destroy_data)?.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    let mut workloads =
        plan::parse_workloads(&named).map_err(|e| usage(format!("--workload: {e}")))?;
    for load in &design.place.background {
        let load = plan::parse_background(load).map_err(|e| usage(format!("--background: {e}")))?;
        workloads.iter_mut().for_each(|workload| workload.background.push(load.clone()));
    }
    if let Some(clients) = design.clients {
        set_clients(&mut workloads, clients)?;
    }
    Ok(Plan {
        schema: plan::SCHEMA,
        name: format!("{} on {}", named.join(", "), design.device),
        arena: design.arena,
        device: design.device.clone(),
        kernel: design.kernel.clone(),
        seed: design.seed,
        baseline: None,
        budget: Budget {
            time_s,
            rounds,
            no_early_stop: rounds.is_some(),
            figures_only: design.figures_only,
        },
        trial: TrialLength {
            duration_ms: millis("--trial-time", &design.trial_time)?,
            warmup_ms: millis("--warmup", &design.warmup)?,
        },
        criteria: Criteria {
            margin: percent("--margin", &design.margin)?,
            alpha: percent("--alpha", &design.alpha)?,
            method: if design.open_ended { Method::Anytime } else { design.method.into() },
            ..Criteria::default()
        },
        limits: plan::Limits::default(),
        variants,
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

/// A user's device is only read by default. `--fs` without consent is refused on opening.
fn default_workloads(design: &DesignArgs, destroy_data: Option<&str>) -> Result<[&'static str; 2]> {
    let is_users = design.arena.has_disk() && !Target::is_temporary(&design.device)?;
    let only_reads = is_users && destroy_data.is_none() && design.place.fs.is_none();
    Ok(if only_reads { READ_ONLY_WORKLOADS } else { DEFAULT_WORKLOADS })
}

/// Only in workloads that take clients and set no number themselves.
fn set_clients(workloads: &mut [WorkloadSpec], clients: u32) -> Result<()> {
    let mut taken = false;
    for spec in workloads.iter_mut() {
        let accepts = match load::programs::find(&spec.kind) {
            Some(kind) => kind.options.iter().any(|option| option.name == "clients"),
            None => workloads::find(&spec.kind)?.accepts.contains(&"clients"),
        };
        if accepts {
            spec.params.entry("clients".to_owned()).or_insert_with(|| clients.to_string());
            taken = true;
        }
    }
    if taken {
        Ok(())
    } else {
        Err(usage(format!(
            "--clients {clients}: none of the workloads has a number of clients; leave it out"
        )))
    }
}

/// Whether a variant is this scheduler with defaults, under any of its names.
fn is_plain(variant: &Variant, scheduler: &str) -> bool {
    let name = match elevator::resolve(&variant.scheduler) {
        Named::Renamed { now, .. } => now.name,
        _ => &variant.scheduler,
    };
    name == scheduler && variant.tunables.is_empty()
}

/// A temporary loop device starts with `none`.
pub(super) fn present_scheduler(root: &Root, word: &str) -> Result<Option<String>> {
    if Target::is_temporary(word)? {
        return Ok(Some("none".to_owned()));
    }
    Ok(device::find(root, word).map_err(|e| usage(e.to_string()))?.scheduler)
}

/// On the host the device's schedulers, or those that loop:SIZE will have; in virtual time current
/// Linux's.
pub(super) fn every_scheduler(root: &Root, design: &DesignArgs) -> Result<Vec<String>> {
    let word = design.device.as_str();
    if design.arena.is_virtual() {
        return Ok(elevator::LINUX.iter().map(|row| row.name.to_owned()).collect());
    }
    if Target::is_temporary(word)? {
        return Ok(machine::loopdev::offered_for_new_loop(root));
    }
    let device = device::find(root, word).map_err(|e| usage(e.to_string()))?;
    if let Some(why) = &device.no_scheduler {
        return Err(usage(format!(
            "{}: no I/O scheduler to compare: {why}",
            device.path.display()
        )));
    }
    Ok(device.available_schedulers.into_iter().chain(device.unloaded_schedulers).collect())
}

/// Current names of the user's schedulers, each of which must be available.
pub(super) fn named_schedulers(
    root: &Root,
    design: &DesignArgs,
    words: &[String],
) -> Result<Vec<String>> {
    let arena = design.arena;
    let offered = if arena.has_disk() { every_scheduler(root, design)? } else { Vec::new() };
    let one = |word: &String| -> Result<String> {
        let mut variant = bare(word);
        check_variant(arena, design.kernel.as_deref(), &mut variant, &mut |note| out::note(note))?;
        if arena.has_disk() && !offered.contains(&variant.scheduler) {
            let expected = text::expected_one_of(word, offered.iter().map(String::as_str));
            return Err(usage(format!("{}: unknown scheduler {word:?} {expected}", design.device)));
        }
        Ok(variant.scheduler)
    };
    words.iter().map(one).collect()
}

/// What is compared in virtual time if nothing is named: it needs one kernel.
const GUEST_VARIANTS: [&str; 4] = ["default", "nice=-10", "policy=batch", "policy=fifo:50"];

/// The first variant is the baseline, LINPACK the default workload.
fn plan_of_cpu(design: &DesignArgs, variants: &[String], baseline: Option<&str>) -> Result<Plan> {
    let (keys, variants) = match (design.arena.is_virtual(), variants.is_empty()) {
        (true, true) => (kernel_cpu::names().collect(), GUEST_VARIANTS.map(str::to_owned).to_vec()),
        (true, false) => (kernel_cpu::names().collect(), variants.to_vec()),
        (false, false) => (cpu::keys(), variants.to_vec()),
        (false, true) => {
            return Err(usage(
                "--arena cpu: name the settings to compare, e.g. --schedulers default,nice=-20,policy=fifo:50; see: schedlab list settings",
            ));
        }
    };
    let variants = plan::parse_cpu_variants(&variants, &keys)
        .map_err(|e| usage(format!("--schedulers: {e}")))?;
    let mut plan = designed(&with_cpu_work(design), variants, None)?;
    plan.baseline = baseline.map(str::to_owned);
    Ok(plan)
}

pub(super) fn with_cpu_work(design: &DesignArgs) -> DesignArgs {
    let mut design = design.clone();
    if design.workload.is_empty() {
        design.workload = vec!["linpack".to_owned()];
    }
    design
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_present_scheduler_is_recognised_under_its_old_name_and_not_with_other_tunables() {
        let variant = |word: &str| experiment::plan::parse_variant(word).unwrap();
        assert!(
            is_plain(&variant("deadline"), "mq-deadline")
                && is_plain(&variant("mine=mq-deadline"), "mq-deadline")
        );
        assert!(
            !is_plain(&variant("bfq:slice_idle=0"), "bfq") && !is_plain(&variant("none"), "bfq")
        );
    }
}
