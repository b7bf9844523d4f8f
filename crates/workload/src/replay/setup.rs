//! The values of the parameters of `replay`.

use std::sync::Arc;

use super::parse::parse;
use super::trace::{Format, Options, Record, Trace, TraceError};

/// Recorded speed.
pub(super) const SPEED_ONE: u32 = 1000;

/// When requests are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopMode {
    /// At their recorded times.
    Open,
    /// After the completion of the process's previous one and the recorded gap.
    Closed,
}

impl LoopMode {
    /// The word in plans and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            LoopMode::Open => "open",
            LoopMode::Closed => "closed",
        }
    }
}

/// The parameters that only `replay` has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayParams {
    /// The trace's file, which the caller reads; None: not given.
    pub file: Option<String>,
    /// Its format.
    pub format: Format,
    /// When requests are made.
    pub loop_mode: LoopMode,
    /// Speed in thousandths of the recorded one; 1 to 1,000,000.
    pub speed_milli: u32,
    /// Whether requests beyond the target's end are mapped into it.
    pub wrap: bool,
    /// Whether broken lines are passed over.
    pub skip_bad: bool,
    /// The trace, once it was read; see [`Params::with_trace`].
    pub trace: Option<Arc<Trace>>,
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
            skip_bad: false,
            trace: None,
        }
    }
}

impl ReplayParams {
    /// Reads the trace from the contents of the file, as these parameters say.
    ///
    /// # Errors
    /// What is wrong with it; the caller adds the file's name.
    pub fn parse(&self, contents: &[u8]) -> Result<Trace, TraceError> {
        parse(self.format, contents, Options { skip_bad: self.skip_bad })
    }

    /// Bytes of the largest request; as small as any where there is no trace yet.
    pub(crate) fn largest_request(&self) -> u32 {
        self.trace.as_ref().map_or(512, |trace| trace.largest())
    }

    /// A record's place, for messages.
    pub(super) fn place(&self, record: &Record) -> String {
        let file = self.file.as_deref().unwrap_or("trace");
        let Record { line, op, len, offset, .. } = record;
        format!("{file}, line {line}: {op} of {len} bytes at {offset}")
    }
}
