//! Accounting of a trial: time integrals, and differences between the window's opening and end.

use elevator::{Anticipation, BlockRequest, Time};

use crate::device::DeviceStats;

#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub(crate) bios: u64,
    pub(crate) busy: bool,
    /// Requests or bios are waiting.
    pub(crate) holding: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    pub(crate) device: DeviceStats,
    /// `None` for a scheduler that never idles.
    pub(crate) anticipation: Option<Anticipation>,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// `MAX` for both: none.
    open: Time,
    close: Time,
    /// Time with a command at the device.
    pub(crate) busy_ns: u64,
    /// Idle with requests held.
    pub(crate) idle_holding_ns: u64,
    /// Idle without requests.
    pub(crate) idle_empty_ns: u64,
    /// The integral of the number of bios, over the whole trial.
    pub(crate) bio_time: u128,
    /// The same as the sum of latencies.
    pub(crate) latency_sum: u128,
    pub(crate) longest_wait_ns: u64,
    /// Distances between consecutive requests in the windows.
    seek_sectors: u128,
    seeks: u64,
    last_end: Option<u64>,
    pub(crate) at_open: Option<Mark>,
}

impl Ledger {
    /// Begins a pass; without a window it is unmeasured.
    pub(crate) fn begin(&mut self, window: Option<(Time, Time)>) {
        let never = Time::MAX;
        (self.open, self.close) = window.unwrap_or((never, never));
    }

    pub(crate) fn opens(&self, next: Time) -> bool {
        self.at_open.is_none() && next >= self.open && self.open < self.close
    }

    /// When the window opens, if it has not.
    pub(crate) fn next_open(&self) -> Time {
        if self.at_open.is_none() { self.open } else { Time::MAX }
    }

    #[inline]
    pub(crate) fn count_interval(&mut self, from: Time, to: Time, state: State) {
        self.bio_time += u128::from(state.bios) * u128::from(to - from);
        let inside = to.min(self.close).as_ns().saturating_sub(from.max(self.open).as_ns());
        match state {
            State { busy: true, .. } => self.busy_ns += inside,
            State { holding: true, .. } => self.idle_holding_ns += inside,
            _ => self.idle_empty_ns += inside,
        }
    }

    #[inline]
    pub(crate) fn done(&mut self, submitted: Time, now: Time) {
        self.latency_sum += u128::from(now - submitted);
        if now >= self.open {
            let seen = now.min(self.close).as_ns().saturating_sub(submitted.as_ns());
            self.longest_wait_ns = self.longest_wait_ns.max(seen);
        }
    }

    #[inline]
    pub(crate) fn count_issue(&mut self, now: Time, request: &BlockRequest) {
        if let Some(last) = self.last_end
            && now >= self.open
            && now <= self.close
        {
            self.seek_sectors += u128::from(last.abs_diff(request.sector));
            self.seeks += 1;
        }
        self.last_end = Some(request.end());
    }

    pub(crate) fn mean_seek_sectors(&self) -> Option<f64> {
        (self.seeks > 0).then(|| self.seek_sectors as f64 / self.seeks as f64)
    }
}

pub(crate) fn difference(before: &Anticipation, after: &Anticipation) -> Anticipation {
    Anticipation {
        started: after.started - before.started,
        successes: after.successes - before.successes,
        failures: after.failures - before.failures,
        success_wait_ns: after.success_wait_ns - before.success_wait_ns,
        failure_wait_ns: after.failure_wait_ns - before.failure_wait_ns,
    }
}

/// Returns Jain's fairness index: 1 for equal shares, 1/n if one client has everything; `None` for
/// fewer than two shares or all zero.
pub fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (shares.len() > 1 && squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fairness_is_one_for_equals_and_one_nth_for_one_who_takes_all() {
        assert_eq!(jain(&[3.0, 3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[0.0, 8.0, 0.0, 0.0]), Some(0.25));
        assert_eq!((jain(&[1.0]), jain(&[0.0, 0.0]), jain(&[])), (None, None, None));
    }

    #[test]
    fn only_time_inside_the_window_is_counted() {
        let at = Time::from_ns;
        let mut ledger = Ledger::default();
        ledger.begin(Some((at(100), at(200))));
        let state = |busy, holding| State { bios: 2, busy, holding };
        ledger.count_interval(at(0), at(110), state(true, true));
        ledger.count_interval(at(110), at(130), state(false, true));
        ledger.count_interval(at(130), at(160), state(false, false));
        ledger.count_interval(at(160), at(300), state(true, false));
        ledger.count_interval(at(300), at(400), state(false, true));
        assert_eq!((ledger.busy_ns, ledger.idle_holding_ns, ledger.idle_empty_ns), (50, 20, 30));
        assert_eq!(ledger.bio_time, 800);
    }

    #[test]
    fn a_bio_that_is_starved_beyond_the_window_counts_with_what_it_has_waited_by_then() {
        let at = Time::from_ns;
        let mut ledger = Ledger::default();
        ledger.begin(Some((at(100), at(200))));
        for (submitted, done, longest) in
            [(0, 99, 0), (150, 190, 40), (120, 900, 80), (250, 900, 80)]
        {
            ledger.done(at(submitted), at(done));
            assert_eq!(ledger.longest_wait_ns, longest);
        }
    }
}
