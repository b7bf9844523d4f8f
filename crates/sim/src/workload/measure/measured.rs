//! What clients showed: totals of the window, of each client, and of everything that was issued.

use std::fmt;

use elevator::{Op, Request, Time};
use hdrhistogram::Histogram;

use super::deadlines::{DeadlineTotals, Intervals};

/// Longest latency that is distinguished from longer ones: an hour, in nanoseconds.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// The result of running clients, on a real machine or a simulated one.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Length of the window in nanoseconds: up to its planned end, or to the end of the last client
    /// if all ended by themselves; for buffered writes including the flush. Of passes: their sum.
    pub window_ns: u64,
    /// Reads that completed in the window.
    pub reads: OpTotals,
    /// Writes that completed in the window.
    pub writes: OpTotals,
    /// Flushes that completed in the window.
    pub syncs: u64,
    /// Deadlines kept and missed.
    pub deadlines: DeadlineTotals,
    /// Bytes that completed in each interval of the window; of a flow only, for its memory grows
    /// with the window.
    pub intervals: Intervals,
    /// Whether intervals are kept.
    pub keeps_intervals: bool,
    /// Each flow's part of a workload of flows; every other total is the sum over them.
    pub flows: Vec<FlowMeasured>,
    /// Each client's part, in the order of their numbers.
    pub clients: Vec<ClientTotals>,
    /// Everything that was issued and completed, over warm-up, window and drain.
    pub issued: Issued,
    /// CPU time of the clients in the window, user and system, in nanoseconds; where a client uses
    /// io_uring, of the whole process, because io_uring's workers are threads of it. What the
    /// kernel does elsewhere (interrupts, a loop device's thread) is not in it. 0 where there is no
    /// CPU, as in the simulator.
    pub cpu_ns: u64,
    /// Passes that were measured; 1 for workloads without passes.
    pub passes: u32,
    /// Sum over clients of each one's own bytes per second, mean over whole passes; for pass-based
    /// workloads only.
    pub sum_of_rates: Option<f64>,
    /// Requests that failed, at any time.
    pub errors: u64,
    /// The first error, in words.
    pub first_error: Option<String>,
    /// The device went away or is shorter than it was: what was seen.
    pub vanished: Option<String>,
    /// A file could not grow or be written for want of room: what was seen.
    pub no_space: Option<String>,
    /// Whether the stop flag ended it early.
    pub interrupted: bool,
    /// The sum of the whole passes' rates and how many there are, for the mean; kept by
    /// [`Measured::add_rates`].
    pub pass_rates: (f64, u32),
}

impl Measured {
    /// Requests that completed in the window.
    pub fn ios(&self) -> u64 {
        self.reads.count + self.writes.count
    }

    /// A request of a client is done. It counts if that is inside the window, its borders included;
    /// None: nothing counts.
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

    /// A measured pass is over, in which the clients have lived like this: its window, from `open`
    /// to the end of the last client, but not beyond `close` (None: clients flush at their end,
    /// which belongs to the measured time), and each client's part of it.
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

    /// Flows that were measured together become the parts of this, and every total their sum. The
    /// window is the longest of them.
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

    /// Counts one more pass, of which only the clients' parts are new. `sum_of_rates` is the mean
    /// over whole passes; one that was cut by the end of the time counts only where there is no
    /// whole one.
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
    /// Its weight, if it is guaranteed one.
    pub weight: Option<u32>,
    /// Whether it is guaranteed a latency bound, so that its missed deadlines are violations.
    pub is_bounded: bool,
    /// What its clients have done.
    pub measured: Measured,
}

/// Requests of one direction.
#[derive(Clone)]
pub struct OpTotals {
    /// How many completed in the window.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many failed, at any time.
    pub errors: u64,
    /// Sum of their latencies in nanoseconds: an exact mean.
    pub latency_sum_ns: u64,
    /// Their latencies in nanoseconds, to three significant digits.
    pub latency: Histogram<u64>,
}

impl OpTotals {
    /// One more request of `bytes` that took `latency_ns`.
    #[inline]
    pub fn record(&mut self, bytes: u64, latency_ns: u64) {
        self.count += 1;
        self.bytes += bytes;
        self.latency_sum_ns += latency_ns;
        self.latency.saturating_record(latency_ns);
    }

    /// Adds others.
    pub fn add(&mut self, other: &OpTotals) {
        self.count += other.count;
        self.bytes += other.bytes;
        self.errors += other.errors;
        self.latency_sum_ns += other.latency_sum_ns;
        self.latency.add(&other.latency).expect("all histograms have the same bounds");
    }

    /// Mean latency in nanoseconds; None without requests.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.latency_sum_ns as f64 / self.count as f64)
    }
}

impl Default for OpTotals {
    fn default() -> OpTotals {
        let latency = Histogram::new_with_bounds(1, LONGEST_NS, 3)
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
    /// From the opening of the window to the client's end or the window's, in nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time of its thread in the window, in nanoseconds; without io_uring's workers.
    pub cpu_ns: u64,
    /// Requests that failed, at any time.
    pub errors: u64,
    /// Whether it did all its work; false if it was ended by the time, another client or an error.
    pub finished: bool,
}

impl ClientTotals {
    /// Its own rate.
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

/// A client of a pass, and when it lived.
#[derive(Debug, Clone, Copy)]
pub struct Lived {
    /// What it counted.
    pub totals: ClientTotals,
    /// Its first step.
    pub began: Time,
    /// Its end.
    pub ended: Time,
}

/// Everything that clients handed over and that completed without an error: what a device's own
/// counters are compared with.
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
    /// Adds others.
    pub fn add(&mut self, other: &Issued) {
        self.reads += other.reads;
        self.read_bytes += other.read_bytes;
        self.writes += other.writes;
        self.written_bytes += other.written_bytes;
    }
}
