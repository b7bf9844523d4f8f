//! Common part of the arenas in virtual time, the simulator and the kernel arena.
//!
//! Their trials are functions of (variant, workload, seed): measured in advance and in parallel
//! (`ahead`), with one seed per round and nothing to restore. Only trials take time. [`Arena`]
//! follows from [`Virtual`].

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Result;
use experiment::plan::Variant;
use experiment::results::{Environment, InvalidReason, Observation};

use super::ahead::{Ahead, Job};
use super::model::Model;
use super::parallel::Key;
use super::{Arena, TrialSpec, Upcoming, VariantIndex};
use crate::trace_file::TraceFile;
use crate::workloads::Workloads;

#[derive(Default)]
pub(super) struct Progression {
    variant: Option<VariantIndex>,
    ahead: Ahead,
    elapsed: Duration,
}

pub(super) trait Virtual {
    fn course(&mut self) -> &mut Progression;

    fn elapsed(&self) -> Duration;

    /// Creates a job for any thread.
    fn job(&mut self, key: &Key, trial: &TrialSpec) -> Job;

    /// See [`Arena::admit`].
    fn take_in(&mut self, variant: &Variant) -> Result<VariantIndex>;

    /// See [`Arena::trace`].
    fn write_events(&mut self, _files: TraceFile) {}

    fn facts(&self) -> Environment;

    fn last_words(&mut self) -> Vec<String>;
}

impl<V: Virtual> Arena for V {
    fn capture(&mut self) -> Result<Environment> {
        Ok(self.facts())
    }

    fn admit(&mut self, variant: &Variant) -> Result<VariantIndex> {
        self.take_in(variant)
    }

    fn trace(&mut self, files: TraceFile) {
        self.write_events(files);
    }

    fn apply(&mut self, variant: VariantIndex) -> Result<Vec<InvalidReason>> {
        self.course().variant = Some(variant);
        Ok(Vec::new())
    }

    fn measure(&mut self, trial: &TrialSpec) -> Result<Observation> {
        let variant =
            self.course().variant.expect("a variant is applied before a trial is measured");
        let key = Key { variant, workload: trial.workload, seed: trial.seed };
        let observation = match self.course().ahead.take(&key) {
            Some(found) => found?,
            None => self.job(&key, trial)(&AtomicBool::new(false))?,
        };
        self.course().elapsed += trial.took(&observation);
        Ok(observation)
    }

    fn one_seed_a_round(&self) -> bool {
        true
    }

    fn announce(&mut self, upcoming: &Upcoming<'_>) -> Result<()> {
        let Upcoming { workload, duration, warmup, seed, .. } = *upcoming;
        let mut ahead = std::mem::take(&mut self.course().ahead);
        let keys: Vec<Key> = upcoming
            .trials(ahead.depth())
            .map(|(round, variant)| Key { variant, workload, seed: seed(round) })
            .collect();
        ahead.announce(&keys, upcoming.nr_next(), |key| {
            self.job(key, &TrialSpec { workload, seed: key.seed, duration, warmup })
        });
        self.course().ahead = ahead;
        Ok(())
    }

    fn elapsed(&self) -> Duration {
        Virtual::elapsed(self)
    }

    fn finish(&mut self) -> Result<Vec<String>> {
        Ok(self.last_words())
    }
}

impl Progression {
    pub(super) fn on(nr_threads: usize) -> Progression {
        Progression { ahead: Ahead::on(nr_threads), ..Progression::default() }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

/// Facts for the results file.
pub(super) fn facts_of(model: &Model, workloads: &Workloads) -> Environment {
    let mut device = BTreeMap::new();
    let (sectors, depth) = model.look(|device| (device.sectors(), device.queue_depth()));
    device.insert("identity".to_owned(), model.word().to_owned());
    device.insert("size_bytes".to_owned(), (sectors * elevator::SECTOR_BYTES).to_string());
    device.insert("queue_depth".to_owned(), depth.to_string());
    device.extend(model.title().map(|title| ("model".to_owned(), title)));
    device.extend(model.description().map(|text| ("description".to_owned(), text.to_owned())));
    let one = |name: &str, value: String| BTreeMap::from([(name.to_owned(), value)]);
    let mut facts = Environment::new();
    facts.insert("schedlab".to_owned(), one("build", text::build::identity().to_owned()));
    facts.insert("device".to_owned(), device);
    facts.extend(workloads.replayed().map(|traces| ("traces".to_owned(), one("replayed", traces))));
    facts
}
