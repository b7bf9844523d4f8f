//! Models fitted to traces of modelled devices with known latencies.

use std::collections::BTreeMap;

use elevator::{Op, Time};
use sim::device::{Command, device, device_from_toml};
use sim::fit::recorded::{KindError, Recorded};
use sim::{DeviceModel, stream};
use trace::{At, Device, Io, Kind, Process, Trace};

const MS: u64 = 1_000_000;

/// A client's requests, and its think time after completion.
#[derive(Clone, Copy)]
struct Asks {
    kind: Kind,
    sectors: u32,
    think_ns: u64,
}

/// Eight readers of two sizes, and a writer of sixteen blocks at a time every 40 ms.
fn clients() -> Vec<Asks> {
    let reader = |n: u32| Asks {
        kind: Kind::Read,
        sectors: if n.is_multiple_of(4) { 64 } else { 16 },
        think_ns: MS,
    };
    let writer = Asks { kind: Kind::Write, sectors: 16, think_ns: 40 * MS };
    (0..8).map(reader).chain(std::iter::repeat_n(writer, 16)).collect()
}

fn recorded(mut model: Box<dyn DeviceModel>, ms: u64) -> Trace {
    let mut random = stream(7, "clients");
    let clients = clients();
    // When each client asks next; ties by number.
    let mut asks: BTreeMap<(u64, usize), ()> = BTreeMap::new();
    (0..clients.len()).for_each(|client| _ = asks.insert((0, client), ()));
    let (mut inside, mut ios) = (BTreeMap::<u32, (usize, usize)>::new(), Vec::new());
    let mut done = Vec::new();
    loop {
        let asked = asks.first_key_value().map(|((at, client), ())| (*at, *client));
        let event = model.next_event().map(Time::as_ns);
        let Some(now) =
            asked.map(|(at, _)| at).into_iter().chain(event).min().filter(|now| *now < ms * MS)
        else {
            break;
        };
        model.advance(Time::from_ns(now), &mut done);
        for tag in done.drain(..) {
            let (client, number) = inside.remove(&tag).expect("it was inside");
            let io: &mut Io = &mut ios[number];
            io.completed = At::ns(now);
            // Bursts begin together.
            let next = match clients[client].kind {
                Kind::Write => now / (40 * MS) * 40 * MS + 40 * MS,
                _ => now + random.below(2 * clients[client].think_ns),
            };
            asks.insert((next, client), ());
        }
        if let Some((at, client)) = asked.filter(|(at, _)| *at == now) {
            asks.remove(&(at, client));
            let Asks { kind, sectors, .. } = clients[client];
            let sector = random.below(model.sectors() / u64::from(sectors)) * u64::from(sectors);
            let op = if kind == Kind::Write { Op::Write } else { Op::Read };
            model.submit(
                Time::from_ns(now),
                Command::Transfer { tag: client as u32, op, sector, nr_sectors: sectors },
            );
            inside.insert(client as u32, (client, ios.len()));
            ios.push(Io { issued: At::ns(now), ..Io::new(now, kind, sector, sectors, 0) });
        }
    }
    Trace {
        devices: vec![Device {
            name: "sdx".to_owned(),
            sectors: model.sectors(),
            ..Device::default()
        }],
        processes: vec![Process::default()],
        schedulers: vec!["none".to_owned()],
        ios,
        ..Trace::default()
    }
}

fn errors(trace: &Trace) -> Vec<KindError> {
    let fitted = Recorded::from_trace(trace).expect("there is enough");
    let errors = fitted.errors(&fitted.keys(), 3).expect("its own description is accepted");
    for KindError { kind, error, .. } in &errors {
        println!(
            "{kind:?} {}: {:+.3} {:+.3} {:+.3}",
            error.reads,
            error.mean(),
            error.median(),
            error.p99()
        );
    }
    errors
}

#[test]
fn the_latencies_of_requests_that_were_held_out_are_those_of_the_model() {
    for specification in [
        "sata-ssd:capacity_mib=256",
        "nvme:capacity_mib=512",
        "null:service_ns=100000:servers=2:queue_depth=32:distribution=exponential",
    ] {
        let found = errors(&recorded(device(specification, 1).expect("a device"), 5_000));
        assert_eq!(
            found.iter().map(|error| error.kind).collect::<Vec<_>>(),
            [Kind::Read, Kind::Write]
        );
        for KindError { kind, error, .. } in found {
            assert!(
                error.mean().abs() < 0.15 && error.median().abs() < 0.15,
                "{specification} {kind:?}: {error:?}"
            );
            // Latencies are drawn independently, so reads that wait for the same burst are not slow
            // together.
            assert!(error.p99().abs() < 0.4, "{specification} {kind:?}: {error:?}");
        }
    }
}

/// Reads take twice as long with a write inside, and latencies grow with depth.
const TRUTH: &str = "model = \"measured\"\nsectors = 1000000\nqueue_depth = 32\nshares_ppm = [0, 500_000, 1_000_000]\n\
                     sizes = [16, 64]\ndepths = [1, 32]\nread_ns = [[100_000, 200_000, 400_000], [400_000, 800_000, 1_600_000], \
                     [200_000, 400_000, 800_000], [800_000, 1_600_000, 3_200_000]]\n\
                     write_ns = [[300_000, 600_000, 900_000], [3_000_000, 6_000_000, 9_000_000], \
                     [300_000, 600_000, 900_000], [3_000_000, 6_000_000, 9_000_000]]\nbeside_writes_percent = [100, 200]\n";

#[test]
fn a_device_of_this_kind_comes_back_with_what_writes_do_to_reads() {
    let trace = recorded(device_from_toml(TRUTH, &[], 1).expect("a device"), 5_000);
    let fitted = Recorded::from_trace(&trace).expect("there is enough");
    let (reads, writes) = fitted.seen();
    assert!(reads > 2500 && writes > 1000, "{reads} {writes}");
    let beside = fitted.beside_percent();
    assert!((170..=240).contains(&beside), "{beside}");
    for KindError { kind, error, .. } in errors(&trace) {
        let far = [error.mean(), error.median(), error.p99()].map(f64::abs);
        assert!(far.iter().all(|off| *off < 0.1), "{kind:?}: {error:?}");
    }
    let model = device_from_toml(&fitted.keys(), &[], 1).expect("it is a device");
    assert!(
        model.sectors() == 1_000_000 && (24..=64).contains(&model.queue_depth()),
        "{}",
        model.queue_depth()
    );
}

#[test]
fn a_trace_without_times_of_issue_or_with_few_requests_is_refused_with_what_helps() {
    let mut trace =
        recorded(device("null:service_ns=100000:queue_depth=32", 1).expect("a device"), 200);
    trace.ios.truncate(150);
    let refused = |trace: &Trace| Recorded::from_trace(trace).expect_err("too little").to_string();
    let said = refused(&trace);
    assert!(said.contains("expected 200"), "{said}");
    trace.ios.iter_mut().for_each(|io| io.issued = At::UNKNOWN);
    assert!(refused(&trace).contains("found 0, expected 200"));
    assert!(refused(&Trace::default()).contains("schedlab trace record"));
}

#[test]
fn requests_beyond_measure_are_left_out_and_the_others_are_fitted() {
    let mut trace =
        recorded(device("null:service_ns=100000:queue_depth=32", 1).expect("a device"), 2000);
    let own = Recorded::from_trace(&trace).expect("there is enough").keys();
    let last = trace.ios.last().expect("there are some").queued;
    let far = |sector, sectors, at: u64, done| Io {
        issued: At::ns(at),
        completed: At::ns(done),
        ..Io::new(at, Kind::Write, sector, sectors, 0)
    };
    trace.ios.extend([
        far(u64::MAX - 8, 8, last, last + 1),
        far(0, u32::MAX, last, last + 1),
        far(0, 0, last, last + 1),
        far(0, 8, u64::MAX - 2, u64::MAX - 1),
    ]);
    assert_eq!(Recorded::from_trace(&trace).expect("there is enough").keys(), own);
}

#[test]
fn a_trace_without_writes_gives_no_latencies_of_writes() {
    let model = device("null:service_ns=100000:queue_depth=32", 1).expect("a device");
    let mut trace = recorded(model, 2000);
    trace.ios.retain(|io| io.kind == Kind::Read);
    let keys = Recorded::from_trace(&trace).expect("there is enough").keys();
    assert!(keys.contains("read_ns") && !keys.contains("write_ns"), "{keys}");
    device_from_toml(&keys, &[], 1).expect("writes are taken for as fast as reads");
}
