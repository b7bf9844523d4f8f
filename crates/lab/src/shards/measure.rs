//! Measures some trials of a prepared plan: a worker's task.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::Result;
use experiment::plan::{Plan, TrialLength, Variant};
use experiment::results::InvalidReason;
use experiment::schedule;
use machine::Root;
use text::limits::{ROUNDS, TRIALS};

use super::prepared::not_stopped;
use super::segment::Writer;
use super::{Prepared, Unit};
use crate::arena::open::{OpenOptions, within};
use crate::arena::{Arena, Group, TrialSpec, Upcoming, VariantIndex};
use crate::console::Console;
use crate::failure::usage;
use crate::length::trial_length;
use crate::progress::{Progress, Step};
use crate::resolve::Resolved;

/// Number of trials announced to the arena at a time.
const WINDOW: usize = 128;

#[derive(Debug)]
pub struct Shard {
    pub prepared: Prepared,
    pub rounds: Range<u32>,
    pub trials: u64,
    pub segment: Vec<u8>,
}

/// Rounds to measure. `asked` and `command` are those of [`Prepared::of`].
#[derive(Debug)]
pub struct ShardRequest<'a> {
    pub resolved: Resolved,
    pub asked: &'a TrialLength,
    pub command: String,
    pub rounds: Range<u32>,
}

pub fn shard(
    request: ShardRequest<'_>,
    opening: &OpenOptions,
    console: Console<'_>,
) -> Result<Shard> {
    let ShardRequest { resolved, asked, command, rounds } = request;
    super::prepared::check_virtual(&resolved.plan)?;
    within(&Root::real(), resolved, opening, console, |plan, arena| {
        let prepared = Prepared::within(plan, asked, command, arena, console)?;
        let units = prepared.units(rounds)?;
        let segment = measured(&prepared, &units, arena, console)?;
        let (rounds, trials) = (units[0].rounds.clone(), units.iter().map(Unit::trials).sum());
        Ok(Shard { prepared, rounds, trials, segment })
    })
}

/// Measures units of a prepared plan into a segment, on all CPUs unless `opening` limits it. The
/// machine must match the plan's environment.
pub fn measure(
    prepared: &Prepared,
    units: &[Unit],
    opening: &OpenOptions,
    console: Console<'_>,
) -> Result<Vec<u8>> {
    let resolved = Resolved::read(prepared.plan().clone())?;
    within(&Root::real(), resolved, opening, console, |_, arena| {
        measured(prepared, units, arena, console)
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    round: u32,
    workload: usize,
    variant: usize,
}

fn measured(
    prepared: &Prepared,
    units: &[Unit],
    arena: &mut dyn Arena,
    console: Console<'_>,
) -> Result<Vec<u8>> {
    let Console { stop, progress } = console;
    let environment = arena.capture()?;
    let here = prepared.with_environment(environment);
    if let Some(difference) = prepared.difference(&here) {
        return Err(usage(format!(
            "{difference}: this machine would measure something else (another build of a kernel, another content of a file); make both the \
             same, e.g. by one --cache-dir for all machines"
        )));
    }
    let plan = prepared.plan();
    let (wanted, variants) = wanted(plan, units)?;
    let indexes: Vec<VariantIndex> =
        variants.iter().map(|variant| arena.admit(variant)).collect::<Result<_>>()?;
    let rounds = wanted.first().map_or(0, |first| first.round)
        ..wanted.last().map_or(0, |last| last.round + 1);
    let mut writer = Writer::new(prepared, &variants, rounds);
    let began = Instant::now();
    for (at, trial) in wanted.iter().enumerate() {
        if at % WINDOW == 0 {
            let end = wanted.len().min(at + 2 * WINDOW);
            announce(plan, &wanted[at..end], &indexes, arena)?;
        }
        show(plan, &variants[trial.variant], trial, at, wanted.len(), began.elapsed(), progress);
        let (duration, warmup) = trial_length(plan);
        let seed =
            schedule::trial_seed(plan.seed, &plan.workloads[trial.workload].name, trial.round, 0);
        arena.apply(indexes[trial.variant])?;
        let observation =
            arena.measure(&TrialSpec { workload: trial.workload, seed, duration, warmup })?;
        not_stopped(stop)?;
        debug_assert!(
            !observation
                .invalid
                .iter()
                .any(|invalid| matches!(invalid, InvalidReason::Interrupted { .. }))
        );
        writer.trial(trial.workload, trial.round, trial.variant, &observation)?;
    }
    Ok(writer.finish())
}

/// The distinct trials of units in the order in which an experiment uses them, and their variants.
fn wanted(plan: &Plan, units: &[Unit]) -> Result<(Vec<Wanted>, Vec<Variant>)> {
    TRIALS.check(
        usize::try_from(units.iter().map(Unit::trials).fold(0, u64::saturating_add))
            .unwrap_or(usize::MAX),
    )?;
    let (mut wanted, mut variants) = (Vec::new(), Vec::<Variant>::new());
    for unit in units {
        ROUNDS.check(unit.rounds.end as usize)?;
        let workload =
            plan.workloads.iter().position(|spec| spec.name == unit.workload).ok_or_else(|| {
                let known = plan.workloads.iter().map(|spec| spec.name.as_str());
                usage(format!(
                    "unit: unknown workload {:?}; take one of the plan{}",
                    unit.workload,
                    text::did_you_mean(&unit.workload, known)
                ))
            })?;
        for variant in &unit.variants {
            if let Some(known) =
                plan.variants.iter().find(|known| known.name == variant.name && *known != variant)
            {
                return Err(usage(format!(
                    "unit: variant {:?} is set otherwise in the plan; give it another name",
                    known.name
                )));
            }
            let variant = variants.iter().position(|known| known == variant).unwrap_or_else(|| {
                variants.push(variant.clone());
                variants.len() - 1
            });
            wanted.extend(unit.rounds.clone().map(|round| Wanted { round, workload, variant }));
        }
    }
    wanted.sort_unstable();
    wanted.dedup();
    Ok((wanted, variants))
}

fn announce(
    plan: &Plan,
    trials: &[Wanted],
    variants: &[VariantIndex],
    arena: &mut dyn Arena,
) -> Result<()> {
    let (duration, warmup) = trial_length(plan);
    let mut groups: BTreeMap<usize, Vec<Group>> = BTreeMap::new();
    for trial in trials {
        let of = groups.entry(trial.workload).or_default();
        if of.last().is_none_or(|last| last.round != trial.round) {
            of.push(Group { round: trial.round, variants: Vec::new() });
        }
        if let Some(last) = of.last_mut() {
            last.variants.push(variants[trial.variant]);
        }
    }
    for (workload, next) in groups {
        let name = &plan.workloads[workload].name;
        let seed = |round| schedule::trial_seed(plan.seed, name, round, 0);
        arena.announce(&Upcoming { workload, next, then: 0..0, seed: &seed, duration, warmup })?;
    }
    Ok(())
}

fn show(
    plan: &Plan,
    variant: &Variant,
    trial: &Wanted,
    done: usize,
    of: usize,
    wall: Duration,
    progress: &dyn Progress,
) {
    let share = done as f64 / of as f64;
    let left = (done > 0).then(|| wall.mul_f64((1.0 - share) / share));
    let workload = plan.workloads[trial.workload].name.as_str();
    progress.trial(&Step {
        share,
        elapsed: wall,
        simulated: false,
        left,
        workload,
        variant: &variant.name,
        round: trial.round,
        standing: "",
    });
}
