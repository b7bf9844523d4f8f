//! `iozone`: the throughput mode of IOzone (`-t N`), one phase at a time [C iozone.c 3.465].
//!
//! N clients with a file each, in records of block_size, in order or permuted. As in the source,
//! the permutation has a fixed seed; the first client to finish stops the others, and the result is
//! the sum of their rates. `rewrite` and `reread` follow one uncounted pass [P]; `write` differs
//! from `rewrite` only on a file system. Departures: another permutation; no timed fsync or close
//! (-e, -c) except after buffered writes; passes repeat.

use elevator::{Op, Request};

use crate::workload::client::Client;
use crate::workload::paced::{Paced, Pattern};
use crate::workload::rng::Rng;
use crate::workload::row::{Params, Seat};

const PERMUTATION_SEED: u64 = 1998;

struct Pass {
    op: Op,
    len: u32,
    next: u32,
    records: u32,
    /// `None`: in order.
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
