//! fio: `--output-format=json` and `json+`.
//!
//! Source: fio 3.33's output and its HOWTO ("Interpreting the output"). Clones of a job (`numjobs`)
//! run concurrently and form one trial: rates are added, means weighted by requests. Percentiles of
//! several clones are taken from the summed histograms of `json+`, and omitted without them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::Error;
use crate::importer::{Importer, first_missing};
use crate::json;
use crate::rows::{Entry, File, Rows, each};

const MADE_BY: &str = "fio 3 and --output-format=json --output=FILE";

pub(crate) const ROW: Importer = Importer {
    name: "fio",
    reads: "the output of fio 3 with --output-format=json or json+, one file for each start",
    trial: "a job of a file; clones of a job are one trial",
    labels: &[("job", "name of the job")],
    metrics: &[
        ("iops", "IO/s", "requests per second, reads and writes together"),
        ("throughput_mb_per_s", "MB/s", "bytes per second, reads and writes together"),
        ("read_iops", "IO/s", "reads per second; write_ and trim_ likewise"),
        ("read_mb_per_s", "MB/s", "bytes read per second; write_ likewise"),
        (
            "read_latency_mean_us",
            "µs",
            "mean of lat, from the call to the result; write_ and trim_ likewise",
        ),
        (
            "read_clat_mean_us",
            "µs",
            "mean of clat, from the submission to the result; write_ and trim_ likewise",
        ),
        (
            "read_clat_p50_us",
            "µs",
            "median of clat; write_ and trim_ likewise; read_latency_p50_us with --lat_percentiles=1",
        ),
        ("read_clat_p99_us", "µs", "99th percentile, likewise"),
        ("read_clat_p999_us", "µs", "99.9th percentile, likewise"),
    ],
    own_metrics: "",
    lacks: &[
        "fio's files contain no measurement order or rounds: --round run uses the file numbers as rounds",
    ],
    variants: &["file", "dir", "job"],
    repeat: "start fio at least five times for each variant, alternating (none-1.json, kyber-1.json, none-2.json, …), or let schedlab do it: \
             sudo schedlab compare --device DEVICE --schedulers A,B --workload fio:FILE.fio",
    within: Some(|path| path.ends_with(".json")),
    missing: |text| first_missing(text, &["\"fio version\""]),
    read,
};

#[derive(Debug, Deserialize)]
struct Output {
    #[serde(rename = "fio version")]
    version: String,
    #[serde(default)]
    jobs: Vec<Job>,
    client_stats: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
struct Job {
    jobname: String,
    #[serde(default)]
    groupid: u64,
    #[serde(default)]
    error: i64,
    read: Requests,
    write: Requests,
    trim: Option<Requests>,
}

#[derive(Debug, Deserialize)]
struct Requests {
    io_bytes: u64,
    /// In milliseconds.
    runtime: u64,
    iops: f64,
    total_ios: u64,
    lat_ns: Option<Latency>,
    clat_ns: Option<Latency>,
}

#[derive(Debug, Deserialize)]
struct Latency {
    mean: f64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
    /// Requests by latency in ns; only in `json+`.
    #[serde(default)]
    bins: BTreeMap<u64, u64>,
}

const PERCENTILES: &[(&str, f64, &str)] =
    &[("50.000000", 0.5, "p50"), ("99.000000", 0.99, "p99"), ("99.900000", 0.999, "p999")];

fn read(files: &[File]) -> Result<Rows, Error> {
    each(files, "job", |file, rows| {
        let output: Output = json::parse(file, MADE_BY)?;
        if output.client_stats.is_some() {
            return Err(Error::new(
                &file.path,
                "output of fio --client",
                "name the outputs of the servers, or start fio without --client",
            ));
        }
        if !output.version.starts_with("fio-3") {
            let problem = format!("written by {} (expected fio-3)", output.version);
            return Err(Error::new(&file.path, problem, format!("write it with {MADE_BY}")));
        }
        let mut names: Vec<&str> = Vec::new();
        for job in &output.jobs {
            if !names.contains(&job.jobname.as_str()) {
                names.push(&job.jobname);
            }
        }
        let groups: Vec<u64> = output.jobs.iter().map(|job| job.groupid).collect();
        if names.len() > 1
            && groups.iter().any(|group| groups.iter().filter(|other| *other == group).count() > 1)
        {
            rows.remark("jobs of one file run concurrently unless they have stonewall");
        }
        for name in names {
            let clones: Vec<&Job> = output.jobs.iter().filter(|job| job.jobname == name).collect();
            let entry = trial(file, name, &clones, rows)?;
            rows.entries.push(entry);
        }
        Ok(())
    })
}

fn trial(file: &File, name: &str, clones: &[&Job], rows: &mut Rows) -> Result<Entry, Error> {
    let mut entry = Entry::new(file).label("job", name);
    let place = format!("job {name}");
    let failed = clones.iter().find(|job| job.error != 0);
    entry.invalid = failed.map(|job| format!("fio ended the job {name} with error {}", job.error));
    let ways: [(&str, Vec<&Requests>); 3] = [
        ("read", clones.iter().map(|job| &job.read).collect()),
        ("write", clones.iter().map(|job| &job.write).collect()),
        ("trim", clones.iter().filter_map(|job| job.trim.as_ref()).collect()),
    ];
    let did = |ways: &[&Requests]| ways.iter().any(|way| way.total_ios > 0);
    let moved: Vec<&Requests> =
        ways[..2].iter().flat_map(|(_, ways)| ways.iter().copied()).collect();
    if did(&moved) {
        entry.put(file, &place, "iops", moved.iter().map(|way| way.iops).sum())?;
        entry.put(
            file,
            &place,
            "throughput_mb_per_s",
            moved.iter().map(|way| mb_per_s(way)).sum(),
        )?;
    } else if !did(&ways[2].1) && entry.invalid.is_none() {
        entry.invalid = Some(format!("the job {name} completed no request"));
    }
    for (what, ways) in ways.iter().filter(|(_, ways)| did(ways)) {
        entry.put(file, &place, &format!("{what}_iops"), ways.iter().map(|way| way.iops).sum())?;
        if *what != "trim" {
            entry.put(
                file,
                &place,
                &format!("{what}_mb_per_s"),
                ways.iter().map(|way| mb_per_s(way)).sum(),
            )?;
        }
        for (kind, of) in [("latency", lat as fn(&Requests) -> Option<&Latency>), ("clat", clat)] {
            latencies(
                file,
                &place,
                &mut entry,
                &format!("{what}_{kind}"),
                &histograms(ways, of),
                rows,
            )?;
        }
    }
    Ok(entry)
}

/// From bytes and time, because fio's own `bw` is rounded, and in KiB/s in some versions.
fn mb_per_s(way: &Requests) -> f64 {
    if way.runtime == 0 { 0.0 } else { way.io_bytes as f64 / 1e3 / way.runtime as f64 }
}

fn lat(way: &Requests) -> Option<&Latency> {
    way.lat_ns.as_ref()
}

fn clat(way: &Requests) -> Option<&Latency> {
    way.clat_ns.as_ref()
}

/// The latencies and request counts of clones that had any.
fn histograms<'a>(
    ways: &[&'a Requests],
    of: fn(&'a Requests) -> Option<&'a Latency>,
) -> Vec<(u64, &'a Latency)> {
    let some = ways.iter().filter(|way| way.total_ios > 0);
    some.filter_map(|way| Some((way.total_ios, of(way).filter(|latency| latency.mean > 0.0)?)))
        .collect()
}

fn latencies(
    file: &File,
    place: &str,
    entry: &mut Entry,
    name: &str,
    clones: &[(u64, &Latency)],
    rows: &mut Rows,
) -> Result<(), Error> {
    if clones.is_empty() {
        return Ok(());
    }
    let requests: u64 = clones.iter().map(|(requests, _)| requests).sum();
    let sum: f64 = clones.iter().map(|(requests, latency)| *requests as f64 * latency.mean).sum();
    entry.put(file, place, &format!("{name}_mean_us"), sum / requests as f64 / 1e3)?;
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    let binned = clones.iter().all(|(_, latency)| !latency.bins.is_empty());
    for (ns, count) in clones.iter().filter(|_| binned).flat_map(|(_, latency)| &latency.bins) {
        let bin = bins.entry(*ns).or_default();
        *bin = bin.saturating_add(*count);
    }
    for (key, share, short) in PERCENTILES {
        let value = match clones {
            [(_, only)] => only.percentile.get(*key).copied(),
            _ if binned && clones.iter().any(|(_, latency)| !latency.percentile.is_empty()) => {
                quantile(&bins, *share)
            }
            _ => None,
        };
        if let Some(ns) = value {
            entry.put(file, place, &format!("{name}_{short}_us"), ns / 1e3)?;
        } else if clones.len() > 1
            && clones.iter().any(|(_, latency)| !latency.percentile.is_empty())
        {
            rows.remark("percentiles of several clones of a job are omitted: they need --output-format=json+ or group_reporting");
        }
    }
    Ok(())
}

/// The first bin whose cumulative share is at least `share`.
fn quantile(bins: &BTreeMap<u64, u64>, share: f64) -> Option<f64> {
    let total = bins.values().fold(0u64, |sum, count| sum.saturating_add(*count));
    let needed = (share * total as f64).ceil().max(1.0);
    let mut sum = 0.0;
    let found = bins.iter().find(|(_, count)| {
        sum += **count as f64;
        sum >= needed
    });
    found.map(|(ns, _)| *ns as f64)
}
