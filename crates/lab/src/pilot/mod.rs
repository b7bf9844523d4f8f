//! The pilot run: one trial of each workload before the first round, used to choose the trial
//! length.
//!
//! The length is first derived from the budget: on a slow disk, 190 ms may yield only thirty reads.
//! [`experiment::resolution`] counts the events of the preconditioning trial, or in virtual time of
//! a trial of every variant. If they are too few for the primary metric, trials become longer as
//! long as [`ROOM`] rounds fit into the budget; otherwise the user is warned. The results file
//! stores the new length for `--resume`.

use std::time::Duration;

use anyhow::Result;
use experiment::metric;
use experiment::plan::{Plan, TrialLength};
use experiment::resolution::{self, Resolution};
use experiment::results::{Event, Note, Observation, Trial};

use crate::arena::{Arena, VariantIndex};
use crate::console::Console;
use crate::driver::{Driver, Earlier, Series, Status, TrialLog};
use crate::failure::usage;
use crate::feasibility;
use crate::length;
use crate::progress::Progress;

/// Rounds that must still fit when trials become longer: two looks more than the first verdict
/// needs.
pub const ROOM: u32 = 8;

const LONGEST_S: f64 = 86_400.0;

/// Margin for slower variants and rounds.
const RESERVE: f64 = 1.25;

#[derive(Debug)]
pub struct PilotRun {
    pub plan: Plan,
    pub notes: Vec<Note>,
}

/// Events counted in a pilot trial; too few if listed in [`Pilots::short`].
#[derive(Debug, Clone, PartialEq)]
struct Short {
    workload: String,
    metric: String,
    resolution: Resolution,
    /// Whether a time window limits the trial. A program runs to its end instead.
    by_time: bool,
}

impl Short {
    /// The trial length that yields enough events at the pilot run's rate.
    fn needed(&self, duration: Duration) -> Duration {
        duration
            .mul_f64(RESERVE * self.resolution.floor as f64 / self.resolution.events.max(1) as f64)
    }
}

/// `asked` is the trial length set by the user.
pub fn run_pilots(
    plan: &Plan,
    asked: &TrialLength,
    variants: &[VariantIndex],
    arena: &mut dyn Arena,
    console: Console<'_>,
) -> Result<PilotRun> {
    let progress = console.progress;
    let (duration, warmup) = length::trial_length(plan);
    let mut driver = Driver::new(plan, arena, console, Earlier::default());
    let mut notes = Notes::default();
    let Pilots { short, cycle } = pilots(&mut driver, variants, asked, &mut notes)?;
    check_budget(plan, cycle, driver.spent(), progress)?;
    let (spent, at_ms) = if plan.arena.is_virtual() {
        (Duration::ZERO, 0)
    } else {
        (driver.spent(), driver.at_ms())
    };
    let mut plan = plan.clone();
    let longest = longest(&plan, asked, spent);
    let most = short
        .iter()
        .filter(|of| of.by_time && asked.duration_ms.is_none())
        .max_by_key(|of| of.needed(duration));
    let to = most.map_or(duration, |most| whole(most.needed(duration)).min(longest).max(duration));
    if let Some(most) = most.filter(|_| to > duration) {
        plan.trial.duration_ms = Some(ms(to));
        let warmup = if asked.warmup_ms.is_some() { warmup } else { to / 5 };
        plan.trial.warmup_ms = Some(ms(warmup));
        notes.0.push(Note { at_ms, event: lengthened(most, duration, to) });
        progress.remark(&format!(
            "{}: a {} ms trial has {} {} ({} needs {}); trials extended to {} ms",
            most.workload,
            ms(duration),
            most.resolution.events,
            most.resolution.what,
            most.metric,
            most.resolution.floor,
            ms(to)
        ));
    }
    for of in &short {
        warn(of, duration, to, asked, progress);
    }
    Ok(PilotRun { plan, notes: notes.0 })
}

#[derive(Debug, Default)]
struct Pilots {
    /// Workloads with too few events per trial.
    short: Vec<Short>,
    /// Real time of one cycle of all workloads; zero in virtual time.
    cycle: Duration,
}

fn pilots(
    driver: &mut Driver<'_>,
    variants: &[VariantIndex],
    asked: &TrialLength,
    notes: &mut Notes,
) -> Result<Pilots> {
    let plan = driver.plan;
    let (duration, _) = length::trial_length(plan);
    let mut pilots = Pilots::default();
    for (workload, spec) in plan.workloads.iter().enumerate() {
        if driver.stop.signal().is_some() {
            break;
        }
        let metric = spec.primary.as_deref().unwrap_or_default();
        let of = |observation: &Observation| {
            let resolution = resolution::of_trial(observation, metric)?;
            let by_time = Duration::from_nanos(observation.duration_ns) <= duration.mul_f64(1.2);
            Some(Short {
                workload: spec.name.clone(),
                metric: metric.to_owned(),
                resolution,
                by_time,
            })
        };
        let began = driver.spent();
        let observed = observe(driver, workload, variants, asked, notes)?;
        if !plan.arena.is_virtual() && !observed.is_empty() {
            pilots.cycle +=
                (driver.spent() - began).mul_f64(variants.len() as f64 / observed.len() as f64);
        }
        pilots.short.extend(shortest(observed.iter().filter_map(of).collect()));
    }
    Ok(pilots)
}

/// The trial with the fewest events, if they are too few. If another variant has enough, one
/// without any is starved, which is a result and not a reason for longer trials.
fn shortest(mut found: Vec<Short>) -> Option<Short> {
    if found.iter().any(|short| short.resolution.is_enough()) {
        found.retain(|short| short.resolution.events > 0);
    }
    let least = found.into_iter().min_by_key(|short| short.resolution.events)?;
    (!least.resolution.is_enough()).then_some(least)
}

/// A program's run time is unknown before its first run. Refuses a budget shorter than one cycle;
/// warns if it is too short for an interval.
fn check_budget(
    plan: &Plan,
    cycle: Duration,
    spent: Duration,
    progress: &dyn Progress,
) -> Result<()> {
    let (cycle_s, left_s) = (cycle.as_secs_f64(), plan.budget.time_s - spent.as_secs_f64());
    if cycle_s <= length::TOLERATED * length::round_s(plan) {
        return Ok(());
    }
    let least = if plan.budget.figures_only { 1 } else { feasibility::of(plan).least_rounds };
    let needed = (spent.as_secs_f64() + cycle_s * f64::from(least)).ceil();
    let why = format!(
        "one trial of every variant takes {cycle_s:.0} s, and {left_s:.0} s are left after the first trial"
    );
    if left_s < cycle_s {
        return Err(usage(format!(
            "--budget: too short for these programs (found {:.0} s, expected at least {needed:.0} s): {why}; give --budget {needed:.0}s, \
             or reduce the program's work",
            plan.budget.time_s
        )));
    }
    let fit = (left_s / cycle_s).floor();
    if fit < f64::from(least) {
        progress.say(&format!(
            "CAUTION: {why}: {fit:.0} rounds fit, and an interval needs {least}; give --budget {needed:.0}s, or reduce the program's work"
        ));
    }
    Ok(())
}

fn observe(
    driver: &mut Driver<'_>,
    workload: usize,
    variants: &[VariantIndex],
    asked: &TrialLength,
    notes: &mut Notes,
) -> Result<Vec<Observation>> {
    let plan = driver.plan;
    let baseline = plan
        .variants
        .iter()
        .position(|variant| variant.name == plan.baseline())
        .expect("a checked plan has it");
    if driver.arena.preconditions() {
        return Ok(vec![driver.precondition(
            workload,
            variants[baseline],
            plan.baseline(),
            notes,
        )?]);
    }
    let metric = plan.workloads[workload].primary.as_deref().unwrap_or_default();
    if metric::find(metric).is_none_or(|row| row.counts.is_none() && row.percentile.is_none()) {
        return Ok(Vec::new());
    }
    // One variant suffices if the length is fixed or trials are slow (on a machine).
    let all = driver.arena.one_seed_a_round() && asked.duration_ms.is_none();
    let pilot = if all { variants.to_vec() } else { vec![variants[baseline]] };
    driver.run_pilots(workload, &pilot, notes)
}

/// The longest trial for which [`ROOM`] rounds, or the plan's fixed number, fit into the remaining
/// budget.
fn longest(plan: &Plan, asked: &TrialLength, spent: Duration) -> Duration {
    let rounds = plan.budget.rounds.unwrap_or(ROOM).max(1);
    let left = (plan.budget.time_s - spent.as_secs_f64()).max(0.0);
    let each =
        left / (f64::from(rounds) * plan.variants.len() as f64 * plan.workloads.len() as f64);
    let each = each - length::overhead(plan).as_secs_f64();
    let window = match asked.warmup_ms {
        Some(warmup) => each - warmup as f64 / 1000.0,
        None => each / 1.2,
    };
    Duration::from_secs_f64(window.clamp(0.0, LONGEST_S))
}

fn lengthened(of: &Short, from: Duration, to: Duration) -> Event {
    Event::LengthenedTrials {
        workload: of.workload.clone(),
        metric: of.metric.clone(),
        events: of.resolution.events,
        floor: of.resolution.floor,
        from_ms: ms(from),
        to_ms: ms(to),
    }
}

fn warn(
    of: &Short,
    duration: Duration,
    to: Duration,
    asked: &TrialLength,
    progress: &dyn Progress,
) {
    let Resolution { what, events, floor } = &of.resolution;
    let expected = if of.by_time {
        *events as f64 * to.as_secs_f64() / duration.as_secs_f64()
    } else {
        *events as f64
    };
    if expected >= *floor as f64 {
        return;
    }
    let needed = ms(whole(of.needed(duration)));
    let remedy = match (of.by_time, asked.duration_ms) {
        (false, _) => "increase the program's work".to_owned(),
        (true, Some(_)) => {
            format!("leave out --trial-time (trial.duration_ms in a plan), or give {needed} ms")
        }
        (true, None) => format!("give a larger --budget, with room for trials of {needed} ms"),
    };
    progress.say(&format!(
        "CAUTION: {}: a trial will have about {expected:.0} {what}, and {} needs {floor}: one more or less is {:.0} % of its value, so \
         small differences do not show; {remedy}",
        of.workload,
        of.metric,
        100.0 / expected.max(1.0)
    ));
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).expect("a trial is shorter than 584 million years")
}

/// Rounds up to 10 ms.
fn whole(time: Duration) -> Duration {
    Duration::from_millis((time.as_secs_f64() * 100.0).ceil() as u64 * 10)
}

#[derive(Debug, Default)]
struct Notes(Vec<Note>);

impl TrialLog for Notes {
    fn append_trial(&mut self, _: &Trial) -> Result<()> {
        Ok(())
    }

    fn append_note(&mut self, note: Note) -> Result<()> {
        self.0.push(note);
        Ok(())
    }
}

impl Series for Notes {
    fn log(&mut self) -> &mut dyn TrialLog {
        self
    }

    fn status(&self, _: &Driver<'_>, workload: &str) -> Status {
        Status {
            share: 0.0,
            left: None,
            label: format!("{workload} · pilot run"),
            standing: String::new(),
        }
    }

    fn measured(&mut self, _: &Driver<'_>, _: VariantIndex, _: &Trial) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
