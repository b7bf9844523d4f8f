//! `iozone`: the throughput mode of IOzone (`-t N`), one phase at a time [C iozone.c 3.465].
//!
//! N clients, each with its own file of file_size, in records of block_size. Sequential phases do
//! the records in order; random phases do a permutation of all records, each exactly once. The
//! permutation comes from a fixed seed and is the same in every client and every trial, as in the
//! source; the trial's seed has no part in it. The first client that finishes stops the others, and
//! the figure is the sum of the clients' own rates.
//!
//! Where the source is silent or needs a file system [P]: on a device, files lie one after another
//! with 1 MiB between them. `rewrite` and `reread` are preceded by one uncounted pass of `write`
//! and `read`; `write` differs from `rewrite` only on a file system, where it starts from empty
//! files.
//!
//! Departures: the permutation is ours (same law, other order); no fsync or close is timed (the
//! source's -e and -c), except that buffered writes end with one; one phase is one workload, since
//! a trial has one figure; a pass of 512 KiB lasts milliseconds, so the load engine repeats passes
//! until the trial's time is up and reports all of them together.
//!
//! Parameters: clients, file_size, block_size, phase, direct.

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::rng::Rng;
use crate::workload::row::{Params, Seat};

/// The seed of every permutation.
const PERMUTATION_SEED: u64 = 1998;

/// Records of one pass, in the order of the phase.
struct Pass {
    op: Op,
    len: u32,
    next: u32,
    records: u32,
    /// None: in order.
    order: Option<Vec<u32>>,
}

impl Pattern for Pass {
    #[inline]
    fn pick(&mut self) -> Option<Request> {
        if self.next == self.records {
            return None;
        }
        let record = self.order.as_ref().map_or(self.next, |order| order[self.next as usize]);
        self.next += 1;
        Some(Request::new(self.op, u64::from(record) * u64::from(self.len), self.len))
    }
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let records = u32::try_from(seat.len / u64::from(params.block_size))
        .expect("checked: at most 16 Mi records a file");
    let order = params.phase.is_random().then(|| {
        let mut order: Vec<u32> = (0..records).collect();
        Rng::new(PERMUTATION_SEED, 0).shuffle(&mut order);
        order
    });
    let pass = Pass { op: params.phase.op(), len: params.block_size, next: 0, records, order };
    Box::new(Paced::new(pass, &Params { amount: None, ..params.clone() }))
}
