//! `schedlab fit`: fits a model of a device and reports its error.

use std::path::Path;

use ::sim::fit::latency::CellError;
use ::sim::fit::recorded::KindError;
use anyhow::{Context, Result};
use lab::fit::{Fitted, GOOD, Kind, Request, fit, fit_trace};
use lab::signals::Stop;
use machine::Root;
use report::Columns;
use serde_json::json;

use crate::cli::{FitArena, FitArgs, FitKind};
use crate::failure::{REACHED, usage};
use crate::out;
use crate::progress::Progress;
use crate::rights;

pub(crate) fn run(root: &Root, args: &FitArgs) -> Result<u8> {
    let trace = Path::new(&args.device);
    let is_trace = args.arena == FitArena::Disk && trace.is_file();
    if is_trace || args.arena == FitArena::Sim {
        rights::give_up(&[], args.out.as_deref())?;
    }
    if is_trace {
        check_trace(args)?;
        return done(&fit_trace(trace, args.seed)?, args);
    }
    let request = Request {
        device: args.device.clone(),
        simulated: args.arena == FitArena::Sim,
        kind: args.kind.map(|kind| match kind {
            FitKind::Hdd => Kind::Hdd,
            FitKind::Ssd => Kind::Ssd,
        }),
        writes_from: args.writes_from.clone(),
        loop_dir: args.loop_dir.clone(),
        seed: args.seed,
    };
    let (stop, progress) = (Stop::install()?, Progress::new(args.quiet || args.json));
    let fitted = fit(root, &request, &stop, &progress)?;
    stop.end_at_once(out::report_cut);
    done(&fitted, args)
}

fn check_trace(args: &FitArgs) -> Result<()> {
    if args.kind == Some(FitKind::Hdd) {
        return Err(usage(format!(
            "{}: a trace does not show where a hard disk's tracks are; fit the disk itself: sudo schedlab fit DEVICE --as hdd",
            args.device
        )));
    }
    match &args.writes_from {
        Some(other) => Err(usage(format!(
            "--writes-from {}: {} is a trace, whose own writes are learnt; leave the option out",
            other.display(),
            args.device
        ))),
        None => Ok(()),
    }
}

fn done(fitted: &Fitted, args: &FitArgs) -> Result<u8> {
    if let Some(path) = &args.out {
        machine::files::replace_at(path, fitted.description.as_bytes())
            .with_context(|| format!("--out {}: cannot write the model", path.display()))?;
    }
    if args.json {
        out::line(serde_json::to_string_pretty(&json!(fitted))?)?;
    } else {
        show(fitted, args)?;
    }
    Ok(REACHED)
}

fn show(fitted: &Fitted, args: &FitArgs) -> Result<()> {
    let clock = match args.arena {
        _ if !fitted.work.is_empty() => String::new(),
        FitArena::Sim => format!(" in {:.0} s of virtual time", fitted.seconds),
        FitArena::Disk => format!(" in {:.0} s", fitted.seconds),
    };
    out::line(format_args!("{}: {}{clock}", fitted.device, fitted.findings.join("; ")))?;
    if let Some(off) = fitted.seek_error {
        out::line(format_args!("seek curve: at most {:.2} % off the model's own", off * 100.0))?;
    }
    if let Some(error) = &fitted.error {
        out::line(format_args!(
            "on {} reads that were held out: demerit {:.1} % of the mean latency, median {:+.1} %, 99th percentile {:+.1} %",
            error.reads,
            error.demerit * 100.0,
            error.median() * 100.0,
            error.p99() * 100.0
        ))?;
    }
    if !fitted.cells.is_empty() {
        out::table(&table(&fitted.cells))?;
        out::line(summary(&fitted.cells))?;
    }
    if !fitted.work.is_empty() {
        out::table(&work_table(&fitted.work))?;
        out::line(
            "on requests of slices that were held out, issued to the model at their recorded times; ITSELF: one half of the fitted \
             slices against the other",
        )?;
    }
    for warning in &fitted.warnings {
        out::note(warning);
    }
    match &args.out {
        None => out::line(format_args!("\n{}", fitted.description)),
        Some(path) => {
            let path = path.display();
            out::line(format_args!(
                "\nthe model is in {path}; use it: schedlab compare --arena sim --device {path} …"
            ))
        }
    }
}

fn work_table(work: &[KindError]) -> Columns {
    let mut table = Columns::new(["REQUESTS", "LATENCY", "DEVICE µs", "MODEL", "OFF", "ITSELF"]);
    for KindError { kind, error, own_mean, own_median, own_p99 } in work {
        let (device, model) = (&error.device, &error.model);
        for (what, device, model, off, own) in [
            ("mean", device.mean_ns, model.mean_ns, error.mean(), own_mean),
            ("median", device.median_ns, model.median_ns, error.median(), own_median),
            ("99th percentile", device.p99_ns, model.p99_ns, error.p99(), own_p99),
        ] {
            table.row([
                format!("{} {}s", error.reads, kind.name()),
                what.to_owned(),
                us(device),
                us(model),
                percent(off),
                itself(*own),
            ]);
        }
    }
    table
}

fn us(ns: f64) -> String {
    format!("{:.1}", ns / 1000.0)
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn itself(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("±{:.1} %", share.abs() * 100.0))
}

fn table(cells: &[CellError]) -> Columns {
    let mut table = Columns::new([
        "SIZE",
        "DEPTH",
        "MEDIAN µs",
        "MODEL",
        "OFF",
        "ITSELF",
        "P99 µs",
        "MODEL",
        "OFF",
        "ITSELF",
        "DEMERIT",
    ]);
    for cell in cells {
        let CellError { error, .. } = cell;
        table.row([
            format!(
                "{}{}",
                text::format_size(u64::from(cell.sectors) * 512),
                if cell.in_grid { "" } else { " *" }
            ),
            cell.depth.to_string(),
            us(error.device.median_ns),
            us(error.model.median_ns),
            percent(error.median()),
            itself(cell.own_median),
            us(error.device.p99_ns),
            us(error.model.p99_ns),
            percent(error.p99()),
            itself(cell.own_p99),
            format!("{:.1} %", error.demerit * 100.0),
        ]);
    }
    table
}

fn summary(cells: &[CellError]) -> String {
    let count = |of: &dyn Fn(&CellError) -> Option<bool>| {
        let all: Vec<bool> = cells.iter().filter_map(of).collect();
        (all.iter().filter(|good| **good).count(), all.len())
    };
    let within = |share: f64| share.abs() <= GOOD;
    let (median, of) = count(&|cell| Some(within(cell.error.median())));
    let (p99, _) = count(&|cell| Some(within(cell.error.p99())));
    let (own_median, of_own) = count(&|cell| cell.own_median.map(within));
    let (own_p99, _) = count(&|cell| cell.own_p99.map(within));
    format!(
        "within 15 % on reads that were held out: the median of {median} and the 99th percentile of {p99} of {of} sizes and depths\n\
         the device is within 15 % of itself (ITSELF: one half of its rounds against the other): the median of {own_median} and the 99th \
         percentile of {own_p99} of {of_own}\n* a size and depth of which the fit has seen no read"
    )
}
