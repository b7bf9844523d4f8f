//! The readers of traces: any bytes, as each of the formats, give a trace that can be replayed, or
//! an error with its line.
//!
//! The first byte is the format and whether broken lines are passed over, the second how the trace
//! is replayed; the rest is the trace. A file that crashes is repeated with
//! `scripts/fuzz replay FILE`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trace::formats::FORMATS;

fuzz_target!(|data: &[u8]| {
    let [first, how, text @ ..] = data else { return };
    let format = FORMATS[usize::from(*first & 127) % FORMATS.len()].format;
    schedlab_fuzz::read_and_replay(format, text, first & 128 != 0, *how);
});
