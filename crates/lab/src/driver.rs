//! The loop that measures: rounds of trials, each trial on the disk before the next one starts.
//!
//! Every series of trials goes through here. What differs is who proposes the rounds: a comparison
//! ([`crate::conduct`]) measures the variants that are undecided, a search ([`crate::tune`]) those
//! of its race.

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

/// The number of no round: of the trials before the first one.
const PILOT: u32 = u32::MAX;

/// Where trials are kept. A line is on the disk when its call returns.
pub trait TrialLog {
    /// # Errors
    /// The line cannot be written.
    fn append_trial(&mut self, trial: &Trial) -> Result<()>;

    /// # Errors
    /// The line cannot be written.
    fn append_note(&mut self, note: Note) -> Result<()>;
}

/// Where the results file of an experiment is kept.
pub trait ResultsLog: TrialLog {
    /// # Errors
    /// The line cannot be written.
    fn append_end(&mut self, end: End) -> Result<()>;
}

/// Who asked for the trials of a series, and keeps them.
pub trait Series {
    /// Where its trials are kept.
    fn log(&mut self) -> &mut dyn TrialLog;

    /// What to show while the next trial runs.
    fn status(&self, driver: &Driver<'_>, workload: &str) -> Status;

    /// A trial is measured and kept.
    ///
    /// # Errors
    /// Those of the log.
    fn measured(&mut self, driver: &Driver<'_>, variant: VariantIndex, trial: &Trial)
    -> Result<()>;
}

/// How far a series of trials is.
#[derive(Debug, Clone)]
pub struct Status {
    /// The share that is done, 0 to 1.
    pub share: f64,
    /// The time left, at most.
    pub left: Option<Duration>,
    /// The workload, and what else is of interest.
    pub label: String,
    /// What is known so far; may be empty.
    pub standing: String,
}

/// Trials that are measured together: variants in shuffled order under one workload.
#[derive(Debug, Clone)]
pub struct Round<'b> {
    /// The number of the workload in the plan.
    pub workload: usize,
    pub number: u32,
    /// The variants that the order is drawn from.
    pub variants: &'b [(VariantIndex, &'b str)],
    /// Those that are not kept yet.
    pub missing: &'b [VariantIndex],
}

/// Why a round ended before its last trial.
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

/// Whether a trial was cut short from outside: it is measured again when the series is resumed.
pub fn is_cut_short(trial: &Trial) -> bool {
    Halt::of(trial).is_some()
}

/// What earlier sessions of a series have measured.
#[derive(Debug, Clone, Copy, Default)]
pub struct Earlier {
    /// How many trials.
    pub trials: u64,
    /// The time that they took, by the clock of the budget.
    pub spent: Duration,
}

/// Where and how trials are measured.
pub struct Driver<'a> {
    pub plan: &'a Plan,
    pub arena: &'a mut dyn Arena,
    pub stop: &'a Stop,
    pub progress: &'a dyn Progress,
    /// When the series began, in this process's clock.
    began: Instant,
    /// The arena's clock at that moment.
    arena_began: Duration,
    /// The time that earlier sessions of a resumed series have spent.
    offset: Duration,
    sequence: u64,
    /// Whether a variant other than the first that the machine refuses with an error is an invalid
    /// trial and not the end of the series.
    pub errors_are_invalid: bool,
}

impl<'a> Driver<'a> {
    /// A series that begins, or goes on after earlier sessions.
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

    /// How many trials the series has, those of earlier sessions among them.
    pub fn nr_trials(&self) -> u64 {
        self.sequence
    }

    /// Measures what is missing of a round. Returns what ended it early.
    ///
    /// A trial of virtual time that a signal interrupts is not kept: nothing of it was measured,
    /// and its seed gives it again. So the results file of a resumed experiment is that of an
    /// uninterrupted one.
    ///
    /// # Errors
    /// The arena or the log failed.
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

    /// Announces trials of a workload to an arena that measures in parallel: `next` are asked for,
    /// then maybe the rounds `then` with the variants of the last of `next`.
    ///
    /// # Errors
    /// Those of measuring.
    pub fn announce(&mut self, workload: usize, next: Vec<Group>, then: Range<u32>) -> Result<()> {
        if !self.arena.one_seed_a_round() || next.is_empty() {
            return Ok(());
        }
        let TrialSpec { duration, warmup, .. } = self.spec(workload, 0);
        let (seed, name) = (self.plan.seed, &self.plan.workloads[workload].name);
        let seed = |round| schedule::trial_seed(seed, name, round, 0);
        self.arena.announce(&Upcoming { workload, next, then, seed: &seed, duration, warmup })
    }

    /// One trial of a workload under `variant` that is no evidence: it fills what a first trial
    /// would find empty.
    ///
    /// # Errors
    /// The arena or the log failed.
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

    /// A trial of a workload under each of `variants` that is no evidence, with a seed that no
    /// round has. Nothing is noted.
    ///
    /// # Errors
    /// The arena failed.
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

    /// The seed of trials before the first round.
    fn pilot_seed(&self, workload: usize) -> u64 {
        schedule::trial_seed(self.plan.seed, &self.plan.workloads[workload].name, PILOT, 0)
    }

    /// An event that happens now.
    pub fn note(&self, event: Event) -> Note {
        Note { at_ms: self.at_ms(), event }
    }

    /// The time that the series has spent, by the arena's clock.
    pub fn spent(&self) -> Duration {
        self.offset + self.spent_now()
    }

    /// The same without earlier sessions.
    pub fn spent_now(&self) -> Duration {
        self.arena.elapsed() - self.arena_began
    }

    pub fn at_ms(&self) -> u64 {
        u64::try_from(self.spent().as_millis())
            .expect("an experiment is shorter than 584 million years")
    }

    /// Wall time of this session.
    pub fn wall(&self) -> Duration {
        self.began.elapsed()
    }

    /// The number of the next trial.
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
            // Nothing is measured: the setting is not the variant's.
            return Ok(Observation { invalid, ..Observation::default() });
        }
        let mut observation = self.arena.measure(spec)?;
        invalid.append(&mut observation.invalid);
        observation.invalid = invalid;
        Ok(observation)
    }
}
