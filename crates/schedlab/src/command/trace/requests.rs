//! Summary of a trace of requests, and conversion to another format.

use anyhow::Result;
use lab::traces;
use recorder::file::{self, ReadOptions};
use report::Columns;
use serde_json::json;
use trace::formats::Format;
use trace::{At, Kind, Trace};

use crate::cli::ConvertArgs;
use crate::failure::{REACHED, usage};
use crate::out;

const SHOWN: usize = 20;

pub(super) fn run(args: &ConvertArgs) -> Result<u8> {
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
    let trace = traces::read(&args.file, &ReadOptions { format, skip_bad: args.skip_bad })?;
    if let Some(to) = &args.to {
        file::write(to, &trace)?;
    }
    if args.json {
        out::line(serde_json::to_string_pretty(&to_json(&trace))?)?;
    } else {
        print(&trace)?;
    }
    Ok(REACHED)
}

fn sum(trace: &Trace, kind: Kind) -> (u64, u64) {
    let of = trace.ios.iter().filter(|io| io.kind == kind);
    of.fold((0, 0), |(count, bytes), io| (count + 1, bytes + u64::from(io.sectors) * 512))
}

fn stages(trace: &Trace) -> Vec<(&'static str, usize)> {
    let of = |stage: fn(&trace::Io) -> At| {
        trace.ios.iter().filter(|io| stage(io) != At::UNKNOWN).count()
    };
    vec![
        ("entered", of(|io| io.entered)),
        ("tagged", of(|io| io.tagged)),
        ("inserted", of(|io| io.inserted)),
        ("issued", of(|io| io.issued)),
        ("completed", of(|io| io.completed)),
    ]
}

fn to_json(trace: &Trace) -> serde_json::Value {
    let kinds: serde_json::Map<String, serde_json::Value> = Kind::ALL
        .into_iter()
        .map(|kind| {
            let (requests, bytes) = sum(trace, kind);
            (kind.name().to_owned(), json!({"requests": requests, "bytes": bytes}))
        })
        .collect();
    let stages: serde_json::Map<String, serde_json::Value> =
        stages(trace).into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
    json!({
        "about": trace.about,
        "requests": trace.ios.len(),
        "kinds": kinds,
        "stages": stages,
        "devices": trace.devices,
        "processes": trace.processes.len(),
        "schedulers": trace.schedulers.iter().filter(|name| !name.is_empty()).collect::<Vec<_>>(),
    })
}

fn print(trace: &Trace) -> Result<()> {
    let about = &trace.about;
    let mut table = Columns::new(["", ""]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    row("source", about.source.clone());
    row("length", format!("{:.3} s", about.length as f64 / 1e9));
    row("requests", trace.ios.len().to_string());
    for kind in Kind::ALL {
        let (requests, bytes) = sum(trace, kind);
        if requests > 0 {
            row(kind.name(), format!("{requests}, {:.1} MB", bytes as f64 / 1e6));
        }
    }
    let known: Vec<&str> =
        stages(trace).into_iter().filter(|(_, count)| *count > 0).map(|(name, _)| name).collect();
    row(
        "stages beside queued",
        if known.is_empty() { "none".to_owned() } else { known.join(", ") },
    );
    row("processes", trace.processes.len().to_string());
    let names: Vec<&str> =
        trace.devices.iter().take(SHOWN).map(|device| device.name.as_str()).collect();
    let more = trace.devices.len().saturating_sub(SHOWN);
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
    out::table(&table)
}
