//! What fuzz targets share: the properties of traces, and those of an analysis.
//!
//! An analysis of any evidence ends, renders in every format, and names no number that its evidence
//! cannot give.

use std::sync::Arc;

use elevator::Time;
use experiment::analysis::Analysis;
use report::Evidence;
use trace::Trace;
use trace::formats::{Format, Options, parse};
use trace::replay::{LoopMode, Replay};
use sim::workload::{Seat, Step};

/// Replays some of it, on a target that is large enough or, wrapped or scaled, on a small one.
fn replay(trace: &Trace, how: u8) {
    let kind = sim::workload::find("replay").expect("replay is a workload");
    let mut params = (kind.defaults)();
    params.replay.loop_mode = if how & 1 == 0 { LoopMode::Open } else { LoopMode::Closed };
    params.replay.speed_milli = [1000, 1, 1_000_000, 250][usize::from(how >> 1 & 3)];
    params.replay.wrap = how & 8 != 0;
    params.replay.scale = how & 32 != 0;
    params.replay.part_ns = (how & 64 != 0).then_some(1_000_000);
    let Ok(replay) = Replay::from_trace(trace, &params.replay.options()) else { return };
    let summary = replay.summary.clone();
    assert!(summary.requests > 0 && summary.end <= summary.span, "{summary:?}");
    let small = u64::from(summary.largest).next_multiple_of(4096) + (1 << 20);
    let len = if params.replay.wrap || params.replay.scale { small } else { summary.end };
    let params = params.with_trace(Arc::new(replay));
    // Direct I/O of some traces is refused for its alignment, and a request of 64 MiB for its size.
    let round = if how & 16 == 0 { 1 } else { 512 };
    let Ok(extents) = kind.extents(&params, len, round) else { return };
    let count = extents.len() as u32;
    for index in 0..count.min(4) {
        let mut client = kind.client(&params, Seat { index, count, len, seed: 1 });
        let mut now = Time::ZERO;
        for _ in 0..1000 {
            match client.next(now, None) {
                Step::Io(request) => {
                    assert!(request.len > 0 && request.offset + u64::from(request.len) <= len, "{request:?} in {len}");
                }
                Step::Think(ns) => now = Time::from_ns(now.as_ns().saturating_add(ns).min(u64::MAX / 4)),
                Step::Await(_) | Step::Sync => {}
                Step::End => break,
            }
        }
    }
}

/// Any text of a trace gives a trace that can be replayed, or an error with its line.
/// `skip_bad` passes over broken lines, `how` says how the trace is replayed.
pub fn read_and_replay(format: Format, text: &[u8], skip_bad: bool, how: u8) {
    match parse(format, text, Options { skip_bad }) {
        Ok(trace) => {
            assert_eq!(trace.check(), Ok(()));
            assert!(trace.ios.is_sorted_by_key(|io| io.queued), "time runs forward");
            assert!(!trace.ios.is_empty() && (skip_bad || trace.about.bad == 0));
            replay(&trace, how);
        }
        Err(error) => assert!(error.line > 0 && !error.problem.is_empty(), "{error:?}"),
    }
}

/// An analysis is written in every format, and says no number that is none.
pub fn report(analysis: &Analysis, evidence: Option<&Evidence<'_>>) {
    for comparison in &analysis.comparisons {
        for number in [comparison.ratio, comparison.low, comparison.high].into_iter().flatten() {
            assert!(number.is_finite() && number >= 0.0, "{comparison:?}");
        }
        assert!((0.0..=1.0).contains(&comparison.confidence), "{comparison:?}");
    }
    let options = report::terminal::Options { width: 100, colour: false, verbose: true };
    assert!(!report::terminal::render(analysis, evidence, &[], &options).is_empty());
    for (name, text) in report::files(analysis, evidence).expect("no input makes a report fail") {
        assert!(!text.is_empty(), "{name} is empty");
    }
}
