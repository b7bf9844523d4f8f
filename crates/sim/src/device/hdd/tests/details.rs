//! Drive-specific details: overheads, watermarks, read-ahead limits, write-cache runs, unnumbered
//! tracks.

use super::*;

/// Passing time of one sector of the HP 97560.
const SECTOR: u64 = T / 72;

#[test]
fn an_overhead_may_depend_on_the_command_before() {
    let mut bench = Bench::new("hp97560:hit_overhead_ns=1000:hit_overhead_after_write_ns=5000");
    bench.one(Op::Read, 0, 8);
    bench.pause(3 * T);
    let before = bench.1;
    assert_eq!(bench.one(Op::Read, 8, 1) - before, 1000 + BUS);
    bench.one(Op::Write, 1_000_000, 1);
    let before = bench.1;
    assert_eq!(bench.one(Op::Read, 9, 1) - before, 5000 + BUS);
    let before = bench.1;
    assert_eq!(bench.one(Op::Read, 10, 1) - before, 1000 + BUS);
}

#[test]
fn a_watermark_delays_the_bus_and_nothing_else() {
    let slow = "hp97560:bus_bytes_per_s=512000";
    let of = |percent: u64| {
        Bench::new(&format!("{slow}:read_watermark_percent={percent}")).one(Op::Read, 0, 64)
    };
    assert_eq!(of(50) - of(0), angle(32) - angle(1));
    assert_eq!(of(100), T + angle(64) + 64_000_000);
    let fast = |percent: u64| {
        Bench::new(&format!("hp97560:bus_bytes_per_s=100000000:read_watermark_percent={percent}"))
            .one(Op::Read, 0, 64)
    };
    assert_eq!(fast(0), fast(75), "a bus that is faster than the medium waits for its last sector");
}

#[test]
fn completions_and_reconnections_are_added_once() {
    let done =
        |more: &str, op| Bench::new(&format!("hp97560:bus_bytes_per_s=512000{more}")).one(op, 0, 8);
    let added = |more, op| done(more, op) - done("", op);
    let all = ":reconnect_ns=300:read_completion_ns=50:write_completion_ns=7";
    assert_eq!((added(all, Op::Read), added(all, Op::Write)), (350, 307));
}

#[test]
fn a_write_waits_for_its_watermark_and_for_its_least_seek() {
    // Sector 10 of the first track comes round 2.08 ms after angle 0; with the overhead alone it
    // would be reached.
    let done = |more: &str| {
        Bench::new(&format!("hp97560:write_overhead_ns=1500000{more}")).one(Op::Write, 10, 4)
    };
    assert_eq!(done(""), angle(14));
    assert_eq!(done(":write_seek_least_ns=600000"), T + angle(14));
    let late = ":bus_bytes_per_s=2560000:write_watermark=";
    assert_eq!(done(&format!("{late}1")), angle(14), "one sector has come in 0.2 ms");
    assert_eq!(done(&format!("{late}4")), T + angle(14), "four have in 0.8 ms");
}

#[test]
fn a_lead_shortens_the_seeks_of_writes() {
    let seek_ns = |op| {
        let mut bench = Bench::new("hp97560:write_lead_ns=640000");
        bench.one(op, 1000 * 19 * 72, 1);
        bench.0.stats().seek_ns
    };
    assert_eq!((seek_ns(Op::Read), seek_ns(Op::Write)), (16_000_000, 15_360_000));
}

#[test]
fn through_the_host_the_bus_is_no_faster_than_the_host() {
    let hit = |more: &str| {
        let mut bench = Bench::new(&format!(
            "{CACHED}:host_bytes_per_s=512000:host_write_bytes_per_s=256000{more}"
        ));
        let written = bench.one(Op::Write, 0, 8);
        bench.flush();
        let before = bench.1;
        (written, bench.one(Op::Read, 0, 8) - before)
    };
    assert_eq!(hit(""), (OVERHEAD + 8 * BUS, OVERHEAD + 8 * BUS));
    assert_eq!(hit(":through_host=1"), (OVERHEAD + 16_000_000, OVERHEAD + 8_000_000));
}

#[test]
fn reading_on_ends_with_the_track_or_with_the_next_one_once_it_was_crossed() {
    let hits = |sector: u64, nr: u32, next: u64| {
        let mut bench = Bench::new("hp97560:read_on=track:read_on_idle_hit=0");
        bench.one(Op::Read, sector, nr);
        bench.pause(5 * T);
        bench.one(Op::Read, next, 1);
        bench.0.stats().cache_hits
    };
    assert_eq!((hits(8, 8, 71), hits(8, 8, 72)), (1, 0), "the track of the next sector");
    assert_eq!((hits(60, 20, 215), hits(60, 20, 216)), (1, 0), "the one after it as well");
}

#[test]
fn a_segment_that_is_read_over_keeps_its_end() {
    let mut bench = Bench::new("hp97560:read_on=track:read_ahead=16:segment_sectors=16");
    bench.one(Op::Read, 0, 8);
    bench.pause(3 * T);
    bench.one(Op::Read, 8, 4);
    assert_eq!(bench.0.stats().cache_hits, 0, "sectors 56 to 71 are there");
    let mut bench = Bench::new("hp97560:read_on=track:read_ahead=16:segment_sectors=16");
    bench.one(Op::Read, 0, 8);
    bench.pause(3 * T);
    bench.one(Op::Read, 60, 4);
    assert_eq!(bench.0.stats().cache_hits, 1);
}

#[test]
fn a_hit_starts_ended_reading_on_again_or_does_not() {
    let hits = |idle: u32| {
        let mut bench = Bench::new(&format!("hp97560:read_ahead=16:read_on_idle_hit={idle}"));
        bench.one(Op::Read, 0, 8);
        bench.pause(3 * T);
        bench.one(Op::Read, 8, 16);
        bench.pause(3 * T);
        bench.one(Op::Read, 24, 16);
        bench.0.stats().cache_hits
    };
    assert_eq!((hits(1), hits(0)), (2, 1));
}

#[test]
fn a_read_of_the_sector_under_the_head_goes_on_with_it_or_loses_a_revolution() {
    let took = |almost: u32| {
        let spec = "hp97560:bus_bytes_per_s=100000000:hit_overhead_ns=0:read_overhead_ns=500000";
        let mut bench = Bench::new(&format!("{spec}:almost_hits={almost}"));
        // The first read completes a fortieth of a sector after its last sector has passed.
        bench.one(Op::Read, 0, 8);
        let before = bench.1;
        bench.one(Op::Read, 8, 8) - before
    };
    assert!(took(1) < 8 * SECTOR + 10_000, "{}", took(1));
    assert_eq!(took(0), took(1) + T);
}

#[test]
fn a_cache_of_one_run_takes_what_continues_it_and_lets_the_rest_wait() {
    let mut bench =
        Bench::new("hp97560:queue_depth=4:write_cache=512:immediate_reporting=1:write_runs=1");
    assert_eq!(bench.one(Op::Write, 500_000, 8), OVERHEAD + 8 * BUS);
    let before = bench.1;
    assert_eq!(
        bench.one(Op::Write, 500_008, 8) - before,
        OVERHEAD + 8 * BUS,
        "it goes on where the moving run ends"
    );
    let before = bench.1;
    assert!(
        bench.one(Op::Write, 900_000, 8) - before > 2 * OVERHEAD + 8 * BUS,
        "the medium has to be done first"
    );
}

#[test]
fn what_the_write_cache_has_written_is_read_from_the_cache() {
    let mut bench = Bench::new(CACHED);
    bench.one(Op::Write, 900_000, 8);
    bench.flush();
    bench.one(Op::Read, 900_000, 8);
    assert_eq!(bench.0.stats().cache_hits, 1);
}

#[test]
fn a_run_of_the_write_cache_starts_when_its_overhead_is_over_and_its_data_have_come() {
    let mut bench =
        Bench::new("hp97560:write_cache=64:immediate_reporting=1:write_overhead_ns=1000000");
    bench.send(7, Op::Write, 0, 1);
    bench.until_done(7);
    let flushed = bench.flush();
    // Angle 0 is reached in the next revolution; nothing was written at once.
    assert_eq!(flushed, T + SECTOR + 1_000_000);
}

/// Two zones of two cylinders with two heads; tracks of 10 sectors, then of 8.
const SMALL: &str = "model = \"hdd\"\nrpm = 6000\ncylinders = 4\nheads = 2\nbus_bytes_per_s = 1000000000\nseek.c_ns = 1000000\nseek.e_ps = 0\n";

fn small(zones: &str) -> Box<dyn DeviceModel> {
    crate::device::device_from_toml(&format!("{SMALL}zones = {zones}\n"), &[], 1).unwrap()
}

fn first_ns(zones: &str, sector: u64) -> u64 {
    let mut bench = Bench(small(zones), 0);
    bench.one(Op::Read, sector, 1);
    let stats = bench.0.stats();
    stats.seek_ns + stats.rotation_ns
}

#[test]
fn zones_have_their_own_angle_and_tracks_without_numbers() {
    assert_eq!(small("[[2,10,0,0,3,1,2],[2,8,0,0,0,0,1]]").sectors(), 10 + 3 * 8);
    // One track is reserved, two are spare: sector 0 is on the second track, sector 10 in the
    // second zone.
    let zones = "[[2,10,0,0,3,1,2],[2,8,0,0,5,0,1]]";
    assert_eq!(
        first_ns(zones, 1),
        4_000_000,
        "of a revolution of 10 ms, with the head switch for nothing"
    );
    assert_eq!(first_ns(zones, 10), 6_250_000);
    // A read across the border of the zones.
    let mut bench = Bench(small(zones), 0);
    bench.one(Op::Read, 9, 2);
    assert_eq!(bench.0.stats().transfer_ns, 1_000_000 + 1_250_000);
}

#[test]
fn a_slipped_track_is_passed_over_and_a_spare_one_stands_in() {
    let (plain, slipped) = ("[[4,10,3,3,0,0,2]]", "[[4,10,3,3,0,0,2,1,4]]");
    assert_eq!((small(plain).sectors(), small(slipped).sectors()), (60, 60));
    // Tracks begin three sectors apart; the second is slipped, so sector 10 is on the third.
    assert_eq!(first_ns(plain, 10), 3_000_000);
    assert_eq!(first_ns(slipped, 10), 6_000_000);
    let mut bench = Bench(small(slipped), 0);
    bench.one(Op::Read, 0, 60);
    // Six tracks pass, and seven begin.
    let stats = bench.0.stats();
    assert_eq!((stats.transfer_ns, stats.seek_cylinders), (60_000_000, 3));
}
