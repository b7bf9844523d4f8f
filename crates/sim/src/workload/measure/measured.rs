//! Totals of the window, of each client, and of all I/O issued.

use std::fmt;

use elevator::{Op, Request, Time};
use hdrhistogram::Histogram;

use super::deadlines::{DeadlineTotals, Intervals};

/// Upper limit of the histograms: one hour, in ns.
const MAX_NS: u64 = 3_600_000_000_000;

/// The result of running clients, on a real or simulated machine.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Length of the window in ns, to the planned or the last client's end, including the flush of
    /// buffered writes. Summed over passes.
    pub window_ns: u64,
    /// Reads completed in the window.
    pub reads: OpTotals,
    /// Writes completed in the window.
    pub writes: OpTotals,
    /// Syncs completed in the window.
    pub syncs: u64,
    /// Deadlines met and missed.
    pub deadlines: DeadlineTotals,
    /// Bytes completed per interval of the window; only for flows, since it grows with the window.
    pub intervals: Intervals,
    /// Whether intervals are kept.
    pub keeps_intervals: bool,
    /// The flows; every other total is their sum.
    pub flows: Vec<FlowMeasured>,
    /// The clients, by number.
    pub clients: Vec<ClientTotals>,
    /// Requests issued during warm-up, window and drain.
    pub issued: Issued,
    /// User and system time in the window, in ns; with io_uring the whole process's, because its
    /// workers are threads of it. Excludes kernel work elsewhere (interrupts, a loop device's
    /// thread). 0 in the simulator.
    pub cpu_ns: u64,
    /// Measured passes; 1 for workloads without passes.
    pub passes: u32,
    /// Clients' own bytes/s, mean over whole passes; for pass-based workloads only.
    pub sum_of_rates: Option<f64>,
    /// Errors at any time.
    pub errors: u64,
    /// The first error message.
    pub first_error: Option<String>,
    /// Details, if the device disappeared or shrank.
    pub vanished: Option<String>,
    /// Details, if a file could not be written because the device is full.
    pub no_space: Option<String>,
    /// Whether the stop flag ended it.
    pub interrupted: bool,
    /// Sum and number, for [`Measured::add_rates`].
    pub pass_rates: (f64, u32),
}

impl Measured {
    /// Requests that completed in the window.
    pub fn ios(&self) -> u64 {
        self.reads.count + self.writes.count
    }

    /// Accounts for a request, which counts if inside the window, borders included; `None`: nothing
    /// counts.
    #[inline]
    pub fn done(
        &mut self,
        now: Time,
        client: &mut ClientTotals,
        request: &Request,
        submitted: Time,
        window: Option<(Time, Time)>,
    ) {
        let bytes = u64::from(request.len);
        let totals = match request.op {
            Op::Read => {
                self.issued.reads += 1;
                self.issued.read_bytes += bytes;
                &mut self.reads
            }
            Op::Write => {
                self.issued.writes += 1;
                self.issued.written_bytes += bytes;
                &mut self.writes
            }
        };
        let Some((open, close)) = window else { return };
        self.deadlines.record(request, now, open, close);
        if now >= open && now <= close {
            totals.record(bytes, now - submitted);
            if self.keeps_intervals {
                self.intervals.record(now - open, bytes);
            }
            self.deadlines.inside(request, submitted);
            client.ios += 1;
            client.bytes += bytes;
        }
    }

    /// Closes a pass. The window is from `open` to the last client's end, at most `close` (`None`:
    /// the final flushes belong to it).
    pub fn sum_up(&mut self, clients: &[Lived], open: Time, close: Option<Time>, is_pass: bool) {
        let last_end = clients.iter().map(|client| client.ended).max().unwrap_or(open);
        let window_end = close.map_or(last_end, |close| last_end.min(close));
        self.window_ns += window_end.as_ns().saturating_sub(open.as_ns());
        let part = |client: &Lived| {
            let from = client.began.max(open);
            let elapsed_ns = client.ended.min(window_end).as_ns().saturating_sub(from.as_ns());
            ClientTotals { elapsed_ns, ..client.totals }
        };
        let parts: Vec<ClientTotals> = clients.iter().map(part).collect();
        if is_pass {
            self.add_rates(parts);
        } else {
            self.passes = 1;
            self.clients = parts;
        }
    }

    /// Sets every total to the flows' sum, and the window to their longest.
    pub fn take_flows(&mut self, flows: Vec<FlowMeasured>) {
        for FlowMeasured { measured: flow, .. } in &flows {
            self.window_ns = self.window_ns.max(flow.window_ns);
            self.reads.add(&flow.reads);
            self.writes.add(&flow.writes);
            self.deadlines.add(&flow.deadlines);
            self.syncs += flow.syncs;
            self.issued.add(&flow.issued);
            self.cpu_ns += flow.cpu_ns;
            self.errors += flow.errors;
            self.first_error = self.first_error.take().or_else(|| flow.first_error.clone());
            self.vanished = self.vanished.take().or_else(|| flow.vanished.clone());
            self.no_space = self.no_space.take().or_else(|| flow.no_space.clone());
            self.interrupted |= flow.interrupted;
            self.clients.extend(flow.clients.iter().copied());
        }
        self.passes = 1;
        self.flows = flows;
    }

    /// Adds one more pass.
    pub fn add_pass(&mut self, pass: Measured) {
        self.window_ns += pass.window_ns;
        self.reads.add(&pass.reads);
        self.writes.add(&pass.writes);
        self.deadlines.add(&pass.deadlines);
        self.syncs += pass.syncs;
        self.issued.add(&pass.issued);
        self.cpu_ns += pass.cpu_ns;
        self.errors += pass.errors;
        self.first_error = self.first_error.take().or(pass.first_error);
        self.vanished = self.vanished.take().or(pass.vanished);
        self.no_space = self.no_space.take().or(pass.no_space);
        self.interrupted |= pass.interrupted;
        self.add_rates(pass.clients);
    }

    /// Adds a pass. `sum_of_rates` averages whole passes; a truncated one counts only if there is
    /// no whole one.
    pub fn add_rates(&mut self, clients: Vec<ClientTotals>) {
        self.passes += 1;
        let rate: f64 = clients.iter().map(ClientTotals::bytes_per_s).sum();
        if clients.iter().any(|client| client.finished) {
            self.pass_rates = (self.pass_rates.0 + rate, self.pass_rates.1 + 1);
        }
        let (sum, n) = self.pass_rates;
        self.sum_of_rates = Some(if n > 0 { sum / f64::from(n) } else { rate });
        if self.clients.is_empty() {
            self.clients = clients;
        } else {
            self.clients.iter_mut().zip(&clients).for_each(|(sum, one)| sum.add(one));
        }
    }
}

/// One flow's part.
#[derive(Debug, Clone, Default)]
pub struct FlowMeasured {
    /// The flow's name.
    pub name: String,
    /// Its guaranteed weight, if any.
    pub weight: Option<u32>,
    /// Whether missed deadlines are violations.
    pub is_bounded: bool,
    /// Its clients' totals.
    pub measured: Measured,
}

/// Requests of one direction.
#[derive(Clone)]
pub struct OpTotals {
    /// Requests completed in the window.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Requests that failed, at any time.
    pub errors: u64,
    /// Sum of their latencies in ns, for an exact mean.
    pub latency_sum_ns: u64,
    /// Latencies in ns, to three significant digits.
    pub latency: Histogram<u64>,
}

impl OpTotals {
    /// Adds a request of `bytes` that took `latency_ns`.
    #[inline]
    pub fn record(&mut self, bytes: u64, latency_ns: u64) {
        self.count += 1;
        self.bytes += bytes;
        self.latency_sum_ns += latency_ns;
        self.latency.saturating_record(latency_ns);
    }

    /// Adds other totals.
    pub fn add(&mut self, other: &OpTotals) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.latency_sum_ns += other.latency_sum_ns;
        self.latency.add(&other.latency).expect("all histograms have the same bounds");
    }

    /// Mean latency in ns; `None` without requests.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.latency_sum_ns as f64 / self.count as f64)
    }
}

impl Default for OpTotals {
    fn default() -> OpTotals {
        let latency = Histogram::new_with_bounds(1, MAX_NS, 3)
            .expect("1 ns to 1 h with three digits is possible");
        OpTotals { count: 0, bytes: 0, errors: 0, latency_sum_ns: 0, latency }
    }
}

impl fmt::Debug for OpTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests, {} bytes, {} errors, mean {:?} ns",
            self.count,
            self.bytes,
            self.errors,
            self.mean_ns()
        )
    }
}

/// One client's part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClientTotals {
    /// Requests that completed in the window.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From the window's opening to the client's or the window's end, in ns.
    pub elapsed_ns: u64,
    /// CPU time of its thread in the window, in ns; without io_uring workers.
    pub cpu_ns: u64,
    /// Requests that failed, at any time.
    pub errors: u64,
    /// Whether it completed its work: not ended by time, another client or an error.
    pub finished: bool,
}

impl ClientTotals {
    /// Throughput over the stream's own time.
    pub fn bytes_per_s(&self) -> f64 {
        if self.elapsed_ns == 0 { 0.0 } else { self.bytes as f64 * 1e9 / self.elapsed_ns as f64 }
    }

    fn add(&mut self, other: &ClientTotals) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.elapsed_ns += other.elapsed_ns;
        self.cpu_ns += other.cpu_ns;
        self.errors += other.errors;
        self.finished |= other.finished;
    }
}

/// A client of a pass and its lifetime.
#[derive(Debug, Clone, Copy)]
pub struct Lived {
    /// Its counters.
    pub totals: ClientTotals,
    /// Its first step.
    pub began: Time,
    /// Its end.
    pub ended: Time,
}

/// Requests without error, for comparison with a device's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Issued {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

impl Issued {
    /// Adds other totals.
    pub fn add(&mut self, other: &Issued) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
    }
}
