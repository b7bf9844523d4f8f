//! A profile in a terminal: findings, then tables.

use std::fmt::Write;

use trace::profile::{Actor, DeviceProfile, Profile};

use super::{findings, headline, name_of, percent, share};
use crate::columns::Columns;
use crate::grid::wrapped;
use crate::{number, words};

/// Lists `top` processes and control groups per disk.
pub fn render(profile: &Profile, top: usize, width: usize) -> String {
    let mut out = String::new();
    for device in &profile.devices {
        let _ = writeln!(out, "{}", headline(device));
        for finding in findings(device) {
            for (at, line) in wrapped(&finding, width.max(40) - 4).iter().enumerate() {
                let _ = writeln!(out, "{}{line}", if at == 0 { "  - " } else { "    " });
            }
        }
        for (title, table) in [
            ("Processes", processes(device, &device.processes, top)),
            ("Control groups", processes(device, &device.cgroups, top)),
            ("Stages", stages(device)),
            ("Anticipation", anticipation(device, top)),
            ("The disk", disk(device)),
        ] {
            if let Some(table) = table {
                let _ = write!(out, "\n{}", table.text(title, width));
            }
        }
        let _ = writeln!(out);
    }
    for note in notes(profile) {
        let _ = writeln!(out, "{note}");
    }
    out
}

pub(super) fn notes(profile: &Profile) -> Vec<String> {
    let about = &profile.about;
    let mut notes = Vec::new();
    let mut note = |count: u64, what: &str, why: &str| {
        if count > 0 {
            notes.push(format!("{} {why}", text::counted(count, what)));
        }
    };
    note(about.lost, "event", "lost while recording: requests may be missing or incomplete");
    note(about.unfinished, "request", "not complete when the trace ended: not in the figures");
    note(about.bad, "record", "could not be read: not in the figures");
    note(profile.beyond, "request", "of further disks not profiled");
    note(profile.out_of_order, "request", "out of order in time: depth and idleness may be wrong");
    if profile.devices.is_empty() {
        notes.push("no request was recorded".to_owned());
    }
    if !about.cut_short.is_empty() {
        notes.push(format!("the trace ended early: {}", words::clean(&about.cut_short)));
    }
    notes
}

fn time(ns: u64) -> String {
    number::latency_ns(ns as f64)
}

fn processes(device: &DeviceProfile, actors: &[Actor], top: usize) -> Option<Columns> {
    let mut rows = Columns::new([
        "NAME",
        "DISK",
        "REQUESTS",
        "READS",
        "SYNC",
        "SIZE",
        "SEQ",
        "NEAR",
        "THINK p50",
        "p95",
        "DEPTH",
        "LATENCY p50",
        "p99",
    ]);
    let all: u64 = device.processes.iter().map(|actor| actor.device_ns).sum();
    for actor in actors.iter().take(top) {
        let think = |ns: u64| if actor.think_ns.count > 0 { time(ns) } else { "-".to_owned() };
        rows.row([
            name_of(actor),
            share(actor.device_ns, all),
            number::count(actor.requests()),
            share(actor.reads, actor.requests()),
            share(actor.sync, actor.requests()),
            number::bytes(actor.size_sectors.p50 as f64 * 512.0),
            share(actor.sequential, actor.steps()),
            share(actor.near, actor.steps()),
            think(actor.think_ns.p50),
            think(actor.think_ns.p95),
            number::significant(actor.depth_mean),
            time(actor.latency_ns.p50),
            time(actor.latency_ns.p99),
        ]);
    }
    if actors.len() > top {
        rows.row([format!("{} more (--top)", actors.len() - top)]);
    }
    (!actors.is_empty()).then_some(rows)
}

fn stages(device: &DeviceProfile) -> Option<Columns> {
    let mut rows = Columns::new([
        "STAGE",
        "",
        "READS p50",
        "p95",
        "p99",
        "longest",
        "WRITES p50",
        "p95",
        "p99",
        "longest",
    ]);
    for stage in &device.stages {
        let mut row = vec![stage.name.clone(), stage.what.clone()];
        for side in [&stage.reads, &stage.writes] {
            let figures = [side.p50, side.p95, side.p99, side.max];
            row.extend(figures.map(|ns| if side.count > 0 { time(ns) } else { "-".to_owned() }));
        }
        rows.row(row);
    }
    (!device.stages.is_empty()).then_some(rows)
}

fn anticipation(device: &DeviceProfile, top: usize) -> Option<Columns> {
    if device.anticipation.chances == 0 {
        return None;
    }
    let mut rows = Columns::new([
        "PROCESS",
        "CHANCES",
        "DECEIVED",
        "RULE",
        "WAITS",
        "IN VAIN",
        "WAITED",
        "DECEPTIVE IDLE",
        "GAIN",
    ]);
    let whole = Actor {
        name: "all".to_owned(),
        anticipation: device.anticipation.clone(),
        ..Actor::default()
    };
    let some =
        device.processes.iter().filter(|actor| actor.anticipation.chances > 0).take(top.min(5));
    for actor in std::iter::once(&whole).chain(some) {
        for (at, rule) in actor.anticipation.rules.iter().enumerate() {
            let first = |words: String| if at == 0 { words } else { String::new() };
            let sign = if rule.gain_ns < 0 { "−" } else { "" };
            rows.row([
                first(name_of(actor)),
                first(number::count(actor.anticipation.chances)),
                first(number::count(actor.anticipation.deceived)),
                rule.rule.clone(),
                number::count(rule.waits),
                number::count(rule.failures()),
                time(rule.success_ns.saturating_add(rule.failure_ns)),
                rule.deceptive_idle_ns().map_or("-".to_owned(), number::latency_ns),
                match rule.unpriced {
                    0 => format!("{sign}{}", time(rule.gain_ns.unsigned_abs())),
                    _ => format!(
                        "{sign}{}, at most {} more",
                        time(rule.gain_ns.unsigned_abs()),
                        time(rule.bound_ns)
                    ),
                },
            ]);
        }
    }
    Some(rows)
}

fn disk(device: &DeviceProfile) -> Option<Columns> {
    let span = device.span_ns().max(1) as f64;
    let mut rows = Columns::new(["", "", ""]);
    let (idle, depth) = (&device.idle, &device.depth);
    let part = |ns: u64| percent(ns as f64 / span);
    if depth.device_max > 0 {
        rows.row(["busy".to_owned(), part(idle.busy_ns), String::new()]);
        rows.row(["idle".to_owned(), part(idle.idle_ns), text::counted(idle.periods, "period")]);
        rows.row([
            "  while requests waited".to_owned(),
            part(idle.held_ns),
            format!("{} of 0.2 ms and more", number::count(idle.held)),
        ]);
        rows.row([
            "  before a near request of the last process".to_owned(),
            part(idle.deceptive_ns),
            text::counted(idle.deceptive, "period"),
        ]);
        rows.row([
            "at the disk".to_owned(),
            number::significant(depth.device_mean),
            format!("most {}", depth.device_max),
        ]);
        rows.row([
            "seeks".to_owned(),
            share(device.seeks.count - device.seeks_none, device.seeks.count),
            format!("median {} sectors", number::count(device.seeks.p50)),
        ]);
    }
    if depth.queued_max > 0 {
        rows.row([
            "queued".to_owned(),
            number::significant(depth.queued_mean),
            format!("most {}", depth.queued_max),
        ]);
    }
    (depth.queued_max > 0).then_some(rows)
}
