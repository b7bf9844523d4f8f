//! The readers of traces: any bytes, as each of the formats, give a trace that can be replayed, or an error with its line.
//!
//! The first byte is the format and whether broken lines are passed over, the second how the trace is replayed; the rest is the
//! trace. A file that crashes is repeated with `scripts/fuzz replay FILE`.
#![no_main]

use std::sync::Arc;

use elevator::Time;
use libfuzzer_sys::fuzz_target;
use workload::replay::{Format, LoopMode, Options, Trace, parse};
use workload::{Seat, Step};

/// Replays some of it, on a target that is large enough or, wrapped, on a small one.
fn replay(trace: Arc<Trace>, how: u8) {
    let kind = workload::find("replay").expect("replay is a workload");
    let mut params = (kind.defaults)().with_trace(Arc::clone(&trace));
    params.replay.loop_mode = if how & 1 == 0 { LoopMode::Open } else { LoopMode::Closed };
    params.replay.speed_milli = [1000, 1, 1_000_000, 250][usize::from(how >> 1 & 3)];
    params.replay.wrap = how & 8 != 0;
    let len = if params.replay.wrap { u64::from(trace.largest()).next_multiple_of(4096) } else { trace.end() };
    // Direct I/O of some traces is refused for its alignment.
    let block = if how & 16 == 0 { 1 } else { 512 };
    if kind.extents(&params, len, block).is_err() {
        return;
    }
    for index in 0..trace.processes().min(4) {
        let mut client = kind.client(&params, Seat { index, count: trace.processes(), len, seed: 1 });
        let mut now = Time::ZERO;
        for _ in 0..1000 {
            match client.next(now, None) {
                Step::Io(request) => {
                    assert!(request.len > 0 && request.offset + u64::from(request.len) <= len, "{request:?} in {len}");
                }
                Step::Think(ns) => now = Time::from_ns(now.as_ns().saturating_add(ns).min(u64::MAX / 4)),
                Step::Sync => {}
                Step::End => break,
            }
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [first, how, text @ ..] = data else { return };
    let format = Format::ALL[usize::from(*first) % Format::ALL.len()];
    let options = Options { skip_bad: first & 128 != 0 };
    match parse(format, text, options) {
        Ok(trace) => {
            assert!(trace.records.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns), "time runs forward");
            for record in &trace.records {
                assert!(record.len > 0 && record.process < trace.processes(), "{record:?}");
                assert!(record.offset + u64::from(record.len) <= trace.end(), "{record:?}");
            }
            assert!(!trace.records.is_empty() && (options.skip_bad || trace.bad_lines == 0));
            replay(Arc::new(trace), *how);
        }
        Err(error) => assert!(error.line > 0 && !error.problem.is_empty(), "{error:?}"),
    }
});
