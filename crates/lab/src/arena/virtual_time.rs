//! What the arenas of virtual time have in common: the simulator, and the kernel arena.
//!
//! A trial there is a function of (arm, workload, seed). So trials are measured ahead, on all processors; all arms of a block get one
//! seed; nothing has to be put back, and time is spent by trials alone. An arena says what a trial needs and how one is measured
//! ([`Virtual`]); everything else of [`Arena`] follows from that.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use experiment::plan::Arm;
use experiment::record::{Environment, Observation, VoidReason};

use super::ahead::{Ahead, Key};
use super::sim::Model;
use super::{Arena, TrialOrder, Upcoming};
use crate::trace_file::Format;
use crate::work::Works;

/// How far an experiment in virtual time has come.
#[derive(Debug, Default)]
pub(super) struct Course {
    /// The arm that was applied last.
    arm: String,
    ahead: Ahead,
    elapsed: Duration,
}

/// An arena of virtual time.
pub(super) trait Virtual: Sync {
    /// One trial to be measured.
    type Wanted<'w>: Sync;

    /// How far the experiment has come.
    fn course(&self) -> &Course;

    /// The same, to go on with.
    fn course_mut(&mut self) -> &mut Course;

    /// What a trial of this arm needs.
    fn wanted<'w>(&mut self, arm: &str, order: &TrialOrder<'w>) -> Self::Wanted<'w>;

    /// Measures one trial.
    fn one(&self, key: &Key, wanted: &Self::Wanted<'_>) -> Result<Observation>;

    /// As [`Arena::admit`].
    fn take_in(&mut self, arm: &Arm) -> Result<()>;

    /// As [`Arena::trace`].
    fn write_events(&mut self, _format: Format, _dir: &Path) -> Result<()> {
        Ok(())
    }

    /// Facts about the kernel and the device.
    fn facts(&self) -> Environment;

    /// What to tell the user at the end.
    fn last_words(&mut self) -> Vec<String>;
}

impl<V: Virtual> Arena for V {
    fn capture(&mut self) -> Result<Environment> {
        Ok(self.facts())
    }

    fn admit(&mut self, arm: &Arm) -> Result<()> {
        self.take_in(arm)
    }

    fn trace(&mut self, format: Format, dir: &Path) -> Result<()> {
        self.write_events(format, dir)
    }

    fn apply(&mut self, arm: &Arm) -> Result<Vec<VoidReason>> {
        self.course_mut().arm.clone_from(&arm.name);
        Ok(Vec::new())
    }

    fn measure(&mut self, order: &TrialOrder<'_>) -> Result<Observation> {
        let key = (self.course_mut().arm.clone(), order.workload.name.clone(), order.seed);
        let observation = match self.course_mut().ahead.take(&key) {
            Some(ready) => ready,
            None => {
                let wanted = self.wanted(&key.0, order);
                measure_all(self, &[(key.clone(), wanted)])?;
                self.course_mut().ahead.take(&key).expect("it was just measured")
            }
        };
        self.course_mut().elapsed += order.warmup + Duration::from_nanos(observation.duration_ns);
        Ok(observation)
    }

    fn one_seed_a_block(&self) -> bool {
        true
    }

    fn preconditions(&self) -> bool {
        false
    }

    fn announce(&mut self, upcoming: &Upcoming<'_>) -> Result<()> {
        let Upcoming { workload, duration, warmup, .. } = *upcoming;
        let missing = self.course_mut().ahead.missing(upcoming);
        let order = |seed| TrialOrder { workload, seed, duration, warmup };
        let wanted: Vec<_> =
            missing.into_iter().map(|(arm, key)| (key.clone(), self.wanted(&arm.name, &order(key.2)))).collect();
        measure_all(self, &wanted)
    }

    fn elapsed(&self) -> Duration {
        self.course().elapsed
    }

    fn finish(&mut self) -> Result<Vec<String>> {
        Ok(self.last_words())
    }
}

fn measure_all<V: Virtual>(arena: &mut V, wanted: &[(Key, V::Wanted<'_>)]) -> Result<()> {
    let mut ahead = std::mem::take(&mut arena.course_mut().ahead);
    let shared: &V = arena;
    let done = ahead.measure(wanted, &|key, one| shared.one(key, one));
    arena.course_mut().ahead = ahead;
    done
}

/// What a record says of a modelled device, of the traces that are replayed on it, and of this program.
pub(super) fn facts_of(model: &Model, works: &Works) -> Environment {
    let mut device = BTreeMap::new();
    let (sectors, depth) = model.look(|device| (device.sectors(), device.queue_depth()));
    device.insert("identity".to_owned(), model.word().to_owned());
    device.insert("size_bytes".to_owned(), (sectors * elevator::SECTOR_BYTES).to_string());
    device.insert("queue_depth".to_owned(), depth.to_string());
    device.extend(model.description().map(|text| ("description".to_owned(), text.to_owned())));
    let one = |name: &str, value: String| BTreeMap::from([(name.to_owned(), value)]);
    let mut facts = Environment::new();
    facts.insert("schedlab".to_owned(), one("version", env!("CARGO_PKG_VERSION").to_owned()));
    facts.insert("device".to_owned(), device);
    facts.extend(works.replayed().map(|traces| ("traces".to_owned(), one("replayed", traces))));
    facts
}
