//! One client's counters.
//!
//! A successful request takes a few nanoseconds here, and allocates nothing.

use std::io;
use std::path::Path;

use elevator::{Op, Request, Time};
use machine::now_ns;
use rustix::time::ClockId;

use sim::workload::{ClientTotals, DeadlineTotals, Intervals, Issued, OpTotals};

/// With this many, the trial is invalid, and a dying disk is spared.
pub(super) const MAX_ERRORS: u64 = 100;

pub(super) struct Tally {
    pub(super) open_ns: u64,
    pub(super) close_ns: u64,
    pub(super) reads: OpTotals,
    pub(super) writes: OpTotals,
    pub(super) deadlines: DeadlineTotals,
    pub(super) intervals: Intervals,
    pub(super) issued: Issued,
    pub(super) syncs: u64,
    pub(super) errors: u64,
    pub(super) first_error: Option<String>,
    pub(super) vanished: Option<String>,
    pub(super) no_space: Option<String>,
    /// The end includes the flush.
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    /// The workload ended before the window closed or it was stopped.
    pub(super) finished: bool,
    /// `None` before.
    cpu_at_open: Option<Cpu>,
    /// Of the client's thread, in the window.
    pub(super) cpu_ns: u64,
    /// Of the process, in the same time.
    pub(super) process_cpu_ns: u64,
}

#[derive(Debug)]
pub(super) enum Failure {
    Error(io::Error),
    /// An empty transfer: the target ends here.
    EndOfTarget,
}

impl Tally {
    pub(super) fn new(open_ns: u64, close_ns: u64) -> Tally {
        Tally {
            open_ns,
            close_ns,
            reads: OpTotals::default(),
            writes: OpTotals::default(),
            deadlines: DeadlineTotals::default(),
            intervals: Intervals::default(),
            issued: Issued::default(),
            syncs: 0,
            errors: 0,
            first_error: None,
            vanished: None,
            no_space: None,
            began_ns: 0,
            ended_ns: 0,
            finished: false,
            cpu_at_open: None,
            cpu_ns: 0,
            process_cpu_ns: 0,
        }
    }

    pub(super) fn begin(&mut self, now: u64) {
        self.began_ns = now;
        self.check_window(now);
    }

    /// Notices when the window has opened; call it with each new time.
    #[inline]
    pub(super) fn check_window(&mut self, now: u64) {
        if self.cpu_at_open.is_none() && now >= self.open_ns {
            self.cpu_at_open = Some(Cpu::now());
        }
    }

    #[inline]
    pub(super) fn record_completion(&mut self, request: &Request, submitted: u64, completed: u64) {
        let bytes = u64::from(request.len);
        let totals = match request.op {
            Op::Read => {
                self.issued.reads += 1;
                self.issued.read_bytes += bytes;
                &mut self.reads
            }
            Op::Write => {
                self.issued.writes += 1;
                self.issued.written_bytes += bytes;
                &mut self.writes
            }
        };
        if request.deadline.is_some() {
            let (open, close) = (Time::from_ns(self.open_ns), Time::from_ns(self.close_ns));
            self.deadlines.record(request, Time::from_ns(completed), open, close);
        }
        if completed >= self.open_ns && completed <= self.close_ns {
            totals.record(bytes, completed - submitted);
            self.intervals.record(completed - self.open_ns, bytes);
            self.deadlines.inside(request, Time::from_ns(submitted));
        }
    }

    pub(super) fn record_sync(&mut self, result: io::Result<()>, path: &Path, now: u64) {
        match result {
            Ok(()) => self.syncs += u64::from(now >= self.open_ns && now <= self.close_ns),
            Err(error) => self.note(format!("flush of {}: {error}", path.display())),
        }
    }

    /// Returns whether the client should continue.
    pub(super) fn record_failure(
        &mut self,
        request: &Request,
        path: &Path,
        is_device: bool,
        failure: &Failure,
    ) -> bool {
        let what = format!(
            "{} of {} bytes at {} of {}",
            request.op,
            request.len,
            request.offset,
            path.display()
        );
        let over = match failure {
            Failure::EndOfTarget => {
                self.vanished.get_or_insert(format!(
                    "{what}: the target now ends there: it shrank or was removed"
                ));
                true
            }
            Failure::Error(error) => self.classify(error, &what, is_device),
        };
        if over {
            return false;
        }
        match request.op {
            Op::Read => self.reads.errors += 1,
            Op::Write => self.writes.errors += 1,
        }
        if let Failure::Error(error) = failure {
            self.note(format!("{what}: {error}"));
        }
        self.errors < MAX_ERRORS
    }

    /// True if the target is gone or full.
    fn classify(&mut self, error: &io::Error, what: &str, is_device: bool) -> bool {
        match error.raw_os_error() {
            Some(libc::ENXIO | libc::ENODEV | libc::ENOMEDIUM) => {
                self.vanished.get_or_insert(format!("{what}: {error}"));
            }
            Some(libc::ENOSPC) if is_device => {
                self.vanished
                    .get_or_insert(format!("{what}: the device now ends there: it shrank"));
            }
            Some(libc::ENOSPC | libc::EDQUOT) => {
                self.no_space.get_or_insert(format!("{what}: {error}"));
            }
            _ => return false,
        }
        true
    }

    fn note(&mut self, error: String) {
        self.errors += 1;
        self.first_error.get_or_insert(error);
    }

    /// Call this after the client's flush.
    pub(super) fn end(&mut self, now: u64) {
        self.ended_ns = now;
        if let Some(at_open) = self.cpu_at_open {
            let at_end = Cpu::now();
            self.cpu_ns = at_end.thread_ns - at_open.thread_ns;
            self.process_cpu_ns = at_end.process_ns - at_open.process_ns;
        }
    }

    /// `window_end` is the end of all clients' window.
    pub(super) fn totals(&self, window_end: u64) -> ClientTotals {
        let from = self.began_ns.max(self.open_ns);
        ClientTotals {
            ios: self.reads.count + self.writes.count,
            bytes: self.reads.bytes + self.writes.bytes,
            elapsed_ns: self.ended_ns.min(window_end).saturating_sub(from),
            cpu_ns: self.cpu_ns,
            errors: self.errors,
            finished: self.finished,
        }
    }
}

/// User and system time of the calling thread, and of the process with io_uring's workers.
#[derive(Debug, Clone, Copy)]
struct Cpu {
    thread_ns: u64,
    process_ns: u64,
}

impl Cpu {
    fn now() -> Cpu {
        Cpu {
            thread_ns: now_ns(ClockId::ThreadCPUTime),
            process_ns: now_ns(ClockId::ProcessCPUTime),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Request = Request::new(Op::Read, 0, 4096);

    #[test]
    fn a_request_counts_if_it_completes_inside_the_window_and_is_issued_in_any_case() {
        let mut tally = Tally::new(100, 200);
        for (submitted, completed) in [(10, 99), (90, 100), (150, 160), (190, 200), (199, 201)] {
            tally.record_completion(&READ, submitted, completed);
        }
        assert_eq!((tally.reads.count, tally.reads.bytes), (3, 3 * 4096));
        assert_eq!(tally.reads.latency_sum_ns, 10 + 10 + 10);
        assert_eq!((tally.issued.reads, tally.issued.read_bytes), (5, 5 * 4096));
    }

    #[test]
    fn deadlines_are_kept_or_missed_by_the_clock_of_the_clients() {
        let mut tally = Tally::new(100, 200);
        for (deadline, completed) in [(150, 140), (150, 160), (190, 250), (300, 150)] {
            tally.record_completion(&READ.due(Time::from_ns(deadline)), 110, completed);
        }
        tally.record_completion(&READ, 110, 120);
        let late = tally.deadlines;
        assert_eq!(
            (late.count, late.missed, late.tardiness_max_ns, late.best_effort),
            (3, 2, 60, 1)
        );
    }

    #[test]
    fn a_client_goes_on_after_an_error_and_gives_up_after_many() {
        let mut tally = Tally::new(0, 100);
        let eio = || Failure::Error(io::Error::from_raw_os_error(libc::EIO));
        for _ in 1..MAX_ERRORS {
            assert!(tally.record_failure(&READ, Path::new("/dev/x"), true, &eio()));
        }
        assert!(!tally.record_failure(&READ, Path::new("/dev/x"), true, &eio()));
        assert_eq!((tally.errors, tally.reads.errors), (MAX_ERRORS, MAX_ERRORS));
        assert!(tally.first_error.unwrap().contains("read of 4096 bytes at 0 of /dev/x"));
    }

    #[test]
    fn no_space_means_a_full_file_system_for_a_file_and_a_shorter_device_for_a_device() {
        let enospc = Failure::Error(io::Error::from_raw_os_error(libc::ENOSPC));
        let (mut file, mut device) = (Tally::new(0, 1), Tally::new(0, 1));
        assert!(!file.record_failure(&READ, Path::new("/tmp/x"), false, &enospc));
        assert!(!device.record_failure(&READ, Path::new("/dev/x"), true, &enospc));
        assert!(file.no_space.is_some() && file.vanished.is_none());
        assert!(device.no_space.is_none() && device.vanished.is_some());
    }
}
