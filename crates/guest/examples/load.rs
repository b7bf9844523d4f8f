//! A workload by /dev/modelload on a null_blk that completes each request after a time, and the same in the simulator.
//!
//!     load DISK SERVICE_NS DEPTH DURATION_MS TURNAROUND_NS SPREAD_NS WORKLOAD [KEY=VALUE]...
//!
//! Prints what both show, and fails if they differ by more than three thousandths: the guest's clock has steps of 256 ns, and reading it
//! costs. Made for guest tests: the disk's contents are lost.

use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{Seek, SeekFrom};

use elevator::{BlockRequest, Disk, Geometry, Time};
use guest::load::{Load, drive};
use sim::device::{Command, DeviceModel, DeviceStats};
use sim::{Trial, Unobserved};
use workload::{Measured, find};

/// Everything takes the same time, side by side.
#[derive(Debug)]
struct Parallel {
    service_ns: u64,
    depth: u32,
    sectors: u64,
    inside: VecDeque<(Time, u32)>,
}

impl Disk for Parallel {
    fn positioning_ns(&self, _: Time, _: &BlockRequest) -> u64 {
        0
    }
}

impl DeviceModel for Parallel {
    fn queue_depth(&self) -> u32 {
        self.depth
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn geometry(&self) -> Geometry {
        Geometry::default()
    }

    fn submit(&mut self, now: Time, command: Command) {
        let (Command::Transfer { tag, .. } | Command::Flush { tag }) = command;
        self.inside.push_back((now + self.service_ns, tag));
    }

    fn next_event(&self) -> Option<Time> {
        self.inside.front().map(|(at, _)| *at)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        while self.inside.front().is_some_and(|(at, _)| *at <= now) {
            done.extend(self.inside.pop_front().map(|(_, tag)| tag));
        }
    }

    fn stats(&self) -> DeviceStats {
        DeviceStats::default()
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [disk, service_ns, depth, duration_ms, turnaround_ns, spread_ns, workload, pairs @ ..] = &words[..] else {
        panic!("DISK SERVICE_NS DEPTH DURATION_MS TURNAROUND_NS SPREAD_NS WORKLOAD [KEY=VALUE]...")
    };
    let number = |text: &String| text.parse::<u64>().expect("a number");
    let kind = find(workload).expect("a workload");
    let pairs = pairs.iter().map(|pair| pair.split_once('=').expect("KEY=VALUE"));
    let params = kind.params(pairs).expect("its parameters");
    let mut file = OpenOptions::new().read(true).write(true).open(disk).expect("the disk opens");
    let disk_bytes = file.seek(SeekFrom::End(0)).expect("the disk has a length");
    let load = Load {
        kind,
        params: &params,
        seed: 1,
        disk: &file,
        disk_bytes,
        logical_block: 512,
        warmup_ns: 0,
        duration_ns: number(duration_ms) * 1_000_000,
        turnaround_ns: number(turnaround_ns),
        turnaround_spread_ns: number(spread_ns),
    };
    let outcome = drive(&load).unwrap_or_else(|error| panic!("{error}"));
    println!("kernel    {}", seen(&outcome.measured, outcome.longest_wait_ns));
    let (service_ns, depth) = (number(service_ns), number(depth) as u32);
    let trial = Trial {
        elevator: elevator::find("none").expect("none is there"),
        tunables: Vec::new(),
        hz: 100,
        nr_requests: None,
        queue_depth: None,
        device: Box::new(Parallel { service_ns, depth, sectors: disk_bytes / 512, inside: VecDeque::new() }),
        workload: kind,
        params: params.clone(),
        seed: 1,
        warmup_ns: 0,
        duration_ns: load.duration_ns,
        turnaround_ns: load.turnaround_ns,
        turnaround_spread_ns: load.turnaround_spread_ns,
    };
    let expected = sim::run(trial, &mut Unobserved, &|| false).expect("it can be simulated");
    println!("simulator {}", seen(&expected.measured, expected.longest_wait_ns));
    let after = outcome.elapsed_ns.saturating_sub(load.duration_ns);
    if !kind.pass_based && after > 10 * service_ns {
        println!("DIFFERENT: the clients live {after} ns beyond the window");
        std::process::exit(1);
    }
    let edge = if kind.pass_based { 0 } else { 1000 * u64::from(kind.clients(&params)) };
    for (what, here, there) in compared(&outcome.measured)
        .into_iter()
        .zip(compared(&expected.measured))
        .map(|((what, here), (_, there))| (what, here, there))
    {
        // At the window's end one request of each client may fall on the other side.
        if here.abs_diff(there) * 1000 > here.max(there) * 3 + edge {
            println!("DIFFERENT: {what} is {here} in the kernel and {there} in the simulator");
            std::process::exit(1);
        }
    }
}

/// What has to be the same, with its name.
fn compared(measured: &Measured) -> [(&'static str, u64); 8] {
    [
        ("the window", measured.window_ns),
        ("reads", measured.reads.count),
        ("writes", measured.writes.count),
        ("the sum of latencies", measured.reads.latency_sum_ns + measured.writes.latency_sum_ns),
        ("syncs", measured.syncs),
        ("passes", measured.passes.into()),
        ("clients that finished", measured.clients.iter().filter(|client| client.finished).count() as u64),
        ("the sum of rates", measured.sum_of_rates.unwrap_or(0.0) as u64),
    ]
}

fn seen(measured: &Measured, longest_wait_ns: u64) -> String {
    let (reads, writes) = (&measured.reads, &measured.writes);
    let first = &measured.clients[0];
    let ios: Vec<u64> = measured.clients.iter().map(|client| client.ios).take(16).collect();
    format!(
        "window {} reads {} {} writes {} {} latencies {} longest {} syncs {} passes {} first client {} in {} errors {} {:?} ios {ios:?}",
        measured.window_ns,
        reads.count,
        reads.bytes,
        writes.count,
        writes.bytes,
        reads.latency_sum_ns + writes.latency_sum_ns,
        longest_wait_ns,
        measured.syncs,
        measured.passes,
        first.ios,
        first.elapsed_ns,
        measured.errors,
        measured.first_error,
    )
}
