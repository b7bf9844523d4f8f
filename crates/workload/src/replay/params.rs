//! The parameters of `replay`, and what must hold of a trace on a target.

use std::sync::Arc;

use super::{Format, Options, Record, Trace, TraceError, parse};
use crate::params::{BOOL_FORM, Param, Params, put};
use text::{format_size, parse_switch};

/// Recorded speed.
pub(super) const SPEED_ONE: u32 = 1000;
/// A thousand times as fast.
const MAX_SPEED: u32 = 1000 * SPEED_ONE;

/// What `replay` accepts.
pub(crate) const ACCEPTS: &[&str] =
    &["file", "format", "loop", "speed", "wrap", "skip_bad", "iodepth", "file_size", "direct"];

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
    /// The trace's file, for whoever reads it; None: not given.
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
    fn place(&self, record: &Record) -> String {
        let file = self.file.as_deref().unwrap_or("trace");
        let Record { line, op, len, offset, .. } = record;
        format!("{file}, line {line}: {op} of {len} bytes at {offset}")
    }
}

pub(crate) const FILE: Param = Param {
    name: "file",
    form: "the name of a trace's file (none: not given)",
    help: "the trace to replay: a fio iolog, blkparse's text or an MSR Cambridge CSV",
    get: |p| p.replay.file.clone().unwrap_or("none".into()),
    set: |p, text| put(&mut p.replay.file, file(text)),
};

fn file(text: &str) -> Option<Option<String>> {
    match text.trim() {
        "" => None,
        "none" => Some(None),
        name => Some(Some(name.into())),
    }
}

pub(crate) const FORMAT: Param = Param {
    name: "format",
    form: "auto, fio, blkparse or msr",
    help: "the format of the trace; auto finds it out",
    get: |p| p.replay.format.name().into(),
    set: |p, text| put(&mut p.replay.format, Format::ALL.into_iter().find(|format| format.name() == text.trim())),
};

pub(crate) const LOOP: Param = Param {
    name: "loop",
    form: "open or closed",
    help: "open: at the recorded times; closed: after the previous completion and the recorded gap",
    get: |p| p.replay.loop_mode.name().into(),
    set: |p, text| {
        let modes = [LoopMode::Open, LoopMode::Closed];
        put(&mut p.replay.loop_mode, modes.into_iter().find(|mode| mode.name() == text.trim()))
    },
};

pub(crate) const SPEED: Param = Param {
    name: "speed",
    form: "a factor from 0.001 to 1000, like 2 or 0.5",
    help: "how much faster than recorded",
    get: |p| show_speed(p.replay.speed_milli),
    set: |p, text| put(&mut p.replay.speed_milli, parse_speed(text.trim())),
};

pub(crate) const WRAP: Param = Param {
    name: "wrap",
    form: BOOL_FORM,
    help: "map requests beyond the target's end into it, instead of refusing the trace",
    get: |p| p.replay.wrap.to_string(),
    set: |p, text| put(&mut p.replay.wrap, parse_switch(text.trim())),
};

pub(crate) const SKIP_BAD: Param = Param {
    name: "skip_bad",
    form: BOOL_FORM,
    help: "pass over broken lines and count them, instead of refusing the trace",
    get: |p| p.replay.skip_bad.to_string(),
    set: |p, text| put(&mut p.replay.skip_bad, parse_switch(text.trim())),
};

/// Thousandths, without rounding: at most three digits after the point.
fn parse_speed(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 3 {
        return None;
    }
    let milli: u32 = format!("{fraction:0<3}").parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(SPEED_ONE)?.checked_add(milli)
}

fn show_speed(milli: u32) -> String {
    let (whole, fraction) = (milli / SPEED_ONE, milli % SPEED_ONE);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{fraction:03}").trim_end_matches('0').into()
}

/// One for each process of the trace.
pub(crate) fn clients(params: &Params) -> u32 {
    params.replay.trace.as_ref().map_or(1, |trace| trace.processes())
}

pub(crate) fn iodepth(params: &Params, _index: u32) -> u32 {
    match params.replay.loop_mode {
        LoopMode::Open => params.iodepth,
        LoopMode::Closed => 1,
    }
}

/// Where nothing is known yet, it may write.
pub(crate) fn writing(params: &Params) -> bool {
    params.replay.trace.as_ref().is_none_or(|trace| trace.writes())
}

pub(crate) fn possible(params: &Params) -> Result<(), String> {
    if (1..=MAX_SPEED).contains(&params.replay.speed_milli) {
        return Ok(());
    }
    Err(format!("speed = {}: 0.001 to 1000 are possible", show_speed(params.replay.speed_milli)))
}

pub(crate) fn fits(params: &Params, region: u64) -> Result<(), String> {
    let replay = &params.replay;
    let trace = replay.trace.as_ref().ok_or("there is no trace: give file, e.g. file=disk.iolog")?;
    if replay.wrap || trace.end() <= region {
        return Ok(());
    }
    let record = trace.first_against(|record| record.offset + u64::from(record.len) <= region);
    let place = record.map_or(String::new(), |record| replay.place(record));
    let (there, needed) = (format_size(region), format_size(trace.end()));
    Err(format!(
        "{place} ends beyond the target's {there}: the trace needs {needed}; give a larger target, or wrap=true"
    ))
}

pub(crate) fn aligned(params: &Params, logical_block: u32) -> Result<(), String> {
    let replay = &params.replay;
    let Some(trace) = &replay.trace else { return Ok(()) };
    let block = u64::from(logical_block);
    if trace.alignment.is_multiple_of(block) {
        return Ok(());
    }
    let whole = |record: &Record| record.offset.is_multiple_of(block) && u64::from(record.len).is_multiple_of(block);
    match trace.first_against(whole) {
        None => Ok(()),
        Some(record) => Err(format!(
            "{} is no multiple of the target's block of {block} bytes, as direct I/O needs; direct=false does without",
            replay.place(record)
        )),
    }
}
