//! The write cache: runs of sectors reported done but not yet on the medium.

/// Maximum length of a run in sectors: the drive cannot be interrupted within one. A proposal.
const MAX_RUN: u64 = 2048;

/// The drive examines each run before every movement. A proposal.
pub(super) const MAX_RUNS: u64 = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) sector: u64,
    pub(super) nr: u64,
    /// Number of its last write, for flushes.
    pub(super) last: u64,
    /// End of its writes' overhead, and when enough data have arrived for the medium.
    pub(super) ready_ns: u64,
    pub(super) earliest_ns: u64,
}

impl Extent {
    fn end(&self) -> u64 {
        self.sector + self.nr
    }
}

#[derive(Debug, Clone)]
pub(super) struct Dirty {
    pub(super) extents: Vec<Extent>,
    /// Size of the write cache in sectors; 0: none.
    pub(super) room: u64,
    /// Sectors held, including the moving run.
    held: u64,
    writes: u64,
    runs: usize,
    moving: Option<Extent>,
}

impl Dirty {
    pub(super) fn new(room: u64, runs: u64) -> Dirty {
        Dirty { extents: Vec::new(), room, held: 0, writes: 0, runs: runs as usize, moving: None }
    }

    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    /// Accepts a write if there is room; overwriting cached sectors needs none.
    pub(super) fn take(&mut self, sector: u64, nr: u64, ready_ns: u64, earliest_ns: u64) -> bool {
        let end = sector + nr;
        if let Some(at) =
            self.extents.iter().position(|extent| extent.sector <= sector && end <= extent.end())
        {
            self.join(at, 0, ready_ns, earliest_ns);
            return true;
        }
        if self.held + nr > self.room {
            return false;
        }
        if let Some(at) = self
            .extents
            .iter()
            .position(|extent| extent.end() == sector && extent.nr + nr <= MAX_RUN)
        {
            self.join(at, nr, ready_ns, earliest_ns);
            return true;
        }
        // A write that continues the moving run streams behind it and takes its slot.
        let streams = self.moving.is_some_and(|moving| moving.end() == sector);
        if self.extents.len() + usize::from(self.moving.is_some() && !streams) >= self.runs {
            return false;
        }
        self.writes += 1;
        self.held += nr;
        self.extents.push(Extent { sector, nr, last: self.writes, ready_ns, earliest_ns });
        true
    }

    fn join(&mut self, at: usize, nr: u64, ready_ns: u64, earliest_ns: u64) {
        self.writes += 1;
        self.held += nr;
        let extent = &mut self.extents[at];
        extent.nr += nr;
        extent.last = self.writes;
        extent.ready_ns = extent.ready_ns.max(ready_ns);
        extent.earliest_ns = extent.earliest_ns.max(earliest_ns);
    }

    pub(super) fn hold(&self, sector: u64, end: u64) -> bool {
        let holds = |extent: &Extent| extent.sector <= sector && end <= extent.end();
        self.moving.as_ref().is_some_and(holds) || self.extents.iter().any(holds)
    }

    pub(super) fn held(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.moving.iter().chain(&self.extents).map(|extent| (extent.sector, extent.end()))
    }

    /// Starts writing a run; its room is freed on arrival.
    pub(super) fn start(&mut self, at: usize) -> Extent {
        let extent = self.extents.swap_remove(at);
        self.moving = Some(extent);
        extent
    }

    pub(super) fn finish(&mut self, extent: Extent) {
        self.held -= extent.nr;
        self.moving = None;
    }

    /// Whether no write up to this one is cached, apart from those in flight.
    pub(super) fn clean_up_to(&self, write: u64) -> bool {
        self.extents.iter().all(|extent| extent.last > write)
    }
}
