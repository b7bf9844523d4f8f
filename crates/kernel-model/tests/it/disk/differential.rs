//! The C disk compared with the Rust devices: equal outcomes for equal commands, to the nanosecond.

use elevator::{Op, Time};
use kernel_model::disk::CDisk;
use sim::device::{Command, device, device_from_toml};
use sim::{DEVICES, DeviceModel, Stream, stream};

/// Per specification; in total a million, as the last test checks.
const COMMANDS: u32 = 12_000;

/// Variants of a row: electronics on and off, deep and shallow queues.
const OF_DISKS: [&str; 9] = [
    "",
    ":queue_depth=32:write_cache=512:immediate_reporting=1",
    ":queue_depth=32:write_cache=16384:immediate_reporting=1:segments=8:segment_sectors=512:read_ahead=256",
    ":queue_depth=8:order=arrival:segments=2:segment_sectors=64:read_ahead=64:write_cache=64:immediate_reporting=0",
    ":queue_depth=5:order=arrival:segments=4:segment_sectors=1000:read_ahead=1000:write_cache=2000:immediate_reporting=1",
    ":queue_depth=64:segments=0:bus_bytes_per_s=3333333:write_cache=300:immediate_reporting=1",
    ":queue_depth=3:segments=1:segment_sectors=4000:read_ahead=4000:bus_bytes_per_s=777777777:hit_overhead_ns=1:read_overhead_ns=0",
    ":queue_depth=9:order_window=3:segments=3:segment_sectors=200:read_ahead=0:read_on=track:read_on_idle_hit=0:almost_hits=0:read_watermark_percent=60\
     :reconnect_ns=90000:read_completion_ns=70001:write_completion_ns=50003:write_seek_least_ns=1200000:write_lead_ns=700000",
    ":queue_depth=6:segments=2:segment_sectors=300:read_ahead=300:read_on=track:write_cache=700:immediate_reporting=1:write_runs=2\
     :write_watermark=9:host_bytes_per_s=4000001:host_write_bytes_per_s=2999999:through_host=1:hit_overhead_after_write_ns=7\
     :read_overhead_after_write_ns=1000001:write_overhead_after_write_ns=3",
];
const OF_NULL: [&str; 5] = [
    "",
    ":service_ns=500000:servers=3:queue_depth=8",
    ":service_ns=500000:servers=7:queue_depth=40:distribution=exponential",
    ":service_ns=8000000:queue_depth=4:distribution=exponential",
    ":service_ns=60000000000:servers=4096:queue_depth=5000:distribution=exponential:sectors=1",
];

/// Variants of the description by measured latencies, which is not a row.
const OF_MEASURED: [&str; 4] =
    ["", ":queue_depth=40", ":queue_depth=1:flush_ns=0", ":sizes.2=9:depths.2=4:sectors=5000"];
const MEASURED: &str = include_str!("../../../../sim/tests/data/measured.toml");

fn made(specification: &str, seed: u64) -> Box<dyn DeviceModel> {
    let Some(changes) = specification.strip_prefix("measured") else {
        return device(specification, seed).unwrap();
    };
    let changes: Vec<_> = changes.split(':').filter_map(|change| change.split_once('=')).collect();
    device_from_toml(MEASURED, &changes, seed).unwrap()
}

/// Sectors of nine nanoseconds, to expose rounding; one-sector tracks; a slow actuator and a late
/// bus.
const ODD: [&str; 3] = [
    "hp97560:rpm=100000:zones.0.1=65535:zones.0.2=100:segments=4:segment_sectors=100000:read_ahead=100000:queue_depth=4",
    "hp97560:zones.0.1=1:zones.0.2=1:zones.0.3=0:queue_depth=7:write_cache=99:immediate_reporting=1:segments=3",
    "hp97560:bus_bytes_per_s=1000:queue_depth=2:head_switch_ns=50000000:segments=2:segment_sectors=256",
];

fn specifications() -> Vec<String> {
    let rows = DEVICES.iter().filter(|row| !row.toml.contains("model = \"flash\""));
    rows.flat_map(|row| {
        let variants: &[&str] = if row.name == "null" { &OF_NULL } else { &OF_DISKS };
        variants.iter().map(|variant| format!("{}{variant}", row.name))
    })
    .chain(OF_MEASURED.map(|changes| format!("measured{changes}")))
    .chain(ODD.map(str::to_owned))
    .collect()
}

/// Streams, neighbours, rewrites, random commands.
struct Commands {
    random: Stream,
    sectors: u64,
    streams: [u64; 3],
    hot: u64,
    edges: Vec<u64>,
    next_tag: u32,
    phase: [u64; 4],
}

impl Commands {
    fn new(device: &dyn DeviceModel, seed: u64) -> Commands {
        let (random, edges) = (stream(seed, "commands"), edges(&device.tables()));
        Commands {
            random,
            sectors: device.sectors(),
            streams: [0; 3],
            hot: 0,
            edges,
            next_tag: 0,
            phase: [0; 4],
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    fn next(&mut self) -> Command {
        let tag = self.next_tag;
        self.next_tag += 1;
        if tag.is_multiple_of(200) {
            self.phase = std::array::from_fn(|_| self.random.below(4));
            self.hot = self.random.below(self.sectors);
            if tag.is_multiple_of(400) {
                self.hot = self.edges[self.random.below(self.edges.len() as u64) as usize];
            }
        }
        let [sequential, writes, flushes, length] = self.phase;
        if self.below(100) < [0, 1, 5, 20][flushes as usize] {
            return Command::Flush { tag };
        }
        let longest = [8, 16, 256, 2600][length as usize];
        let nr = (1 + self.below(longest)).min(self.sectors);
        let highest = self.sectors - nr;
        let which = self.below(3) as usize;
        let sector = match self.below(4) {
            at if at < sequential => self.streams[which],
            3 => self.hot + self.below(2) * self.below(5000),
            2 => {
                self.streams[which] + self.below(300)
                    - self.streams[which].min(self.below(300)).min(150)
            }
            _ => self.below(highest + 1),
        };
        let sector = sector.min(highest);
        self.streams[which] = sector + nr;
        let op = if self.below(4) < writes { Op::Write } else { Op::Read };
        Command::Transfer { tag, op, sector, nr_sectors: nr as u32 }
    }
}

/// 0 without zones (kernel/core/disk-model.h).
fn edges(tables: &[u8]) -> Vec<u64> {
    let number = |at: usize| u64::from_le_bytes(tables[at..at + 8].try_into().unwrap());
    if tables[8] != 1 {
        return vec![0];
    }
    let (heads, spare, zones) = (number(40), number(72), number(304) as usize);
    let mut first = 0;
    let next = |zone: usize| {
        let here = first;
        let zone = 320 + 64 * zone;
        let (tracks, spt) = (number(zone) * heads, number(zone + 8));
        first += (tracks - number(zone + 40) - number(zone + 48)) * spt - number(zone) * spare;
        here
    };
    (0..zones).map(next).collect()
}

/// Returns the number of commands.
fn hold_together(specification: &str, seed: u64, commands: u32) -> u32 {
    let mut ours = made(specification, seed);
    let mut c = CDisk::from_device(ours.as_ref()).expect("the kernel's driver has this model");
    assert_eq!(c.sectors(), ours.sectors(), "{specification}");
    assert_eq!(c.queue_depth(), ours.queue_depth(), "{specification}");
    let mut from = Commands::new(ours.as_ref(), seed ^ 0x5eed);
    let (mut now, mut inside, mut sent, mut checked) = (0_u64, 0_u32, 0_u32, 0_u32);
    let (mut done, mut timed) = (Vec::new(), Vec::new());
    loop {
        let due = ours.next_event();
        assert_eq!(
            c.next_event(),
            due,
            "{specification}: next event at {now} ns after {sent} commands"
        );
        let due = due.map_or(u64::MAX, Time::as_ns);
        let pause = [0, 0, 0, 0, 0, 1, 300_000, 30_000_000][from.below(8) as usize];
        let think = now + from.below(pause + 1);
        if sent < commands && inside < ours.queue_depth() && think <= due {
            now = think;
            both_advance(ours.as_mut(), &mut c, now, &mut done, &mut timed);
            inside -= done.len() as u32;
            assert_eq!(
                c.next_event(),
                ours.next_event(),
                "{specification}: after advancing to {now} ns"
            );
            let command = from.next();
            ours.submit(Time::from_ns(now), command);
            c.submit(Time::from_ns(now), command);
            (sent, inside) = (sent + 1, inside + 1);
        } else if due < u64::MAX {
            now = due;
            both_advance(ours.as_mut(), &mut c, now, &mut done, &mut timed);
            inside -= done.len() as u32;
        } else {
            break;
        }
        let tags: Vec<u32> = timed.iter().map(|(_, tag)| *tag).collect();
        assert_eq!(tags, done, "{specification}: at {now} ns after {sent} commands");
        assert!(timed.iter().all(|(at, _)| *at == now), "{specification}: {timed:?} at {now} ns");
        checked += done.len() as u32;
        assert_eq!(c.stats(), ours.stats(), "{specification}: at {now} ns after {sent} commands");
    }
    assert_eq!((sent, inside, checked), (commands, 0, commands), "{specification}");
    sent
}

fn both_advance(
    ours: &mut dyn DeviceModel,
    c: &mut CDisk,
    now: u64,
    done: &mut Vec<u32>,
    timed: &mut Vec<(u64, u32)>,
) {
    done.clear();
    timed.clear();
    ours.advance(Time::from_ns(now), done);
    c.advance_timed(Time::from_ns(now), timed);
}

#[test]
fn a_million_commands_have_the_same_outcome_in_c_and_in_rust() {
    let mut given = 0;
    for (seed, specification) in specifications().iter().enumerate() {
        given += hold_together(specification, seed as u64, COMMANDS);
    }
    assert!(given >= 1_000_000, "only {given} commands");
}

#[test]
fn a_late_timer_changes_no_modelled_time() {
    for specification in specifications() {
        let mut ours = made(&specification, 9);
        let mut c = CDisk::from_device(ours.as_ref()).unwrap();
        let mut from = Commands::new(ours.as_ref(), 9);
        let (mut expected, mut seen, mut now) = (Vec::new(), Vec::new(), 0);
        for _ in 0..300 {
            let command = from.next();
            ours.submit(Time::from_ns(now), command);
            c.submit(Time::from_ns(now), command);
            // One at a time: in Rust event by event, in C at once, much later.
            let mut done = Vec::new();
            while done.is_empty() {
                let at = ours.next_event().unwrap();
                ours.advance(at, &mut done);
                expected.extend(done.iter().map(|tag| (at.as_ns(), *tag)));
            }
            now = expected.last().unwrap().0 + 1 + from.below(1000);
            ours.advance(Time::from_ns(now), &mut done);
            c.advance_timed(Time::from_ns(now), &mut seen);
            assert_eq!(seen, expected, "{specification}");
        }
        assert_eq!(c.stats(), ours.stats(), "{specification}");
    }
}

#[test]
fn every_row_says_whether_the_kernel_has_its_model() {
    for row in DEVICES {
        let small = if row.toml.contains("capacity_mib") { ":capacity_mib=64" } else { "" };
        let made = device(&format!("{}{small}", row.name), 1).unwrap();
        let c = CDisk::from_device(made.as_ref());
        assert_eq!(c.is_some(), !row.toml.contains("model = \"flash\""), "{}", row.name);
        let Some(c) = c else { continue };
        assert_eq!(c.has_arm(), made.geometry().cylinders > 0, "{}", row.name);
        assert_eq!(
            c.has_volatile_cache(),
            row.toml.contains("immediate_reporting = true"),
            "{}",
            row.name
        );
    }
}

/// Rounding decides whether a sector has just been read; random times hardly ever hit that
/// nanosecond.
#[test]
fn a_sector_that_has_passed_at_this_nanosecond_is_in_the_cache_in_both() {
    let specification = format!("{}:bus_bytes_per_s=1000000000000", ODD[0]);
    let read =
        |tag, sector, nr_sectors| Command::Transfer { tag, op: Op::Read, sector, nr_sectors };
    let mut hits = 0;
    for ahead in 0..120_u32 {
        for late in 0..3 {
            let mut ours = device(&specification, 1).unwrap();
            let mut c = CDisk::from_device(ours.as_ref()).unwrap();
            let (mut done, mut timed) = (Vec::new(), Vec::new());
            ours.submit(Time::ZERO, read(0, 0, 5));
            c.submit(Time::ZERO, read(0, 0, 5));
            let at = ours.next_event().unwrap().as_ns();
            both_advance(ours.as_mut(), &mut c, at, &mut done, &mut timed);
            // 600,000 ns per revolution of 65,535 sectors; the sector passes in this nanosecond,
            // the one before or after.
            let passes = at + u64::from(ahead) * 600_000 / 65_535 + late;
            let now = passes.saturating_sub(1).max(at);
            both_advance(ours.as_mut(), &mut c, now, &mut done, &mut timed);
            let command = read(1, 5, ahead.max(1));
            ours.submit(Time::from_ns(now), command);
            c.submit(Time::from_ns(now), command);
            assert_eq!(
                (c.next_event(), c.stats()),
                (ours.next_event(), ours.stats()),
                "{ahead} sectors, {late} ns"
            );
            hits += ours.stats().cache_hits;
        }
    }
    assert!((100..300).contains(&hits), "{hits} of 360 were hits");
}
