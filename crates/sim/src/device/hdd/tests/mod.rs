//! Single requests computed by hand, and the effects of the caches and the drive's queue.

use elevator::{BlockRequest, Op, Time};

use crate::device::{Command, DeviceModel, device};
use crate::random::stream;

mod details;

/// The HP 97560: revolution 60 s / 4002; a track of 72 sectors.
const T: u64 = 14_992_504;
const OVERHEAD: u64 = 2_200_000;
/// A sector on the bus of 10 MB/s.
const BUS: u64 = 51_200;

/// Returns the time in which `sectors` pass, from the start of a track at angle 0.
fn angle(sectors: u64) -> u64 {
    sectors * T / 72
}

/// The next time at which the disk is at `angle`.
fn next(now: u64, angle: u64) -> u64 {
    now + (angle % T + T - now % T) % T
}

struct Bench(Box<dyn DeviceModel>, u64);

impl Bench {
    fn new(specification: &str) -> Bench {
        Bench(device(specification, 1).unwrap(), 0)
    }

    fn one(&mut self, op: Op, sector: u64, nr_sectors: u32) -> u64 {
        self.send(7, op, sector, nr_sectors);
        self.until_done(7)
    }

    fn send(&mut self, tag: u32, op: Op, sector: u64, nr_sectors: u32) {
        self.0.submit(Time::from_ns(self.1), Command::Transfer { tag, op, sector, nr_sectors });
    }

    fn flush(&mut self) -> u64 {
        self.0.submit(Time::from_ns(self.1), Command::Flush { tag: 9999 });
        self.until_done(9999)
    }

    fn until_done(&mut self, tag: u32) -> u64 {
        let mut done = Vec::new();
        while !done.contains(&tag) {
            let at = self.0.next_event().expect("something is to come");
            self.0.advance(at, &mut done);
            self.1 = at.as_ns();
        }
        self.1
    }

    fn pause(&mut self, ns: u64) {
        self.1 += ns;
        self.0.advance(Time::from_ns(self.1), &mut Vec::new());
    }
}

#[test]
fn a_first_read_costs_overhead_rotation_transfer_and_the_last_sector_on_the_bus() {
    let done = Bench::new("hp97560").one(Op::Read, 0, 8);
    // The arm is there; sector 0 comes round after one revolution.
    assert_eq!(done, T + angle(8) + BUS);
}

#[test]
fn a_far_read_costs_the_published_seek() {
    // Cylinder 1000, head 3, sector 10: 1000 cylinders take 16 ms.
    let sector = (1000 * 19 + 3) * 72 + 10;
    let at_cylinder = OVERHEAD + 16_000_000;
    // Each cylinder starts 18 · 8 + 18 sectors after the one before, each track 8.
    let start = next(at_cylinder, angle(1000 * 162 + 3 * 8 + 10));
    let mut bench = Bench::new("hp97560");
    assert_eq!(
        bench.one(Op::Read, sector, 1),
        start + angle(1000 * 162 + 35) - angle(1000 * 162 + 34) + BUS
    );
    let stats = bench.0.stats();
    assert_eq!((stats.seeks, stats.seek_cylinders, stats.seek_ns), (1, 1000, 16_000_000));
    assert_eq!(stats.rotation_ns, start - at_cylinder);
    assert_eq!(stats.busy_ns, bench.1);
    bench.pause(1_000_000_000);
    assert_eq!(bench.0.stats().busy_ns, stats.busy_ns, "reading on is not being busy");
}

#[test]
fn reading_on_takes_the_arm_along() {
    let mut bench = Bench::new("hp97560");
    let cylinder = 19 * 72;
    bench.one(Op::Read, cylinder - 8, 8);
    bench.pause(3 * T);
    bench.one(Op::Read, 1000 * cylinder, 8);
    assert_eq!(
        bench.0.stats().seek_cylinders,
        999,
        "from cylinder 1, although no request asked for it"
    );
}

#[test]
fn a_head_switch_alone_takes_its_time_and_the_longer_of_switch_and_seek_counts() {
    let mut bench = Bench::new("hp97560:read_ahead=0");
    bench.one(Op::Read, 0, 1);
    bench.one(Op::Read, 72, 1);
    assert_eq!((bench.0.stats().seeks, bench.0.stats().seek_ns), (0, 1_600_000));
    // To cylinder 1, head 0: 3.64 ms, the switch within it.
    bench.one(Op::Read, 19 * 72, 1);
    assert_eq!((bench.0.stats().seeks, bench.0.stats().seek_ns), (1, 1_600_000 + 3_640_000));
}

#[test]
fn writes_settle_where_the_head_moves() {
    let seek_ns = |op| {
        let mut bench = Bench::new("cheetah9lp:write_cache=0:immediate_reporting=0");
        bench.one(op, 0, 8);
        assert_eq!(bench.0.stats().seek_ns, 0, "the head has not moved");
        bench.one(op, 2_000_000, 8);
        bench.0.stats().seek_ns
    };
    assert_eq!(seek_ns(Op::Write) - seek_ns(Op::Read), 461_000);
}

#[test]
fn no_long_sequential_read_or_write_loses_a_revolution() {
    for (name, _) in super::super::DEVICES
        .iter()
        .map(|row| (row.name, row.toml))
        .filter(|(_, toml)| toml.contains("\"hdd\""))
    {
        for op in [Op::Read, Op::Write] {
            let mut bench = Bench::new(name);
            let revolution = 60_000_000_000 / rpm(name);
            let sectors = 8 * bench.0.geometry().sectors_per_cylinder as u32;
            bench.one(op, 0, sectors);
            bench.flush();
            let stats = bench.0.stats();
            // 8 cylinders: rotation is the skews, each less than half a revolution, and the first
            // search.
            let waits = stats.rotation_ns / revolution;
            let tracks = stats.transfer_ns / revolution + 1;
            assert!(
                waits * 2 <= tracks + 2,
                "{name}: {op} waits {waits} revolutions in {tracks} tracks"
            );
        }
    }
}

fn rpm(name: &str) -> u64 {
    let row = super::super::DEVICES.iter().find(|row| row.name == name).unwrap();
    let line = row.toml.lines().find(|line| line.starts_with("rpm")).unwrap();
    line.split(['=', '#']).nth(1).unwrap().trim().parse().unwrap()
}

#[test]
fn what_was_read_on_is_a_hit_at_bus_speed() {
    let mut bench = Bench::new("hp97560");
    bench.one(Op::Read, 0, 8);
    // 64 KB are read ahead in less than two revolutions and two switches.
    bench.pause(3 * T);
    let before = bench.1;
    assert_eq!(bench.one(Op::Read, 8, 16) - before, OVERHEAD + 16 * BUS);
    assert_eq!(bench.0.stats().cache_hits, 1);
    // Beyond the read-ahead limit: 8 + 128 sectors, and 16 more by the hit.
    bench.pause(3 * T);
    bench.one(Op::Read, 8 + 128 + 16, 8);
    assert_eq!(bench.0.stats().cache_hits, 1, "not read before");
}

#[test]
fn a_read_that_catches_up_with_reading_on_waits_for_the_medium() {
    let mut bench = Bench::new("hp97560");
    let first = bench.one(Op::Read, 0, 8) - BUS;
    assert_eq!(first, T + angle(8));
    // The next 16 at once: ten sectors pass in the 2.2 ms of overhead; the medium is faster than
    // the bus.
    let before = bench.1;
    let done = bench.one(Op::Read, 8, 16);
    let medium = T + angle(24) + BUS;
    assert_eq!(done, medium.max(before + OVERHEAD + 16 * BUS));
    assert_eq!(bench.0.stats().cache_hits, 0, "it was not all there");
}

#[test]
fn a_read_elsewhere_stops_reading_on() {
    let mut bench = Bench::new("hp97560");
    bench.one(Op::Read, 0, 8);
    bench.one(Op::Read, 1_000_000, 8);
    bench.pause(3 * T);
    bench.one(Op::Read, 100, 8);
    assert_eq!(bench.0.stats().cache_hits, 0, "the arm left long before sector 100");
    assert_eq!(bench.0.stats().seeks, 2);
}

#[test]
fn without_reading_on_a_sequential_stream_misses_its_revolution() {
    let mut bench = Bench::new("hp97560:segments=0");
    bench.one(Op::Read, 0, 8);
    let before = bench.1;
    let done = bench.one(Op::Read, 8, 8);
    assert_eq!(done, next(before + OVERHEAD, angle(8)) + angle(16) - angle(8) + BUS);
    assert!(done - before > T, "{} ns", done - before);
}

#[test]
fn what_is_written_is_not_read_from_an_old_segment() {
    let mut bench = Bench::new("hp97560");
    bench.one(Op::Read, 0, 8);
    bench.one(Op::Write, 4, 1);
    bench.one(Op::Read, 0, 8);
    assert_eq!(bench.0.stats().cache_hits, 0);
}

#[test]
fn a_slow_bus_is_the_bound() {
    let mut bench = Bench::new("hp97560:bus_bytes_per_s=512000");
    // A sector takes 1 ms on the bus.
    assert_eq!(
        bench.one(Op::Read, 0, 64),
        T + angle(1) + 64_000_000,
        "once the first sector has passed"
    );
    let mut bench = Bench::new("hp97560:bus_bytes_per_s=512000");
    let done = bench.one(Op::Write, 0, 64);
    let earliest = OVERHEAD + 64_000_000 - angle(64);
    assert_eq!(done, next(earliest, 0) + angle(64));
}

#[test]
fn what_is_written_while_it_is_read_does_not_stay_in_the_read_cache() {
    let mut bench = Bench::new("hp97560:queue_depth=2:write_cache=64:immediate_reporting=1");
    bench.send(0, Op::Read, 0, 8);
    bench.send(1, Op::Write, 0, 2);
    bench.until_done(0);
    bench.flush();
    bench.one(Op::Read, 0, 8);
    assert_eq!(bench.0.stats().cache_hits, 0);
}

const CACHED: &str = "hp97560:write_cache=1024:immediate_reporting=1";

#[test]
fn immediate_reporting_is_as_fast_as_the_bus_and_a_flush_waits_for_the_medium() {
    let mut through = Bench::new("hp97560");
    assert!(through.one(Op::Write, 500_000, 8) > OVERHEAD + 8 * BUS + 3_640_000);
    let before = through.1;
    assert_eq!(through.flush() - before, OVERHEAD, "nothing to bring to the medium");
    let mut cached = Bench::new(CACHED);
    assert_eq!(cached.one(Op::Write, 500_000, 8), OVERHEAD + 8 * BUS);
    assert_eq!(cached.0.stats().cached_writes, 1);
    let flushed = cached.flush();
    assert!(flushed > OVERHEAD + 8 * BUS + 10_000_000, "{flushed} ns with a far seek");
    // Already on the medium: nothing to do.
    let before = cached.1;
    assert_eq!(cached.flush() - before, OVERHEAD);
}

#[test]
fn a_full_write_cache_makes_writes_wait_for_the_medium() {
    let mut bench = Bench::new("hp97560:write_cache=64:immediate_reporting=1");
    let mut rng = stream(3, "requests");
    let mut latencies = Vec::new();
    for _ in 0..40 {
        let before = bench.1;
        let done = bench.one(Op::Write, rng.below(2_000_000), 16);
        latencies.push(done - before);
    }
    assert_eq!(latencies[0], OVERHEAD + 16 * BUS);
    let slow = latencies[10..].iter().filter(|ns| **ns > 10_000_000).count();
    assert!(slow > 20, "{slow} of 30 waited for the arm");
    assert_eq!(bench.0.stats().cached_writes, 40);
}

#[test]
fn dirty_sectors_are_read_from_the_cache() {
    let mut bench = Bench::new(CACHED);
    bench.one(Op::Write, 900_000, 8);
    bench.one(Op::Write, 10, 8);
    let before = bench.1;
    // The arm is on its way to one of the two; the other is still in the cache.
    let hits = bench.0.stats().cache_hits;
    bench.one(Op::Read, 10, 8);
    assert_eq!((bench.1 - before, bench.0.stats().cache_hits), (OVERHEAD + 8 * BUS, hits + 1));
}

fn random_reads(specification: &str, depth: u32) -> u64 {
    let mut bench = Bench::new(specification);
    let (mut rng, mut done) = (stream(11, "requests"), Vec::new());
    let sectors = bench.0.sectors() - 8;
    for tag in 0..depth {
        bench.send(tag, Op::Read, rng.below(sectors), 8);
    }
    let nr = 3000;
    let mut completed = 0;
    while completed < nr {
        let at = bench.0.next_event().unwrap();
        bench.0.advance(at, &mut done);
        bench.1 = at.as_ns();
        completed += done.len() as u64;
        for tag in done.drain(..) {
            bench.send(tag, Op::Read, rng.below(sectors), 8);
        }
    }
    bench.1 / nr
}

#[test]
fn a_drive_that_sees_32_commands_is_as_much_faster_as_the_shortest_positioning_predicts() {
    let one = random_reads("wd4tb7200", 1);
    let queued = random_reads("wd4tb7200:queue_depth=32", 32);
    let in_order = random_reads("wd4tb7200:queue_depth=32:order=arrival", 32);
    assert!(
        one.abs_diff(in_order) < one / 20,
        "{one} {in_order}: without choice depth brings nothing"
    );
    // Mean 7.45 ms of seek and half of 8.33 ms of rotation.
    assert!(one.abs_diff(11_617_000) < 300_000, "{one}");
    // The best of 32 positioning times by the model itself, drawn independently.
    let bench = Bench::new("wd4tb7200");
    let (mut rng, mut sum) = (stream(5, "requests"), 0);
    for _ in 0..1000 {
        let from = Time::from_ns(rng.below(1 << 40));
        let mut probe = Bench::new("wd4tb7200:segments=0");
        probe.one(Op::Read, rng.below(bench.0.sectors() - 8), 8);
        let best = (0..32)
            .map(|_| {
                probe.0.positioning_ns(from + probe.1, &request(rng.below(bench.0.sectors() - 8)))
            })
            .min();
        sum += best.unwrap();
    }
    let predicted = sum / 1000;
    assert!(queued * 2 < one, "{queued} {one}");
    // The other commands were rejected by earlier choices, so they are worse than fresh ones.
    assert!(
        (predicted..predicted * 3 / 2).contains(&queued),
        "{queued} ns, of 32 fresh ones the best is {predicted}"
    );
}

#[test]
fn the_modern_drive_reads_as_the_measured_one_did() {
    // ublk-disksim's ST2000DM006: 17.5 ms alone, from which the seek curve was made, and 94/s at
    // depth 32, from which it was not.
    let one = random_reads("st2000dm006:queue_depth=1", 1) as f64 / 1e6;
    let at_32 = 1e9 / random_reads("st2000dm006", 32) as f64;
    assert!((one / 17.5 - 1.0).abs() < 0.03, "{one} ms alone");
    assert!((at_32 / 94.0 - 1.0).abs() < 0.2, "{at_32} a second at depth 32");
}

fn request(sector: u64) -> BlockRequest {
    elevator::testing::request(0, sector)
}

#[test]
fn the_positioning_time_is_what_a_request_then_takes() {
    let mut rng = stream(9, "requests");
    let mut bench = Bench::new("cheetah9lp:segments=0");
    for _ in 0..500 {
        let sector = rng.below(bench.0.sectors() - 8);
        let positioning = bench.0.positioning_ns(Time::from_ns(bench.1), &request(sector));
        let before = bench.0.stats();
        bench.one(Op::Read, sector, 1);
        let after = bench.0.stats();
        let took = after.seek_ns + after.rotation_ns - before.seek_ns - before.rotation_ns;
        assert_eq!(took, positioning);
        bench.pause(rng.below(10_000_000));
    }
}

#[test]
#[should_panic(expected = "beyond the disk of 2684016 sectors")]
fn a_request_beyond_the_disk_is_an_assertion() {
    Bench::new("hp97560").one(Op::Read, 2_684_010, 8);
}

#[test]
#[should_panic(expected = "takes 1 transfers at once; tag 2 is one too many")]
fn more_than_the_queue_depth_is_an_assertion() {
    let mut bench = Bench::new("hp97560");
    bench.send(1, Op::Read, 0, 8);
    bench.send(2, Op::Read, 0, 8);
}
