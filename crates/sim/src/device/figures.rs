//! Every preset against the published figures of its drive.

use elevator::{Op, SECTOR_BYTES, Time};

use super::{Command, DEVICES, DeviceModel, device};

/// Published figures of a disk; seeks in microseconds.
struct Published {
    name: &'static str,
    sectors: u64,
    rpm: u64,
    /// Over uniform pairs of cylinders; `None` if no source has it.
    mean: Option<f64>,
    single: f64,
    /// Distance and time of the measured full stroke.
    full: (u64, f64),
    /// Outermost zone: sectors per track, heads, skews, spare sectors per cylinder (spread evenly).
    outer: [u64; 5],
}

/// From algorithms.md §3.6 and §3.7 (and DiskSim's tables for c2490a and c3323a), entered
/// independently of the presets.
const PUBLISHED: &[Published] = &[
    Published {
        name: "hp97560",
        sectors: 1962 * 19 * 72,
        rpm: 4002,
        mean: Some(12.83),
        single: 3.640,
        full: (1961, 23.688),
        outer: [72, 19, 8, 18, 0],
    },
    Published {
        name: "c2247a",
        sectors: 2_054_864,
        rpm: 5400,
        mean: None,
        single: 2.89,
        full: (2050, 19.845),
        outer: [96, 13, 14, 32, 0],
    },
    Published {
        name: "c2490a",
        sectors: 4_165_272,
        rpm: 6398,
        mean: Some(9.186),
        single: 1.264,
        full: (2625, 17.378),
        outer: [108, 18, 18, 36, 0],
    },
    Published {
        name: "c3323a",
        sectors: 2_056_008,
        rpm: 5400,
        mean: Some(9.524),
        single: 1.178,
        full: (2976, 18.116),
        outer: [120, 7, 17, 34, 0],
    },
    Published {
        name: "c2200a-like",
        sectors: 1449 * 8 * 113 / 2,
        rpm: 4002,
        mean: None,
        single: 4.047,
        full: (1448, 28.176),
        outer: [56, 8, 17, 22, 0],
    },
    Published {
        name: "barracuda7200",
        sectors: 4_110_000,
        rpm: 7200,
        mean: Some(9.34),
        single: 1.943,
        full: (4986, 16.679),
        outer: [186, 5, 37, 52, 36],
    },
    Published {
        name: "atlas3",
        sectors: 17_783_250,
        rpm: 7200,
        mean: Some(8.32),
        single: 1.663,
        full: (7998, 15.36),
        outer: [256, 10, 75, 86, 17],
    },
    Published {
        name: "cheetah9lp",
        sectors: 17_783_240,
        rpm: 10_045,
        mean: Some(5.47),
        single: 0.831,
        full: (6894, 10.627),
        outer: [254, 12, 97, 133, 23],
    },
    Published {
        name: "cheetah4lp",
        sectors: 8_887_200,
        rpm: 10_033,
        mean: Some(7.97),
        single: 0.636,
        full: (6580, 16.107),
        outer: [195, 8, 22, 37, 10],
    },
    Published {
        name: "atlas10k",
        sectors: 17_938_986,
        rpm: 10_025,
        mean: Some(5.61),
        single: 1.245,
        full: (10_021, 10.828),
        outer: [334, 6, 63, 113, 2],
    },
    Published {
        name: "maxtor300g",
        sectors: 585_937_499,
        rpm: 10_001,
        mean: Some(4.84),
        single: 0.526,
        full: (80_000, 9.570),
        outer: [1170, 8, 281, 281, 0],
    },
    Published {
        name: "wd4tb7200",
        sectors: 7_725_673_570,
        rpm: 7200,
        mean: Some(7.45),
        single: 1.517,
        full: (353_181, 15.7),
        outer: [3072, 10, 435, 676, 0],
    },
    Published {
        name: "st2000dm006",
        sectors: 3_907_029_168,
        rpm: 7200,
        mean: Some(13.57),
        single: 1.038,
        full: (384_000, 24.57),
        outer: [3418, 4, 410, 547, 0],
    },
];

fn near(what: &str, seen: f64, published: f64) {
    assert!((seen / published - 1.0).abs() < 0.01, "{what}: {seen} where {published} is published");
}

#[test]
fn every_disk_has_published_figures_here() {
    let disks =
        DEVICES.iter().filter(|row| row.toml.contains("model = \"hdd\"")).map(|row| row.name);
    assert_eq!(disks.collect::<Vec<_>>(), PUBLISHED.iter().map(|row| row.name).collect::<Vec<_>>());
}

#[test]
fn capacity_and_seeks_are_the_published_ones_within_one_percent() {
    for Published { name, sectors, mean, single, full, .. } in PUBLISHED {
        let disk = device(name, 1).unwrap();
        near(&format!("{name}, sectors"), disk.sectors() as f64, *sectors as f64);
        let geometry = disk.geometry();
        let ms = |d| geometry.seek.seek_ns(d) as f64 / 1e6;
        near(&format!("{name}, one cylinder"), ms(1), *single);
        near(&format!("{name}, full stroke"), ms(full.0), full.1);
        let cylinders = geometry.cylinders;
        // Weighted by the number of pairs at each distance; every distance up to 2000, then a
        // sample.
        let (mut sum, mut weight) = (0.0, cylinders as f64);
        let step = |d: u64| if d < 2000 { 1 } else { d / 1000 };
        let mut d = 1;
        while d < cylinders {
            let pairs = 2.0 * (cylinders - d) as f64 * step(d) as f64;
            sum += pairs * ms(d);
            weight += pairs;
            d += step(d);
        }
        if let Some(mean) = mean {
            near(&format!("{name}, mean seek"), sum / weight, *mean);
        }
    }
}

/// Reads from the start of the disk, without overhead and bus.
fn long_read(disk: &mut dyn DeviceModel, sectors: u32) -> u64 {
    disk.submit(
        Time::ZERO,
        Command::Transfer { tag: 0, op: Op::Read, sector: 0, nr_sectors: sectors },
    );
    let mut done = Vec::new();
    while let Some(at) = disk.next_event().filter(|_| done.is_empty()) {
        disk.advance(at, &mut done);
    }
    let stats = disk.stats();
    stats.seek_ns + stats.rotation_ns + stats.transfer_ns
}

#[test]
fn revolution_and_sustained_rate_are_the_published_ones_within_one_percent() {
    for Published { name, rpm, outer: [spt, heads, track_skew, cylinder_skew, spare], .. } in
        PUBLISHED
    {
        let revolution = 60e9 / *rpm as f64;
        let mut disk = device(name, 1).unwrap();
        long_read(&mut *disk, *spt as u32);
        near(&format!("{name}, revolution"), disk.stats().transfer_ns as f64, revolution);
        let (few, many) = (10, 40);
        let read = |cylinders: u64| {
            let mut disk = device(name, 1).unwrap();
            let sectors = cylinders * (heads * spt - spare);
            (long_read(&mut *disk, sectors as u32) as f64, sectors as f64 * SECTOR_BYTES as f64)
        };
        let (some, more) = (read(few), read(many));
        let seen = (more.1 - some.1) / (more.0 - some.0) * 1e9;
        let share = (heads * spt - spare) as f64
            / (heads * spt + (heads - 1) * track_skew + cylinder_skew) as f64;
        let published = (spt * SECTOR_BYTES) as f64 / revolution * 1e9 * share;
        near(&format!("{name}, sustained rate"), seen, published);
    }
    let hp = (72.0 * 512.0) / 14.9925e-3 * 1368.0 / 1530.0;
    near("the formula itself for the HP 97560", hp, 2.198e6);
}

#[test]
fn the_hp97560_has_the_times_of_its_vector() {
    // algorithms.md §8.7, in microseconds.
    let seek = device("hp97560", 1).unwrap().geometry().seek;
    let us = [1, 10, 100, 383, 384, 654, 1000, 1961].map(|d| (seek.seek_ns(d) + 500) / 1000);
    assert_eq!(us, [3640, 4505, 7240, 11_068, 11_072, 13_232, 16_000, 23_688]);
    let mut disk = device("hp97560", 1).unwrap();
    long_read(&mut *disk, 72);
    assert_eq!(disk.stats().transfer_ns, 14_992_504);
    let mut disk = device("hp97560", 1).unwrap();
    long_read(&mut *disk, 1);
    assert_eq!(disk.stats().transfer_ns, 208_229);
}

#[test]
fn trials_are_as_long_as_the_device_is_slow() {
    let ms = |name| device(name, 1).unwrap().trial_ms();
    assert_eq!(
        ["hp97560", "wd4tb7200", "sata-ssd", "nvme", "null"].map(ms),
        [60_000, 60_000, 2_000, 500, 100]
    );
}
