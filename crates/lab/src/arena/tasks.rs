//! Rejects real-time tasks that a modelled device cannot serve in time even alone.

use anyhow::Result;
use elevator::realtime::{Impossible, ServiceModel, Task, impossible_alone};
use elevator::{SECTOR_BYTES, Time};

use super::model::Model;
use crate::failure::usage;
use crate::workloads::Workloads;

/// Rejects the first such task.
pub(super) fn check_tasks(model: &Model, workloads: &Workloads) -> Result<()> {
    let services = ServiceModel::from_geometry(&model.look(|device| device.geometry()));
    for (label, work) in workloads.engine() {
        for (name, task) in work.kind.tightest_tasks(&work.params) {
            let sectors = u64::from(task.len).div_ceil(SECTOR_BYTES);
            let task = Task {
                release: Time::from_ns(task.release_ns),
                deadline: Time::from_ns(task.deadline_ns),
                sector: task.offset / SECTOR_BYTES,
                nr_sectors: u32::try_from(sectors).unwrap_or(u32::MAX),
            };
            if let Some(found) = impossible_alone(&services, &[task]).first() {
                return Err(usage(format!(
                    "workload {label} on {}: {}",
                    model.word(),
                    words(&name, found)
                )));
            }
        }
    }
    Ok(())
}

fn words(name: &str, found: &Impossible) -> String {
    match *found {
        Impossible::DueBeforeRelease { release, deadline, .. } => format!(
            "{name} is due at {} µs, not after its release at {} µs; give it a later deadline",
            deadline.as_ns() / 1000,
            release.as_ns() / 1000
        ),
        Impossible::TooLong { least_ns, available_ns, .. } => format!(
            "{name} takes {} µs even alone and without a seek (found {} µs from release to deadline); give a later deadline or fewer \
             bytes",
            least_ns.div_ceil(1000),
            available_ns / 1000
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use experiment::plan::Plan;

    fn checked(params: &str) -> Result<()> {
        let mut plan = Plan::from_toml(&format!(
            "device = 'hp97560'\narena = 'sim'\n[[variant]]\nname = 'a'\nscheduler = 'edf'\n[[variant]]\nname = 'b'\nscheduler = \
             'gsr'\n[[workload]]\nname = 'w'\nkind = 'rt-tasks'\nparams = {{ {params} }}\n"
        ))
        .expect("the plan is right");
        check_tasks(&Model::read("hp97560")?, &Workloads::read(&mut plan)?)
    }

    #[test]
    fn a_task_that_is_too_long_even_alone_is_named_with_its_time() {
        checked("tasks = 10").expect("the defaults are possible");
        let error = checked("set = '0ms..900ms@0+4k,5ms..9ms@1M+1M'").unwrap_err().to_string();
        assert!(error.contains("even alone") && error.contains("found 4000 µs"), "{error}");
    }
}
