//! Latencies computed by hand, parallelism, and the cost of garbage collection.

use elevator::{Op, Time};

use crate::device::{Command, DeviceModel, DeviceStats, device};
use crate::random::Stream;

/// 4 channels, 2 dies each, 16 KiB pages, round figures.
const SMALL: &str = "femu:capacity_mib=64:channels=4:dies_per_channel=2:page_bytes=16384:pages_per_block=16:read_ns=50000\
    :program_ns=400000:erase_ns=1000000:channel_bytes_per_s=400000000:link_bytes_per_s=2000000000\
    :read_overhead_ns=7000:buffer_kib=1024:queue_depth=256:early_completion=1:over_provisioning_percent=20";

/// Runs all commands to the end: completion times by tag, and the last event's time.
fn all(device: &mut dyn DeviceModel, commands: &[Command]) -> (Vec<u64>, u64) {
    commands.iter().for_each(|command| device.submit(Time::ZERO, *command));
    let (mut times, mut done, mut now) = (vec![0; commands.len()], Vec::new(), 0);
    while let Some(at) = device.next_event() {
        device.advance(at, &mut done);
        now = at.as_ns();
        done.drain(..).for_each(|tag: u32| times[tag as usize] = now);
    }
    (times, now)
}

fn transfer(tag: u32, op: Op, unit: u64, units: u32) -> Command {
    Command::Transfer { tag, op, sector: unit * 8, nr_sectors: units * 8 }
}

#[test]
fn a_read_costs_overhead_cells_channel_and_link() {
    // 4 KiB: 10,240 ns on the channel, 2,048 ns on the link.
    let (times, _) = all(&mut *device(SMALL, 1).unwrap(), &[transfer(0, Op::Read, 0, 1)]);
    assert_eq!(times, [7_000 + 50_000 + 10_240 + 2_048]);
    // A whole page of 16 KiB: one look at the cells.
    let (times, _) = all(&mut *device(SMALL, 1).unwrap(), &[transfer(0, Op::Read, 0, 4)]);
    assert_eq!(times, [7_000 + 50_000 + 40_960 + 8_192]);
    // Two pages are on two channels; they share the link.
    let (times, _) = all(&mut *device(SMALL, 1).unwrap(), &[transfer(0, Op::Read, 0, 8)]);
    assert_eq!(times, [7_000 + 50_000 + 40_960 + 2 * 8_192]);
}

#[test]
fn a_synchronous_write_waits_for_its_program_and_an_early_one_does_not() {
    let late = SMALL.replace(
        "early_completion=1",
        "early_completion=0:write_overhead_ns=3000:precondition=fresh",
    );
    let (times, _) = all(&mut *device(&late, 1).unwrap(), &[transfer(0, Op::Write, 0, 1)]);
    // 4 KiB on the link; the whole page on the channel.
    assert_eq!(times, [2_048 + 40_960 + 400_000 + 3_000]);
    let (times, end) = all(&mut *device(SMALL, 1).unwrap(), &[transfer(0, Op::Write, 0, 1)]);
    assert_eq!(
        (times, end),
        (vec![2_048 + 7_000], 2_048 + 7_000),
        "it stays in the buffer until its page is full"
    );
    let flush = [transfer(0, Op::Write, 0, 4), Command::Flush { tag: 1 }];
    let mut device = device(SMALL, 1).unwrap();
    device.submit(Time::ZERO, flush[0]);
    device.advance(Time::from_ns(20_000), &mut Vec::new());
    device.submit(Time::from_ns(20_000), flush[1]);
    let mut done = Vec::new();
    device.advance(Time::from_ns(8_192 + 40_960 + 400_000 - 1), &mut done);
    assert!(done.is_empty());
    device.advance(Time::from_ns(8_192 + 40_960 + 400_000), &mut done);
    assert_eq!(done, [1]);
}

#[test]
fn a_full_buffer_is_as_fast_as_the_dies_program() {
    // 1 MiB of buffer, 4 MiB of writes: the later ones wait for programs. 8 dies program 16 KiB in
    // 0.4 ms each: 328 MB/s.
    let writes: Vec<_> =
        (0..64).map(|tag| transfer(tag, Op::Write, u64::from(tag) * 16, 16)).collect();
    let (times, _) = all(&mut *device(SMALL, 1).unwrap(), &writes);
    assert!(times[10] < 500_000, "{}", times[10]);
    let expected = 3 * 1024 * 1024 * 1_000_000_000 / 327_680_000;
    assert!(
        times[63].abs_diff(expected) < expected / 10,
        "{} where {expected} is expected",
        times[63]
    );
}

/// Returns bytes/s of 256 random single-page reads.
fn read_rate(changes: &str) -> u64 {
    let mut rng = Stream::new(4);
    let mut device = device(&format!("{SMALL}:{changes}"), 1).unwrap();
    let reads: Vec<_> =
        (0..256).map(|tag| transfer(tag, Op::Read, rng.below(4000) * 4, 4)).collect();
    let (_, end) = all(&mut *device, &reads);
    256 * 16_384 * 1_000_000_000 / end
}

#[test]
fn parallelism_grows_with_channels_until_the_link_is_the_limit() {
    let rates: Vec<u64> = [1, 2, 4, 8]
        .map(|channels| read_rate(&format!("channels={channels}:dies_per_channel=8")))
        .into();
    for pair in rates.windows(2).take(2) {
        assert!(pair[1] * 10 > pair[0] * 16, "{rates:?}");
    }
    assert!(rates[0] < 400_000_000 && rates[3] < 2_000_000_000, "{rates:?}");
    let narrow = read_rate("channels=8:dies_per_channel=8:link_bytes_per_s=500000000");
    assert!((450_000_000..500_000_000).contains(&narrow), "{narrow}");
}

#[test]
fn two_planes_of_a_die_work_together() {
    let (one, two) = (read_rate("read_ns=500000"), read_rate("read_ns=500000:planes_per_die=2"));
    assert!(two * 10 > one * 13, "{one} {two}");
}

/// Writes four times the capacity of 64 MiB in 4 KiB blocks: ns each, and statistics.
fn write_all(specification: &str, sequential: bool) -> (u64, DeviceStats) {
    let mut device = device(specification, 1).unwrap();
    let (mut rng, mut done, mut now) = (Stream::new(6), Vec::new(), Time::ZERO);
    let nr = 4 * 16_384;
    let mut sent = 0;
    let mut inside = 0;
    while sent < nr || inside > 0 {
        while inside < 64 && sent < nr {
            let unit = if sequential { sent % 16_384 } else { rng.below(16_384) };
            device.submit(now, transfer(0, Op::Write, unit, 1));
            (inside, sent) = (inside + 1, sent + 1);
        }
        now = device.next_event().unwrap();
        device.advance(now, &mut done);
        inside -= done.len();
        done.clear();
    }
    (now.as_ns() / nr, device.stats())
}

/// Write amplification in percent.
fn amplification(stats: DeviceStats) -> u64 {
    100 + 100 * stats.moved_pages / (stats.bytes / 16_384)
}

#[test]
fn random_writes_to_a_worn_device_are_slower_and_amplified_and_sequential_ones_are_not() {
    // Victims drawn at random are not always the empty ones.
    for (gc, at_most) in [("greedy", 102), ("rga", 120)] {
        let spec = |condition: &str| format!("{SMALL}:gc={gc}:precondition={condition}");
        let (sequential_ns, sequential) = write_all(&spec("full"), true);
        let (worn_ns, worn) = write_all(&spec("steady"), false);
        assert!(amplification(sequential) <= at_most, "{gc}: {} %", amplification(sequential));
        assert!((130..900).contains(&amplification(worn)), "{gc}: {} %", amplification(worn));
        assert!(
            worn.erases > 0 && worn_ns * 10 > sequential_ns * 13,
            "{gc}: {worn_ns} {sequential_ns}"
        );
        let more_spare = format!("{}:over_provisioning_percent=60", spec("steady"));
        assert!(amplification(write_all(&more_spare, false).1) < amplification(worn), "{gc}");
    }
}

#[test]
fn a_fresh_device_is_faster_than_a_worn_one_as_long_as_it_is_fresh() {
    let time = |condition: &str| {
        let mut device =
            device(&format!("{SMALL}:precondition={condition}:buffer_kib=64"), 1).unwrap();
        let mut rng = Stream::new(8);
        let writes: Vec<_> =
            (0..256).map(|tag| transfer(tag, Op::Write, rng.below(16_000), 16)).collect();
        all(&mut *device, &writes).1
    };
    let (fresh, worn) = (time("fresh"), time("steady"));
    assert!(worn * 10 > fresh * 13, "{fresh} {worn}");
}

#[test]
fn a_unit_that_is_being_packed_is_read_from_the_buffer() {
    let mut device = device(SMALL, 1).unwrap();
    device.submit(Time::ZERO, transfer(0, Op::Write, 5, 1));
    device.advance(Time::from_ns(100_000), &mut Vec::new());
    device.submit(Time::from_ns(100_000), transfer(1, Op::Read, 5, 1));
    // 7 µs of overhead, then 4 KiB over the link: no cells, no channel.
    let mut done = Vec::new();
    device.advance(Time::from_ns(109_047), &mut done);
    assert!(done.is_empty());
    device.advance(Time::from_ns(109_048), &mut done);
    assert_eq!(done, [1]);
}

#[test]
fn a_page_that_is_never_filled_does_not_keep_a_large_write_out() {
    // 16 units of buffer: one write leaves a unit behind while another of 16 units waits, and there
    // is no other writer.
    let small = SMALL.replace("buffer_kib=1024", "buffer_kib=64");
    let writes = [transfer(0, Op::Write, 0, 1), transfer(1, Op::Write, 8, 16)];
    let (times, _) = all(&mut *device(&small, 1).unwrap(), &writes);
    assert!(times[1] > 440_960, "{}: the first one's page had to be programmed", times[1]);
}

/// One die with an instant channel and link.
fn one_die(changes: &str) -> String {
    let fast = "channels=1:dies_per_channel=1:channel_bytes_per_s=1099511627776:link_bytes_per_s=1099511627776";
    format!("{SMALL}:{fast}:read_overhead_ns=0{changes}")
}

/// The latency of a page read 100 µs into the first of four page programs.
fn read_beside_programs(changes: &str) -> (u64, DeviceStats) {
    let mut device = device(&one_die(changes), 1).unwrap();
    device.submit(Time::ZERO, transfer(0, Op::Write, 0, 16));
    let mut done = Vec::new();
    device.advance(Time::from_ns(100_000), &mut done);
    assert_eq!(done, [0], "the buffer has taken the write");
    done.clear();
    device.submit(Time::from_ns(100_000), transfer(1, Op::Read, 1000, 1));
    let mut latency = 0;
    while let Some(at) = device.next_event() {
        device.advance(at, &mut done);
        if done == [1] && latency == 0 {
            latency = at.as_ns() - 100_000;
        }
    }
    (latency, device.stats())
}

#[test]
fn a_read_waits_for_all_programs_or_for_one_or_suspends_it() {
    let near = |seen: u64, expected: u64| {
        assert!(seen.abs_diff(expected) < 200, "{seen} where {expected} is expected")
    };
    near(read_beside_programs("").0, 4 * 400_000 - 100_000 + 50_000);
    near(read_beside_programs(":read_priority=10").0, 300_000 + 50_000);
    let suspending = ":read_priority=10:program_suspends=1:program_suspend_ns=20000";
    let (latency, stats) = read_beside_programs(suspending);
    near(latency, 20_000 + 50_000);
    assert_eq!((stats.suspends, stats.programs), (1, 4));
    // A nearly finished operation is not suspended.
    let (latency, stats) =
        read_beside_programs(":read_priority=10:program_suspends=1:program_suspend_ns=310000");
    near(latency, 300_000 + 50_000);
    assert_eq!(stats.suspends, 0);
}

#[test]
fn a_program_is_suspended_no_more_often_than_allowed_and_passed_by_no_more_reads() {
    // A page is programmed while 40 reads wait one after the other.
    let end = |changes: &str| {
        let mut device = device(&one_die(changes), 1).unwrap();
        let mut done = Vec::new();
        device.submit(Time::ZERO, transfer(0, Op::Write, 0, 4));
        device.submit(Time::ZERO, transfer(1, Op::Read, 1000, 1));
        let (mut sent, mut programmed) = (1, 0);
        while let Some(at) = device.next_event() {
            device.advance(at, &mut done);
            for tag in done.drain(..) {
                if tag > 0 && sent < 40 {
                    sent += 1;
                    device.submit(at, transfer(sent, Op::Read, u64::from(sent) * 100, 1));
                }
                programmed = if tag == 99 { at.as_ns() } else { programmed };
            }
            if sent == 3 && programmed == 0 {
                programmed = 1;
                device.submit(at, Command::Flush { tag: 99 });
            }
        }
        (programmed / 1000, device.stats().suspends)
    };
    // The program begins after the first read, and each read that comes later suspends it or waits
    // for it.
    assert_eq!(end(":read_priority=1000").1, 0);
    for suspends in [1, 2, 5] {
        let (programmed_us, suspended) = end(&format!(
            ":read_priority=1000:program_suspends={suspends}:program_suspend_ns=20000:resume_ns=5000"
        ));
        assert_eq!(suspended, suspends);
        let least = 400 + suspends * (20 + 50 + 5);
        assert!(
            (least..least + 120).contains(&programmed_us),
            "{programmed_us} µs with {suspends} suspends"
        );
    }
}

#[test]
fn reads_that_wait_pass_a_program_up_to_the_limit() {
    for (passes, least_us) in [(1, 450), (8, 800), (1000, 2400)] {
        let mut device =
            device(&one_die(&format!(":read_priority={passes}:queue_depth=256")), 1).unwrap();
        // The first read occupies the die; the page comes to it then, and 40 reads wait.
        (0..41).for_each(|tag| {
            device.submit(Time::ZERO, transfer(tag, Op::Read, u64::from(tag) * 100, 1))
        });
        device.submit(Time::ZERO, transfer(41, Op::Write, 0, 4));
        device.advance(Time::from_ns(1000), &mut Vec::new());
        device.submit(Time::from_ns(1000), Command::Flush { tag: 42 });
        let (mut done, mut at) = (Vec::new(), Time::ZERO);
        while !done.contains(&42) {
            at = device.next_event().unwrap();
            device.advance(at, &mut done);
        }
        let us = at.as_ns() / 1000;
        assert!(
            (least_us..least_us + 110).contains(&us),
            "{us} µs where {least_us} is expected for {passes}"
        );
    }
}

#[test]
fn an_erase_is_suspended_too() {
    // Garbage is collected all the time; a reader comes every millisecond.
    let latencies = |changes: &str| {
        let spec =
            one_die(&format!(":precondition=steady:buffer_kib=64:erase_ns=20000000{changes}"));
        let mut device = device(&spec, 1).unwrap();
        let mut rng = Stream::new(5);
        let (mut done, mut tag, mut sent_at, mut worst) = (Vec::new(), 0, 0, 0);
        for ms in 1..800 {
            while let Some(at) = device.next_event().filter(|at| at.as_ns() <= ms * 1_000_000) {
                device.advance(at, &mut done);
                if done.drain(..).any(|done| done == 1000) {
                    worst = worst.max(at.as_ns() - sent_at);
                    sent_at = 0;
                }
            }
            let now = Time::from_ns(ms * 1_000_000);
            tag += 1;
            device.submit(now, transfer(tag % 900, Op::Write, rng.below(16_000), 4));
            if sent_at == 0 {
                sent_at = now.as_ns();
                device.submit(now, transfer(1000, Op::Read, rng.below(16_000), 1));
            }
        }
        (worst, device.stats())
    };
    let deep = ":queue_depth=2000";
    let (waits, _) = latencies(&format!("{deep}:read_priority=10"));
    let (suspends, stats) = latencies(&format!(
        "{deep}:read_priority=10:program_suspends=50:erase_suspends=50:program_suspend_ns=20000:erase_suspend_ns=100000"
    ));
    assert!(stats.erases > 5 && stats.suspends > 0, "{stats:?}");
    assert!(waits > 10_000_000 && suspends < 1_000_000, "{waits} ns and {suspends} ns");
}

#[test]
fn queues_are_served_in_turn_where_the_device_works_on_few_commands() {
    let mut device = device(&one_die(":queues=3:command_slots=1"), 1).unwrap();
    device.use_queues(2);
    for tag in 0..4 {
        device.submit_on(Time::ZERO, 0, transfer(tag, Op::Read, 1000, 1));
    }
    device.submit_on(Time::ZERO, 1, transfer(4, Op::Read, 1000, 1));
    let mut done = Vec::new();
    while let Some(at) = device.next_event() {
        device.advance(at, &mut done);
    }
    assert_eq!(done, [0, 4, 1, 2, 3]);
}

#[test]
#[should_panic(expected = "the device takes 2 transfers at once")]
fn a_queue_takes_no_more_than_its_depth_whatever_the_others_have() {
    let mut device = device(&one_die(":queues=2:queue_depth=2"), 1).unwrap();
    device.use_queues(2);
    for (tag, queue) in [(0, 0), (1, 1), (2, 0), (3, 1), (4, 1)] {
        device.submit_on(Time::ZERO, queue, transfer(tag, Op::Read, 1000, 1));
    }
}
