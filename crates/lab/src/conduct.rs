//! The line of one experiment: blocks of trials, each on the disk before the next, until every verdict is reached or the
//! budget is spent.
//!
//! Round by round, each workload gets one block; a block holds every arm that is still undecided, and the baseline, once, in
//! shuffled order. Workloads take turns, so that a disturbance of a minute does not hit one of them alone.

use std::time::{Duration, Instant};

use anyhow::Result;
use experiment::Decider;
use experiment::plan::{Arm, Plan, WorkloadSpec};
use experiment::record::{End, EndReason, Event, Line, Note, Observation, Record, Trial, VoidReason};
use experiment::schedule;

use crate::arena::{Arena, TrialOrder, Upcoming};
use crate::progress::Progress;
use crate::signals::Stop;
use crate::store::Store;

/// How many blocks a trial's default length aims at: what a decision about a two-sigma effect takes, and a few more.
const BLOCKS_AIMED_AT: f64 = 12.0;

/// What switching and checking takes of each trial, about.
const OVERHEAD: Duration = Duration::from_millis(30);

/// How many blocks an arena that measures side by side hears of beforehand.
const LOOKAHEAD: u32 = 16;

/// An experiment on its way.
pub struct Conductor<'a> {
    plan: &'a Plan,
    arena: &'a mut dyn Arena,
    store: &'a mut Store,
    stop: &'a Stop,
    progress: &'a dyn Progress,
    decider: Decider,
    /// When the experiment began, in this process's clock.
    began: Instant,
    /// The arena's clock at that moment.
    arena_began: Duration,
    /// What earlier sessions of a resumed experiment have spent.
    offset: Duration,
    sequence: u64,
    /// The blocks of each workload, in the plan's order.
    tracks: Vec<Track>,
    /// Arms whose setting the kernel refused: they are void, and measuring them would measure something else.
    refused: Vec<String>,
}

/// The blocks of one workload so far.
#[derive(Debug, Default, Clone)]
struct Track {
    /// Number of the next block.
    next: u32,
    /// Blocks that hold every arm that was to be measured in them. A cut-off one is kept as evidence and made up for.
    whole: u32,
    /// Arms that the last block was to hold.
    planned: Vec<String>,
    /// Those of them that it still lacks.
    lacking: Vec<String>,
}

impl Track {
    /// Takes notice of a trial of an earlier session; `active` are the arms that its block was to hold.
    fn replay(&mut self, trial: &Trial, active: impl FnOnce() -> Vec<String>) {
        if trial.block >= self.next {
            self.next = trial.block + 1;
            self.planned = active();
            self.lacking.clone_from(&self.planned);
        }
        let interrupted = trial.observation.voids.iter().any(|reason| matches!(reason, VoidReason::Interrupted { .. }));
        if interrupted {
            return;
        }
        self.lacking.retain(|arm| *arm != trial.arm);
        if self.lacking.is_empty() {
            self.whole += 1;
        }
    }
}

impl<'a> Conductor<'a> {
    /// An experiment that goes on where `record` ends (its header alone, for a new one).
    pub fn new(
        plan: &'a Plan,
        record: &Record,
        arena: &'a mut dyn Arena,
        store: &'a mut Store,
        stop: &'a Stop,
        progress: &'a dyn Progress,
    ) -> Conductor<'a> {
        let mut decider = Decider::new(plan);
        let mut tracks = vec![Track::default(); plan.workloads.len()];
        for trial in &record.trials {
            if let Some(at) = plan.workloads.iter().position(|workload| workload.name == trial.workload) {
                tracks[at].replay(trial, || decider.active_arms(&trial.workload));
            }
            decider.push(trial);
        }
        let sequence = record.trials.last().map_or(0, |trial| trial.sequence + 1);
        let offset = if plan.arena.is_virtual() {
            // Virtual time is spent by trials alone.
            let spent = |trial: &Trial| trial_length(plan).1 + Duration::from_nanos(trial.observation.duration_ns);
            record.trials.iter().map(spent).sum()
        } else {
            Duration::from_millis(record.last_ms())
        };
        let began = Instant::now();
        let (refused, arena_began) = (Vec::new(), arena.elapsed());
        Conductor { plan, arena, store, stop, progress, decider, began, arena_began, offset, sequence, tracks, refused }
    }

    /// Measures until the end, and writes the end into the record.
    pub fn run(&mut self) -> Result<End> {
        let end = match self.measure() {
            Ok(end) => end,
            Err(error) => {
                let end = self.end(EndReason::Failed { error: format!("{error:#}") });
                // The error that stopped the experiment matters more than a record that cannot take its last line.
                let _ = self.store.append(&Line::End(end));
                return Err(error);
            }
        };
        self.store.append(&Line::End(end.clone()))?;
        Ok(end)
    }

    fn measure(&mut self) -> Result<End> {
        let plan = self.plan;
        if self.offset.is_zero() && self.arena.preconditions() {
            for workload in &plan.workloads {
                self.precondition(workload)?;
            }
        }
        loop {
            let mut measured = false;
            for (at, workload) in plan.workloads.iter().enumerate() {
                if let Some(signal) = self.stop.signal() {
                    return Ok(self.end(EndReason::Interrupted { by: signal.to_string() }));
                }
                if self.wants_block(at) {
                    let measured_s = self.spent().as_secs_f64();
                    if measured_s >= plan.budget.time_s {
                        return Ok(self.end(EndReason::BudgetSpent { measured_s }));
                    }
                    if let Some(end) = self.block(at, workload)? {
                        return Ok(end);
                    }
                    measured = true;
                }
            }
            if !measured {
                let fixed = plan.budget.blocks.is_some();
                return Ok(self.end(if fixed { EndReason::BlocksMeasured } else { EndReason::VerdictsReached }));
            }
        }
    }

    /// Whether a workload still needs a block.
    fn wants_block(&self, at: usize) -> bool {
        let enough = self.plan.budget.blocks.is_some_and(|blocks| self.tracks[at].whole >= blocks);
        !enough && self.arms(at).len() > 1
    }

    /// The arms of the next block: the undecided ones that the kernel did not refuse, and the baseline.
    fn arms(&self, at: usize) -> Vec<String> {
        if self.refused.iter().any(|name| name == self.plan.baseline()) {
            return Vec::new();
        }
        let mut arms = self.decider.active_arms(&self.plan.workloads[at].name);
        arms.retain(|name| !self.refused.contains(name));
        arms
    }

    /// One block: every active arm once. Returns the end of the experiment if it ended meanwhile.
    fn block(&mut self, at: usize, workload: &WorkloadSpec) -> Result<Option<End>> {
        let (block, arms, torn) = self.next_block(at);
        let names: Vec<&str> = arms.iter().map(String::as_str).collect();
        let order = schedule::order(self.plan.seed, &workload.name, block, &names);
        self.announce(workload, block, &arms)?;
        for (position, arm) in order.into_iter().enumerate() {
            if torn.as_ref().is_some_and(|lacking| !lacking.iter().any(|name| name == arm)) {
                continue;
            }
            let position = u32::try_from(position).expect("fewer arms than 2^32");
            self.progress.trial(self.share_done(), self.time_left(), &workload.name, arm, block);
            let started_ms = self.at_ms();
            let seed = self.seed(workload, block, position);
            let observation = self.trial(arm, workload, seed)?;
            let trial = Trial {
                sequence: self.sequence,
                workload: workload.name.clone(),
                block,
                position,
                arm: arm.to_owned(),
                started_ms,
                observation,
            };
            self.sequence += 1;
            self.store.append(&Line::Trial(Box::new(trial.clone())))?;
            self.decider.push(&trial);
            if let Some(end) = self.aftermath(&trial)? {
                return Ok(Some(end));
            }
        }
        self.tracks[at].next = block + 1;
        self.tracks[at].whole += 1;
        let left = self.arms(at);
        for name in arms.iter().filter(|name| !left.contains(name)) {
            let (workload, arm) = (workload.name.clone(), name.clone());
            self.note(Event::StoppedArm { workload, arm, blocks: block + 1 })?;
        }
        Ok(None)
    }

    /// Number and arms of the next block, and which of them it lacks if it was torn by the end of an earlier session. On a machine a
    /// torn block is made up for by a new one, since its arms were to be measured together; where a trial is a function of its
    /// seed it is completed, so that the record becomes the one that an uncut experiment would have had.
    fn next_block(&mut self, at: usize) -> (u32, Vec<String>, Option<Vec<String>>) {
        let track = &mut self.tracks[at];
        let lacking = std::mem::take(&mut track.lacking);
        if self.arena.one_seed_a_block() && !lacking.is_empty() {
            return (track.next - 1, track.planned.clone(), Some(lacking));
        }
        (track.next, self.arms(at), None)
    }

    fn seed(&self, workload: &WorkloadSpec, block: u32, position: u32) -> u64 {
        let position = if self.arena.one_seed_a_block() { 0 } else { position };
        schedule::trial_seed(self.plan.seed, &workload.name, block, position)
    }

    /// Tells the arena which trials this block and those after it will want, as far as can be known.
    fn announce(&mut self, workload: &WorkloadSpec, block: u32, arms: &[String]) -> Result<()> {
        if !self.arena.one_seed_a_block() {
            return Ok(());
        }
        let blocks =
            self.plan.budget.blocks.map_or(LOOKAHEAD, |blocks| blocks.saturating_sub(block).clamp(1, LOOKAHEAD));
        let seeds = (block..block.saturating_add(blocks)).map(|block| self.seed(workload, block, 0)).collect();
        let arms: Vec<&Arm> = self.plan.arms.iter().filter(|arm| arms.contains(&arm.name)).collect();
        let (duration, warmup) = trial_length(self.plan);
        self.arena.announce(&Upcoming { workload, arms, seeds, duration, warmup })
    }

    fn trial(&mut self, arm: &str, workload: &WorkloadSpec, seed: u64) -> Result<Observation> {
        let arm = self.plan.arms.iter().find(|a| a.name == arm).expect("the order holds arms of the plan");
        let mut voids = self.arena.apply(arm)?;
        if !voids.is_empty() {
            // Nothing was measured: what would be measured is another setting than the arm's.
            return Ok(Observation { voids, ..Observation::default() });
        }
        let mut observation = self.arena.measure(&self.order(workload, seed))?;
        voids.append(&mut observation.voids);
        observation.voids = voids;
        Ok(observation)
    }

    fn order<'w>(&self, workload: &'w WorkloadSpec, seed: u64) -> TrialOrder<'w> {
        let (duration, warmup) = trial_length(self.plan);
        TrialOrder { workload, seed, duration, warmup }
    }

    /// What a trial's void reasons mean for the rest of the experiment.
    fn aftermath(&mut self, trial: &Trial) -> Result<Option<End>> {
        for reason in &trial.observation.voids {
            match reason {
                VoidReason::WriteFailed { .. } | VoidReason::NotInEffect { .. }
                    if !self.refused.contains(&trial.arm) =>
                {
                    self.refused.push(trial.arm.clone());
                    self.note(Event::RefusedArm { arm: trial.arm.clone(), cause: reason.clone() })?;
                }
                VoidReason::DeviceVanished { detail } => {
                    return Ok(Some(self.end(EndReason::DeviceVanished { detail: detail.clone() })));
                }
                VoidReason::Interrupted { by } => {
                    return Ok(Some(self.end(EndReason::Interrupted { by: by.clone() })));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// One trial of each workload under the baseline that is no evidence: it fills what a first trial would find empty.
    fn precondition(&mut self, workload: &WorkloadSpec) -> Result<()> {
        if self.stop.signal().is_some() {
            return Ok(());
        }
        let baseline = self.plan.baseline().to_owned();
        self.progress.trial(self.share_done(), self.time_left(), &workload.name, &baseline, 0);
        let seed = schedule::trial_seed(self.plan.seed, &workload.name, u32::MAX, 0);
        let observation = self.trial(&baseline, workload, seed)?;
        let primary = workload.primary.as_deref().unwrap_or("iops");
        self.note(Event::Precondition {
            workload: workload.name.clone(),
            arm: baseline,
            metric: Some(primary.to_owned()),
            value: observation.metrics.get(primary).copied(),
            void: observation.voids.into_iter().next(),
        })
    }

    fn note(&mut self, event: Event) -> Result<()> {
        let at_ms = self.at_ms();
        self.store.append(&Line::Note(Note { at_ms, event }))
    }

    fn end(&self, reason: EndReason) -> End {
        End { at_ms: self.at_ms(), reason }
    }

    /// How long the whole experiment takes at most, about.
    fn total(&self) -> Duration {
        Duration::from_secs_f64(expected_s(self.plan).min(self.plan.budget.time_s))
    }

    fn spent(&self) -> Duration {
        self.offset + (self.arena.elapsed() - self.arena_began)
    }

    /// How much of the whole is done at least, 0 to 1: it may end earlier, when every verdict is reached.
    fn share_done(&self) -> f64 {
        (self.spent().as_secs_f64() / self.total().as_secs_f64().max(1e-9)).min(1.0)
    }

    /// How long it goes on at most, in the user's time; unknown at the start where time is virtual.
    fn time_left(&self) -> Option<Duration> {
        let left = self.total().saturating_sub(self.spent());
        if !self.plan.arena.is_virtual() {
            return Some(left);
        }
        let simulated = (self.spent() - self.offset).as_secs_f64();
        let pace = self.began.elapsed().as_secs_f64() / simulated;
        (simulated > 0.0).then(|| left.mul_f64(pace))
    }

    fn at_ms(&self) -> u64 {
        u64::try_from(self.spent().as_millis()).expect("an experiment is shorter than 584 million years")
    }
}

/// What one block of every workload takes, with the preconditions before the first one, in seconds.
pub fn round_s(plan: &Plan) -> f64 {
    let (duration, warmup) = trial_length(plan);
    let preconditions = usize::from(!plan.arena.is_virtual());
    let trials = (plan.arms.len() + preconditions) as f64 * plan.workloads.len() as f64;
    trials * (duration + warmup + overhead(plan)).as_secs_f64()
}

/// What a plan with a fixed number of blocks will take, in seconds; for one without, its budget.
pub fn expected_s(plan: &Plan) -> f64 {
    let (duration, warmup) = trial_length(plan);
    let each = duration + warmup + overhead(plan);
    let trials = |blocks: u32| f64::from(blocks) * plan.arms.len() as f64 * plan.workloads.len() as f64;
    plan.budget.blocks.map_or(plan.budget.time_s, |blocks| trials(blocks) * each.as_secs_f64())
}

/// What a trial takes beside its window and warm-up.
fn overhead(plan: &Plan) -> Duration {
    if plan.arena.is_virtual() { Duration::ZERO } else { OVERHEAD }
}

/// Window and warm-up of a trial: the plan's, or so that about a dozen blocks fit into the budget.
pub fn trial_length(plan: &Plan) -> (Duration, Duration) {
    let blocks = plan.budget.blocks.map_or(BLOCKS_AIMED_AT, f64::from);
    let trials = blocks * plan.arms.len() as f64 * plan.workloads.len() as f64;
    let each_ms = plan.budget.time_s * 1000.0 / trials;
    // A sixth of each trial's share is warm-up.
    let chosen = ((each_ms - overhead(plan).as_secs_f64() * 1000.0) * 5.0 / 6.0).clamp(100.0, 10_000.0) as u64;
    let duration = plan.trial.duration_ms.unwrap_or(chosen);
    let warmup = plan.trial.warmup_ms.unwrap_or(duration / 5);
    (Duration::from_millis(duration), Duration::from_millis(warmup))
}
