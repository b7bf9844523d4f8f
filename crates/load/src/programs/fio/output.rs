//! Converts fio's JSON with histograms (`json+`) to metrics.
//!
//! Jobs and clones are combined as in fio's groups: rates of concurrent jobs are added, means
//! weighted by requests, percentiles read off summed histograms. Jobs in sequence (`stonewall`) are
//! phases; the total rate is all bytes by total time. Contradictory or missing values are errors,
//! never zeros.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;

use crate::programs::kind::{Measurement, Moved};

const PERCENTILES: &[(f64, &str)] = &[(50.0, "p50"), (99.0, "p99"), (99.9, "p999")];
/// For each direction separately.
const PERCENTILES_OF_ONE: &[(f64, &str)] = &[(99.0, "p99")];

#[derive(Debug, Deserialize)]
struct Output {
    jobs: Vec<Job>,
}

/// A job, or one of its clones.
#[derive(Debug, Deserialize)]
pub(super) struct Job {
    jobname: String,
    groupid: u64,
    error: i64,
    read: Direction,
    write: Direction,
    trim: Direction,
}

#[derive(Debug, Deserialize)]
struct Direction {
    io_bytes: u64,
    bw_bytes: u64,
    iops: f64,
    /// In milliseconds.
    runtime: u64,
    total_ios: u64,
    short_ios: u64,
    lat_ns: Latency,
}

/// From the call to the result.
#[derive(Debug, Deserialize)]
struct Latency {
    mean: f64,
    #[serde(rename = "N")]
    samples: u64,
    #[serde(default)]
    bins: BTreeMap<u64, u64>,
}

/// Other text may precede the JSON.
pub(super) fn read(stdout: &str) -> Result<Vec<Job>, String> {
    let begin = stdout.lines().scan(0, |at, line| {
        let this = *at;
        *at += line.len() + 1;
        Some((this, line))
    });
    let (at, _) = begin.into_iter().find(|(_, line)| *line == "{").ok_or("JSON")?;
    let mut values = serde_json::Deserializer::from_str(&stdout[at..]).into_iter::<Output>();
    let output = values
        .next()
        .ok_or("JSON")?
        .map_err(|cause| format!("figures that can be read ({cause})"))?;
    if output.jobs.is_empty() {
        return Err("job".to_string());
    }
    for job in &output.jobs {
        if job.error != 0 {
            return Err(format!("result of the job {}, but error {}", job.jobname, job.error));
        }
        for way in [&job.read, &job.write, &job.trim] {
            check(way)
                .map_err(|what| format!("figures of the job {} that agree: {what}", job.jobname))?;
        }
    }
    Ok(output.jobs)
}

/// Verifies units: rates must match bytes, requests and milliseconds.
fn check(way: &Direction) -> Result<(), String> {
    let runtime = way.runtime.max(1);
    let bytes = way.io_bytes as f64 * 1000.0 / runtime as f64;
    let requests = way.total_ios as f64 * 1000.0 / runtime as f64;
    if (bytes - way.bw_bytes as f64).abs() > 1.0 {
        return Err(format!(
            "{} bytes in {runtime} ms are not {} bytes/s",
            way.io_bytes, way.bw_bytes
        ));
    }
    if (requests - way.iops).abs() > 1e-5 * requests.max(1.0) {
        return Err(format!(
            "{} requests in {runtime} ms are not {} a second",
            way.total_ios, way.iops
        ));
    }
    let binned: u64 = way.lat_ns.bins.values().sum();
    if binned != way.lat_ns.samples {
        return Err(format!("its histogram has {binned} of {} latencies", way.lat_ns.samples));
    }
    Ok(())
}

/// A starved job has rates of 0; one that never reads has no read rate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) name: String,
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) trims: bool,
}

/// A trial's metrics. With several jobs, each also has metrics `NAME.METRIC`. Fails if a job or all
/// requests are missing.
pub(super) fn measurement(
    jobs: &[Job],
    wanted: &[Wanted],
    exact: bool,
) -> Result<Measurement, String> {
    let mut seen = Measurement::default();
    let all: Vec<&Job> = jobs.iter().collect();
    if all.iter().all(|job| [&job.read, &job.write, &job.trim].iter().all(|way| way.total_ios == 0))
    {
        return Err("request that was completed".to_string());
    }
    add(&mut seen, "", &all, wanted);
    for one in wanted {
        let own: Vec<&Job> = jobs.iter().filter(|job| job.jobname == one.name).collect();
        if own.is_empty() {
            return Err(format!("figures of the job {}", one.name));
        }
        if wanted.len() > 1 {
            add(&mut seen, &format!("{}.", one.name), &own, std::slice::from_ref(one));
        }
    }
    let sum = |of: fn(&Job) -> u64| jobs.iter().map(of).sum::<u64>();
    seen.window = Duration::from_millis(phases(&all).iter().map(|phase| length_ms(phase)).sum());
    seen.moved = Some(Moved {
        read_bytes: sum(|job| job.read.io_bytes),
        written_bytes: sum(|job| job.write.io_bytes),
        exact,
    });
    seen.counters = [
        ("read_requests", sum(|job| job.read.total_ios)),
        ("write_requests", sum(|job| job.write.total_ios)),
        ("trim_requests", sum(|job| job.trim.total_ios)),
        (
            "short_requests",
            sum(|job| job.read.short_ios + job.write.short_ios + job.trim.short_ios),
        ),
    ]
    .map(|(name, count)| (name.to_string(), count as f64))
    .into();
    Ok(seen)
}

/// A direction, with the prefix of its metrics.
type Named = (&'static str, fn(&Job) -> &Direction, fn(&Wanted) -> bool);
const READ: Named = ("read_", |job| &job.read, |wanted| wanted.reads);
const WRITE: Named = ("write_", |job| &job.write, |wanted| wanted.writes);
const TRIM: Named = ("trim_", |job| &job.trim, |wanted| wanted.trims);

/// Trims move no data, and are reported separately.
fn add(seen: &mut Measurement, prefix: &str, jobs: &[&Job], wanted: &[Wanted]) {
    let is_there = |(_, way, is_wanted): &Named| {
        wanted.iter().any(is_wanted) || jobs.iter().any(|job| way(job).total_ios > 0)
    };
    let ways: Vec<Named> = [READ, WRITE, TRIM].into_iter().filter(is_there).collect();
    for (name, way, _) in &ways {
        let prefix = format!("{prefix}{name}");
        let mut put =
            |metric: &str, value: f64| seen.metrics.insert(format!("{prefix}{metric}"), value);
        put("iops", rate(jobs, &[*way], |way| way.iops));
        if *name != TRIM.0 {
            put("mb_per_s", rate(jobs, &[*way], |way| way.bw_bytes as f64) / 1e6);
        }
        latencies(seen, &prefix, jobs, &[*way], PERCENTILES_OF_ONE);
    }
    let data: Vec<fn(&Job) -> &Direction> =
        ways.iter().filter(|(name, ..)| *name != TRIM.0).map(|(_, way, _)| *way).collect();
    if !data.is_empty() {
        seen.metrics.insert(format!("{prefix}iops"), rate(jobs, &data, |way| way.iops));
        let bytes = rate(jobs, &data, |way| way.bw_bytes as f64);
        seen.metrics.insert(format!("{prefix}throughput_mb_per_s"), bytes / 1e6);
        latencies(seen, prefix, jobs, &data, PERCENTILES);
    }
}

/// Concurrent jobs, i.e. fio's groups.
fn phases<'a>(jobs: &[&'a Job]) -> Vec<Vec<&'a Job>> {
    let groups: BTreeSet<u64> = jobs.iter().map(|job| job.groupid).collect();
    groups
        .iter()
        .map(|group| jobs.iter().copied().filter(|job| job.groupid == *group).collect())
        .collect()
}

fn length_ms(phase: &[&Job]) -> u64 {
    let longest = |job: &&Job| job.read.runtime.max(job.write.runtime).max(job.trim.runtime);
    phase.iter().map(longest).max().unwrap_or_default()
}

fn rate(jobs: &[&Job], ways: &[fn(&Job) -> &Direction], of: fn(&Direction) -> f64) -> f64 {
    let sum = |phase: &[&Job]| {
        phase.iter().flat_map(|job| ways.iter().map(|way| of(way(job)))).sum::<f64>()
    };
    let phases = phases(jobs);
    if let [only] = phases.as_slice() {
        return sum(only);
    }
    let time: u64 = phases.iter().map(|phase| length_ms(phase)).sum();
    phases.iter().map(|phase| sum(phase) * length_ms(phase) as f64).sum::<f64>()
        / time.max(1) as f64
}

fn latencies(
    seen: &mut Measurement,
    prefix: &str,
    jobs: &[&Job],
    ways: &[fn(&Job) -> &Direction],
    wanted: &[(f64, &str)],
) {
    let parts: Vec<&Latency> =
        jobs.iter().flat_map(|job| ways.iter().map(|way| &way(job).lat_ns)).collect();
    let samples: u64 = parts.iter().map(|part| part.samples).sum();
    if samples == 0 {
        return;
    }
    let total: f64 = parts.iter().map(|part| part.mean * part.samples as f64).sum();
    seen.metrics.insert(format!("{prefix}latency_mean_us"), total / samples as f64 / 1000.0);
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for (latency_ns, count) in parts.iter().flat_map(|part| &part.bins) {
        *bins.entry(*latency_ns).or_default() += count;
    }
    for (percent, name) in wanted {
        let metric = format!("{prefix}latency_{name}_us");
        seen.metrics.insert(metric.clone(), percentile(&bins, samples, *percent) as f64 / 1000.0);
        seen.counts.insert(metric, samples);
    }
}

/// The first bin at which `percent` is reached [C: stat.c, calc_clat_percentiles].
fn percentile(bins: &BTreeMap<u64, u64>, samples: u64, percent: f64) -> u64 {
    let enough = percent / 100.0 * samples as f64;
    let mut sum = 0;
    let found = bins.iter().find(|(_, count)| {
        sum += **count;
        sum as f64 >= enough
    });
    *found.expect("the bins hold every sample").0
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
