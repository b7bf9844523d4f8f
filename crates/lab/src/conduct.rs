//! A comparison: rounds of trials until every verdict is reached or the budget is spent.
//!
//! Workloads take turns, one round each, so that a short disturbance does not fall on one of them
//! alone. A round measures the baseline and every undecided variant once, in shuffled order.

use std::time::Duration;

use anyhow::Result;
use experiment::Decider;
use experiment::compare::Looks;
use experiment::plan::{Method, Plan};
use experiment::results::{End, EndReason, Event, InvalidReason, Line, Note, Results, Trial};

use crate::arena::{Arena, Group, VariantIndex};
use crate::console::Console;
use crate::driver::{Driver, Earlier, Halt, ResultsLog, Round, Series, Status, TrialLog};
use crate::estimate::Estimate;
use crate::length::{self, expected_s, planned_rounds, trial_length};
use crate::signals::Stop;
use crate::store::Store;
use text::limits::TRIALS;

/// Number of rounds to announce if the total is unknown.
const LOOKAHEAD: u32 = 128;

/// Index of a variant in the plan.
type Variant = usize;

/// Measures a plan from the end of `results` (only a header for a new experiment). `variants` are
/// the plan's variants in the arena.
pub(crate) fn conduct(
    plan: &Plan,
    results: &Results,
    variants: &[VariantIndex],
    arena: &mut dyn Arena,
    store: &mut dyn ResultsLog,
    console: Console<'_>,
) -> Result<End> {
    let mut course = Experiment::of(plan, results, variants, store, console.stop);
    let trials = results.trials.last().map_or(0, |trial| trial.sequence.saturating_add(1));
    let mut driver =
        Driver::new(plan, arena, console, Earlier { trials, spent: spent(plan, results) });
    let measured = course.measure(&mut driver);
    let at_ms = driver.at_ms();
    match measured {
        Ok(reason) => {
            let end = End { at_ms, reason };
            store.append_end(end.clone())?;
            Ok(end)
        }
        Err(error) => {
            let reason = EndReason::Failed { error: format!("{error:#}") };
            // The first error matters more than a failure to append the last line.
            let _ = store.append_end(End { at_ms, reason });
            Err(error)
        }
    }
}

pub(crate) fn spent(plan: &Plan, results: &Results) -> Duration {
    if !plan.arena.is_virtual() {
        return Duration::from_millis(results.last_ms());
    }
    virtual_time(plan, results.trials.iter())
}

/// Virtual time advances only during trials.
pub(crate) fn virtual_time<'t>(plan: &Plan, trials: impl Iterator<Item = &'t Trial>) -> Duration {
    let (_, warmup) = trial_length(plan);
    trials.map(|trial| warmup + Duration::from_nanos(trial.observation.duration_ns)).sum()
}

#[derive(Debug, Default, Clone)]
struct Track {
    next: u32,
    /// Complete rounds. A truncated round stays in the results and is repeated.
    whole: u32,
    planned: Vec<Variant>,
    /// Variants of `planned` that are not measured yet.
    lacking: Vec<Variant>,
    /// Longest mean trial time of a round in this session, including setup and cleanup.
    trial: Duration,
}

impl Track {
    /// Counts a trial of an earlier session.
    fn replay(&mut self, trial: &Trial, variant: Variant, active: impl FnOnce() -> Vec<Variant>) {
        if trial.round >= self.next {
            self.next = trial.round + 1;
            self.planned = active();
            self.lacking.clone_from(&self.planned);
        }
        if is_interrupted(trial) {
            return;
        }
        self.lacking.retain(|lacking| *lacking != variant);
        if self.lacking.is_empty() {
            self.whole += 1;
        }
    }
}

fn is_interrupted(trial: &Trial) -> bool {
    trial
        .observation
        .invalid
        .iter()
        .any(|reason| matches!(reason, InvalidReason::Interrupted { .. }))
}

struct Experiment<'a> {
    plan: &'a Plan,
    indexes: &'a [VariantIndex],
    store: &'a mut dyn ResultsLog,
    decider: Decider,
    tracks: Vec<Track>,
    /// Variants whose settings the kernel refused; they are not measured again.
    refused: Vec<Variant>,
    first_round: Duration,
    /// Whether the budget differs from the one that the experiment began with.
    budget_changed: bool,
    /// Workloads that need a preconditioning trial.
    cold: Vec<usize>,
    /// The next workload; a resumed experiment continues its cycle.
    turn: usize,
    estimate: Estimate,
}

impl<'a> Experiment<'a> {
    fn of(
        plan: &'a Plan,
        results: &Results,
        indexes: &'a [VariantIndex],
        store: &'a mut dyn ResultsLog,
        stop: &Stop,
    ) -> Experiment<'a> {
        let tracks = vec![Track::default(); plan.workloads.len()];
        let mut course = Experiment {
            plan,
            indexes,
            store,
            decider: Decider::new(plan),
            tracks,
            refused: Vec::new(),
            first_round: Duration::ZERO,
            budget_changed: Looks::is_changed(results),
            cold: cold(plan, results),
            turn: 0,
            estimate: Estimate::default(),
        };
        let resumed = Looks { ended: false, ..Looks::of(results, &plan.criteria) };
        course.decider.set_looks(resumed);
        // Replaying many rounds takes long, so a signal may cut it short; then no round is measured.
        for trial in results.trials.iter().take_while(|_| stop.signal().is_none()) {
            let workload =
                plan.workloads.iter().position(|workload| workload.name == trial.workload);
            let variant = plan.variants.iter().position(|variant| variant.name == trial.variant);
            if let (Some(workload), Some(variant)) = (workload, variant) {
                let active = || active(&course.decider, plan, workload);
                course.tracks[workload].replay(trial, variant, active);
                course.turn = if course.tracks[workload].lacking.is_empty() {
                    workload + 1
                } else {
                    workload
                };
            }
            course.count(trial);
            course.decider.push(trial);
        }
        course
    }

    fn count(&mut self, trial: &Trial) {
        if trial.round == 0 {
            let (_, warmup) = trial_length(self.plan);
            self.first_round += warmup + Duration::from_nanos(trial.observation.duration_ns);
        }
    }

    /// Fixes the planned rounds for [`Method::Spending`], after the first round of every workload
    /// and before the first look.
    fn plan_rounds(&mut self, driver: &Driver<'_>) -> Result<()> {
        let open = self.plan.criteria.method != Method::Spending || self.budget_changed;
        let begun = self.tracks.iter().any(|track| track.whole == 0);
        if open || begun || self.decider.planned().is_some() {
            return Ok(());
        }
        let rounds = planned_rounds(self.plan, driver.spent(), self.first_round);
        self.decider.set_looks(Looks::planned(self.plan, &self.plan.criteria, Some(rounds)));
        self.store.append_note(driver.note(Event::Planned { rounds }))
    }

    fn measure(&mut self, driver: &mut Driver<'_>) -> Result<EndReason> {
        let plan = self.plan;
        if driver.arena.preconditions() {
            let baseline = plan
                .variants
                .iter()
                .position(|variant| variant.name == plan.baseline())
                .expect("a checked plan has it");
            for workload in 0..plan.workloads.len() {
                if driver.stop.signal().is_none() && self.cold.contains(&workload) {
                    driver.precondition(workload, self.indexes[baseline], plan.baseline(), self)?;
                }
            }
        }
        let mut turn = if self.turn < plan.workloads.len() { self.turn } else { 0 };
        loop {
            self.plan_rounds(driver)?;
            let first = std::mem::take(&mut turn);
            let mut measured = first > 0;
            for workload in first..plan.workloads.len() {
                if let Some(signal) = driver.stop.signal() {
                    return Ok(EndReason::Interrupted { by: signal.to_owned() });
                }
                if self.wants_round(workload) {
                    let is_begun = self.is_begun(driver, workload);
                    if !is_begun
                        && driver.nr_trials().saturating_add(plan.variants.len() as u64)
                            > TRIALS.most
                    {
                        return Ok(EndReason::ResultsFull { trials: driver.nr_trials() });
                    }
                    let measured_s = driver.spent().as_secs_f64();
                    if !is_begun
                        && (measured_s >= plan.budget.time_s || !self.fits(workload, measured_s))
                    {
                        return Ok(EndReason::BudgetSpent { measured_s });
                    }
                    match self.round(driver, workload)? {
                        Some(Halt::DeviceVanished { detail }) => {
                            return Ok(EndReason::DeviceVanished { detail });
                        }
                        Some(Halt::Interrupted { by }) => return Ok(EndReason::Interrupted { by }),
                        None => measured = true,
                    }
                }
            }
            if !measured {
                let fixed = plan.budget.rounds.is_some() || self.has_every_round();
                return Ok(if fixed {
                    EndReason::RoundsMeasured
                } else {
                    EndReason::VerdictsReached
                });
            }
        }
    }

    /// Whether the next round ends within the budget, if programs determine its length. Other
    /// trials were sized for the budget.
    fn fits(&self, workload: usize, spent_s: f64) -> bool {
        let plan = self.plan;
        let trial_s = self.tracks[workload].trial.as_secs_f64();
        let planned_s = length::round_s(plan) / (plan.variants.len() * plan.workloads.len()) as f64;
        let is_planned = plan.arena.is_virtual() || trial_s <= length::TOLERATED * planned_s;
        is_planned || spent_s + trial_s * self.active(workload).len() as f64 <= plan.budget.time_s
    }

    fn wants_round(&self, workload: usize) -> bool {
        !self.has_rounds(workload) && self.active(workload).len() > 1
    }

    /// Whether an earlier session began the next round of a workload.
    fn is_begun(&self, driver: &Driver<'_>, workload: usize) -> bool {
        driver.arena.one_seed_a_round() && !self.tracks[workload].lacking.is_empty()
    }

    fn has_rounds(&self, workload: usize) -> bool {
        let rounds = [self.plan.budget.rounds, self.decider.planned()].into_iter().flatten().min();
        rounds.is_some_and(|rounds| self.tracks[workload].whole >= rounds)
    }

    fn has_every_round(&self) -> bool {
        (0..self.tracks.len())
            .any(|workload| self.has_rounds(workload) && self.active(workload).len() > 1)
    }

    /// The baseline and the undecided variants that the kernel did not refuse.
    fn active(&self, workload: usize) -> Vec<Variant> {
        if self
            .refused
            .iter()
            .any(|variant| self.plan.variants[*variant].name == self.plan.baseline())
        {
            return Vec::new();
        }
        let mut variants = active(&self.decider, self.plan, workload);
        variants.retain(|variant| !self.refused.contains(variant));
        variants
    }

    fn round(&mut self, driver: &mut Driver<'_>, workload: usize) -> Result<Option<Halt>> {
        let (number, variants, missing) = self.next_round(driver, workload);
        self.announce(driver, workload, number, &variants)?;
        let plan = self.plan;
        let named: Vec<_> = variants
            .iter()
            .map(|variant| (self.indexes[*variant], plan.variants[*variant].name.as_str()))
            .collect();
        let missing: Vec<VariantIndex> =
            missing.iter().map(|variant| self.indexes[*variant]).collect();
        let began = driver.spent();
        let halt =
            driver.round(&Round { workload, number, variants: &named, missing: &missing }, self)?;
        if halt.is_some() {
            return Ok(halt);
        }
        let track = &mut self.tracks[workload];
        track.trial =
            track.trial.max((driver.spent() - began).div_f64(missing.len().max(1) as f64));
        track.next = number + 1;
        track.whole += 1;
        let whole = self.tracks[workload].whole;
        if driver.progress.shows_standing()
            && let Some(text) =
                self.estimate.round(plan, &self.decider, workload, whole, driver.wall())
        {
            driver.progress.remark(&text);
        }
        let left = self.active(workload);
        for variant in variants.iter().filter(|variant| !left.contains(variant)) {
            driver.progress.decided(&plan.workloads[workload].name, &plan.variants[*variant].name);
            let (workload, variant) =
                (plan.workloads[workload].name.clone(), plan.variants[*variant].name.clone());
            let rounds = number + 1;
            let event = match self.decider.given_up(&workload, &variant) {
                Some(chance) => Event::FutileVariant { workload, variant, rounds, chance },
                None => Event::StoppedVariant { workload, variant, rounds },
            };
            self.store.append_note(driver.note(event))?;
        }
        Ok(None)
    }

    /// Number and variants of the next round, and those still to measure. On a machine a round's
    /// trials must be measured together, so an interrupted round is replaced; in virtual time it is
    /// completed.
    fn next_round(
        &mut self,
        driver: &Driver<'_>,
        workload: usize,
    ) -> (u32, Vec<Variant>, Vec<Variant>) {
        let is_begun = self.is_begun(driver, workload);
        let track = &mut self.tracks[workload];
        let lacking = std::mem::take(&mut track.lacking);
        if is_begun {
            return (track.next - 1, track.planned.clone(), lacking);
        }
        let next = track.next;
        let variants = self.active(workload);
        (next, variants.clone(), variants)
    }

    fn announce(
        &self,
        driver: &mut Driver<'_>,
        workload: usize,
        round: u32,
        variants: &[Variant],
    ) -> Result<()> {
        let end = self
            .plan
            .budget
            .rounds
            .or(self.decider.planned())
            .unwrap_or(round.saturating_add(LOOKAHEAD));
        let in_order = (0..self.plan.variants.len()).filter(|variant| variants.contains(variant));
        let variants = in_order.map(|variant| self.indexes[variant]).collect();
        driver.announce(workload, vec![Group { round, variants }], round.saturating_add(1)..end)
    }
}

/// Workloads whose first trial would find empty caches and files.
fn cold(plan: &Plan, results: &Results) -> Vec<usize> {
    let warm = |name: &str| {
        results.notes.iter().any(
            |note| matches!(&note.event, Event::Precondition { workload, .. } if workload == name),
        )
    };
    let all = plan.workloads.iter().enumerate().filter(|_| results.trials.is_empty());
    all.filter(|(_, spec)| !warm(&spec.name)).map(|(number, _)| number).collect()
}

fn active(decider: &Decider, plan: &Plan, workload: usize) -> Vec<Variant> {
    let names = decider.active_variants(&plan.workloads[workload].name);
    names
        .iter()
        .filter_map(|name| plan.variants.iter().position(|variant| variant.name == *name))
        .collect()
}

impl Series for Experiment<'_> {
    fn log(&mut self) -> &mut dyn TrialLog {
        self.store
    }

    /// The share refers to the whole plan; verdicts may end it earlier.
    fn status(&self, driver: &Driver<'_>, workload: &str) -> Status {
        let total = Duration::from_secs_f64(expected_s(self.plan).min(self.plan.budget.time_s));
        let spent = driver.spent();
        let left = total.saturating_sub(spent);
        let left = if self.plan.arena.is_virtual() {
            // Wall-clock time; unknown at the start.
            let simulated = driver.spent_now().as_secs_f64();
            (simulated > 0.0).then(|| left.mul_f64(driver.wall().as_secs_f64() / simulated))
        } else {
            Some(left)
        };
        let share = (spent.as_secs_f64() / total.as_secs_f64().max(1e-9)).min(1.0);
        Status {
            share,
            left,
            label: workload.to_owned(),
            standing: self.estimate.standing().to_owned(),
        }
    }

    fn measured(
        &mut self,
        driver: &Driver<'_>,
        variant: VariantIndex,
        trial: &Trial,
    ) -> Result<()> {
        self.count(trial);
        self.decider.push(trial);
        let variant = self
            .indexes
            .iter()
            .position(|index| *index == variant)
            .expect("a round holds variants of the plan");
        for reason in &trial.observation.invalid {
            let is_refusal = matches!(
                reason,
                InvalidReason::WriteFailed { .. } | InvalidReason::NotInEffect { .. }
            );
            if is_refusal && !self.refused.contains(&variant) {
                self.refused.push(variant);
                let event =
                    Event::RefusedVariant { variant: trial.variant.clone(), cause: reason.clone() };
                self.store.append_note(driver.note(event))?;
            }
        }
        Ok(())
    }
}

impl TrialLog for Store {
    fn append_trial(&mut self, trial: &Trial) -> Result<()> {
        self.append(&Line::Trial(Box::new(trial.clone())))
    }

    fn append_note(&mut self, note: Note) -> Result<()> {
        self.append(&Line::Note(note))
    }
}

impl ResultsLog for Store {
    fn append_end(&mut self, end: End) -> Result<()> {
        self.append(&Line::End(end))
    }
}
