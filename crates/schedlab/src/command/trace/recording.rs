//! A recording: where it comes from, what is in it, what is missing; and the conversion into
//! another format.

use anyhow::Result;
use comfy_table::Table;
use comfy_table::presets::NOTHING;
use lab::recordings;
use recorder::file::{self, ReadOptions};
use serde_json::json;
use trace::formats::Format;
use trace::{At, Kind, Recording};

use crate::cli::TraceArgs;
use crate::failure::{REACHED, usage};
use crate::out;

/// Rows of a table that are shown.
const SHOWN: usize = 20;

pub(super) fn run(args: &TraceArgs) -> Result<u8> {
    let format = Format::of_name(&args.format).ok_or_else(|| {
        let names: Vec<&str> = Format::names().collect();
        usage(format!(
            "format {:?}: unknown (expected one of {}); see schedlab list traces",
            args.format,
            names.join(", ")
        ))
    })?;
    if let Some(to) = &args.to {
        file::can_write(to).map_err(|error| usage(format!("{error:#}")))?;
    }
    let recording = recordings::read(&args.file, &ReadOptions { format, skip_bad: args.skip_bad })?;
    if let Some(to) = &args.to {
        file::write(to, &recording)?;
    }
    if args.json {
        out::line(serde_json::to_string_pretty(&to_json(&recording))?)?;
    } else {
        print(&recording)?;
    }
    Ok(REACHED)
}

/// Requests and bytes of a kind.
fn sum(recording: &Recording, kind: Kind) -> (u64, u64) {
    let of = recording.ios.iter().filter(|io| io.kind == kind);
    of.fold((0, 0), |(count, bytes), io| (count + 1, bytes + u64::from(io.sectors) * 512))
}

/// How many requests have each stage.
fn stages(recording: &Recording) -> Vec<(&'static str, usize)> {
    let of = |stage: fn(&trace::Io) -> At| {
        recording.ios.iter().filter(|io| stage(io) != At::UNKNOWN).count()
    };
    vec![
        ("entered", of(|io| io.entered)),
        ("tagged", of(|io| io.tagged)),
        ("inserted", of(|io| io.inserted)),
        ("issued", of(|io| io.issued)),
        ("completed", of(|io| io.completed)),
    ]
}

fn to_json(recording: &Recording) -> serde_json::Value {
    let kinds: serde_json::Map<String, serde_json::Value> = Kind::ALL
        .into_iter()
        .map(|kind| {
            let (requests, bytes) = sum(recording, kind);
            (kind.name().to_owned(), json!({"requests": requests, "bytes": bytes}))
        })
        .collect();
    let stages: serde_json::Map<String, serde_json::Value> = stages(recording)
        .into_iter()
        .map(|(name, count)| (name.to_owned(), json!(count)))
        .collect();
    json!({
        "about": recording.about,
        "requests": recording.ios.len(),
        "kinds": kinds,
        "stages": stages,
        "devices": recording.devices,
        "processes": recording.processes.len(),
        "schedulers": recording.schedulers.iter().filter(|name| !name.is_empty()).collect::<Vec<_>>(),
    })
}

fn print(recording: &Recording) -> Result<()> {
    let about = &recording.about;
    let mut table = Table::new();
    table.load_preset(NOTHING);
    let mut row = |name: &str, value: String| {
        table.add_row([name.to_owned(), value]);
    };
    row("source", about.source.clone());
    row("length", format!("{:.3} s", about.length as f64 / 1e9));
    row("requests", recording.ios.len().to_string());
    for kind in Kind::ALL {
        let (requests, bytes) = sum(recording, kind);
        if requests > 0 {
            row(kind.name(), format!("{requests}, {:.1} MB", bytes as f64 / 1e6));
        }
    }
    let known: Vec<&str> = stages(recording)
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, _)| name)
        .collect();
    row(
        "stages beside queued",
        if known.is_empty() { "none".to_owned() } else { known.join(", ") },
    );
    row("processes", recording.processes.len().to_string());
    let names: Vec<&str> =
        recording.devices.iter().take(SHOWN).map(|device| device.name.as_str()).collect();
    let more = recording.devices.len().saturating_sub(SHOWN);
    row(
        "disks",
        if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") },
    );
    for (name, count) in [
        ("events lost", about.lost),
        ("unfinished requests", about.unfinished),
        ("broken lines", about.bad),
        ("no request of a disk", about.left_out),
    ] {
        if count > 0 {
            row(name, count.to_string());
        }
    }
    if !about.cut_short.is_empty() {
        row("ended early", about.cut_short.clone());
    }
    out::line(table)
}
