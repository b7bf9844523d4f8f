//! The write cache: runs of sectors that were reported done and are not on the medium yet.

/// The longest run that neighbours are joined to, in sectors: the drive cannot be interrupted within one. A proposal.
const LONGEST: u64 = 2048;

/// Runs that the drive keeps account of at most: it looks at each of them before every movement. A proposal.
const MOST: usize = 256;

/// A run of sectors to bring to the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) sector: u64,
    pub(super) nr: u64,
    /// The number of the last write in it; a flush waits for those before it.
    pub(super) last: u64,
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
}

impl Dirty {
    pub(super) fn new(room: u64) -> Dirty {
        Dirty { extents: Vec::new(), room, held: 0, writes: 0 }
    }

    /// Writes so far.
    pub(super) fn writes(&self) -> u64 {
        self.writes
    }

    /// Takes a write, if there is room: new data over old need none.
    pub(super) fn take(&mut self, sector: u64, nr: u64) -> bool {
        let end = sector + nr;
        if let Some(extent) = self.extents.iter_mut().find(|extent| extent.sector <= sector && end <= extent.end()) {
            self.writes += 1;
            extent.last = self.writes;
            return true;
        }
        if self.held + nr > self.room {
            return false;
        }
        let last = self.writes + 1;
        let many = self.extents.len() == MOST;
        match self.extents.iter_mut().find(|extent| extent.end() == sector && extent.nr + nr <= LONGEST) {
            Some(extent) => (extent.nr, extent.last) = (extent.nr + nr, last),
            None if many => return false,
            None => self.extents.push(Extent { sector, nr, last }),
        }
        self.held += nr;
        self.writes = last;
        true
    }

    /// Whether all of these sectors are in one extent.
    pub(super) fn hold(&self, sector: u64, end: u64) -> bool {
        self.extents.iter().any(|extent| extent.sector <= sector && end <= extent.end())
    }

    /// An extent goes to the medium; its room is free when it is there.
    pub(super) fn start(&mut self, at: usize) -> Extent {
        self.extents.swap_remove(at)
    }

    /// An extent has arrived on the medium.
    pub(super) fn finish(&mut self, extent: Extent) {
        self.held -= extent.nr;
    }

    /// Whether everything up to a write is on its way to the medium.
    pub(super) fn clean_up_to(&self, write: u64) -> bool {
        self.extents.iter().all(|extent| extent.last > write)
    }
}
