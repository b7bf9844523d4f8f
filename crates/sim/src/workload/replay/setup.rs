//! The parameter values of `replay`.

use std::sync::Arc;

pub use trace::formats::Format;
use trace::formats::{Options, TraceError, parse};
pub use trace::replay::LoopMode;
use trace::replay::{self, Replay, Request};

use super::places::Places;

pub(super) const SPEED_ONE: u32 = 1000;

/// The parameters of `replay`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayParams {
    /// The trace file, read by the caller.
    pub file: Option<String>,
    /// Its format.
    pub format: Format,
    /// Open or closed loop.
    pub loop_mode: LoopMode,
    /// Speed in thousandths of the recorded one; 1 to 1,000,000.
    pub speed_milli: u32,
    /// Whether requests beyond the target's end wrap around.
    pub wrap: bool,
    /// Whether the recorded disk is scaled to the target.
    pub scale: bool,
    /// One disk of the trace; `None`: all.
    pub device: Option<String>,
    /// Nanoseconds of a representative part; `None`: the whole trace.
    pub part_ns: Option<u64>,
    /// Whether to skip writes.
    pub reads_only: bool,
    /// Whether to skip malformed lines.
    pub skip_bad: bool,
    /// The replay, once the file was read; see [`crate::workload::Params::with_trace`].
    pub trace: Option<Arc<Replay>>,
}

impl Default for ReplayParams {
    /// No trace; open loop at the recorded speed, strict.
    fn default() -> ReplayParams {
        ReplayParams {
            file: None,
            format: Format::Auto,
            loop_mode: LoopMode::Open,
            speed_milli: SPEED_ONE,
            wrap: false,
            scale: false,
            device: None,
            part_ns: None,
            reads_only: false,
            skip_bad: false,
            trace: None,
        }
    }
}

impl ReplayParams {
    /// The corresponding options of [`trace::replay`].
    pub fn options(&self) -> replay::Options {
        replay::Options {
            loop_mode: self.loop_mode,
            device: self.device.clone(),
            part_ns: self.part_ns,
            reads_only: self.reads_only,
        }
    }

    /// The caller adds the file's name to errors.
    pub fn parse(&self, contents: &[u8]) -> Result<Replay, TraceError> {
        let trace = parse(self.format, contents, Options { skip_bad: self.skip_bad })?;
        let replay = Replay::from_trace(&trace, &self.options());
        replay.map_err(|error| TraceError { line: 1, problem: error.to_string() })
    }

    /// Bytes of the largest request; 512 without a trace.
    pub(crate) fn largest_request(&self) -> u32 {
        self.trace.as_ref().map_or(512, |trace| trace.summary.largest)
    }

    /// Bytes of a client's largest request; `None` without a trace or client.
    pub(crate) fn largest_of(&self, client: u32) -> Option<u32> {
        self.trace.as_ref()?.lanes().get(client as usize).map(|lane| lane.largest)
    }

    pub(super) fn places(&self, region: u64) -> Places {
        match &self.trace {
            Some(trace) if self.scale => {
                Places::scaled(trace.summary.span, u64::from(trace.summary.largest), region)
            }
            _ if self.wrap => Places::Wrapped { region },
            _ => Places::AsRecorded,
        }
    }

    pub(super) fn place(&self, request: &Request) -> String {
        let file = self.file.as_deref().unwrap_or("trace");
        let Request { number, is_write, len, offset, .. } = request;
        let op = if *is_write { "write" } else { "read" };
        format!("{file}, request {number}: {op} of {len} bytes at {offset}")
    }
}
