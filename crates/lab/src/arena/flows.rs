//! Flows: groups of clients with a promise of their own, each flow in a process of its own.
//!
//! The I/O controller of control groups v2 knows processes and no threads, so a flow is this program started again with a hidden
//! role, in a control group that the arena has made for it. The process reads a [`FlowRequest`] from standard input up to its end, prepares
//! its clients, lets them begin at an instant of the monotonic clock which the flows of a trial have in common, and prints one
//! line, its [`FlowReport`]. An arena starts the processes in its own way, puts them where they belong before it writes the
//! request, and makes one result of the reports ([`Flows`]).

use std::io::Read;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use experiment::plan::{Share, WorkloadSpec};
use loadgen::{ClientFile, Drive};
use serde::{Deserialize, Serialize};
use workload::{ClientTotals, Issued, Measured, OpTotals};

use crate::role::{DONE, line};
use crate::signals::Stop;
use crate::workloads::{self, Work};

/// The hidden role of a flow's process, its only argument.
pub const ROLE: &str = "flow";

/// From the moment at which the last process is started to the common start: the time to prepare clients.
const LEAD: Duration = Duration::from_millis(200);
const LEAD_A_FLOW: Duration = Duration::from_millis(10);
/// So late a start, over which requests of other flows found the device alone, speaks against a trial.
const LATE_NS: u64 = 1_000_000;

/// A flow as its process receives it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FlowRequest {
    pub flow: String,
    kind: String,
    params: Vec<(String, String)>,
    files: Vec<(PathBuf, u64, u64)>,
    seed: u64,
    /// The common start on the monotonic clock.
    start_ns: u64,
    warmup_ns: u64,
    duration_ns: u64,
    patience_ns: u64,
}

/// The times of a trial, which all of its flows share.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// The common start on the monotonic clock; see [`lead`].
    pub start_ns: u64,
    pub warmup: Duration,
    pub duration: Duration,
    /// How long a device may be silent.
    pub patience: Duration,
    /// Seed of the trial.
    pub seed: u64,
}

/// The time from now to a common start of this many flows.
pub fn lead(flows: usize) -> Duration {
    LEAD + LEAD_A_FLOW * u32::try_from(flows).unwrap_or(u32::MAX)
}

impl FlowRequest {
    /// The request for the flow with this number among the flows of a workload.
    pub fn new(flow: &str, number: usize, work: &Work, files: &[ClientFile], span: &Span) -> FlowRequest {
        let Work { kind, params } = work;
        let ns = |time: Duration| u64::try_from(time.as_nanos()).expect("a trial is shorter than 584 years");
        FlowRequest {
            flow: flow.to_owned(),
            kind: kind.name.to_owned(),
            params: kind.show(params).into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
            files: files.iter().map(|file| (file.path.clone(), file.base, file.len)).collect(),
            seed: seed(span.seed, number),
            start_ns: span.start_ns,
            warmup_ns: ns(span.warmup),
            duration_ns: ns(span.duration),
            patience_ns: ns(span.patience),
        }
    }

    /// What is written to the process's standard input.
    ///
    /// # Errors
    /// A path that is not UTF-8.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).with_context(|| format!("flow {}: its request cannot be written as JSON", self.flow))
    }

    /// The work; clients without a warm-up begin when the window of the others opens, so that all windows are one.
    fn drive(&self) -> Result<(Drive, u64)> {
        let spec = WorkloadSpec {
            name: self.flow.clone(),
            kind: self.kind.clone(),
            primary: None,
            params: self.params.iter().cloned().collect(),
            share: Share::default(),
            background: Vec::new(),
            flows: Vec::new(),
        };
        let Work { kind, params } = workloads::work_of(&spec)?;
        let files =
            self.files.iter().map(|(path, base, len)| ClientFile { path: path.clone(), base: *base, len: *len });
        let [duration, warmup, patience] =
            [self.duration_ns, self.warmup_ns, self.patience_ns].map(Duration::from_nanos);
        let drive = Drive { kind, params, files: files.collect(), seed: self.seed, duration, warmup, patience };
        let start_ns = self.start_ns + if drive.has_warmup() { 0 } else { self.warmup_ns };
        Ok((drive, start_ns))
    }
}

/// Flows draw their own random choices, the same ones under every arm.
fn seed(trial: u64, flow: usize) -> u64 {
    trial ^ (flow as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// What a flow's process prints.
#[derive(Debug, Serialize, Deserialize)]
pub struct FlowReport {
    flow: String,
    /// By how much its clients began after the common start.
    late_ns: u64,
    measured: Totals,
}

impl FlowReport {
    /// Reads what the process has printed.
    ///
    /// # Errors
    /// It has printed no report: it has failed, and standard error says why.
    pub fn read(flow: &str, stdout: &str, stderr: &str) -> Result<FlowReport> {
        let report = stdout.lines().last().and_then(|line| serde_json::from_str::<FlowReport>(line).ok());
        report.filter(|report| report.flow == flow).ok_or_else(|| {
            let why = stderr.trim().trim_start_matches("schedlab: ");
            anyhow!(
                "flow {flow}: its process ended without a result: {}",
                if why.is_empty() { "it said nothing" } else { why }
            )
        })
    }
}

/// The flows of a trial, in the order of the workload.
#[derive(Debug, Clone, Default)]
pub struct Flows {
    /// By name.
    pub each: Vec<(String, Measured)>,
    /// What speaks against the trial: a flow that began late, in words.
    pub late: Vec<String>,
}

impl Flows {
    pub fn of(reports: Vec<FlowReport>) -> Flows {
        let late = reports.iter().filter(|report| report.late_ns > LATE_NS).map(|report| {
            let ms = report.late_ns as f64 / 1e6;
            format!("flow {} began {ms:.1} ms after the others; the machine was busy", report.flow)
        });
        let late = late.collect();
        let each = reports.into_iter().map(|report| (report.flow, report.measured.measured()));
        Flows { each: each.collect(), late }
    }

    /// All flows together: what is judged where no flow is named, and what the device's counters are compared with.
    pub fn merged(&self) -> Measured {
        let mut all = Measured { passes: 1, ..Measured::default() };
        for (flow, one) in &self.each {
            let named = |text: &Option<String>| text.as_ref().map(|text| format!("flow {flow}: {text}"));
            all.window_ns = all.window_ns.max(one.window_ns);
            all.reads.add(&one.reads);
            all.writes.add(&one.writes);
            all.syncs += one.syncs;
            all.clients.extend(&one.clients);
            all.issued.add(&one.issued);
            all.cpu_ns += one.cpu_ns;
            all.errors += one.errors;
            all.first_error = all.first_error.take().or_else(|| named(&one.first_error));
            all.vanished = all.vanished.take().or_else(|| named(&one.vanished));
            all.no_space = all.no_space.take().or_else(|| named(&one.no_space));
            all.interrupted |= one.interrupted;
        }
        all
    }
}

/// [`Measured`] as text.
#[derive(Debug, Serialize, Deserialize)]
struct Totals {
    window_ns: u64,
    reads: OfOp,
    writes: OfOp,
    syncs: u64,
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

/// [`OpTotals`] as text: the histogram as pairs of value and count.
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
        let latency = latency.iter_recorded().map(|at| (at.value_iterated_to(), at.count_at_value())).collect();
        OfOp { count, bytes, errors, latency_sum_ns, latency }
    }

    fn totals(self) -> OpTotals {
        let OfOp { count, bytes, errors, latency_sum_ns, latency } = self;
        let mut totals = OpTotals { count, bytes, errors, latency_sum_ns, ..OpTotals::default() };
        latency.into_iter().for_each(|(value, count)| totals.latency.saturating_record_n(value, count));
        totals
    }
}

impl Totals {
    fn of(measured: Measured) -> Totals {
        let client = |c: &ClientTotals| (c.ios, c.bytes, c.elapsed_ns, c.cpu_ns, c.errors, c.finished);
        let Issued { reads, read_bytes, writes, written_bytes } = measured.issued;
        Totals {
            window_ns: measured.window_ns,
            reads: OfOp::of(&measured.reads),
            writes: OfOp::of(&measured.writes),
            syncs: measured.syncs,
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
        Measured {
            window_ns: self.window_ns,
            reads: self.reads.totals(),
            writes: self.writes.totals(),
            syncs: self.syncs,
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

/// The process itself.
pub fn inside() -> Result<u8> {
    let stop = Stop::install()?;
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("standard input: cannot read the request")?;
    let request: FlowRequest =
        serde_json::from_str(&text).context("standard input: not a request; this command is internal to schedlab")?;
    let (drive, start_ns) = request.drive()?;
    let (measured, late_ns) = loadgen::run_at(&drive, start_ns, &stop.flag())?;
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
        let ios = latencies_us.len() as u64;
        measured.clients.push(ClientTotals {
            ios,
            bytes: 4096 * ios,
            elapsed_ns: 1_000_000,
            ..ClientTotals::default()
        });
        measured
    }

    fn report(flow: &str, late_ns: u64, latencies_us: &[u64]) -> FlowReport {
        FlowReport { flow: flow.to_owned(), late_ns, measured: Totals::of(measured(latencies_us)) }
    }

    #[test]
    fn a_report_brings_every_figure_of_its_flow_over() {
        let sent = measured(&[3, 50, 50, 7_000, 4_000_000]);
        let text = serde_json::to_string(&report("reader", 5, &[3, 50, 50, 7_000, 4_000_000])).unwrap();
        let read = FlowReport::read("reader", &format!("noise\n{text}\n"), "").unwrap();
        let flows = Flows::of(vec![read]);
        assert_eq!(workload::metrics(&flows.each[0].1), workload::metrics(&sent));
        assert_eq!(flows.each[0].1.reads.latency, sent.reads.latency, "the histogram, bucket by bucket");
        assert_eq!((flows.each[0].1.clients[0], flows.each[0].1.issued), (sent.clients[0], sent.issued));
        assert!(flows.late.is_empty());
    }

    #[test]
    fn the_whole_is_the_sum_of_the_flows_over_one_window() {
        let flows = Flows::of(vec![report("a", 0, &[1, 2]), report("b", 2_000_000, &[1000])]);
        let all = flows.merged();
        assert_eq!((all.reads.count, all.window_ns, all.clients.len()), (3, 1_000_000, 2));
        assert_eq!(all.reads.latency.max(), flows.each[1].1.reads.latency.max());
        assert_eq!(flows.late.len(), 1);
        assert!(flows.late[0].starts_with("flow b began 2.0 ms after"), "{:?}", flows.late);
    }

    #[test]
    fn a_process_without_a_report_or_with_that_of_another_flow_has_failed() {
        let failed = |stdout: &str, stderr: &str| FlowReport::read("a", stdout, stderr).unwrap_err().to_string();
        assert!(failed("", "schedlab: /dev/x: cannot open\n").ends_with("without a result: /dev/x: cannot open"));
        assert!(failed("{}", "").contains("said nothing"));
        let other = serde_json::to_string(&report("b", 0, &[1])).unwrap();
        assert!(failed(&other, "").contains("flow a"));
    }
}
