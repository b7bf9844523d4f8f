//! Deadlines met and missed, and bytes per interval of a trial, for comparison with guarantees.

use elevator::{Request, Time};

/// Length of an interval of [`Intervals`], in ns.
pub const INTERVAL_NS: u64 = 100_000_000;

/// Deadlines inside the window, and requests without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeadlineTotals {
    /// Deadlines in the window.
    pub count: u64,
    /// Requests completed late.
    pub missed: u64,
    /// Sum of lateness, in ns.
    pub tardiness_sum_ns: u64,
    /// Maximum lateness, in ns.
    pub tardiness_max_ns: u64,
    /// Requests without a deadline completed in the window.
    pub best_effort: u64,
    /// Longest wait of a scheduled arrival for room in its client, in ns, of requests completed in
    /// the window.
    pub arrival_wait_max_ns: Option<u64>,
}

impl DeadlineTotals {
    /// Counts a request by its deadline, not its completion, so that requests starved beyond the
    /// window count.
    #[inline]
    pub fn record(&mut self, request: &Request, completed: Time, open: Time, close: Time) {
        let Some(deadline) = request.deadline.filter(|at| (open..=close).contains(at)) else {
            return;
        };
        let late = completed.as_ns().saturating_sub(deadline.as_ns());
        self.count += 1;
        self.missed += u64::from(late > 0);
        self.tardiness_sum_ns += late;
        self.tardiness_max_ns = self.tardiness_max_ns.max(late);
    }

    /// Counts a request completed in the window.
    #[inline]
    pub fn inside(&mut self, request: &Request, submitted: Time) {
        self.best_effort += u64::from(request.deadline.is_none());
        if let Some(release) = request.release {
            let waited_ns = submitted.as_ns().saturating_sub(release.as_ns());
            self.arrival_wait_max_ns = self.arrival_wait_max_ns.max(Some(waited_ns));
        }
    }

    /// Adds other totals.
    pub fn add(&mut self, other: &DeadlineTotals) {
        self.best_effort += other.best_effort;
        self.arrival_wait_max_ns = self.arrival_wait_max_ns.max(other.arrival_wait_max_ns);
        self.count += other.count;
        self.missed += other.missed;
        self.tardiness_sum_ns += other.tardiness_sum_ns;
        self.tardiness_max_ns = self.tardiness_max_ns.max(other.tardiness_max_ns);
    }
}

/// Bytes completed in each [`INTERVAL_NS`] of the window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals(pub Vec<u64>);

impl Intervals {
    /// Adds bytes completed this long after the window opened.
    #[inline]
    pub fn record(&mut self, since_open_ns: u64, bytes: u64) {
        let at = (since_open_ns / INTERVAL_NS) as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] += bytes;
    }

    /// Adds other intervals pairwise.
    pub fn add(&mut self, other: &Intervals) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(sum, bytes)| *sum += bytes);
    }

    /// Bytes of `length` intervals starting at `from`.
    pub fn sum(&self, from: usize, length: usize) -> u64 {
        self.0.iter().skip(from).take(length).sum()
    }
}

#[cfg(test)]
mod tests {
    use elevator::Op;

    use super::*;

    #[test]
    fn a_request_counts_where_its_deadline_lies_even_if_it_completes_after_the_window() {
        let (open, close) = (Time::from_ns(100), Time::from_ns(200));
        let mut totals = DeadlineTotals::default();
        for (deadline, completed) in [(99, 150), (100, 90), (150, 151), (200, 900), (201, 300)] {
            let request = Request::new(Op::Read, 0, 512).due(Time::from_ns(deadline));
            totals.record(&request, Time::from_ns(completed), open, close);
        }
        totals.record(&Request::new(Op::Read, 0, 512), Time::from_ns(150), open, close);
        let expected = DeadlineTotals {
            count: 3,
            missed: 2,
            tardiness_sum_ns: 701,
            tardiness_max_ns: 700,
            ..totals
        };
        assert_eq!(totals, expected);
    }

    #[test]
    fn requests_without_a_deadline_are_counted_and_the_wait_for_a_hand_over_is_kept() {
        let read = Request::new(Op::Read, 0, 512);
        let mut totals = DeadlineTotals::default();
        totals.inside(&read, Time::from_ns(7));
        assert_eq!((totals.best_effort, totals.arrival_wait_max_ns), (1, None));
        totals.inside(&read.released(Time::from_ns(5)).due(Time::from_ns(90)), Time::from_ns(30));
        totals.inside(&read.released(Time::from_ns(50)), Time::from_ns(40));
        assert_eq!((totals.best_effort, totals.arrival_wait_max_ns), (2, Some(25)));
    }

    #[test]
    fn intervals_hold_the_bytes_of_their_time() {
        let mut intervals = Intervals::default();
        for (at, bytes) in [(0, 1), (INTERVAL_NS - 1, 2), (3 * INTERVAL_NS, 4)] {
            intervals.record(at, bytes);
        }
        assert_eq!(
            (intervals.0.clone(), intervals.sum(0, 2), intervals.sum(2, 9)),
            (vec![3, 0, 0, 4], 3, 4)
        );
    }
}
