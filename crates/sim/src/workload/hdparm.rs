//! `buffered-read` and `cached-read`: the timings of `hdparm -t` and `hdparm -T` [C hdparm 9.65].
//!
//! `buffered-read`: sequential 2 MiB reads through a dropped page cache; the disk sees the kernel's
//! read-ahead. `cached-read`: the first 2 MiB repeatedly, from memory. No request reaches an I/O
//! scheduler; published comparisons used it nevertheless, and here it results in `invalid`.
//! Departures: MB is 10⁶ bytes; the time of seek loops is not subtracted.

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::row::{Params, Seat};

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

struct Again(u32);

impl Pattern for Again {
    fn pick(&mut self) -> Option<Request> {
        Some(Request::new(Op::Read, 0, self.0))
    }
}

pub(crate) fn buffered_read(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    Box::new(Paced::new(Once { len: params.block_size, at: 0, end: seat.len }, params))
}

pub(crate) fn cached_read(params: &Params, _seat: Seat) -> Box<dyn Client + Send> {
    Box::new(Paced::new(Again(params.block_size), params))
}
