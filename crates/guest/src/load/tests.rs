//! Compares the driver, on a fake of the kernel's clients, with the simulator.

use std::collections::VecDeque;

use elevator::{BlockRequest, Disk, Geometry, Time};
use sim::device::{Command, DeviceModel, DeviceStats};
use sim::workload::{Measured, find};
use sim::{Outcome, Trial, Unobserved};

use super::fake::{FLUSH_NS, Fake, SERVICE_NS};
use super::*;

const MS: u64 = 1_000_000;
const BYTES: u64 = 8 << 30;

#[derive(Debug, Default)]
struct Server {
    inside: VecDeque<(Time, u32)>,
    free_at: Time,
}

impl Disk for Server {
    fn positioning_ns(&self, _: Time, _: &BlockRequest) -> u64 {
        0
    }
}

impl DeviceModel for Server {
    fn queue_depth(&self) -> u32 {
        256
    }

    fn sectors(&self) -> u64 {
        BYTES / 512
    }

    fn geometry(&self) -> Geometry {
        Geometry::default()
    }

    fn submit(&mut self, now: Time, command: Command) {
        let (tag, ns) = match command {
            Command::Transfer { tag, .. } => (tag, SERVICE_NS),
            Command::Flush { tag } => (tag, FLUSH_NS),
        };
        self.free_at = self.free_at.max(now) + ns;
        self.inside.push_back((self.free_at, tag));
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

/// Everything but the histograms, of which the sums are compared.
fn seen(measured: &Measured, longest_wait_ns: u64) -> String {
    let Measured {
        window_ns,
        reads,
        writes,
        syncs,
        clients,
        issued,
        passes,
        sum_of_rates,
        errors,
        ..
    } = measured;
    let reads = (reads.count, reads.bytes, reads.latency_sum_ns, reads.latency.max());
    let writes = (writes.count, writes.bytes, writes.latency_sum_ns, writes.latency.max());
    format!(
        "{window_ns} {reads:?} {writes:?} {syncs} {issued:?} {passes} {sum_of_rates:?} {errors} {longest_wait_ns} {clients:#?}"
    )
}

/// Runs a load through the fake, for virtual milliseconds.
fn driven(
    name: &str,
    pairs: &[(&str, &str)],
    turnaround: (u64, u64),
    fake: fn() -> Fake,
) -> LoadOutcome {
    let kind = find(name).unwrap();
    let params = kind.params(pairs.iter().copied()).unwrap();
    let load = Load {
        kind,
        params: &params,
        seed: 5,
        disk: &File::open("/dev/null").unwrap(),
        disk_bytes: BYTES,
        logical_block: 512,
        warmup_ns: 50 * MS,
        duration_ns: 900 * MS,
        turnaround_ns: turnaround.0,
        turnaround_spread_ns: turnaround.1,
        at_start: None,
    };
    drive_on(&load, || Ok(fake())).unwrap()
}

fn simulated(name: &str, pairs: &[(&str, &str)], turnaround: (u64, u64)) -> Outcome {
    let workload = find(name).unwrap();
    let trial = Trial {
        elevator: elevator::find("none").unwrap(),
        tunables: Vec::new(),
        hz: 250,
        host: sim::Host::default(),
        nr_requests: Some(4096),
        queue_depth: None,
        device: Box::new(Server::default()),
        workload,
        params: workload.params(pairs.iter().copied()).unwrap(),
        seed: 5,
        warmup_ns: 50 * MS,
        duration_ns: 900 * MS,
        turnaround_ns: turnaround.0,
        turnaround_spread_ns: turnaround.1,
    };
    sim::run(trial, &mut Unobserved, &|| false).unwrap()
}

#[test]
fn the_driver_shows_what_the_simulator_shows() {
    let cases: &[(&str, &[(&str, &str)])] = &[
        ("randread", &[("clients", "5"), ("think_time", "3ms")]),
        ("randread", &[("clients", "3"), ("iodepth", "7")]),
        ("randread", &[("clients", "2"), ("iodepth", "40"), ("think_time", "2ms")]),
        ("randread", &[("clients", "3"), ("amount", "200k")]),
        ("randwrite", &[("clients", "3"), ("iodepth", "4"), ("sync_every", "3")]),
        (
            "randwrite",
            &[("clients", "2"), ("sync_every", "1"), ("think_time", "1ms"), ("amount", "100k")],
        ),
        ("oltp", &[("clients", "6"), ("sync_every", "5")]),
        ("think-mix", &[("clients", "4"), ("random_share", "50"), ("think_dist", "exponential")]),
        ("iozone", &[("clients", "3"), ("phase", "read"), ("file_size", "256k")]),
        ("iozone", &[("clients", "3"), ("phase", "rewrite"), ("file_size", "128k")]),
    ];
    for (name, pairs) in cases {
        for turnaround in [(10_000, 5_000), (10_000, 0), (0, 0), (400_000, 400_000)] {
            let outcome = driven(name, pairs, turnaround, Fake::new);
            let expected = simulated(name, pairs, turnaround);
            assert!(expected.measured.ios() > 20, "{name} {pairs:?} does something");
            assert_eq!(
                seen(&outcome.measured, outcome.longest_wait_ns),
                seen(&expected.measured, expected.longest_wait_ns),
                "{name} {pairs:?} {turnaround:?}"
            );
        }
    }
}

#[test]
fn a_request_that_fails_is_counted_and_named_and_the_others_go_on() {
    let bad = || Fake::new().failing_at(8192, 5);
    let outcome = driven("seqread", &[("block_size", "4k"), ("amount", "40k")], (0, 0), bad);
    let measured = outcome.measured;
    assert_eq!((measured.errors, measured.reads.errors, measured.clients[0].errors), (1, 1, 1));
    assert_eq!(
        (measured.reads.count, measured.issued.reads, measured.clients[0].finished),
        (9, 9, true)
    );
    let words = measured.first_error.unwrap();
    assert!(words.starts_with("read of 4096 bytes at sector 16: Input/output error"), "{words}");
    assert_eq!(measured.vanished, None);
}

#[test]
fn passes_on_a_disk_that_has_gone_are_not_repeated() {
    let gone = || Fake::new().failing_at(0, 6);
    let measured = driven("iozone", &[("clients", "1"), ("phase", "read")], (0, 0), gone).measured;
    assert!(measured.vanished.is_some() && measured.passes == 1, "{measured:?}");
}

#[test]
fn what_needs_system_calls_is_refused_with_the_reason() {
    let refused = |name: &str, pairs: &[(&str, &str)]| {
        let kind = find(name).unwrap();
        let params = (kind.defaults)();
        let params =
            if pairs.is_empty() { params } else { kind.params(pairs.iter().copied()).unwrap() };
        possible(kind, &params).unwrap_err().to_string()
    };
    assert!(refused("replay", &[]).contains("what has completed"));
    assert!(refused("cached-read", &[]).contains("memory"));
    assert!(refused("randread", &[("direct", "no")]).contains("page cache"));
    let kind = find("randread").unwrap();
    assert!(possible(kind, &kind.params([]).unwrap()).is_ok());
}
