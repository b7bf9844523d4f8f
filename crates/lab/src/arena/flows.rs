//! Flows: groups of clients with individual guarantees, each in its own process.
//!
//! The I/O controllers of cgroup v2 act on processes, not threads. A flow is therefore this
//! program, started with a hidden role in a control group of the arena. It reads a [`FlowRequest`]
//! from standard input, prepares its clients, starts them at a common instant, and prints a
//! [`FlowReport`]. The arena places each process before writing its request.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use load::{ClientFile, Drive, Submission};
use serde::{Deserialize, Serialize};
use sim::workload::{
    ClientTotals, Contract, DeadlineTotals, FlowMeasured, FlowWork, Intervals, Issued, Measured,
    OpTotals, Params,
};

use crate::role::{DONE, line};
use crate::signals::Stop;
use crate::workloads::{self, Work};

pub const ROLE: &str = "flow";

/// Time to prepare clients.
const LEAD: Duration = Duration::from_millis(200);
const LEAD_A_FLOW: Duration = Duration::from_millis(10);
/// A later start invalidates the trial: the other flows had the device to themselves.
const LATE_NS: u64 = 1_000_000;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowRequest {
    pub flow: String,
    kind: String,
    params: Vec<(String, String)>,
    /// Rate (bytes per second), burst (bytes), latency (ns).
    contract: Option<(u64, u64, u64)>,
    files: Vec<(PathBuf, u64, u64)>,
    seed: u64,
    /// Monotonic clock.
    start_ns: u64,
    warmup_ns: u64,
    duration_ns: u64,
    patience_ns: u64,
    /// None: io_uring instead of io_submit.
    turnaround_ns: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Monotonic clock; see [`lead`].
    pub start_ns: u64,
    pub warmup: Duration,
    pub duration: Duration,
    /// Limit on the time without a completion.
    pub patience: Duration,
    pub seed: u64,
    /// For clients with an iodepth above 1.
    pub submission: Submission,
}

/// Time from now to the common start.
pub fn lead(flows: usize) -> Duration {
    LEAD + LEAD_A_FLOW * u32::try_from(flows).unwrap_or(u32::MAX)
}

/// Assigns each client its part of a device: one list per flow, or a single list without flows.
pub fn place_on_device(
    work: &Work,
    path: &Path,
    len: u64,
    logical_block: u32,
) -> Result<Vec<Vec<ClientFile>>> {
    let Work { kind, params } = work;
    let mut files = load::place_on_device(kind, params, path, len, logical_block)?;
    if params.flows.is_empty() {
        return Ok(vec![files]);
    }
    let of = |flow: &FlowWork| files.drain(..flow.kind.clients(&flow.params) as usize).collect();
    Ok(params.flows.iter().map(of).collect())
}

/// Creates a workload's files, with a subdirectory per flow.
pub fn place_in_directory(
    work: &Work,
    dir: &Path,
    logical_block: u32,
) -> Result<Vec<Vec<ClientFile>>> {
    let made = |kind, params: &Params, dir: &Path| {
        load::place_in_directory(kind, params, dir, logical_block)
    };
    let Work { kind, params } = work;
    if params.flows.is_empty() {
        return Ok(vec![made(kind, params, dir)?]);
    }
    let of = |flow: &FlowWork| {
        let dir = dir.join(&flow.name);
        std::fs::create_dir(&dir).with_context(|| format!("{}: cannot create", dir.display()))?;
        Ok(made(flow.kind, &flow.params, &dir)?)
    };
    params.flows.iter().map(of).collect()
}

impl FlowRequest {
    pub fn new(flow: &FlowWork, number: usize, files: &[ClientFile], span: &Span) -> FlowRequest {
        let FlowWork { name, kind, params, .. } = flow;
        let ns = |time: Duration| {
            u64::try_from(time.as_nanos()).expect("a trial is shorter than 584 years")
        };
        FlowRequest {
            flow: name.clone(),
            kind: kind.name.to_owned(),
            params: kind
                .show(params)
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
            contract: params
                .contract
                .map(|Contract { rate, burst, latency_ns }| (rate, burst, latency_ns)),
            files: files.iter().map(|file| (file.path.clone(), file.base, file.len)).collect(),
            seed: FlowWork::seed(span.seed, number),
            start_ns: span.start_ns,
            warmup_ns: ns(span.warmup),
            duration_ns: ns(span.duration),
            patience_ns: ns(span.patience),
            turnaround_ns: match span.submission {
                Submission::IoUring => None,
                Submission::Aio { turnaround_ns } => Some(turnaround_ns),
            },
        }
    }

    pub fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self)
            .with_context(|| format!("flow {}: its request cannot be written as JSON", self.flow))
    }

    /// Clients without a warmup start when the measurement does, so that all measure the same
    /// window.
    fn drive(&self) -> Result<(Drive, u64)> {
        let params = self.params.iter().cloned().collect();
        let spec = workloads::alone(self.flow.clone(), &self.kind, &params);
        let Work { kind, params } = workloads::work_of(&spec)?;
        let contract =
            self.contract.map(|(rate, burst, latency_ns)| Contract { rate, burst, latency_ns });
        let params = Params { contract, ..params };
        let files = self.files.iter().map(|(path, base, len)| ClientFile {
            path: path.clone(),
            base: *base,
            len: *len,
        });
        let [duration, warmup, patience] =
            [self.duration_ns, self.warmup_ns, self.patience_ns].map(Duration::from_nanos);
        let submission = self
            .turnaround_ns
            .map_or(Submission::IoUring, |turnaround_ns| Submission::Aio { turnaround_ns });
        let files = files.collect();
        let drive =
            Drive { kind, params, files, seed: self.seed, duration, warmup, patience, submission };
        let start_ns = self.start_ns + if drive.has_warmup() { 0 } else { self.warmup_ns };
        Ok((drive, start_ns))
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct FlowReport {
    flow: String,
    late_ns: u64,
    measured: Totals,
}

impl FlowReport {
    /// Parses a process's output. An error contains its standard error.
    pub fn read(flow: &str, stdout: &str, stderr: &str) -> Result<FlowReport> {
        let report =
            stdout.lines().last().and_then(|line| serde_json::from_str::<FlowReport>(line).ok());
        report.filter(|report| report.flow == flow).ok_or_else(|| {
            let why = stderr.trim().trim_start_matches("schedlab: ");
            let why = if why.is_empty() { "(no output)" } else { why };
            anyhow!("flow {flow}: its process ended without a result: {why}")
        })
    }

    /// Describes a late start, which invalidates the trial.
    pub fn late(&self) -> Option<String> {
        let ms = self.late_ns as f64 / 1e6;
        (self.late_ns > LATE_NS)
            .then(|| format!("flow {} started {ms:.1} ms late; the machine was busy", self.flow))
    }

    pub fn measured(self) -> Measured {
        self.measured.measured()
    }
}

pub fn merged(flows: &[FlowWork], reports: Vec<FlowReport>) -> Measured {
    let part = |(flow, report): (&FlowWork, FlowReport)| {
        let mut measured = report.measured();
        let named = |text: &mut Option<String>| {
            *text = text.take().map(|text| format!("flow {}: {text}", flow.name));
        };
        [&mut measured.first_error, &mut measured.vanished, &mut measured.no_space]
            .into_iter()
            .for_each(named);
        FlowMeasured { measured, ..flow.unmeasured() }
    };
    let mut all = Measured::default();
    all.take_flows(flows.iter().zip(reports).map(part).collect());
    all
}

/// Serializable [`Measured`].
#[derive(Debug, Serialize, Deserialize)]
struct Totals {
    window_ns: u64,
    reads: OfOp,
    writes: OfOp,
    syncs: u64,
    /// Count, missed, tardiness sum and maximum, best effort.
    deadlines: [u64; 5],
    arrival_wait_max_ns: Option<u64>,
    intervals: Vec<u64>,
    clients: Vec<(u64, u64, u64, u64, u64, bool)>,
    issued: [u64; 4],
    cpu_ns: u64,
    passes: u32,
    sum_of_rates: Option<f64>,
    errors: u64,
    first_error: Option<String>,
    vanished: Option<String>,
    no_space: Option<String>,
    interrupted: bool,
}

/// Serializable [`OpTotals`]; the histogram as (value, count).
#[derive(Debug, Serialize, Deserialize)]
struct OfOp {
    count: u64,
    bytes: u64,
    errors: u64,
    latency_sum_ns: u64,
    latency: Vec<(u64, u64)>,
}

impl OfOp {
    fn of(totals: &OpTotals) -> OfOp {
        let OpTotals { count, bytes, errors, latency_sum_ns, ref latency } = *totals;
        let latency = latency
            .iter_recorded()
            .map(|at| (at.value_iterated_to(), at.count_at_value()))
            .collect();
        OfOp { count, bytes, errors, latency_sum_ns, latency }
    }

    fn totals(self) -> OpTotals {
        let OfOp { count, bytes, errors, latency_sum_ns, latency } = self;
        let mut totals = OpTotals { count, bytes, errors, latency_sum_ns, ..OpTotals::default() };
        latency
            .into_iter()
            .for_each(|(value, count)| totals.latency.saturating_record_n(value, count));
        totals
    }
}

impl Totals {
    fn of(measured: Measured) -> Totals {
        let client =
            |c: &ClientTotals| (c.ios, c.bytes, c.elapsed_ns, c.cpu_ns, c.errors, c.finished);
        let Issued { reads, read_bytes, writes, written_bytes } = measured.issued;
        let DeadlineTotals {
            count,
            missed,
            tardiness_sum_ns,
            tardiness_max_ns,
            best_effort,
            arrival_wait_max_ns,
        } = measured.deadlines;
        Totals {
            window_ns: measured.window_ns,
            reads: OfOp::of(&measured.reads),
            writes: OfOp::of(&measured.writes),
            syncs: measured.syncs,
            deadlines: [count, missed, tardiness_sum_ns, tardiness_max_ns, best_effort],
            arrival_wait_max_ns,
            intervals: measured.intervals.0,
            clients: measured.clients.iter().map(client).collect(),
            issued: [reads, read_bytes, writes, written_bytes],
            cpu_ns: measured.cpu_ns,
            passes: measured.passes,
            sum_of_rates: measured.sum_of_rates,
            errors: measured.errors,
            first_error: measured.first_error,
            vanished: measured.vanished,
            no_space: measured.no_space,
            interrupted: measured.interrupted,
        }
    }

    fn measured(self) -> Measured {
        let client = |(ios, bytes, elapsed_ns, cpu_ns, errors, finished)| ClientTotals {
            ios,
            bytes,
            elapsed_ns,
            cpu_ns,
            errors,
            finished,
        };
        let [reads, read_bytes, writes, written_bytes] = self.issued;
        let [count, missed, tardiness_sum_ns, tardiness_max_ns, best_effort] = self.deadlines;
        let arrival_wait_max_ns = self.arrival_wait_max_ns;
        Measured {
            window_ns: self.window_ns,
            reads: self.reads.totals(),
            writes: self.writes.totals(),
            syncs: self.syncs,
            deadlines: DeadlineTotals {
                count,
                missed,
                tardiness_sum_ns,
                tardiness_max_ns,
                best_effort,
                arrival_wait_max_ns,
            },
            intervals: Intervals(self.intervals),
            clients: self.clients.into_iter().map(client).collect(),
            issued: Issued { reads, read_bytes, writes, written_bytes },
            cpu_ns: self.cpu_ns,
            passes: self.passes,
            sum_of_rates: self.sum_of_rates,
            errors: self.errors,
            first_error: self.first_error,
            vanished: self.vanished,
            no_space: self.no_space,
            interrupted: self.interrupted,
            ..Measured::default()
        }
    }
}

/// The flow's process.
pub fn inside() -> Result<u8> {
    let stop = Stop::install()?;
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .context("standard input: cannot read the request")?;
    let request: FlowRequest = serde_json::from_str(&text)
        .context("standard input: not a request; this command is internal to schedlab")?;
    let (drive, start_ns) = request.drive()?;
    let (measured, late_ns) = load::run_at(&drive, start_ns, &stop.flag())?;
    let report = FlowReport { flow: request.flow, late_ns, measured: Totals::of(measured) };
    line(serde_json::to_string(&report)?)?;
    Ok(DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(latencies_us: &[u64]) -> Measured {
        let mut measured = Measured { window_ns: 1_000_000, passes: 1, ..Measured::default() };
        latencies_us.iter().for_each(|us| measured.reads.record(4096, us * 1000 + 7));
        measured.issued.read_bytes = 4096 * latencies_us.len() as u64;
        measured.intervals.record(250_000_000, 5);
        measured.deadlines = DeadlineTotals {
            count: 4,
            missed: 3,
            tardiness_sum_ns: 2,
            tardiness_max_ns: 1,
            best_effort: 5,
            arrival_wait_max_ns: Some(6),
        };
        let ios = latencies_us.len() as u64;
        let elapsed_ns = 1_000_000;
        measured.clients.push(ClientTotals {
            ios,
            bytes: 4096 * ios,
            elapsed_ns,
            ..ClientTotals::default()
        });
        measured
    }

    fn report(flow: &str, late_ns: u64, latencies_us: &[u64]) -> FlowReport {
        FlowReport { flow: flow.to_owned(), late_ns, measured: Totals::of(measured(latencies_us)) }
    }

    fn flows() -> Work {
        let kind = sim::workload::find("flows").unwrap();
        Work { kind, params: (kind.defaults)() }
    }

    #[test]
    fn a_report_brings_every_figure_of_its_flow_over() {
        let sent = measured(&[3, 50, 50, 7_000, 4_000_000]);
        let text =
            serde_json::to_string(&report("reader", 5, &[3, 50, 50, 7_000, 4_000_000])).unwrap();
        let read = FlowReport::read("reader", &format!("noise\n{text}\n"), "").unwrap();
        assert_eq!(read.late(), None);
        let got = read.measured();
        assert_eq!(sim::workload::metrics(&got), sim::workload::metrics(&sent));
        assert_eq!(got.reads.latency, sent.reads.latency, "the histogram, bucket by bucket");
        assert_eq!((got.clients[0], got.issued), (sent.clients[0], sent.issued));
        assert_eq!((got.deadlines, got.intervals), (sent.deadlines, sent.intervals));
    }

    #[test]
    fn the_whole_is_the_sum_of_the_flows_over_one_window() {
        let reports = vec![report("reader", 0, &[1, 2]), report("writers", 2_000_000, &[1000])];
        assert!(reports[1].late().unwrap().starts_with("flow writers started 2.0 ms late"));
        let all = merged(&flows().params.flows, reports);
        assert_eq!((all.reads.count, all.window_ns, all.clients.len()), (3, 1_000_000, 2));
        assert_eq!(all.reads.latency.max(), all.flows[1].measured.reads.latency.max());
        let metrics = sim::workload::metrics(&all);
        assert_eq!(metrics["reader.share_percent"], 200.0 / 3.0);
    }

    #[test]
    fn a_process_without_a_report_or_with_that_of_another_flow_has_failed() {
        let failed = |stdout: &str, stderr: &str| {
            FlowReport::read("a", stdout, stderr).unwrap_err().to_string()
        };
        assert!(
            failed("", "schedlab: /dev/x: cannot open\n")
                .ends_with("without a result: /dev/x: cannot open")
        );
        assert!(failed("{}", "").contains("(no output)"));
        let other = serde_json::to_string(&report("b", 0, &[1])).unwrap();
        assert!(failed(&other, "").contains("flow a"));
    }

    #[test]
    fn a_flow_begins_with_its_contract_its_part_of_the_device_and_a_seed_of_its_own() {
        let mut work = flows();
        let latency_ns = 20_000_000;
        work.params.flows[0].params.contract = Some(Contract { rate: 1, burst: 2, latency_ns });
        let files = place_on_device(&work, Path::new("/dev/x"), 1 << 30, 512).unwrap();
        assert_eq!((files.len(), files[0].len(), files[1].len()), (2, 1, 16));
        assert!(files[0][0].base + files[0][0].len <= files[1][0].base, "{files:?}");
        let [duration, warmup, patience] = [3, 1, 9].map(Duration::from_secs);
        let span = Span {
            start_ns: 5,
            warmup,
            duration,
            patience,
            seed: 7,
            submission: Submission::IoUring,
        };
        let of = |work: &Work, number: usize| {
            let text = FlowRequest::new(&work.params.flows[number], number, &files[number], &span)
                .to_json()
                .unwrap();
            serde_json::from_slice::<FlowRequest>(&text).unwrap().drive().unwrap()
        };
        let ((reader, start), (writers, _)) = (of(&work, 0), of(&work, 1));
        assert_eq!(
            (reader.kind.name, start, reader.duration, reader.warmup),
            ("randread", 5, duration, warmup)
        );
        assert_eq!(reader.params, work.params.flows[0].params);
        assert_eq!(writers.params, work.params.flows[1].params);
        assert!(reader.seed != writers.seed && reader.files == files[0]);
        // Buffered writes have no warmup.
        work.params.flows[1].params.direct = false;
        let (_, start) = of(&work, 1);
        assert_eq!(start, 1_000_000_005);
    }
}
