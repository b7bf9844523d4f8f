//! Computes a trial's observation from the kernel's records, by the definitions of `sim::workload`.

use elevator::{Op, Request, SECTOR_BYTES, Time};
use sim::workload::{ClientTotals, Lived, Measured};

use super::wire::{self, Record};

/// ENXIO and ENODEV: the device is gone.
const GONE: [i32; 2] = [6, 19];

/// Accumulates a pass's records.
pub(super) struct Tally<'a> {
    measured: &'a mut Measured,
    longest_wait_ns: &'a mut u64,
    counts: bool,
    times: (u64, u64),
    start: Time,
    open: Time,
    close: Time,
    clients: Vec<Lived>,
}

impl<'a> Tally<'a> {
    /// `times`: nanoseconds before the window and of the window.
    pub(super) fn new(
        measured: &'a mut Measured,
        longest_wait_ns: &'a mut u64,
        clients: usize,
        times: (u64, u64),
        counts: bool,
    ) -> Tally<'a> {
        let unborn =
            Lived { totals: ClientTotals::default(), began: Time::ZERO, ended: Time::ZERO };
        let (start, open, close) = (Time::ZERO, Time::ZERO, Time::ZERO);
        Tally {
            measured,
            longest_wait_ns,
            counts,
            times,
            start,
            open,
            close,
            clients: vec![unborn; clients],
        }
    }

    pub(super) fn started(&mut self, record: &Record) {
        self.start = Time::from_ns(record.submitted_ns);
        self.open = self.start + self.times.0;
        self.close = self.open + self.times.1;
        self.clients.iter_mut().for_each(|client| client.began = self.start);
    }

    pub(super) fn done(&mut self, record: &Record) {
        let op = if record.op == 0 { Op::Read } else { Op::Write };
        let (submitted, now) =
            (Time::from_ns(record.submitted_ns), Time::from_ns(record.completed_ns));
        if self.counts && now >= self.open {
            let seen = now.min(self.close).as_ns().saturating_sub(submitted.as_ns());
            *self.longest_wait_ns = seen.max(*self.longest_wait_ns);
        }
        if record.error != 0 {
            let totals =
                if op == Op::Read { &mut self.measured.reads } else { &mut self.measured.writes };
            totals.errors += 1;
            return self.failed(&op.to_string(), record);
        }
        let request = Request::new(op, record.offset, record.bytes);
        let window = self.counts.then_some((self.open, self.close));
        self.measured.done(
            now,
            &mut self.clients[record.client as usize].totals,
            &request,
            submitted,
            window,
        );
    }

    pub(super) fn synced(&mut self, record: &Record) {
        let now = Time::from_ns(record.completed_ns);
        if record.error != 0 {
            self.failed("flush", record);
        } else {
            self.measured.syncs += u64::from(self.counts && now >= self.open && now <= self.close);
        }
    }

    pub(super) fn ended(&mut self, record: &Record) {
        let client = &mut self.clients[record.client as usize];
        client.ended = Time::from_ns(record.completed_ns);
        client.totals.finished = record.bytes != 0;
    }

    /// Call this after all clients have ended. Returns the pass's nanoseconds. `is_pass`: the
    /// workload consists of passes.
    pub(super) fn sum_up(self, is_pass: bool) -> u64 {
        if self.counts {
            self.measured.sum_up(&self.clients, self.open, Some(self.close), is_pass);
        }
        let end = self.clients.iter().map(|client| client.ended).max().unwrap_or(self.start);
        end.max(self.start) - self.start
    }

    fn failed(&mut self, what: &str, record: &Record) {
        let cause = std::io::Error::from_raw_os_error(-record.error);
        let words = match record.kind {
            wire::SYNCED => format!("flush: {cause}"),
            _ => format!(
                "{what} of {} bytes at sector {}: {cause}",
                record.bytes,
                record.offset / SECTOR_BYTES
            ),
        };
        if GONE.contains(&-record.error) {
            self.measured.vanished.get_or_insert_with(|| words.clone());
        }
        self.measured.first_error.get_or_insert(words);
        self.measured.errors += 1;
        self.clients[record.client as usize].totals.errors += 1;
    }
}
