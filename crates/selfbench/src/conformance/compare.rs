//! A trial of both arenas, side by side.

use std::fmt::Write as _;

use elevator::Op;
use experiment::results::Observation;
use lab::arena::agreement;
use serde::Serialize;
use sim::conformance::{Log, replay};
use sim::device::{Command, DeviceModel};
use sim::{Event, EventKind, Observer};

use super::cases::Case;

#[derive(Debug, Default)]
pub(super) struct CommandLog {
    done: Vec<Done>,
    issued: Vec<(u64, Option<u32>, Done)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Done {
    at_ns: u64,
    /// `None`: a flush.
    transfer: Option<(Op, u64, u32)>,
}

impl Observer for CommandLog {
    fn event(&mut self, event: &Event) {
        let at_ns = event.at.as_ns();
        let transfer = event.op.map(|op| (op, event.sector, event.nr_sectors));
        match event.kind {
            EventKind::Issue | EventKind::Flush => {
                self.issued.push((at_ns, event.process, Done { at_ns, transfer }))
            }
            EventKind::Complete => self.done.push(Done { at_ns, transfer }),
            _ => {}
        }
    }
}

impl CommandLog {
    fn end_ns(&self) -> u64 {
        self.done.iter().map(|done| done.at_ns).max().unwrap_or(0)
    }

    /// Lists submission and completion times, in order of completion.
    pub(super) fn lines(&self) -> String {
        let mut text = String::new();
        for (at, process, done) in &self.issued {
            writeln!(text, "issue {at} {:?} of {process:?}", done.transfer)
                .expect("a string takes everything");
        }
        for done in &self.done {
            writeln!(text, "done {} {:?}", done.at_ns, done.transfer)
                .expect("a string takes everything");
        }
        text
    }
}

fn of_log(log: &Log) -> Vec<Done> {
    let mut done: Vec<Done> = log
        .records
        .iter()
        .filter_map(|record| {
            let transfer = match record.command {
                Command::Transfer { op, sector, nr_sectors, .. } => Some((op, sector, nr_sectors)),
                Command::Flush { .. } => None,
            };
            Some(Done { at_ns: record.done_ns?, transfer })
        })
        .collect();
    done.sort_by_key(|done| done.at_ns);
    done
}

pub(super) fn lines(log: &Log) -> String {
    let mut text = String::new();
    for record in &log.records {
        let transfer = match record.command {
            Command::Transfer { op, sector, nr_sectors, .. } => Some((op, sector, nr_sectors)),
            Command::Flush { .. } => None,
        };
        writeln!(text, "issue {} {transfer:?}", record.submit_ns)
            .expect("a string takes everything");
    }
    for done in of_log(log) {
        writeln!(text, "done {} {:?}", done.at_ns, done.transfer)
            .expect("a string takes everything");
    }
    text
}

/// Commands with exactly the model's time, or the first that differs.
pub(super) fn replayed(log: &Log, device: &mut dyn DeviceModel) -> Result<usize, String> {
    if log.lost > 0 {
        return Err(format!("{} commands did not fit into the log", log.lost));
    }
    replay(log, device).map_err(|difference| difference.to_string())
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Metric {
    pub(super) name: &'static str,
    pub(super) sim: f64,
    pub(super) kernel: f64,
    /// Relative excess of the kernel's value in percent; for counts, per 100 requests.
    pub(super) difference: f64,
    /// Range over the simulator's seeds, in the same unit.
    pub(super) spread: f64,
    pub(super) bound: f64,
    /// The bound is the spread, because the usual one would not suffice.
    pub(super) by_spread: bool,
}

impl Metric {
    pub(super) fn holds(&self) -> bool {
        self.difference.abs() <= self.bound
    }
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    pub(super) disk: &'static str,
    pub(super) workload: &'static str,
    pub(super) scheduler: &'static str,
    pub(super) requests: usize,
    pub(super) metrics: Vec<Metric>,
    /// Requests with exactly the model's service time; or the first that differs.
    pub(super) replayed: Result<usize, String>,
    /// Index in the order of completion.
    pub(super) first_other: Option<usize>,
    /// Whether completion order must be equal.
    pub(super) exact: bool,
    /// Why a bound is wider than usual.
    pub(super) note: Option<&'static str>,
}

impl Row {
    pub(super) fn broken(&self) -> Vec<String> {
        let Row { disk, workload, scheduler, .. } = self;
        let mut broken = Vec::new();
        if let Err(difference) = &self.replayed {
            broken.push(format!(
                "{disk}/{workload}/{scheduler}: not the model's service times: {difference}"
            ));
        }
        if let (true, Some(at)) = (self.exact, self.first_other) {
            broken.push(format!(
                "{disk}/{workload}/{scheduler}: completion {at} is not the simulator's"
            ));
        }
        broken.extend(self.metrics.iter().filter(|metric| !metric.holds()).map(|metric| {
            let Metric { name, sim, kernel, difference, bound, .. } = metric;
            format!(
                "{disk}/{workload}/{scheduler}: {name} is {sim:.4} in the simulator, {kernel:.4} in the kernel: {difference:+.3}, \
                 {bound} are allowed"
            )
        }));
        broken
    }
}

pub(super) fn row(
    case: &Case,
    sim: &Observation,
    commands: &CommandLog,
    kernel: &Observation,
    log: &Log,
    others: &[(Observation, CommandLog)],
    replayed: Result<usize, String>,
) -> Row {
    let done = of_log(log);
    // Flushes show in their effect on other commands.
    let names = |done: &[Done]| done.iter().filter_map(|done| done.transfer).collect::<Vec<_>>();
    let (ours, theirs) = (names(&commands.done), names(&done));
    let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    // If the window cuts the work, one side may be further.
    let all = if case.workload.is_cut() {
        ours.len().min(theirs.len())
    } else {
        ours.len().max(theirs.len())
    };
    let first_other = (same < all).then_some(same);
    let requests = commands.done.len().max(1);
    let bound = agreement::bound(case.disk, case.workload.name, case.scheduler);
    let both = |name: &str| Some((*sim.metrics.get(name)?, *kernel.metrics.get(name)?));
    let own = |name: &str| -> Vec<f64> {
        let of = |(seen, commands): &(Observation, CommandLog)| match name {
            "elapsed_s" => Some(commands.end_ns() as f64 / 1e9),
            _ => seen.metrics.get(name).copied(),
        };
        others.iter().filter_map(of).collect()
    };
    let mut metrics = Vec::new();
    let mut put = |name, (sim, kernel): (f64, f64), whole: f64| {
        let percent = |of: f64| if of == 0.0 { 0.0 } else { of / whole * 100.0 };
        let (least, most) =
            own(name).iter().fold((sim, sim), |(least, most), one| (one.min(least), one.max(most)));
        let (usual, spread) = (bound.of(name), percent(most - least));
        let by_spread = !bound.exact && spread > usual;
        let bound = if by_spread { spread } else { usual };
        metrics.push(Metric {
            name,
            sim,
            kernel,
            difference: percent(kernel - sim),
            spread,
            bound,
            by_spread,
        });
    };
    for name in ["throughput_mb_per_s", "iops", "latency_mean_us", "latency_p99_us"] {
        if let Some(pair) = both(name) {
            put(name, pair, pair.0);
        }
    }
    let end = done
        .iter()
        .filter(|done| done.transfer.is_some())
        .map(|done| done.at_ns)
        .max()
        .unwrap_or(0);
    put(
        "elapsed_s",
        (commands.end_ns() as f64 / 1e9, end as f64 / 1e9),
        commands.end_ns() as f64 / 1e9,
    );
    for name in ["merges", "anticipations", "anticipation_successes"] {
        if let Some(pair) = both(name) {
            put(name, pair, requests as f64);
        }
    }
    Row {
        disk: case.disk,
        workload: case.workload.name,
        scheduler: case.scheduler,
        requests,
        metrics,
        replayed,
        first_other,
        exact: bound.exact,
        note: bound.note,
    }
}
