//! Keeps a realtime program from taking all CPU time.
//!
//! Linux reserves 5 % of each second for ordinary tasks (`kernel.sched_rt_runtime_us` of
//! `kernel.sched_rt_period_us`; since 6.12, `fair_server` in debugfs). Without this, no ordinary
//! process can stop a fifo program on every CPU, not even the watchdog.

use super::attributes::sysctl_path;
use super::setting::{Attribute, Setting};
use crate::Error;
use crate::Root;
use crate::placement::Policy;
use crate::placement::{CpuList, Placement};

const RUNTIME: &str = "kernel.sched_rt_runtime_us";
const PERIOD: &str = "kernel.sched_rt_period_us";

/// If no CPU time is left for others.
pub(super) fn admit(root: &Root, setting: &Setting) -> Result<(), Error> {
    let Some(policy) = setting.placement.policy.filter(|policy| policy.is_realtime()) else {
        return Ok(());
    };
    let refused = |what: &str, why: String| Err(Error::Cpu { what: what.to_string(), why });
    if let Some(attribute) =
        setting.attributes.iter().find(|attribute| switches_off(root, attribute, setting))
    {
        return refused(
            &attribute.key,
            format!(
                "with policy={policy} this could lock up the machine: a realtime program that computes would leave no CPU time to \
                 other tasks, not even to one that could stop it; remove one of the two, or set {RUNTIME} below {PERIOD}"
            ),
        );
    }
    let is_set = setting.attributes.iter().any(|attribute| name_of(attribute) == Some(RUNTIME));
    let limits = !matches!(policy, Policy::Deadline { .. });
    if limits
        && !is_set
        && unlimited(machine(root, RUNTIME), machine(root, PERIOD))
        && !leaves_one(root, &setting.placement)
    {
        return refused(
            "policy",
            format!(
                "{policy} could lock up the machine: {RUNTIME} is {} here, so realtime programs may use a CPU completely, and the program may use every online CPU; reserve one for other tasks with affinity=..., or set \
                 {RUNTIME} back to 950000",
                machine(root, RUNTIME).unwrap_or(-1)
            ),
        );
    }
    Ok(())
}

fn name_of(attribute: &Attribute) -> Option<&str> {
    attribute.key.strip_prefix("sysctl:")
}

/// Whether it removes the reserve.
fn switches_off(root: &Root, attribute: &Attribute, setting: &Setting) -> bool {
    let own = |name: &str| setting.attributes.iter().find(|other| name_of(other) == Some(name));
    let value = |name: &str| {
        own(name).map_or_else(|| machine(root, name), |own| own.value.trim().parse().ok())
    };
    match name_of(attribute) {
        Some(RUNTIME | PERIOD) => unlimited(value(RUNTIME), value(PERIOD)),
        _ => {
            let is_server = attribute.key.starts_with("debug:fair_server/")
                && attribute.key.ends_with("/runtime");
            is_server && attribute.value.trim().parse() == Ok(0)
        }
    }
}

/// Whether `runtime` is the whole period. Without a known runtime, a limit is assumed.
fn unlimited(runtime: Option<i64>, period: Option<i64>) -> bool {
    match (runtime, period) {
        (Some(runtime), Some(period)) => runtime < 0 || runtime >= period,
        (Some(runtime), None) => runtime < 0,
        (None, _) => false,
    }
}

fn machine(root: &Root, name: &str) -> Option<i64> {
    root.read_optional(sysctl_path(root, name))?.parse().ok()
}

/// Whether an online CPU is outside the placement.
fn leaves_one(root: &Root, placement: &Placement) -> bool {
    match (&placement.affinity, CpuList::online(root)) {
        (Some(own), Some(online)) => online.difference(own).is_some(),
        _ => false,
    }
}
