//! A bounded number of time columns: when a time does not fit, neighbours are merged and columns
//! double in length.

/// At least half are in use after the first merge.
pub(super) const COLUMNS: usize = 256;

/// log₂ of the initial column length: 65 µs.
const MIN_SHIFT: u32 = 16;

pub(super) trait Cell: Default {
    fn merge(&mut self, other: Self);
}

impl Cell for Vec<u32> {
    fn merge(&mut self, other: Vec<u32>) {
        if self.len() < other.len() {
            self.resize(other.len(), 0);
        }
        self.iter_mut().zip(other).for_each(|(ours, theirs)| *ours = ours.saturating_add(theirs));
    }
}

#[derive(Debug, Clone)]
pub(super) struct Columns<T> {
    /// log₂ of a column's length in nanoseconds.
    shift: u32,
    pub(super) cells: Vec<T>,
}

impl<T> Default for Columns<T> {
    fn default() -> Columns<T> {
        Columns { shift: MIN_SHIFT, cells: Vec::new() }
    }
}

impl<T: Cell> Columns<T> {
    #[inline]
    pub(super) fn column_mut(&mut self, ns: u64) -> &mut T {
        while ns >> self.shift >= COLUMNS as u64 {
            self.double();
        }
        let at = (ns >> self.shift) as usize;
        if at >= self.cells.len() {
            self.cells.resize_with(at + 1, T::default);
        }
        &mut self.cells[at]
    }

    /// Visits columns with the time that falls into each.
    #[inline]
    pub(super) fn visit(&mut self, from: u64, until: u64, mut each: impl FnMut(&mut T, u64)) {
        if until <= from {
            return;
        }
        self.column_mut(until - 1);
        let mut from = from;
        while from < until {
            let end = (from | (self.column_ns() - 1)).saturating_add(1).min(until);
            each(self.column_mut(from), end - from);
            from = end;
        }
    }

    pub(super) fn column_ns(&self) -> u64 {
        1 << self.shift
    }

    fn double(&mut self) {
        self.shift += 1;
        let mut old = std::mem::take(&mut self.cells).into_iter();
        while let Some(mut left) = old.next() {
            if let Some(right) = old.next() {
                left.merge(right);
            }
            self.cells.push(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_when_columns_are_merged() {
        let mut columns: Columns<Vec<u32>> = Columns::default();
        for at in 0..1000 {
            columns.column_mut(at * 1_000_003).merge(vec![1, 0, 2]);
        }
        assert!(
            columns.cells.len() <= COLUMNS && columns.cells.len() > COLUMNS / 2,
            "{}",
            columns.cells.len()
        );
        let sum = |row: usize| {
            columns.cells.iter().map(|cell| cell.get(row).copied().unwrap_or(0)).sum::<u32>()
        };
        assert_eq!((sum(0), sum(2)), (1000, 2000));
    }

    #[test]
    fn a_span_is_shared_out_among_its_columns() {
        let mut columns: Columns<Vec<u32>> = Columns::default();
        columns.visit(60_000, 200_000, |cell, ns| cell.merge(vec![ns as u32]));
        assert_eq!(
            columns.cells.iter().map(|cell| cell[0]).collect::<Vec<_>>(),
            [5536, 65536, 65536, 3392]
        );
    }

    #[test]
    fn the_last_time_of_all_has_a_column() {
        let mut columns: Columns<Vec<u32>> = Columns::default();
        columns.column_mut(5).merge(vec![1]);
        columns.column_mut(u64::MAX).merge(vec![1]);
        assert_eq!(columns.cells[0], [1]);
    }
}
