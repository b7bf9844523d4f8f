//! `mixed`: sequential writers against one random reader, the case in which schedulers differ most.
//!
//! One process copies a large file while another waits for a page: without a scheduler the reader
//! queues behind megabytes of writes. The reader is synchronous (one small read at a time, think
//! time if given); the writers keep iodepth large writes in flight each. 4 × 64 writes of 128 KiB
//! by default: more than a queue of 128 requests takes, so that requests wait in the scheduler,
//! where order can be chosen, and not in the device. The primary metric is what the reader gets;
//! what the writers get is reported beside it. [P]
//!
//! Parameters: writers, write_size, iodepth (of each writer), block_size (the reader's), think_time
//! (the reader's), file_size, direct.

use elevator::Op;

use crate::workload::client::Client;
use crate::workload::paced::Paced;
use crate::workload::random::Scatter;
use crate::workload::row::{Params, Seat};
use crate::workload::sequential::Stream;

/// Writers and the reader.
pub(crate) fn clients(params: &Params) -> u32 {
    params.writers.saturating_add(1)
}

/// The writers come first; the reader is the last client.
pub(crate) fn is_reader(params: &Params, index: u32) -> bool {
    index == params.writers
}

pub(crate) fn iodepth(params: &Params, index: u32) -> u32 {
    if is_reader(params, index) { 1 } else { params.iodepth }
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    if is_reader(params, seat.index) {
        Box::new(Paced::new(Scatter::new(seat.rng(), params.block_size, seat.len, 100), params))
    } else {
        let stream =
            Stream::new(Op::Write, params.write_size, seat.len, seat.index, params.writers);
        Box::new(Paced::new(stream, &Params { think_time_ns: 0, ..params.clone() }))
    }
}
