//! A search on its way: the trials that the search asks for, measured, written down, and told.
//!
//! Where a block is a seed, trials are measured side by side and each is made once. On a machine a block is what is measured
//! together: default, incumbent and challengers in shuffled order, so that what drifts hits all of them alike.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use experiment::metric::{Direction, direction_of};
use experiment::plan::{Arm, Plan};
use experiment::record::{Event, Note, Observation, Trial, VoidReason};
use experiment::schedule;
use serde::{Deserialize, Serialize};
use tuner::{BASELINE, Ended, Mode, Outcome, Request, Search};

use super::log::{Line, Log, Seen};
use super::objective::Constraint;
use super::space::Field;
use crate::arena::{Arena, TrialOrder, Upcoming};
use crate::conduct::trial_length;
use crate::progress::Progress;
use crate::signals::Stop;

/// A search, with what it needs to go on.
pub struct Session<'a> {
    /// Workloads, trials, seed; its first arm is the default.
    pub plan: &'a Plan,
    /// What the points are.
    pub field: &'a Field,
    /// What must hold.
    pub constraints: &'a [Constraint],
    /// Where trials take place; they carry the objective.
    pub arena: &'a mut dyn Arena,
    /// Where they are written down.
    pub log: &'a mut Log,
    /// What stood there when the search began.
    pub seen: Seen,
    /// Asks to end.
    pub stop: &'a Stop,
    /// Tells how far it is.
    pub progress: &'a dyn Progress,
    /// The search ends when this much time of the arena was spent on it, however many trials are left.
    pub time: Option<Duration>,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnd {
    /// The trials are spent.
    Budget,
    /// Every point of the space is decided.
    Exhausted,
    /// So many challengers did not beat the incumbent that no more were tried.
    Patience,
    /// The time of the search is spent.
    Time,
    /// It was stopped from outside and can be resumed.
    Interrupted,
    /// The log already held the whole search.
    #[serde(rename = "resumed after its end")]
    Resumed,
}

impl SearchEnd {
    /// The word in search.jsonl, tune.json and the answer.
    pub fn name(self) -> &'static str {
        match self {
            SearchEnd::Budget => "budget",
            SearchEnd::Exhausted => "exhausted",
            SearchEnd::Patience => "patience",
            SearchEnd::Time => "time",
            SearchEnd::Interrupted => "interrupted",
            SearchEnd::Resumed => "resumed after its end",
        }
    }
}

/// How a search went.
#[derive(Debug, Clone)]
pub struct Course {
    /// Why it ended.
    pub why: SearchEnd,
    /// Best so far.
    pub curve: Vec<Step>,
    /// Trials of the search, void ones included.
    pub trials: u32,
    /// Time of the arena that they took.
    pub spent: Duration,
    /// When each candidate was first measured: after so many trials, by number.
    pub first: Vec<u32>,
}

/// The best so far after some trials.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// Trials so far.
    pub trials: u32,
    /// The incumbent's number.
    pub candidate: usize,
    /// Its mean log ratio to the default, positive when better.
    pub effect: f64,
}

/// What is kept while the search goes on.
struct Way {
    began: Instant,
    arena_began: Duration,
    offset: Duration,
    sequence: u64,
    /// On a machine: blocks of an earlier session that were cut off and made up for.
    torn: u32,
    fresh: bool,
    /// Every trial by candidate and block, one a workload.
    trials: BTreeMap<(usize, u32), Vec<Trial>>,
    written: usize,
    course: Course,
}

impl Session<'_> {
    /// Searches until the search has ended or somebody stops it.
    ///
    /// # Errors
    /// The arena fails, the log cannot be written, or the default reports no objective.
    pub fn run(&mut self, search: &mut Search) -> Result<Course> {
        let (sequence, offset) = self.seen.last.map_or((0, 0), |(sequence, ms)| (sequence + 1, ms));
        let mut way = Way {
            began: Instant::now(),
            arena_began: self.arena.elapsed(),
            offset: Duration::from_millis(offset),
            sequence,
            torn: 0,
            fresh: !self.arena.one_seed_a_block(),
            trials: BTreeMap::new(),
            written: self.seen.candidates,
            course: Course {
                why: SearchEnd::Interrupted,
                curve: Vec::new(),
                trials: 0,
                spent: Duration::ZERO,
                first: Vec::new(),
            },
        };
        let why = self.walk(search, &mut way)?;
        let mut course = way.course;
        course.spent = way.offset + (self.arena.elapsed() - way.arena_began);
        if why != SearchEnd::Interrupted && self.seen.ended.is_none() {
            self.log.append(&Line::Chosen { trials: course.trials, why })?;
        }
        course.why = why;
        Ok(course)
    }

    fn walk(&mut self, search: &mut Search, way: &mut Way) -> Result<SearchEnd> {
        let mut warm = false;
        loop {
            if self.seen.ended.is_some_and(|trials| way.course.trials >= trials) {
                return Ok(SearchEnd::Resumed);
            }
            let wanted = search.next();
            if wanted.is_empty() {
                return Ok(match search.ended() {
                    Some(Ended::Exhausted) => SearchEnd::Exhausted,
                    Some(Ended::Patience) => SearchEnd::Patience,
                    Some(Ended::Budget) | None => SearchEnd::Budget,
                });
            }
            self.admit(search, way, &wanted)?;
            let known = self.known(search, way, &wanted);
            if !known {
                let spent = way.offset + (self.arena.elapsed() - way.arena_began);
                if self.time.is_some_and(|time| spent >= time) {
                    return Ok(SearchEnd::Time);
                }
                if !warm && self.arena.preconditions() {
                    self.precondition()?;
                }
                warm = true;
            }
            if !self.measure(search, way, &wanted)? {
                return Ok(SearchEnd::Interrupted);
            }
            self.tell(search, way, &wanted)?;
        }
    }

    /// Writes down the candidates that are new, and tells the arena of them.
    fn admit(&mut self, search: &Search, way: &mut Way, wanted: &[Request]) -> Result<()> {
        for number in way.course.first.len()..search.candidates().len() {
            let arm = self.arm(search, number);
            self.arena.admit(&arm)?;
            if number >= way.written {
                self.log.append(&Line::Candidate { number, arm })?;
                way.written = number + 1;
            }
            way.course.first.push(way.course.trials);
        }
        debug_assert!(wanted.iter().all(|request| request.candidate < way.course.first.len()));
        Ok(())
    }

    fn arm(&self, search: &Search, candidate: usize) -> Arm {
        match &search.candidates()[candidate].point {
            Some(point) if candidate != BASELINE => self.field.arm(point),
            _ => self.plan.arms[0].clone(),
        }
    }

    /// Whether all of these trials stand in the log already. Blocks of a machine that were cut off are passed over.
    fn known(&self, search: &Search, way: &mut Way, wanted: &[Request]) -> bool {
        loop {
            let there = wanted
                .iter()
                .flat_map(|request| self.plan.workloads.iter().map(move |workload| (request, workload)))
                .filter(|(request, workload)| {
                    let block = request.block + way.torn;
                    self.seen.trials.contains_key(&(
                        self.arm(search, request.candidate).name,
                        workload.name.clone(),
                        block,
                    ))
                })
                .count();
            let all = wanted.len() * self.plan.workloads.len();
            if there == all {
                return true;
            }
            if there == 0 || !way.fresh {
                return false;
            }
            way.torn += 1;
        }
    }

    /// Measures what does not stand in the log; false when somebody asks to end.
    fn measure(&mut self, search: &Search, way: &mut Way, wanted: &[Request]) -> Result<bool> {
        let plan = self.plan;
        for workload in &plan.workloads {
            let mut blocks: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
            for request in wanted {
                blocks.entry(request.block).or_default().push(request.candidate);
            }
            for (block, candidates) in blocks {
                let kept = block + way.torn;
                let arms: Vec<Arm> = candidates.iter().map(|candidate| self.arm(search, *candidate)).collect();
                let key = |arm: &str| (arm.to_owned(), workload.name.clone(), kept);
                let missing: Vec<&Arm> =
                    arms.iter().filter(|a| !self.seen.trials.contains_key(&key(&a.name))).collect();
                let (duration, warmup) = trial_length(plan);
                if !way.fresh && !missing.is_empty() {
                    let seeds = vec![schedule::trial_seed(plan.seed, &workload.name, kept, 0)];
                    self.arena.announce(&Upcoming { workload, arms: missing, seeds, duration, warmup })?;
                }
                let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
                for (position, name) in schedule::order(plan.seed, &workload.name, kept, &names).into_iter().enumerate()
                {
                    let candidate = candidates[names.iter().position(|n| *n == name).expect("it is one of them")];
                    if let Some(trial) = self.seen.trials.get(&key(name)) {
                        way.trials.entry((candidate, block)).or_default().push(trial.clone());
                        continue;
                    }
                    let arm = arms.iter().find(|arm| arm.name == name).expect("it is one of them");
                    let place = if way.fresh { position as u32 } else { 0 };
                    let order = TrialOrder {
                        workload,
                        seed: schedule::trial_seed(plan.seed, &workload.name, kept, place),
                        duration,
                        warmup,
                    };
                    self.show(search, way, &workload.name, &arm.name, kept);
                    let started_ms = self.at_ms(way);
                    let observation = self.trial(arm, &order)?;
                    if self.stop.signal().is_some() {
                        return Ok(false);
                    }
                    if let Some(gone) =
                        observation.voids.iter().find(|v| matches!(v, VoidReason::DeviceVanished { .. }))
                    {
                        bail!("device: {gone}; what was measured before is kept");
                    }
                    let (sequence, block_number) = (way.sequence, kept);
                    let trial = Trial {
                        sequence,
                        workload: workload.name.clone(),
                        block: block_number,
                        position: position as u32,
                        arm: arm.name.clone(),
                        started_ms,
                        observation,
                    };
                    way.sequence += 1;
                    self.log.append(&Line::Trial(Box::new(trial.clone())))?;
                    way.trials.entry((candidate, block)).or_default().push(trial);
                }
            }
        }
        Ok(true)
    }

    /// One trial. A setting that the kernel refuses is a void trial of this candidate, and no reason to end a search.
    fn trial(&mut self, arm: &Arm, order: &TrialOrder<'_>) -> Result<Observation> {
        let mut voids = match self.arena.apply(arm) {
            Ok(voids) => voids,
            Err(error) if arm.name != self.plan.arms[0].name && error.is::<host::Error>() => {
                let (attribute, wanted) = ("setting".to_owned(), arm.name.clone());
                vec![VoidReason::WriteFailed { attribute, wanted, error: error.to_string() }]
            }
            Err(error) => return Err(error),
        };
        if !voids.is_empty() {
            return Ok(Observation { voids, ..Observation::default() });
        }
        let mut observation = self.arena.measure(order)?;
        voids.append(&mut observation.voids);
        observation.voids = voids;
        Ok(observation)
    }

    /// One trial of each workload under the default that is no evidence: it fills what a first trial would find empty.
    fn precondition(&mut self) -> Result<()> {
        let plan = self.plan;
        let (duration, warmup) = trial_length(plan);
        for workload in &plan.workloads {
            let seed = schedule::trial_seed(plan.seed, &workload.name, u32::MAX, 0);
            self.trial(&plan.arms[0], &TrialOrder { workload, seed, duration, warmup })?;
            let (workload, arm) = (workload.name.clone(), plan.arms[0].name.clone());
            let event = Event::Precondition { workload, arm, metric: None, value: None, void: None };
            self.log.append(&Line::Note(Note { at_ms: 0, event }))?;
        }
        Ok(())
    }

    /// Tells the search what its trials showed.
    fn tell(&mut self, search: &mut Search, way: &mut Way, wanted: &[Request]) -> Result<()> {
        way.course.trials += (wanted.len() * self.plan.workloads.len()) as u32;
        for request in wanted {
            let own = &way.trials[&(request.candidate, request.block)];
            let default = way.trials.get(&(BASELINE, request.block)).expect("the default is in every block");
            if request.candidate == BASELINE && request.block == 0 {
                self.check_default(own)?;
            }
            let effect = effect(self.plan, own, default);
            let excess = excess(self.constraints, own);
            search.tell(*request, &Outcome { effect, excess });
        }
        let incumbent = search.incumbent();
        let effect = search.candidates()[incumbent].effect();
        let step = Step { trials: way.course.trials, candidate: incumbent, effect };
        if way.course.curve.last().is_none_or(|last| (last.candidate, last.effect) != (step.candidate, step.effect)) {
            way.course.curve.push(step);
        }
        Ok(())
    }

    /// A default that does not report what decides, or what is to hold, can be compared with nothing. A trial that is void for another
    /// reason says nothing about that.
    fn check_default(&self, own: &[Trial]) -> Result<()> {
        let thin = |reason: &VoidReason| matches!(reason, VoidReason::TooFewIos { .. });
        if !own.iter().all(|trial| trial.observation.voids.iter().all(thin)) {
            return Ok(());
        }
        let lacks = |trial: &Trial, metric: &str| {
            let void = trial.observation.voids.iter().any(|reason| reason.applies_to(metric));
            void || !trial.observation.metrics.contains_key(metric)
        };
        let refuse = |workload: &str, metric: &str| {
            let there: Vec<&str> = own[0].observation.metrics.keys().map(String::as_str).collect();
            crate::failure::usage(format!(
                "workload {workload}: a trial has no valid {metric} (found {}); make trials longer (--trial-time), since a percentile \
                 takes many requests, or name another metric",
                there.join(", ")
            ))
        };
        for (trial, workload) in own.iter().zip(&self.plan.workloads) {
            let metric = workload.primary.as_deref().unwrap_or_default();
            if lacks(trial, metric) {
                return Err(refuse(&workload.name, metric));
            }
        }
        match self.constraints.iter().find(|c| own.iter().all(|trial| lacks(trial, c.metric))) {
            Some(constraint) => Err(refuse(&own[0].workload, constraint.metric)),
            None => Ok(()),
        }
    }

    fn show(&self, search: &Search, way: &Way, workload: &str, arm: &str, block: u32) {
        let total = f64::from(search.trials()) * self.plan.workloads.len() as f64;
        let share = (f64::from(way.course.trials) / total.max(1.0)).min(1.0);
        let pace = way.began.elapsed().as_secs_f64() / (way.sequence.max(1) as f64);
        let left = Duration::from_secs_f64(pace * (total - f64::from(way.course.trials)).max(0.0));
        let best = search.incumbent();
        let best = match best {
            BASELINE => "nothing better yet".to_owned(),
            _ => format!("{} {:+.1} %", search.key(best), (search.candidates()[best].effect().exp() - 1.0) * 100.0),
        };
        self.progress.trial(share, Some(left), &format!("best so far: {best} · {workload}"), arm, block);
    }

    fn at_ms(&self, way: &Way) -> u64 {
        (way.offset + (self.arena.elapsed() - way.arena_began)).as_millis() as u64
    }
}

/// log(own ÷ default) of the deciding metric, positive when better: the mean over the workloads, so that the objective is the geometric
/// mean of their ratios. None unless every workload has both.
pub fn effect(plan: &Plan, own: &[Trial], default: &[Trial]) -> Option<f64> {
    let mut sum = 0.0;
    for workload in &plan.workloads {
        let metric = workload.primary.as_deref()?;
        let value = |trials: &[Trial]| {
            let trial = trials.iter().find(|trial| trial.workload == workload.name)?;
            let sample = experiment::samples::sample(trial, metric);
            Some(sample.value).filter(|value| sample.voids.is_empty() && value.is_finite() && *value > 0.0)
        };
        let ratio = (value(own)? / value(default)?).ln();
        sum += if direction_of(metric).0 == Direction::LowerIsBetter { -ratio } else { ratio };
    }
    Some(sum / plan.workloads.len() as f64)
}

/// By how much the worst of the constraints is violated in the worst workload that reports it; none without constraints.
pub fn excess(constraints: &[Constraint], own: &[Trial]) -> Option<f64> {
    let all = constraints.iter().flat_map(|c| own.iter().filter_map(|trial| c.excess(&trial.observation)));
    all.max_by(f64::total_cmp)
}

/// How a block of this arena is used.
pub fn mode(plan: &Plan) -> Mode {
    if plan.arena.is_virtual() { Mode::Reused } else { Mode::Fresh }
}
