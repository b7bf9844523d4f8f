//! A profile as a self-contained page with plots.

use minijinja::{Value, context};
use trace::Io;
use trace::profile::{DeviceProfile, Distribution, Profile};

use super::terminal::notes;
use super::{device_name, findings, headline, name_of};
use crate::number;
use crate::plot::axis::Axis;
use crate::plot::canvas::{legend_mark, themed};
use crate::plot::heat::{self, Rows, unit_of};
use crate::plot::lines::{self, Line};
use crate::plot::stripes::{self, Piece};
use crate::template;

const LINES: usize = 6;

pub struct Excerpt<'a> {
    /// Index in the trace.
    pub device: u16,
    /// In queueing order.
    pub ios: Vec<Io>,
    pub from_ns: u64,
    pub until_ns: u64,
    /// Process name by number in the trace.
    pub name: &'a dyn Fn(u32) -> String,
}

pub fn page(profile: &Profile, excerpts: &[Excerpt<'_>]) -> crate::Result<String> {
    let devices = profile
        .devices
        .iter()
        .map(|device| section(device, excerpts))
        .collect::<crate::Result<Vec<_>>>()?;
    let page = context! {
        style => Value::from_safe_string(include_str!("../templates/style.css").into()),
        notes => notes(profile),
        devices,
    };
    template::fill(&[("profile.html", include_str!("../templates/profile.html"))], page)
}

fn section(device: &DeviceProfile, excerpts: &[Excerpt<'_>]) -> crate::Result<Value> {
    let plots = [
        ("Requests by time and sector", sectors(device)?),
        ("Requests by time and latency", latencies(device)?),
    ];
    let wide: Vec<Value> =
        plots.into_iter().filter_map(|(title, svg)| figure(title, svg?, &[])).collect();
    let busiest: Vec<String> = device.processes.iter().take(LINES).map(name_of).collect();
    let stage_names: Vec<String> =
        stage_lines(device).iter().map(|(name, _)| name.clone()).collect();
    let pairs: Vec<Value> = [
        ("Throughput", throughput(device)?, vec!["reads".to_owned(), "writes".to_owned()]),
        (
            "Queued and not completed",
            depth(device)?,
            vec!["requests, mean of each moment".to_owned()],
        ),
        ("Stages", shares(&stage_lines(device), "time (log scale)", &time_tick)?, stage_names),
        (
            "Think times",
            shares(&think_lines(device), "think time (log scale)", &time_tick)?,
            busiest.clone(),
        ),
        (
            "Distances from one request to the next",
            shares(&distance_lines(device), "sectors (log scale)", &plain_tick)?,
            busiest,
        ),
        (
            "What the disk takes, by distance",
            service(device)?,
            vec!["reads".to_owned(), "writes".to_owned()],
        ),
    ]
    .into_iter()
    .filter_map(|(title, svg, legend)| figure(title, svg?, &legend))
    .collect();
    let excerpt = excerpts.iter().find(|excerpt| excerpt.device == device.device).and_then(drawn);
    let one = Profile { devices: vec![device.clone()], ..Profile::default() };
    let text = super::render(&one, 50, 200);
    let tables = text.split_once("\n\n").map_or(String::new(), |(_, tables)| tables.to_owned());
    Ok(
        context! { title => headline(device), name => device_name(device), findings => findings(device), wide, pairs, excerpt, tables },
    )
}

fn figure(title: &str, svg: String, legend: &[String]) -> Option<Value> {
    let mark = |at: usize| Some(Value::from_safe_string(themed(&legend_mark(at).ok()?)));
    let legend: Vec<Value> = legend
        .iter()
        .enumerate()
        .filter_map(|(at, name)| Some(context! { mark => mark(at + 1)?, name }))
        .collect();
    Some(context! { title, plot => Value::from_safe_string(themed(&svg)), legend })
}

fn drawn(excerpt: &Excerpt<'_>) -> Option<Value> {
    let piece = Piece {
        ios: &excerpt.ios,
        from_ns: excerpt.from_ns,
        until_ns: excerpt.until_ns,
        names: excerpt.name,
    };
    let svg = stripes::plot(
        "Each request around the moment at which most was lost by not waiting",
        &piece,
    )?;
    let at = number::latency_ns(excerpt.from_ns as f64);
    Some(context! { at, plot => Value::from_safe_string(themed(&svg)) })
}

fn sectors(device: &DeviceProfile) -> crate::Result<Option<String>> {
    let write = |value: f64| number::significant(value);
    let rows = Rows { title: "sector (millions)".into(), unit: 1e6, log: false, write: &write };
    heat::plot("Requests by time and sector", &device.sector_map, &rows)
}

fn latencies(device: &DeviceProfile) -> crate::Result<Option<String>> {
    let rows =
        Rows { title: "latency (log scale)".into(), unit: 1.0, log: true, write: &time_tick };
    heat::plot("Requests by time and latency", &device.latency_map, &rows)
}

fn time_tick(ns: f64) -> String {
    number::latency_ns(ns)
}

fn plain_tick(value: f64) -> String {
    number::significant(value)
}

/// Points in axis units.
fn course(device: &DeviceProfile, of: &dyn Fn(&trace::profile::Moment) -> f64) -> Vec<(f64, f64)> {
    let (divisor, _) = span(device);
    let width = device.series.column_ns as f64;
    let columns = device.series.columns.iter().enumerate();
    columns.map(|(at, moment)| ((at as f64 + 0.5) * width / divisor, of(moment))).collect()
}

/// Nanoseconds of a suitable unit, and its name.
fn span(device: &DeviceProfile) -> (f64, &'static str) {
    unit_of(device.series.column_ns as f64 * device.series.columns.len() as f64)
}

fn over_time(
    device: &DeviceProfile,
    label: &str,
    y_title: &str,
    lines: Vec<Vec<(f64, f64)>>,
) -> crate::Result<Option<String>> {
    let (divisor, unit) = span(device);
    let x = Axis::from_zero(
        device.series.column_ns as f64 * device.series.columns.len() as f64 / divisor,
    );
    let y = Axis::from_zero(lines.iter().flatten().map(|(_, value)| *value).fold(0.0, f64::max));
    let lines: Vec<Line> =
        lines.into_iter().enumerate().map(|(at, points)| Line { colour: at + 1, points }).collect();
    lines::plot(label, &format!("time ({unit})"), &x, y_title, &y, &lines)
}

fn throughput(device: &DeviceProfile) -> crate::Result<Option<String>> {
    let per_s = 1e9 / device.series.column_ns.max(1) as f64 / 1e6;
    let reads = course(device, &|moment| moment.read_bytes as f64 * per_s);
    let writes = course(device, &|moment| moment.write_bytes as f64 * per_s);
    over_time(device, "Throughput over time", "MB/s", vec![reads, writes])
}

fn depth(device: &DeviceProfile) -> crate::Result<Option<String>> {
    let width = device.series.column_ns.max(1) as f64;
    over_time(
        device,
        "Requests queued over time",
        "requests",
        vec![course(device, &|moment| moment.queued_ns as f64 / width)],
    )
}

fn cumulative(of: &Distribution) -> Vec<(f64, f64)> {
    let mut sum = 0;
    let steps = of.buckets.iter().map(|(value, count)| {
        sum += count;
        ((*value).max(1) as f64, 100.0 * sum as f64 / of.count.max(1) as f64)
    });
    let first = of.buckets.first().map(|_| (of.min.max(1) as f64, 0.0));
    first.into_iter().chain(steps).collect()
}

type Named = (String, Vec<(f64, f64)>);

fn stage_lines(device: &DeviceProfile) -> Vec<Named> {
    let shown = ["Q2G", "I2D", "D2C", "Q2C"];
    let stages = device.stages.iter().filter(|stage| shown.contains(&stage.name.as_str()));
    let sides =
        stages.flat_map(|stage| [(stage, "reads", &stage.reads), (stage, "writes", &stage.writes)]);
    sides
        .filter(|(.., side)| side.count > 0)
        .map(|(stage, kind, side)| {
            (format!("{} of {kind} ({})", stage.name, stage.what), cumulative(side))
        })
        .collect()
}

fn think_lines(device: &DeviceProfile) -> Vec<Named> {
    device
        .processes
        .iter()
        .take(LINES)
        .map(|actor| (name_of(actor), cumulative(&actor.think_ns)))
        .collect()
}

fn distance_lines(device: &DeviceProfile) -> Vec<Named> {
    device
        .processes
        .iter()
        .take(LINES)
        .map(|actor| (name_of(actor), cumulative(&actor.distance_sectors)))
        .collect()
}

fn shares(
    of: &[Named],
    x_title: &str,
    tick: &dyn Fn(f64) -> String,
) -> crate::Result<Option<String>> {
    let values = || of.iter().flat_map(|(_, points)| points).map(|(value, _)| *value);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(1.0, f64::max));
    if low > high {
        return Ok(None);
    }
    let (x, y) = (Axis::log10(low, high, tick), Axis::from_zero(100.0));
    let line = |(at, (_, points)): (usize, &Named)| Line { colour: at + 1, points: points.clone() };
    let lines: Vec<Line> = of.iter().enumerate().map(line).collect();
    lines::plot(x_title, x_title, &x, "% up to that", &y, &lines)
}

fn service(device: &DeviceProfile) -> crate::Result<Option<String>> {
    let of = |kind: &str| -> Vec<(f64, f64)> {
        let rows = device.service.iter().filter(|row| row.kind == kind);
        rows.map(|row| (row.from_sectors.max(1) as f64, row.mean_ns.max(1.0))).collect()
    };
    let lines = [Line { colour: 1, points: of("read") }, Line { colour: 2, points: of("write") }];
    let points = || lines.iter().flat_map(|line| &line.points);
    let range = |of: &dyn Fn(&(f64, f64)) -> f64| {
        (points().map(of).fold(f64::INFINITY, f64::min), points().map(of).fold(1.0, f64::max))
    };
    let ((x_low, x_high), (y_low, y_high)) = (range(&|point| point.0), range(&|point| point.1));
    if points().next().is_none() {
        return Ok(None);
    }
    let (x, y) = (Axis::log10(x_low, x_high, plain_tick), Axis::log10(y_low, y_high, time_tick));
    lines::plot(
        "Service time by distance",
        "distance in sectors (log scale)",
        &x,
        "mean (log scale)",
        &y,
        &lines,
    )
}
