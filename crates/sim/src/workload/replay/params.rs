//! The parameters of `replay` as text, and the checks of a trace on a target.

use std::sync::Arc;

use trace::replay::{Replay, Request};

use super::places::Places;
use super::setup::{Format, LoopMode, SPEED_ONE};
use crate::workload::param::{BOOL_FORM, Param, put};
use crate::workload::row::Params;
use text::{format_duration, format_size, parse_duration_ns, parse_switch};

const MAX_SPEED: u32 = 1000 * SPEED_ONE;

const MAX_OPEN: u32 = 4096;

pub(crate) const ACCEPTS: &[&str] = &[
    "file",
    "format",
    "loop",
    "speed",
    "scale",
    "wrap",
    "part",
    "device",
    "reads_only",
    "skip_bad",
    "iodepth",
    "file_size",
    "direct",
];

pub(crate) const FILE: Param = Param {
    name: "file",
    form: "the name of a trace's file (none: not given)",
    help: "the trace to replay, in any format of `schedlab list traces`, also packed by gzip or zstd",
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
    form: "auto, parquet, blktrace, blkparse, fio, msr, alibaba, tencent or cloudphysics",
    help: "the format of the trace; auto finds it out",
    get: |p| p.replay.format.name().into(),
    set: |p, text| put(&mut p.replay.format, Format::of_name(text.trim())),
};

pub(crate) const LOOP: Param = Param {
    name: "loop",
    form: "open or closed",
    help: "open: at the recorded times; closed: after the requests that each one waited for, and its think time",
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
    get: |p| show_milli(p.replay.speed_milli),
    set: |p, text| put(&mut p.replay.speed_milli, parse_milli(text.trim())),
};

pub(crate) const WRAP: Param = Param {
    name: "wrap",
    form: BOOL_FORM,
    help: "map requests beyond the target's end into it, instead of refusing the trace",
    get: |p| p.replay.wrap.to_string(),
    set: |p, text| put(&mut p.replay.wrap, parse_switch(text.trim())),
};

pub(crate) const SCALE: Param = Param {
    name: "scale",
    form: BOOL_FORM,
    help: "stretch or shrink the recorded disk to the target's size",
    get: |p| p.replay.scale.to_string(),
    set: |p, text| put(&mut p.replay.scale, parse_switch(text.trim())),
};

pub(crate) const PART: Param = Param {
    name: "part",
    form: "all, or a duration like 250ms, 60s, 5m",
    help: "replay only the most representative part of this length, and print which and why",
    get: |p| p.replay.part_ns.map_or("all".into(), format_duration),
    set: |p, text| put(&mut p.replay.part_ns, part(text.trim())),
};

fn part(text: &str) -> Option<Option<u64>> {
    if text == "all" { Some(None) } else { parse_duration_ns(text).filter(|ns| *ns > 0).map(Some) }
}

pub(crate) const DEVICE: Param = Param {
    name: "device",
    form: "auto, all, the name of a disk of the trace, or its numbers like 8,0",
    help: "whose requests are replayed; auto: the first of a kernel's disks, all files and volumes",
    get: |p| p.replay.device.clone().unwrap_or("auto".into()),
    set: |p, text| put(&mut p.replay.device, parse_device(text.trim())),
};

fn parse_device(text: &str) -> Option<Option<String>> {
    match text {
        "" => None,
        "auto" => Some(None),
        name => Some(Some(name.into())),
    }
}

pub(crate) const READS_ONLY: Param = Param {
    name: "reads_only",
    form: BOOL_FORM,
    help: "omit writes, so that a device that holds data can be read",
    get: |p| p.replay.reads_only.to_string(),
    set: |p, text| put(&mut p.replay.reads_only, parse_switch(text.trim())),
};

pub(crate) const SKIP_BAD: Param = Param {
    name: "skip_bad",
    form: BOOL_FORM,
    help: "skip and count broken lines, instead of refusing the trace",
    get: |p| p.replay.skip_bad.to_string(),
    set: |p, text| put(&mut p.replay.skip_bad, parse_switch(text.trim())),
};

/// Accepts exact thousandths: at most three digits after the point.
pub(crate) fn parse_milli(text: &str) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 3 {
        return None;
    }
    let milli: u32 = format!("{fraction:0<3}").parse().ok()?;
    whole.parse::<u32>().ok()?.checked_mul(SPEED_ONE)?.checked_add(milli)
}

pub(crate) fn show_milli(milli: u32) -> String {
    let (whole, fraction) = (milli / SPEED_ONE, milli % SPEED_ONE);
    if fraction == 0 {
        return whole.to_string();
    }
    format!("{whole}.{fraction:03}").trim_end_matches('0').into()
}

impl Params {
    /// Adds a trace for `replay`.
    pub fn with_trace(mut self, trace: Arc<Replay>) -> Params {
        self.replay.trace = Some(trace);
        self
    }
}

/// One client per concurrently active process of the trace.
pub(crate) fn clients(params: &Params) -> u32 {
    params.replay.trace.as_ref().map_or(1, |trace| trace.lanes().len() as u32)
}

/// Closed loop: at most iodepth; open loop: at least iodepth.
pub(crate) fn iodepth(params: &Params, index: u32) -> u32 {
    let lane = params.replay.trace.as_ref().and_then(|trace| trace.lanes().get(index as usize));
    match (params.replay.loop_mode, lane) {
        (LoopMode::Closed, Some(lane)) if lane.by_time => {
            u32::from(lane.depth).max(params.iodepth).min(MAX_OPEN)
        }
        (LoopMode::Closed, Some(lane)) => u32::from(lane.depth).min(params.iodepth),
        _ => params.iodepth,
    }
}

/// Whether it writes; assumed until the trace is known.
pub(crate) fn writing(params: &Params) -> bool {
    params.replay.trace.as_ref().is_none_or(|trace| trace.summary.writes > 0)
}

pub(crate) fn possible(params: &Params) -> Result<(), String> {
    if (1..=MAX_SPEED).contains(&params.replay.speed_milli) {
        return Ok(());
    }
    Err(format!(
        "speed = {}: out of range (expected 0.001 to 1000)",
        show_milli(params.replay.speed_milli)
    ))
}

pub(crate) fn fits(params: &Params, region: u64) -> Result<(), String> {
    let replay = &params.replay;
    let trace = replay.trace.as_ref().ok_or("no trace: give file, e.g. file=disk.iolog")?;
    let summary = &trace.summary;
    if replay.scale {
        let needed = Places::min_size(summary.span, summary.largest.into());
        let (there, least) = (format_size(region), format_size(needed));
        let problem = || {
            format!(
                "scale: the target is too small (found {there}, expected at least {least}); give a larger target"
            )
        };
        return if needed <= region { Ok(()) } else { Err(problem()) };
    }
    if replay.wrap || summary.end <= region {
        return Ok(());
    }
    let request =
        trace.first_violation(|request| request.offset + u64::from(request.len) <= region);
    let place = request.map_or(String::new(), |request| replay.place(request));
    let (there, needed) = (format_size(region), format_size(summary.end));
    Err(format!(
        "{place} ends beyond the target's {there}: the trace needs {needed}; give a larger target, or scale=true"
    ))
}

pub(crate) fn check_alignment(params: &Params, logical_block: u32) -> Result<(), String> {
    let replay = &params.replay;
    let Some(trace) = &replay.trace else { return Ok(()) };
    let block = u64::from(logical_block);
    if trace.summary.alignment.is_multiple_of(block) {
        return Ok(());
    }
    let whole = |request: &Request| {
        request.offset.is_multiple_of(block) && u64::from(request.len).is_multiple_of(block)
    };
    match trace.first_violation(whole) {
        None => Ok(()),
        Some(request) => Err(format!(
            "{} is not a multiple of the target's block of {block} bytes, as direct I/O needs; direct=false does without",
            replay.place(request)
        )),
    }
}
