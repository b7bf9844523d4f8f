//! `schedlab iocost`: measures a device's io.cost model.

use std::time::Duration;

use anyhow::Result;
use experiment::notation;
use experiment::plan::parse_duration_s;
use lab::arena::open::OpenOptions;
use lab::console::Console;
use lab::iocost::{
    self, Figure, Published, Publisher, Report, Request, hwdb_lines, model_line, qos_line,
};
use lab::signals::Stop;
use machine::Root;
use report::Columns;
use serde_json::{Value, json};

use crate::cli::IocostArgs;
use crate::failure::{INVALID, REACHED, usage};
use crate::out;
use crate::progress::Progress;
use crate::rights;

/// Longer trials are rejected as typos.
const LONGEST_S: f64 = 3600.0;

pub(crate) fn run(root: &Root, args: &IocostArgs) -> Result<u8> {
    if args.arena.is_in_process() {
        rights::give_up(&[], None)?;
    }
    let request = Request {
        arena: args.arena,
        device: args.device.clone(),
        reads_only: args.reads_only,
        repetitions: args.repetitions,
        trial: args.trial_time.as_deref().map(trial_time).transpose()?,
        clients: args.clients,
        seed: args.seed,
    };
    let (stop, progress) = (Stop::install()?, Progress::new(args.quiet || args.json));
    let options = OpenOptions {
        destroy_data: args.destroy_data.clone(),
        loop_dir: args.loop_dir.clone(),
        ..OpenOptions::default()
    };
    let report = iocost::run(root, &request, &options, Console::new(&stop, &progress))?;
    stop.end_at_once(out::report_cut);
    if args.json {
        out::line(serde_json::to_string_pretty(&as_json(&report))?)?;
    } else {
        show(&report)?;
    }
    Ok(if report.qos.is_some() { REACHED } else { INVALID })
}

fn trial_time(word: &str) -> Result<Duration> {
    let seconds = parse_duration_s(word).map_err(|e| usage(format!("--trial-time: {e}")))?;
    if !(0.01..=LONGEST_S).contains(&seconds) {
        return Err(usage(format!(
            "--trial-time {word}: out of range (expected 10ms to 1h); give e.g. 10s"
        )));
    }
    Ok(Duration::from_secs_f64(seconds))
}

struct Lines {
    model: String,
    qos: String,
    hwdb: String,
}

fn lines(report: &Report) -> Option<Lines> {
    let (model, qos) = (report.model?, report.qos?);
    let drive = report.drive.as_deref().unwrap_or("MODEL");
    Some(Lines {
        model: model_line(&report.number, &model),
        qos: qos_line(&report.number, &qos),
        hwdb: hwdb_lines(drive, &model, &qos),
    })
}

fn as_json(report: &Report) -> Value {
    let mut value = json!(report);
    if let Some(lines) = lines(report) {
        value["io.cost.model"] = json!(lines.model);
        value["io.cost.qos"] = json!(lines.qos);
        value["hwdb"] = json!(lines.hwdb);
    }
    value
}

fn show(report: &Report) -> Result<()> {
    let drive =
        report.drive.as_ref().map_or_else(String::new, |drive| format!(" ({})", drive.trim()));
    out::line(format_args!(
        "{}{drive}: medians of {} trials of {} ms, without scheduler and merging",
        report.device, report.repetitions, report.trial_ms
    ))?;
    out::table(&table(report))?;
    for figure in report.figures.iter().filter(|figure| !figure.invalid.is_empty()) {
        out::line(format_args!("{}: invalid trials: {}", figure.name, figure.invalid.join("; ")))?;
    }
    let Some(lines) = lines(report) else {
        return out::line(
            "no model: a coefficient has no valid trial; repeat on an idle machine, or with a longer --trial-time",
        );
    };
    if report.reads_only {
        out::line("writes are left out (--reads-only): the kernel keeps those of its preset")?;
    }
    out::line(format_args!("\nio.cost.model:\n  {}\nio.cost.qos:\n  {}", lines.model, lines.qos))?;
    out::line(format_args!(
        "\nhwdb (/etc/udev/hwdb.d/90-iocost-local.hwdb, then systemd-hwdb update):\n{}",
        lines.hwdb
    ))?;
    if report.drive.is_none() {
        out::line("the device names no model: write that of the drive for MODEL")?;
    }
    Ok(())
}

fn table(report: &Report) -> Columns {
    let compared: Vec<&Published> = report.preset.into_iter().chain(report.published).collect();
    let mut head = vec!["".to_owned(), "measured".to_owned(), "spread".to_owned()];
    head.extend(compared.iter().map(|published| match published.publisher {
        Publisher::Kernel => format!("kernel's preset: {}", published.name),
        Publisher::Systemd => "systemd's hwdb".to_owned(),
    }));
    let mut table = Columns::new(head);
    for figure in &report.figures {
        let measured =
            figure.value.map_or_else(|| "invalid".to_owned(), |value| format!("{value:.0}"));
        let spread =
            figure.spread.map_or_else(String::new, |spread| format!("{:.1} %", spread * 100.0));
        let mut row = vec![figure.name.to_owned(), measured, spread];
        row.extend(compared.iter().map(|published| beside(published, figure)));
        table.row(row);
    }
    table
}

/// The published coefficient, and the change from it to the measured one.
fn beside(published: &Published, figure: &Figure) -> String {
    let of = |letter: char| {
        if letter == 'w' { published.model.write } else { Some(published.model.read) }
    };
    let found = figure.name.chars().next().and_then(|letter| {
        let at = lab::iocost::Rates::NAMES.iter().position(|name| figure.name[1..] == **name)?;
        Some(of(letter)?.all()[at])
    });
    match (found, figure.value) {
        (Some(found), Some(value)) => {
            format!("{found} ({})", notation::change(value / found as f64))
        }
        (Some(found), None) => found.to_string(),
        (None, _) => String::new(),
    }
}
