//! An arena whose trials are measured elsewhere: announced trials are handed out as units and
//! returned as segments.
//!
//! Through a [`Desk`], the experiment's thread announces trials and waits for them in its own
//! order, while the distributing program takes units and puts segments in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use experiment::plan::Variant;
use experiment::results::{Environment, InvalidReason, Observation};
use sha2::{Digest, Sha256};

use super::segment::Segment;
use super::{Prepared, Unit};
use crate::arena::under_test::check_variant;
use crate::arena::{Arena, Group, TrialSpec, Upcoming, VariantIndex};
use crate::failure::usage;
use crate::signals::Stop;

/// Polling interval for signals.
const LOOK: Duration = Duration::from_millis(50);

/// Workload, round and variant of a trial, by index.
type Key = (usize, u32, usize);

#[derive(Debug, Clone)]
struct Announced {
    next: Vec<Group>,
    then: std::ops::Range<u32>,
    /// The rounds of `next` by seed.
    seeds: BTreeMap<u64, u32>,
}

#[derive(Debug)]
enum Answer {
    Waiting(Vec<u8>),
    /// Its digest, once the experiment has used it.
    Used([u8; 16]),
}

impl Answer {
    fn agrees(&self, text: &[u8]) -> bool {
        match self {
            Answer::Waiting(known) => known == text,
            Answer::Used(known) => *known == short(text),
        }
    }
}

fn short(text: &[u8]) -> [u8; 16] {
    let digest = Sha256::digest(text);
    std::array::from_fn(|at| digest[at])
}

#[derive(Debug, Default)]
struct State {
    announced: Vec<Option<Announced>>,
    /// The plan's variants, then those added by a search.
    variants: Vec<Variant>,
    /// Handed out and not returned.
    out: BTreeSet<Key>,
    answers: BTreeMap<Key, Answer>,
    ended: bool,
    /// No more segments will arrive.
    abandoned: bool,
}

impl State {
    fn is_open(&self, key: &Key) -> bool {
        !self.out.contains(key) && !self.answers.contains_key(key)
    }

    /// Trials that are needed and neither returned nor handed out: certain ones first, then by
    /// round.
    fn open(&self, most: usize) -> Vec<Key> {
        let all = || {
            self.announced
                .iter()
                .enumerate()
                .filter_map(|(workload, announced)| Some((workload, announced.as_ref()?)))
        };
        let keys = |workload: usize, round: u32, variants: &[VariantIndex]| {
            variants.iter().map(|variant| (workload, round, variant.0)).collect::<Vec<_>>()
        };
        let mut open = Vec::new();
        for (workload, announced) in all() {
            let next = announced
                .next
                .iter()
                .flat_map(|group| keys(workload, group.round, &group.variants));
            open.extend(next.filter(|key| self.is_open(key)).take(most - open.len()));
        }
        // Cycle by cycle, in the order of use.
        let mut rounds: Vec<(usize, &Announced, std::ops::Range<u32>)> =
            all().map(|(at, one)| (at, one, one.then.clone())).collect();
        while open.len() < most && rounds.iter().any(|(.., then)| !then.is_empty()) {
            for (workload, announced, then) in &mut rounds {
                let (Some(round), Some(last)) = (then.next(), announced.next.last()) else {
                    continue;
                };
                let these = keys(*workload, round, &last.variants);
                open.extend(
                    these.into_iter().filter(|key| self.is_open(key)).take(most - open.len()),
                );
            }
        }
        open
    }
}

#[derive(Debug)]
pub(super) struct Desk {
    prepared: Prepared,
    state: Mutex<State>,
    changed: Condvar,
}

impl Desk {
    pub(super) fn of(prepared: Prepared) -> Desk {
        let plan = prepared.plan();
        let state = State {
            announced: vec![None; plan.workloads.len()],
            variants: plan.variants.clone(),
            ..State::default()
        };
        Desk { state: Mutex::new(state), changed: Condvar::new(), prepared }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn take(&self, most: usize) -> Vec<Unit> {
        let mut state = self.lock();
        if state.ended {
            return Vec::new();
        }
        let mut open = state.open(most);
        state.out.extend(open.iter().copied());
        open.sort_unstable();
        self.units(&state, &open)
    }

    /// Groups trials, sorted by key, into units.
    fn units(&self, state: &State, keys: &[Key]) -> Vec<Unit> {
        let mut units: Vec<Unit> = Vec::new();
        for round in keys.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (workload, number, _) = round[0];
            let workload = self.prepared.plan().workloads[workload].name.clone();
            let variants: Vec<Variant> =
                round.iter().map(|(.., variant)| state.variants[*variant].clone()).collect();
            match units.last_mut() {
                Some(last)
                    if last.workload == workload
                        && last.rounds.end == number
                        && last.variants == variants =>
                {
                    last.rounds.end += 1
                }
                _ => units.push(Unit { workload, rounds: number..number + 1, variants }),
            }
        }
        units
    }

    pub(super) fn give_back(&self, units: &[Unit]) {
        let mut state = self.lock();
        for unit in units {
            let Some(workload) =
                self.prepared.plan().workloads.iter().position(|spec| spec.name == unit.workload)
            else {
                continue;
            };
            let variants: Vec<usize> = (0..state.variants.len())
                .filter(|at| unit.variants.contains(&state.variants[*at]))
                .collect();
            state.out.retain(|(of, round, variant)| {
                !(*of == workload && unit.rounds.contains(round) && variants.contains(variant))
            });
        }
        self.changed.notify_all();
    }

    pub(super) fn put(&self, name: &str, bytes: Vec<u8>) -> Result<()> {
        let segment = Segment::read(name, bytes)?;
        if let Some(difference) = self.prepared.difference(segment.prepared()) {
            return Err(usage(format!(
                "{name}: of another plan: {difference}; trials of different plans cannot be combined"
            )));
        }
        let mut state = self.lock();
        let numbers = segment
            .variants()
            .iter()
            .map(|variant| state.variants.iter().position(|known| known == variant));
        let numbers: Vec<Option<usize>> = numbers.collect();
        for place in &segment.places {
            let variant = numbers[place.variant as usize]
                .ok_or_else(|| anyhow!("{name}: a trial of an unrequested variant"))?;
            let (key, text) =
                ((place.workload as usize, place.round, variant), segment.text(place));
            if let Some(known) = state.answers.get(&key) {
                if !known.agrees(text) {
                    bail!(
                        "{name}: disagrees with an earlier measurement of round {} of workload {} under variant {}, which is the same on every \
                         machine; look for what is wrong with one of them",
                        place.round,
                        self.prepared.plan().workloads[key.0].name,
                        state.variants[variant].name
                    );
                }
                continue;
            }
            state.out.remove(&key);
            state.answers.insert(key, Answer::Waiting(text.to_vec()));
        }
        self.changed.notify_all();
        Ok(())
    }

    /// Waits at most this long until a trial is needed or the experiment has ended; returns whether
    /// one is the case.
    pub(super) fn wait(&self, most: Duration) -> bool {
        let idle = |state: &mut State| !state.ended && state.open(1).is_empty();
        let (state, _) = self
            .changed
            .wait_timeout_while(self.lock(), most, idle)
            .unwrap_or_else(PoisonError::into_inner);
        state.ended || !state.open(1).is_empty()
    }

    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended
    }

    pub(super) fn abandon(&self) {
        self.lock().abandoned = true;
        self.changed.notify_all();
    }
}

#[derive(Debug)]
pub(super) struct RemoteArena {
    desk: Arc<Desk>,
    stop: Stop,
    variant: usize,
    elapsed: Duration,
}

impl RemoteArena {
    pub(super) fn of(desk: Arc<Desk>, stop: Stop) -> RemoteArena {
        RemoteArena { desk, stop, variant: 0, elapsed: Duration::ZERO }
    }

    /// Waits for the text of a trial; None after a signal.
    fn answer(&self, trial: &TrialSpec) -> Result<Option<Vec<u8>>> {
        let mut state = self.desk.lock();
        let announced = state.announced[trial.workload].as_ref();
        let round = announced.and_then(|announced| announced.seeds.get(&trial.seed)).copied();
        let round = round.ok_or_else(|| {
            anyhow!("trial: requested without announcement; report this as a bug in schedlab")
        })?;
        let key = (trial.workload, round, self.variant);
        loop {
            if let Some(Answer::Waiting(text)) = state.answers.get_mut(&key) {
                let text = std::mem::take(text);
                state.answers.insert(key, Answer::Used(short(&text)));
                return Ok(Some(text));
            }
            if state.abandoned {
                bail!(
                    "experiment: abandoned before its end; what was measured is in the results file"
                );
            }
            if self.stop.signal().is_some() {
                return Ok(None);
            }
            let (next, _) =
                self.desk.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
            state = next;
        }
    }
}

impl Arena for RemoteArena {
    fn capture(&mut self) -> Result<Environment> {
        Ok(self.desk.prepared.environment().clone())
    }

    fn admit(&mut self, variant: &Variant) -> Result<VariantIndex> {
        let plan = self.desk.prepared.plan();
        let mut checked = variant.clone();
        check_variant(plan.arena, plan.kernel.as_deref(), &mut checked, &mut |_| ())?;
        let mut state = self.desk.lock();
        let known = state.variants.iter().position(|known| known.name == variant.name);
        Ok(VariantIndex(known.unwrap_or_else(|| {
            state.variants.push(variant.clone());
            state.variants.len() - 1
        })))
    }

    fn apply(&mut self, variant: VariantIndex) -> Result<Vec<InvalidReason>> {
        self.variant = variant.0;
        Ok(Vec::new())
    }

    fn measure(&mut self, trial: &TrialSpec) -> Result<Observation> {
        let Some(text) = self.answer(trial)? else {
            let by = self.stop.signal().unwrap_or("a signal").to_owned();
            return Ok(Observation {
                invalid: vec![InvalidReason::Interrupted { by }],
                ..Observation::default()
            });
        };
        let observation: Observation =
            serde_json::from_slice(&text).context("segment: invalid trial")?;
        self.elapsed += trial.took(&observation);
        Ok(observation)
    }

    fn one_seed_a_round(&self) -> bool {
        true
    }

    fn announce(&mut self, upcoming: &Upcoming<'_>) -> Result<()> {
        let seeds =
            upcoming.next.iter().map(|group| ((upcoming.seed)(group.round), group.round)).collect();
        let announced =
            Announced { next: upcoming.next.clone(), then: upcoming.then.clone(), seeds };
        self.desk.lock().announced[upcoming.workload] = Some(announced);
        self.desk.changed.notify_all();
        Ok(())
    }

    fn elapsed(&self) -> Duration {
        self.elapsed
    }

    fn finish(&mut self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}
