//! Times between stages: btt's, and stages that it does not distinguish.

use super::counts::Counts;
use super::shape::StageTimes;
use crate::io::{Io, Kind, Stage};

/// Name, phase, from, to.
const STAGES: [(&str, &str, Stage, Stage); 8] = [
    ("Q2E", "held by a frozen or throttled queue", Stage::Queued, Stage::Entered),
    ("E2G", "waiting for a tag", Stage::Entered, Stage::Tagged),
    ("Q2G", "until it has a tag", Stage::Queued, Stage::Tagged),
    ("G2I", "from its tag into the scheduler", Stage::Tagged, Stage::Inserted),
    ("I2D", "in the scheduler", Stage::Inserted, Stage::Issued),
    ("Q2D", "until the disk has it", Stage::Queued, Stage::Issued),
    ("D2C", "at the disk", Stage::Issued, Stage::Completed),
    ("Q2C", "in all", Stage::Queued, Stage::Completed),
];

#[derive(Debug, Clone, Default)]
pub(super) struct Pair([Counts; 2]);

impl Pair {
    #[inline]
    pub(super) fn add(&mut self, ns: u64, kind: Kind) {
        self.0[usize::from(kind != Kind::Read)].add(ns);
    }

    fn shape(&self, name: &str, what: &str) -> Option<StageTimes> {
        let [reads, writes] = &self.0;
        (reads.len() + writes.len() > 0).then(|| StageTimes {
            name: name.to_owned(),
            what: what.to_owned(),
            reads: reads.distribution(),
            writes: writes.distribution(),
        })
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Stages {
    pub(super) between: Pair,
    stages: [Pair; STAGES.len()],
}

impl Stages {
    pub(super) fn add(&mut self, io: &Io) {
        for ((_, _, from, to), pair) in STAGES.iter().zip(&mut self.stages) {
            if let Some(ns) = io.elapsed(*from, *to) {
                pair.add(ns, io.kind);
            }
        }
    }

    pub(super) fn shape(&self) -> Vec<StageTimes> {
        let between = self.between.shape("Q2Q", "from one request to the next");
        let rows = STAGES.iter().zip(&self.stages);
        between
            .into_iter()
            .chain(rows.filter_map(|((name, what, ..), pair)| pair.shape(name, what)))
            .collect()
    }
}
