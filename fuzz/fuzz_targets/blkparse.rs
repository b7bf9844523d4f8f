//! The reader of blkparse's text: any text gives a trace that can be replayed, or an error with its
//! line.
//!
//! The first byte says whether broken lines are passed over and how the trace is replayed; the rest
//! is the trace.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sim::workload::replay::Format;

fuzz_target!(|data: &[u8]| {
    let Some((how, text)) = data.split_first() else { return };
    schedlab_fuzz::read_and_replay(Format::Blkparse, text, how & 128 != 0, *how);
});
