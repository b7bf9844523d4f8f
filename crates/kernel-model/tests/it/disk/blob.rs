//! Malformed tables are rejected or give a working disk, without out-of-bounds access.
//!
//! The C code traps on undefined behaviour. For addresses: `CFLAGS=-fsanitize=address cargo rustc
//! -p kernel-model --test blob -- -C link-arg=-lasan`, then run it with libasan.so preloaded and
//! `ASAN_OPTIONS=detect_leaks=0`.

use elevator::{Op, Time};
use kernel_model::disk::CDisk;
use proptest::prelude::*;
use sim::device::{Command, device, device_from_toml};
use sim::{DeviceModel, stream};

const SPECIFICATIONS: [&str; 6] = [
    "hp97560",
    "c2247a:queue_depth=4:write_cache=100:immediate_reporting=1",
    "atlas10k:queue_depth=3:segments=0",
    "c2200a-like:queue_depth=2:write_cache=64:immediate_reporting=1:order=arrival",
    "null:queue_depth=3:service_ns=1000:distribution=exponential:servers=2",
    "measured",
];

fn tables(of: usize) -> Vec<u8> {
    if SPECIFICATIONS[of] == "measured" {
        let text = include_str!("../../../../sim/tests/data/measured.toml");
        return device_from_toml(text, &[], 1).unwrap().tables();
    }
    device(SPECIFICATIONS[of], 1).unwrap().tables()
}

/// The disk must complete everything it accepts, and accept no more than it reports.
fn exercise(tables: &[u8], seed: u64) {
    let Some(mut disk) = CDisk::new(tables) else { return };
    let (mut random, mut now, mut inside, mut done) = (stream(seed, "commands"), 0, 0, Vec::new());
    let sectors = disk.sectors();
    for tag in 0..60 {
        let nr_sectors = (1 + random.below(40)).min(sectors) as u32;
        let sector =
            [random.below(sectors), sectors - u64::from(nr_sectors), 0][random.below(3) as usize];
        let op = if random.below(2) == 0 { Op::Read } else { Op::Write };
        let transfer = Command::Transfer { tag, op, sector, nr_sectors };
        let command = if random.below(8) == 0 { Command::Flush { tag } } else { transfer };
        inside += u32::from(disk.try_submit(Time::from_ns(now), command));
        let due = disk.next_event().map_or(now, Time::as_ns);
        assert!(due >= now, "the next event lies at {due} ns, before {now} ns");
        now = if random.below(3) == 0 { now } else { due };
        disk.advance_timed(Time::from_ns(now), &mut done);
    }
    for _ in 0..100_000 {
        let Some(at) = disk.next_event() else { break };
        disk.advance_timed(at, &mut done);
    }
    assert_eq!(disk.next_event(), None);
    assert_eq!(done.len(), inside as usize);
}

/// More often wrong in an interesting way than a random number.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..4_u64,
        (0..64_u32, 0..3_u64)
            .prop_map(|(shift, off)| (1_u64 << shift).wrapping_add(off).wrapping_sub(1)),
        0..70_000_u64,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn tables_with_other_numbers_are_refused_or_behave(
        of in 0..SPECIFICATIONS.len(),
        changes in prop::collection::vec((0..64_usize, number()), 1..4),
        seed: u64,
    ) {
        let mut tables = tables(of);
        for (at, value) in changes {
            let at = 16 + 8 * at;
            if at + 8 <= tables.len() {
                tables[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
        }
        exercise(&tables, seed);
    }

    #[test]
    fn tables_with_other_bytes_or_lengths_are_refused_or_behave(
        of in 0..SPECIFICATIONS.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        length in any::<prop::sample::Index>(),
        cut: bool,
        says: bool,
        seed: u64,
    ) {
        let mut tables = tables(of);
        for (at, to) in changes {
            *at.get_mut(&mut tables) = to;
        }
        if cut {
            tables.truncate(length.index(tables.len() + 1));
            if says && tables.len() >= 16 {
                let length = tables.len() as u32;
                tables[12..16].copy_from_slice(&length.to_le_bytes());
            }
        }
        exercise(&tables, seed);
    }

    #[test]
    fn any_bytes_are_refused_or_behave(bytes in prop::collection::vec(any::<u8>(), 0..300), seed: u64) {
        exercise(&bytes, seed);
    }
}

/// Positions of bounded numbers, each with a value just out of bounds.
const BEYOND: [(usize, u64); 57] = [
    (16, 0),
    (16, 1 << 48),
    (24, 0),
    (24, 4097),
    (32, 0),
    (32, 1_000_001),
    (40, 0),
    (40, 257),
    (48, 599_999),
    (48, 200_000_001),
    (56, 1_000_000_001),
    (64, 1_000_000_001),
    (72, 72),
    (80, 1_000_000_001),
    (88, 3_600_000_001),
    (96, 2),
    (104, 1_000_000_001),
    (112, 1_000_000_001),
    (120, 1_000_000_001),
    (128, 999),
    (128, (1 << 40) + 1),
    (136, 257),
    (144, 2),
    (144, 1),
    (152, 4097),
    (160, 0),
    (160, (1 << 20) + 1),
    (168, (1 << 24) + 1),
    (176, 1_000_000_001),
    (184, 1_000_000_001),
    (192, 1_000_000_001),
    (200, 1_000_000_001),
    (208, 1_000_000_001),
    (216, 1_000_000_001),
    (224, 1_000_000_001),
    (232, 101),
    (240, 2),
    (248, 2),
    (256, 2),
    (264, 0),
    (264, 257),
    (272, 999),
    (280, 0),
    (280, (1 << 20) + 1),
    (288, 0),
    (288, 4097),
    (296, 1_000_000_001),
    (304, 0),
    (312, 0),
    (320, 1961),
    (328, 65_536),
    (336, 73),
    (344, 72),
    (352, 72),
    (360, 1962 * 19),
    (368, 1962 * 19),
    (376, 1),
];

#[test]
fn each_number_out_of_its_bounds_is_refused() {
    let good = tables(0);
    assert!(CDisk::new(&good).is_some());
    for (at, value) in BEYOND {
        let mut bad = good.clone();
        bad[at..at + 8].copy_from_slice(&value.to_le_bytes());
        assert!(CDisk::new(&bad).is_none(), "{value} at byte {at}");
    }
    // More sectors than in the zones, a non-zero seek over no distance, and one over two seconds.
    for (at, value) in [(16, 2_684_017), (384, 1), (392, u64::from(2_000_000_001_u32))] {
        let mut bad = good.clone();
        bad[at..at + 4].copy_from_slice(&(value as u32).to_le_bytes());
        assert!(CDisk::new(&bad).is_none(), "{value} at byte {at}");
    }
    let null = tables(4);
    for (at, value) in [(24, 65_536), (32, 60_000_000_001), (40, 0), (40, 4097), (48, 2)] {
        let mut bad = null.clone();
        bad[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
        assert!(CDisk::new(&bad).is_none(), "null: {value} at byte {at}");
    }
}

#[test]
fn what_a_disk_cannot_take_it_refuses_and_nothing_has_happened() {
    for of in 0..SPECIFICATIONS.len() {
        let mut disk = CDisk::new(&tables(of)).unwrap();
        let (sectors, depth) = (disk.sectors(), disk.queue_depth());
        let read =
            |tag, sector, nr_sectors| Command::Transfer { tag, op: Op::Read, sector, nr_sectors };
        let at = Time::from_ns(1000);
        for (sector, nr) in [
            (0, 0),
            (sectors, 1),
            (sectors - 1, 2),
            (u64::MAX, 1),
            (u64::MAX - 7, 8),
            (0, (1 << 24) + 1),
        ] {
            assert!(!disk.try_submit(at, read(0, sector, nr)), "{nr} sectors from {sector}");
        }
        assert_eq!((disk.stats().transfers, disk.next_event()), (0, None));
        for tag in 0..depth {
            assert!(disk.try_submit(at, read(tag, sectors - 1, 1)), "room for {tag}");
        }
        assert!(!disk.try_submit(at, read(depth, 0, 1)), "the disk is full");
        assert!(!disk.try_submit(Time::from_ns(999), Command::Flush { tag: 99 }), "time went back");
        let due = disk.next_event().unwrap();
        assert!(
            !disk.try_submit(Time::from_ns(due.as_ns() + 1), Command::Flush { tag: 99 }),
            "something is due"
        );
        for tag in 0..depth + 16 {
            assert!(disk.try_submit(at, Command::Flush { tag: 100 + tag }), "room for flush {tag}");
        }
        assert!(!disk.try_submit(at, Command::Flush { tag: 99 }), "as many flushes as it takes");
        let mut done = Vec::new();
        while let Some(at) = disk.next_event() {
            disk.advance_timed(at, &mut done);
        }
        assert_eq!(done.len() as u32, 2 * depth + 16);
        assert_eq!(disk.stats().transfers, u64::from(depth));
        // Time that goes back changes nothing.
        let before = disk.stats();
        disk.advance_timed(Time::from_ns(0), &mut done);
        assert_eq!(disk.stats(), before);
    }
}
