//! `randread`, `randwrite`, `oltp`: blocks drawn uniformly from the whole region, with repetition.
//!
//! `oltp` is the transaction load behind many servers' defaults: 4 KiB random requests, half reads
//! and half writes, by N users [C, RHEL 4 study]; each user waits for each request, as a database
//! session does [P]. Direction and offset are drawn independently.

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::rng::Rng;
use crate::workload::row::{Params, Seat};
use crate::workload::timed::rate::limit_rate;

#[derive(Debug)]
pub(crate) struct Scatter {
    rng: Rng,
    blocks: u64,
    len: u32,
    read_percent: u32,
}

impl Scatter {
    pub(crate) fn new(rng: Rng, len: u32, region: u64, read_percent: u32) -> Scatter {
        Scatter { rng, blocks: region / u64::from(len), len, read_percent }
    }
}

impl Pattern for Scatter {
    #[inline]
    fn pick(&mut self) -> Option<Request> {
        let offset = self.rng.below(self.blocks) * u64::from(self.len);
        let read = match self.read_percent {
            0 => false,
            100 => true,
            percent => self.rng.below(100) < u64::from(percent),
        };
        Some(Request::new(if read { Op::Read } else { Op::Write }, offset, self.len))
    }
}

pub(crate) fn read(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    build(100, params, seat)
}

pub(crate) fn write(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    build(0, params, seat)
}

pub(crate) fn oltp(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    build(params.read_share, params, seat)
}

fn build(read_percent: u32, params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let scatter = Scatter::new(seat.rng(), params.block_size, seat.len, read_percent);
    limit_rate(params, Box::new(Paced::new(scatter, params)))
}
