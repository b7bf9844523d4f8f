//! The measuring loop. Each trial is on disk before the next one starts.
//!
//! Every series of trials runs here. A comparison ([`crate::conduct`]) proposes rounds of undecided
//! variants, a search ([`crate::tune`]) those of its race.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::Result;
use experiment::plan::Plan;
use experiment::results::{End, Event, InvalidReason, Note, Observation, Trial};
use experiment::schedule;

use crate::arena::{Arena, Group, TrialSpec, Upcoming, VariantIndex};
use crate::console::Console;
use crate::length::trial_length;
use crate::progress::{Progress, Step};
use crate::signals::Stop;

/// Round number of trials before the first round.
const PILOT: u32 = u32::MAX;

/// Stores trials. A line is on disk when the call returns.
pub trait TrialLog {
    fn append_trial(&mut self, trial: &Trial) -> Result<()>;

    fn append_note(&mut self, note: Note) -> Result<()>;
}

pub trait ResultsLog: TrialLog {
    fn append_end(&mut self, end: End) -> Result<()>;
}

pub trait Series {
    fn log(&mut self) -> &mut dyn TrialLog;

    fn status(&self, driver: &Driver<'_>, workload: &str) -> Status;

    /// Called after a trial was measured and stored.
    fn measured(&mut self, driver: &Driver<'_>, variant: VariantIndex, trial: &Trial)
    -> Result<()>;
}

#[derive(Debug, Clone)]
pub struct Status {
    /// Completed share, 0 to 1.
    pub share: f64,
    /// Upper bound.
    pub left: Option<Duration>,
    /// The workload and further details.
    pub label: String,
    /// Findings so far; may be empty.
    pub standing: String,
}

/// Variants to measure under one workload, in shuffled order.
#[derive(Debug, Clone)]
pub struct Round<'b> {
    /// Index in the plan.
    pub workload: usize,
    pub number: u32,
    pub variants: &'b [(VariantIndex, &'b str)],
    pub missing: &'b [VariantIndex],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Halt {
    DeviceVanished { detail: String },
    Interrupted { by: String },
}

impl Halt {
    fn of(trial: &Trial) -> Option<Halt> {
        trial.observation.invalid.iter().find_map(|reason| match reason {
            InvalidReason::DeviceVanished { detail } => {
                Some(Halt::DeviceVanished { detail: detail.clone() })
            }
            InvalidReason::Interrupted { by } => Some(Halt::Interrupted { by: by.clone() }),
            _ => None,
        })
    }
}

/// Whether a trial was cut short from outside and will be repeated on resume.
pub fn is_cut_short(trial: &Trial) -> bool {
    Halt::of(trial).is_some()
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Earlier {
    pub trials: u64,
    /// By the budget's clock.
    pub spent: Duration,
}

pub struct Driver<'a> {
    pub plan: &'a Plan,
    pub arena: &'a mut dyn Arena,
    pub stop: &'a Stop,
    pub progress: &'a dyn Progress,
    /// In this process's clock.
    began: Instant,
    /// In the arena's clock.
    arena_began: Duration,
    offset: Duration,
    sequence: u64,
    /// Whether a machine error for a variant other than the first makes the trial invalid instead
    /// of ending the series.
    pub errors_are_invalid: bool,
}

impl<'a> Driver<'a> {
    pub fn new(
        plan: &'a Plan,
        arena: &'a mut dyn Arena,
        console: Console<'a>,
        earlier: Earlier,
    ) -> Driver<'a> {
        let (Console { stop, progress }, Earlier { trials: sequence, spent: offset }) =
            (console, earlier);
        let (began, arena_began) = (Instant::now(), arena.elapsed());
        let errors_are_invalid = false;
        Driver {
            plan,
            arena,
            stop,
            progress,
            began,
            arena_began,
            offset,
            sequence,
            errors_are_invalid,
        }
    }

    /// Includes earlier sessions.
    pub fn nr_trials(&self) -> u64 {
        self.sequence
    }

    /// Measures the missing trials of a round. Returns the reason if it ended early.
    ///
    /// In virtual time an interrupted trial is discarded, so that resumed results equal
    /// uninterrupted ones.
    pub fn round(&mut self, round: &Round<'_>, series: &mut dyn Series) -> Result<Option<Halt>> {
        self.arena.begin_round()?;
        let workload = &self.plan.workloads[round.workload];
        let names: Vec<&str> = round.variants.iter().map(|(_, name)| *name).collect();
        for (position, name) in
            schedule::order(self.plan.seed, &workload.name, round.number, &names)
                .into_iter()
                .enumerate()
        {
            let (variant, _) = round
                .variants
                .iter()
                .find(|(_, known)| *known == name)
                .expect("the order holds the round's variants");
            if !round.missing.contains(variant) {
                continue;
            }
            let position = u32::try_from(position).expect("fewer variants than 2^32");
            self.show(series, name, round.workload, round.number);
            let started_ms = self.at_ms();
            let spec = self.spec(round.workload, self.seed(round.workload, round.number, position));
            let trial = Trial {
                sequence: self.sequence,
                workload: workload.name.clone(),
                round: round.number,
                position,
                variant: name.to_owned(),
                started_ms,
                observation: self.trial(*variant, &spec)?,
            };
            let halt = Halt::of(&trial);
            if self.arena.one_seed_a_round() && matches!(halt, Some(Halt::Interrupted { .. })) {
                return Ok(halt);
            }
            self.sequence += 1;
            series.log().append_trial(&trial)?;
            self.progress.measured(&trial, workload.primary.as_deref().unwrap_or("iops"));
            series.measured(self, *variant, &trial)?;
            if halt.is_some() {
                return Ok(halt);
            }
        }
        Ok(None)
    }

    /// Announces `next`, then possibly the rounds `then` with the last group's variants, to an
    /// arena that measures in parallel.
    pub fn announce(&mut self, workload: usize, next: Vec<Group>, then: Range<u32>) -> Result<()> {
        if !self.arena.one_seed_a_round() || next.is_empty() {
            return Ok(());
        }
        let TrialSpec { duration, warmup, .. } = self.spec(workload, 0);
        let (seed, name) = (self.plan.seed, &self.plan.workloads[workload].name);
        let seed = |round| schedule::trial_seed(seed, name, round, 0);
        self.arena.announce(&Upcoming { workload, next, then, seed: &seed, duration, warmup })
    }

    /// Runs a trial that fills caches and files. It does not count as evidence.
    pub fn precondition(
        &mut self,
        workload: usize,
        variant: VariantIndex,
        name: &str,
        series: &mut dyn Series,
    ) -> Result<Observation> {
        self.arena.begin_round()?;
        self.show(series, name, workload, 0);
        let spec = &self.plan.workloads[workload];
        let observation = self.trial(variant, &self.spec(workload, self.pilot_seed(workload)))?;
        let primary = spec.primary.as_deref().unwrap_or("iops");
        let event = Event::Precondition {
            workload: spec.name.clone(),
            variant: name.to_owned(),
            metric: Some(primary.to_owned()),
            value: observation.metrics.get(primary).copied(),
            invalid: observation.invalid.first().cloned(),
        };
        series.log().append_note(self.note(event))?;
        Ok(observation)
    }

    /// Runs a pilot trial under each of `variants`, with a seed that no round uses. Pilot trials
    /// are not evidence and leave no note.
    pub fn run_pilots(
        &mut self,
        workload: usize,
        variants: &[VariantIndex],
        series: &dyn Series,
    ) -> Result<Vec<Observation>> {
        let spec = self.spec(workload, self.pilot_seed(workload));
        self.show(series, "every variant", workload, 0);
        if variants.len() > 1 {
            self.announce(
                workload,
                vec![Group { round: PILOT, variants: variants.to_vec() }],
                0..0,
            )?;
        }
        self.arena.begin_round()?;
        variants.iter().map(|variant| self.trial(*variant, &spec)).collect()
    }

    fn pilot_seed(&self, workload: usize) -> u64 {
        schedule::trial_seed(self.plan.seed, &self.plan.workloads[workload].name, PILOT, 0)
    }

    pub fn note(&self, event: Event) -> Note {
        Note { at_ms: self.at_ms(), event }
    }

    /// By the arena's clock, including earlier sessions.
    pub fn spent(&self) -> Duration {
        self.offset + self.spent_now()
    }

    /// By the arena's clock, in this session.
    pub fn spent_now(&self) -> Duration {
        self.arena.elapsed() - self.arena_began
    }

    pub fn at_ms(&self) -> u64 {
        u64::try_from(self.spent().as_millis())
            .expect("an experiment is shorter than 584 million years")
    }

    pub fn wall(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    fn show(&self, series: &dyn Series, variant: &str, workload: usize, round: u32) {
        let Status { share, left, label, standing } =
            series.status(self, &self.plan.workloads[workload].name);
        let (elapsed, simulated) = (self.spent(), self.plan.arena.is_virtual());
        let (workload, standing) = (label.as_str(), standing.as_str());
        self.progress.trial(&Step {
            share,
            elapsed,
            simulated,
            left,
            workload,
            variant,
            round,
            standing,
        });
    }

    fn seed(&self, workload: usize, round: u32, position: u32) -> u64 {
        let position = if self.arena.one_seed_a_round() { 0 } else { position };
        schedule::trial_seed(self.plan.seed, &self.plan.workloads[workload].name, round, position)
    }

    fn spec(&self, workload: usize, seed: u64) -> TrialSpec {
        let (duration, warmup) = trial_length(self.plan);
        TrialSpec { workload, seed, duration, warmup }
    }

    fn trial(&mut self, variant: VariantIndex, spec: &TrialSpec) -> Result<Observation> {
        let mut invalid = match self.arena.apply(variant) {
            Ok(invalid) => invalid,
            Err(error)
                if self.errors_are_invalid
                    && variant != VariantIndex(0)
                    && error.is::<machine::Error>() =>
            {
                let (attribute, wanted) = ("setting".to_owned(), "the variant's".to_owned());
                vec![InvalidReason::WriteFailed { attribute, wanted, error: error.to_string() }]
            }
            Err(error) => return Err(error),
        };
        if !invalid.is_empty() {
            // The variant's setting is not in effect.
            return Ok(Observation { invalid, ..Observation::default() });
        }
        let mut observation = self.arena.measure(spec)?;
        invalid.append(&mut observation.invalid);
        observation.invalid = invalid;
        Ok(observation)
    }
}
