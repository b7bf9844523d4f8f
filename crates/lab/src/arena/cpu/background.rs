//! Background load on CPUs: loads of the crate `cpu_workloads`, each a process.

use anyhow::{Result, anyhow};
use experiment::plan::{Background, WorkloadSpec};
use experiment::results::InvalidReason;
use load::cpu::Spec;
use load::programs::cpu::{self as own, LOADS, LoadKind};
use machine::Session;

use crate::arena::processes::{self, Processes};
use crate::failure::usage;

/// By workload index.
#[derive(Debug, Clone, Default)]
pub struct BackgroundLoads(Vec<Vec<(String, Spec)>>);

impl BackgroundLoads {
    /// Parses the loads and completes their options in the plan.
    pub fn read(workloads: &mut [WorkloadSpec]) -> Result<BackgroundLoads> {
        let of = |spec: &mut WorkloadSpec| {
            let loads = spec.background.iter_mut().map(|load| {
                let (kind, options) = read(&spec.name, load)?;
                let pairs = options.pairs();
                load.params =
                    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
                Ok((kind.name.to_owned(), (kind.order)(&options)))
            });
            loads.collect::<Result<_>>()
        };
        workloads.iter_mut().map(of).collect::<Result<_>>().map(BackgroundLoads)
    }

    /// Those of a workload, by name.
    pub(in crate::arena) fn of(&self, workload: usize) -> &[(String, Spec)] {
        &self.0[workload]
    }

    pub(super) fn start(&self, session: &Session, workload: usize) -> Result<Processes> {
        let launches = self.0[workload].iter().map(|(name, order)| {
            let launch = own::launch(order).map_err(|e| anyhow!("background load {name}: {e}"))?;
            Ok((name.clone(), launch))
        });
        Processes::start(session, launches.collect::<Result<_>>()?)
    }
}

#[derive(Debug, Default)]
pub(super) struct Done {
    /// `background_spin_spins_per_s` …
    pub(super) counters: Vec<(String, f64)>,
    pub(super) invalid: Vec<InvalidReason>,
}

pub(super) fn end(processes: Processes) -> Result<Done> {
    let mut done = Done::default();
    for ended in processes.end()? {
        match ended.map(|(name, ended)| (own::report(&name, &ended), name, ended)) {
            Ok((Ok(report), name, _)) => {
                let told = report.counters.into_iter().chain(report.metrics);
                done.counters
                    .extend(told.map(|(what, value)| (format!("background_{name}_{what}"), value)));
            }
            Ok((Err(_), name, ended)) => done.invalid.push(processes::ended_early(&name, &ended)),
            Err(invalid) => done.invalid.push(invalid),
        }
    }
    Ok(done)
}

fn read(label: &str, load: &Background) -> Result<(&'static LoadKind, load::programs::Options)> {
    let kind = own::find_load(&load.kind).ok_or_else(|| {
        let expected = text::expected_one_of(&load.kind, LOADS.iter().map(|row| row.name));
        usage(format!("workload {label}: unknown CPU load {} {expected}", load.kind))
    })?;
    if !load.share.is_plain() {
        return Err(usage(format!(
            "workload {label}: io_weight, io_max and ioprio are shares of a device, which a CPU experiment does not have; remove them"
        )));
    }
    let pairs = load.params.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let options =
        kind.read(pairs).map_err(|e| usage(format!("workload {label}, background: {e}")))?;
    Ok((kind, options))
}
