//! `buffered-read` and `cached-read`: what `hdparm -t` and `hdparm -T` time [C hdparm 9.65].
//!
//! `buffered-read`: sequential 2 MiB reads through the page cache from the start of the device,
//! cache dropped before, until the time is up or the device ends. What the disk sees is the
//! kernel's read-ahead, not 2 MiB requests.
//!
//! `cached-read`: the first 2 MiB again and again, from memory. It measures copying from the page
//! cache: no request of it ever reaches an I/O scheduler, so comparing schedulers by it compares
//! noise. It is here because published comparisons did just that, and to show the `invalid` that
//! such evidence deserves.
//!
//! Departures: rates are in MB/s of 10⁶ bytes, not 2²⁰; the time of empty seek loops is not
//! subtracted (positioned reads have no seek); pauses of 1 s and 3 s before the measurement are
//! left to the experiment's order of trials; the window is the trial's, not 3 s and 2 s.
//!
//! Parameters: block_size (2 MiB), file_size (buffered-read only: how much of the device to read).

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::row::{Params, Seat};

/// Reads once through a region.
struct Once {
    len: u32,
    at: u64,
    end: u64,
}

impl Pattern for Once {
    fn pick(&mut self) -> Option<Request> {
        if self.at + u64::from(self.len) > self.end {
            return None;
        }
        let offset = self.at;
        self.at += u64::from(self.len);
        Some(Request::new(Op::Read, offset, self.len))
    }
}

/// Reads the same block again and again.
struct Again(u32);

impl Pattern for Again {
    fn pick(&mut self) -> Option<Request> {
        Some(Request::new(Op::Read, 0, self.0))
    }
}

pub(crate) fn buffered(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    Box::new(Paced::new(Once { len: params.block_size, at: 0, end: seat.len }, params))
}

pub(crate) fn cached(params: &Params, _seat: Seat) -> Box<dyn Client + Send> {
    Box::new(Paced::new(Again(params.block_size), params))
}
