//! What fuzz targets share: the laws of traces, and those of a study.
//!
//! A study of any evidence ends, renders in every format, and names no number that its evidence cannot give.

use std::sync::Arc;

use elevator::Time;
use experiment::study::Study;
use report::Evidence;
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

/// Any text of a trace gives a trace that can be replayed, or an error with its line. `skip_bad` passes over broken lines, `how` says
/// how the trace is replayed.
pub fn read_and_replay(format: Format, text: &[u8], skip_bad: bool, how: u8) {
    match parse(format, text, Options { skip_bad }) {
        Ok(trace) => {
            assert!(trace.records.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns), "time runs forward");
            for record in &trace.records {
                assert!(record.len > 0 && record.process < trace.processes(), "{record:?}");
                assert!(record.offset + u64::from(record.len) <= trace.end(), "{record:?}");
            }
            assert!(!trace.records.is_empty() && (skip_bad || trace.bad_lines == 0));
            replay(Arc::new(trace), how);
        }
        Err(error) => assert!(error.line > 0 && !error.problem.is_empty(), "{error:?}"),
    }
}

/// A study is written in every format, and says no number that is none.
pub fn report(study: &Study, evidence: Option<&Evidence<'_>>) {
    for judgement in &study.judgements {
        for number in [judgement.ratio, judgement.low, judgement.high].into_iter().flatten() {
            assert!(number.is_finite() && number >= 0.0, "{judgement:?}");
        }
        assert!((0.0..=1.0).contains(&judgement.confidence), "{judgement:?}");
    }
    let options = report::terminal::Options { width: 100, colour: false, verbose: true };
    assert!(!report::terminal::render(study, evidence, &[], &options).is_empty());
    for (name, text) in report::files(study, evidence).expect("no input makes a report fail") {
        assert!(!text.is_empty(), "{name} is empty");
    }
}
