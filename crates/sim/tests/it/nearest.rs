//! The bounded search for the nearest request equals a linear one, on disk models with read-ahead,
//! write cache and work in progress.
//!
//! `crates/elevator/src/nearest.rs` tests the same on a minimal disk, and detects bounds that are
//! too tight.

use elevator::testing::{Keeper, request};
use elevator::{BlockRequest, Build, Disk, Finished, InsertAt, Op, Time, find};
use proptest::prelude::*;
use sim::device::{Command, DEVICES, DeviceModel, device};

struct Unbounded<'a>(&'a dyn DeviceModel);

impl Disk for Unbounded<'_> {
    fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64 {
        self.0.positioning_ns(now, request)
    }
}

/// A request: sector in millionths of the disk, whether it continues the last one, whether it is a
/// write, length, and the preceding pause in µs.
type Drawn = (u64, bool, bool, u32, u64);

fn drawn() -> impl Strategy<Value = Drawn> {
    (0u64..1_000_000, prop::bool::weighted(0.3), prop::bool::weighted(0.3), 1u32..64, 0u64..30_000)
}

/// Runs a bounded and a linear scheduler over the same device, with up to 24 requests held.
fn in_lockstep(specification: &str, name: &str, set: &[(&str, u64)], drawn: &[Drawn]) {
    let mut disk = device(specification, 1).expect("the device is in the table");
    let row = find(name).expect("the scheduler is in the table");
    let mut elevators: [Keeper; 2] =
        [(), ()].map(|()| Keeper::new((row.build)(&Build { nr_tags: 32, ..Build::default() })));
    elevators
        .iter_mut()
        .for_each(|elevator| set.iter().for_each(|(name, value)| elevator.set(name, *value)));
    let (mut now, mut last, mut done) = (Time::ZERO, 0, Vec::new());
    let mut free: Vec<u32> = (0..24).collect();
    let mut in_disk: Vec<BlockRequest> = Vec::new();
    for (nr, (part, goes_on, write, nr_sectors, pause_us)) in drawn.iter().enumerate() {
        let until = now + pause_us * 1000;
        while free.is_empty() || disk.next_event().is_some_and(|at| at <= until) {
            now = disk.next_event().expect("the device has something to do");
            disk.advance(now, &mut done);
            for tag in done.drain(..) {
                let at =
                    in_disk.iter().position(|request| request.tag == tag).expect("it was sent");
                let finished = Finished { request: in_disk.swap_remove(at), issued: now };
                elevators.iter_mut().for_each(|elevator| elevator.complete(now, &finished));
                free.push(tag);
            }
            dispatch(now, disk.as_mut(), &mut elevators, &mut in_disk);
        }
        now = now.max(until);
        let room = disk.sectors() - 64;
        let sector = if *goes_on && last < room {
            last
        } else {
            (u128::from(*part) * u128::from(room) / 1_000_000) as u64
        };
        last = sector + u64::from(*nr_sectors);
        let tag = free.pop().expect("one is free");
        let op = if *write { Op::Write } else { Op::Read };
        let bio = BlockRequest {
            op,
            nr_sectors: *nr_sectors,
            seq: nr as u64,
            allocated: now,
            ..request(tag, sector)
        };
        elevators.iter_mut().for_each(|elevator| elevator.insert(now, bio, InsertAt::Sorted));
        dispatch(now, disk.as_mut(), &mut elevators, &mut in_disk);
    }
}

fn dispatch(
    now: Time,
    disk: &mut dyn DeviceModel,
    elevators: &mut [Keeper; 2],
    in_disk: &mut Vec<BlockRequest>,
) {
    // A busy drive can be queried as well.
    while in_disk.len() < disk.queue_depth().min(4) as usize {
        let [bounded, linear] = elevators;
        let (found, expected) =
            (bounded.dispatch(now, as_disk(disk)), linear.dispatch(now, &Unbounded(disk)));
        assert_eq!(found, expected, "at {} ns", now.as_ns());
        let Some(BlockRequest { tag, op, sector, nr_sectors, .. }) = found else { return };
        disk.submit(now, Command::Transfer { tag, op, sector, nr_sectors });
        in_disk.push(found.expect("it was just looked at"));
    }
}

fn as_disk(disk: &dyn DeviceModel) -> &dyn Disk {
    disk
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_choice_on_every_disk_is_that_of_the_linear_search(
        drawn in prop::collection::vec(drawn(), 1..150),
        (w_ms, rule, weight) in (1u64..600, 0u64..3, 0u64..2000),
    ) {
        let disks = DEVICES.iter().filter(|row| row.toml.contains("\"hdd\"")).map(|row| row.name.to_owned());
        let queued = ["wd4tb7200:queue_depth=4", "hp97560:queue_depth=3:write_cache=512:immediate_reporting=1"];
        for disk in disks.chain(queued.map(str::to_owned)) {
            in_lockstep(&disk, "sptf", &[], &drawn);
            in_lockstep(&disk, "asptf", &[("w_ms", w_ms), ("rule", rule), ("weight", weight)], &drawn);
        }
    }
}
