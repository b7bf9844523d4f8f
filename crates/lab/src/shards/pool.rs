//! The distinct trials of all segments, and an arena that reads from them.
//!
//! Segments that repeat a trial must agree on it byte for byte. A trial is a function of its place
//! in the plan, so two different results mean that one of the machines is wrong.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use experiment::plan::{Plan, Variant};
use experiment::results::{Environment, InvalidReason, Observation};
use experiment::schedule;
use text::limits::{SEGMENTS, SEGMENTS_BYTES};

use super::Prepared;
use super::segment::{Segment, StoredTrial};
use super::sketch::sketch;
use crate::arena::parallel::on_all_cpus;
use crate::arena::{Arena, Group, TrialSpec, Upcoming, VariantIndex};
use crate::failure::usage;

/// Workload, round and variant of a trial, by index.
pub(super) type Key = (usize, u32, usize);

pub(super) struct Pool {
    pub(super) prepared: Prepared,
    segments: Vec<Segment>,
    /// Sorted by key; index of the segment and place within it.
    trials: Vec<(Key, usize, usize)>,
    /// The observations reduced to what comparing needs, by segment and place.
    sketches: Vec<Vec<Observation>>,
    /// The round of a workload's seed.
    rounds: BTreeMap<(usize, u64), u32>,
}

impl Pool {
    /// Reads segments of one plan on all CPUs; each has a name for errors.
    pub(super) fn of(inputs: Vec<(String, Vec<u8>)>) -> Result<Pool> {
        SEGMENTS.check(inputs.len())?;
        SEGMENTS_BYTES
            .check(inputs.iter().map(|(_, bytes)| bytes.len()).fold(0, usize::saturating_add))?;
        let inputs: Vec<Mutex<(String, Vec<u8>)>> = inputs.into_iter().map(Mutex::new).collect();
        let read = on_all_cpus(
            &inputs,
            &|input: &Mutex<(String, Vec<u8>)>| -> Result<(Segment, Vec<Observation>)> {
                let (name, bytes) =
                    std::mem::take(&mut *input.lock().unwrap_or_else(PoisonError::into_inner));
                let segment = Segment::read(&name, bytes)?;
                let sketches = sketches(&segment).context(name)?;
                Ok((segment, sketches))
            },
        );
        let (mut segments, mut all): (Vec<Segment>, Vec<_>) = (Vec::new(), Vec::new());
        for found in read {
            let (segment, sketches) = found?;
            if let Some(first) = segments.first() {
                same_plan(first, &segment)?;
            }
            segments.push(segment);
            all.push(sketches);
        }
        let first = segments
            .first()
            .ok_or_else(|| usage("segments: none; name those that schedlab shard run wrote"))?;
        // Independent of the order of the segments.
        let command = segments
            .iter()
            .map(|segment| &segment.prepared().header().command)
            .min_by_key(|word| (word.len(), *word));
        let prepared = first.prepared().clone().with_command(command.cloned().unwrap_or_default());
        let trials = index(&prepared, &segments)?;
        let (plan, mut rounds) = (prepared.plan(), BTreeMap::new());
        let mut last = None;
        for ((workload, round, _), ..) in &trials {
            if last.replace((*workload, *round)) != Some((*workload, *round)) {
                let seed =
                    schedule::trial_seed(plan.seed, &plan.workloads[*workload].name, *round, 0);
                rounds.insert((*workload, seed), *round);
            }
        }
        Ok(Pool { trials, sketches: all, rounds, segments, prepared })
    }

    fn find(&self, key: &Key) -> Option<(usize, usize)> {
        let at = self.trials.binary_search_by(|(known, ..)| known.cmp(key)).ok()?;
        Some((self.trials[at].1, self.trials[at].2))
    }

    /// Also returns the index of the segment.
    pub(super) fn text(&self, key: &Key) -> Option<(&[u8], usize)> {
        let (segment, place) = self.find(key)?;
        let from = &self.segments[segment];
        Some((from.text(&from.places[place]), segment))
    }

    /// The names of the segments, without their trials.
    pub(super) fn into_names(self) -> Vec<String> {
        self.segments.into_iter().map(Segment::into_name).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.trials.len()
    }
}

fn sketches(segment: &Segment) -> Result<Vec<Observation>> {
    let plan = segment.prepared().plan();
    let one = |place: &StoredTrial| -> Result<Observation> {
        let named = || {
            format!(
                "segment: the trial of workload {}, round {}, variant {}",
                place.workload, place.round, place.variant
            )
        };
        let metric = plan.workloads[place.workload as usize].primary.as_deref().unwrap_or_default();
        let found = sketch(segment.text(place), metric).with_context(named)?;
        if found.invalid.iter().any(|invalid| {
            matches!(
                invalid,
                InvalidReason::Interrupted { .. } | InvalidReason::DeviceVanished { .. }
            )
        }) {
            bail!("{}: was cut short, which no trial of a segment is", named());
        }
        Ok(found)
    };
    segment.places.iter().map(one).collect()
}

fn same_plan(first: &Segment, other: &Segment) -> Result<()> {
    let difference = if first.prepared().identity() == other.prepared().identity() {
        None
    } else {
        first.prepared().difference(other.prepared())
    };
    match difference {
        None => Ok(()),
        Some(difference) => Err(usage(format!(
            "{}: of another plan than {}: {difference}; trials of different plans cannot be combined: measure it again with the right plan, or leave \
             one of them out",
            other.name(),
            first.name()
        ))),
    }
}

fn index(prepared: &Prepared, segments: &[Segment]) -> Result<Vec<(Key, usize, usize)>> {
    let plan = prepared.plan();
    let mut trials = Vec::new();
    for (number, segment) in segments.iter().enumerate() {
        let variants = segment
            .variants()
            .iter()
            .map(|variant| variant_of(plan, variant))
            .collect::<Result<Vec<usize>>>()
            .with_context(|| segment.name().to_owned())?;
        for (at, place) in segment.places.iter().enumerate() {
            trials.push((
                (place.workload as usize, place.round, variants[place.variant as usize]),
                number,
                at,
            ));
        }
    }
    trials.sort_unstable();
    let text = |(_, segment, place): &(Key, usize, usize)| {
        segments[*segment].text(&segments[*segment].places[*place])
    };
    if let Some(pair) =
        trials.windows(2).find(|pair| pair[0].0 == pair[1].0 && text(&pair[0]) != text(&pair[1]))
    {
        let (workload, round, variant) = pair[0].0;
        return Err(anyhow!(
            "{}: disagrees with {} on round {round} of workload {} under variant {}, which is the same on every machine; measure that round on a third \
             (schedlab shard run PLAN --rounds {round}..{}), and look for what is wrong with the machine that differs",
            segments[pair[1].1].name(),
            segments[pair[0].1].name(),
            plan.workloads[workload].name,
            plan.variants[variant].name,
            round + 1
        ));
    }
    trials.dedup_by_key(|(key, ..)| *key);
    Ok(trials)
}

fn variant_of(plan: &Plan, variant: &Variant) -> Result<usize> {
    plan.variants
        .iter()
        .position(|known| known == variant)
        .ok_or_else(|| anyhow!("segment: variant {:?} is not one of its plan", variant.name))
}

/// The trials of a pool as an arena. A missing trial is an error, after which [`Collected::lacks`]
/// lists what the experiment may still need.
pub(super) struct Collected<'p> {
    pool: &'p Pool,
    variant: usize,
    elapsed: Duration,
    /// The last announcement of each workload: its next group, and the end of the rounds that may
    /// follow.
    announced: Vec<Option<(Group, u32)>>,
    /// Workload and round of the first missing trial.
    gap: Option<(usize, u32)>,
}

impl<'p> Collected<'p> {
    pub(super) fn of(pool: &'p Pool) -> Collected<'p> {
        let announced = vec![None; pool.prepared.plan().workloads.len()];
        Collected { pool, variant: 0, elapsed: Duration::ZERO, announced, gap: None }
    }

    /// After a missing trial: all missing trials that may be needed, as (workload, round,
    /// variants).
    pub(super) fn lacks(&self) -> Vec<(usize, u32, Vec<usize>)> {
        let Some((at, gap)) = self.gap else { return Vec::new() };
        let mut all = Vec::new();
        for (workload, announced) in self.announced.iter().enumerate() {
            let (first, end, variants) = match announced {
                Some((Group { round, variants }, end)) => {
                    (*round, *end, variants.iter().map(|variant| variant.0).collect())
                }
                // Not announced yet.
                None => {
                    (0, u32::MAX, (0..self.pool.prepared.plan().variants.len()).collect::<Vec<_>>())
                }
            };
            // A workload that had its turn and was not announced has all its verdicts.
            if first + u32::from(workload > at) < gap {
                continue;
            }
            // The number of rounds is unknown until the first cycle has ended.
            let end = if gap == 0 { end.min(self.pool.prepared.most_rounds()) } else { end };
            for round in first..end.max(first + 1) {
                let lacking: Vec<usize> = variants
                    .iter()
                    .copied()
                    .filter(|variant| self.pool.find(&(workload, round, *variant)).is_none())
                    .collect();
                if !lacking.is_empty() {
                    all.push((workload, round, lacking));
                }
            }
        }
        all
    }
}

impl Arena for Collected<'_> {
    fn capture(&mut self) -> Result<Environment> {
        Ok(self.pool.prepared.environment().clone())
    }

    fn admit(&mut self, variant: &Variant) -> Result<VariantIndex> {
        variant_of(self.pool.prepared.plan(), variant).map(VariantIndex)
    }

    fn apply(&mut self, variant: VariantIndex) -> Result<Vec<InvalidReason>> {
        self.variant = variant.0;
        Ok(Vec::new())
    }

    fn measure(&mut self, trial: &TrialSpec) -> Result<Observation> {
        let round = self.pool.rounds.get(&(trial.workload, trial.seed)).copied();
        let found = round.and_then(|round| self.pool.find(&(trial.workload, round, self.variant)));
        let Some((segment, place)) = found else {
            let announced = self.announced[trial.workload].as_ref().map(|(next, _)| next.round);
            self.gap = Some((trial.workload, announced.or(round).unwrap_or_default()));
            bail!("segments: a trial is missing");
        };
        let observation = self.pool.sketches[segment][place].clone();
        self.elapsed += trial.took(&observation);
        Ok(observation)
    }

    fn one_seed_a_round(&self) -> bool {
        true
    }

    fn announce(&mut self, upcoming: &Upcoming<'_>) -> Result<()> {
        let last = upcoming.next.last().cloned();
        self.announced[upcoming.workload] = last.map(|group| (group, upcoming.then.end));
        Ok(())
    }

    fn elapsed(&self) -> Duration {
        self.elapsed
    }

    fn finish(&mut self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}
