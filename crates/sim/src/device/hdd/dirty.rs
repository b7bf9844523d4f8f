//! The write cache: runs of sectors that were reported done and are not on the medium yet.

/// The longest run that neighbours are joined to, in sectors: the drive cannot be interrupted
/// within one. A proposal.
const LONGEST: u64 = 2048;

/// Runs that a drive keeps account of at most, whatever its description says: it looks at each of
/// them before every movement. A proposal.
pub(super) const MOST_RUNS: u64 = 256;

/// A run of sectors to bring to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) sector: u64,
    pub(super) nr: u64,
    /// The number of the last write in it; a flush waits for those before it.
    pub(super) last: u64,
    /// When the overhead of its writes is over, and when enough of their data have come for the
    /// medium not to overtake them.
    pub(super) ready_ns: u64,
    pub(super) earliest_ns: u64,
}

impl Extent {
    fn end(&self) -> u64 {
        self.sector + self.nr
    }
}

/// What the write cache holds.
#[derive(Debug, Clone)]
pub(super) struct Dirty {
    pub(super) extents: Vec<Extent>,
    /// Sectors that it can hold; 0: no write cache.
    pub(super) room: u64,
    /// Sectors held, those on their way to the medium included.
    held: u64,
    writes: u64,
    /// Runs that it can hold, the one on its way included.
    runs: usize,
    /// The run that is on its way to the medium.
    moving: Option<Extent>,
}

impl Dirty {
    pub(super) fn new(room: u64, runs: u64) -> Dirty {
        Dirty { extents: Vec::new(), room, held: 0, writes: 0, runs: runs as usize, moving: None }
    }

    /// Writes so far.
    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    /// Takes a write, if there is room: new data over old need none.
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
            .position(|extent| extent.end() == sector && extent.nr + nr <= LONGEST)
        {
            self.join(at, nr, ready_ns, earliest_ns);
            return true;
        }
        // What goes on where the moving run ends streams behind it, in its place.
        let streams = self.moving.is_some_and(|moving| moving.end() == sector);
        if self.extents.len() + usize::from(self.moving.is_some() && !streams) >= self.runs {
            return false;
        }
        self.writes += 1;
        self.held += nr;
        self.extents.push(Extent { sector, nr, last: self.writes, ready_ns, earliest_ns });
        true
    }

    /// A write goes into an extent, which it makes longer by `nr`.
    fn join(&mut self, at: usize, nr: u64, ready_ns: u64, earliest_ns: u64) {
        self.writes += 1;
        self.held += nr;
        let extent = &mut self.extents[at];
        extent.nr += nr;
        extent.last = self.writes;
        extent.ready_ns = extent.ready_ns.max(ready_ns);
        extent.earliest_ns = extent.earliest_ns.max(earliest_ns);
    }

    /// Whether all of these sectors are in one extent.
    pub(super) fn hold(&self, sector: u64, end: u64) -> bool {
        let holds = |extent: &Extent| extent.sector <= sector && end <= extent.end();
        self.moving.as_ref().is_some_and(holds) || self.extents.iter().any(holds)
    }

    /// The first sector of each extent, and the one after its last.
    pub(super) fn held(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.moving.iter().chain(&self.extents).map(|extent| (extent.sector, extent.end()))
    }

    /// An extent goes to the medium; its room is free when it is there.
    pub(super) fn start(&mut self, at: usize) -> Extent {
        let extent = self.extents.swap_remove(at);
        self.moving = Some(extent);
        extent
    }

    /// An extent has arrived on the medium.
    pub(super) fn finish(&mut self, extent: Extent) {
        self.held -= extent.nr;
        self.moving = None;
    }

    /// Whether everything up to a write is on its way to the medium.
    pub(super) fn clean_up_to(&self, write: u64) -> bool {
        self.extents.iter().all(|extent| extent.last > write)
    }
}
