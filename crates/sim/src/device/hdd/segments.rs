//! The read cache: segments of equal size, each with one run of sectors, replaced in LRU order.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Segment {
    pub(super) start: u64,
    pub(super) end: u64,
    used: u64,
}

#[derive(Debug, Clone)]
pub(super) struct Segments {
    all: Vec<Segment>,
    pub(super) size: u64,
    clock: u64,
}

impl Segments {
    pub(super) fn new(count: usize, size: u64) -> Segments {
        Segments { all: vec![Segment::default(); count], size, clock: 0 }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, segment: usize) -> Segment {
        self.all[segment]
    }

    #[inline]
    pub(super) fn hold(&self, start: u64, end: u64) -> Option<usize> {
        self.all.iter().position(|segment| segment.start <= start && end <= segment.end)
    }

    /// The first sector of each segment, and the one after its last.
    pub(super) fn held(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.all
            .iter()
            .filter(|segment| segment.end > 0)
            .map(|segment| (segment.start, segment.end))
    }

    pub(super) fn touch(&mut self, segment: usize) {
        self.clock += 1;
        self.all[segment].used = self.clock;
    }

    /// Replaces the LRU segment; of a long run the end is kept. `None` without segments.
    pub(super) fn fill(&mut self, start: u64, end: u64) -> Option<usize> {
        let oldest = (0..self.all.len()).min_by_key(|at| self.all[*at].used)?;
        self.all[oldest] =
            Segment { start: start.max(end.saturating_sub(self.size)), end, used: 0 };
        self.touch(oldest);
        Some(oldest)
    }

    /// Drops sectors from the start of a full segment.
    pub(super) fn grow(&mut self, segment: usize, end: u64) {
        let size = self.size;
        let grown = &mut self.all[segment];
        grown.end = end;
        grown.start = grown.start.max(end.saturating_sub(size));
    }

    /// Passes each overlapping segment to `emptied`.
    pub(super) fn overwrite(&mut self, start: u64, end: u64, mut emptied: impl FnMut(usize)) {
        for (at, segment) in self.all.iter_mut().enumerate() {
            if segment.start < end && start < segment.end {
                *segment = Segment::default();
                emptied(at);
            }
        }
    }
}
