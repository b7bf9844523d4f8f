//! What these schedulers are known for, checked end to end on modelled drives: workload, queue,
//! scheduler and disk together.

mod antic_timing;
mod common;
mod flash;
mod headlines;
mod two_readers;
