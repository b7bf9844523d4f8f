//! Scripts from seeds.
//!
//! A seed first determines a manner (distances, adjacency and overlap of bios, number of processes,
//! other events), then the events. A test freezes the scripts of some seeds: a corpus contains
//! scripts as text, but reports name seeds.

use elevator::{PrioClass, Priority};

use super::script::{Event, Kind, Script};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

struct Manner {
    processes: u64,
    /// Sectors of the disk, and the granularity of positions.
    region: u64,
    grain: u64,
    lengths: &'static [u64],
    /// Percentages of submissions: continues the process's last, ends where another began, writes.
    continues: u64,
    precedes: u64,
    writes: u64,
    sync_writes: u64,
    meta: u64,
    /// Percentages of events.
    submits: u64,
    completes: u64,
    requeues: u64,
    exits: u64,
    priorities: u64,
    tunables: u64,
    ticks: &'static [u64],
}

const TUNABLES: &[(&str, &[u64])] = &[
    ("read_expire", &[0, 1, 10, 50, 125, 500, 2000]),
    ("write_expire", &[0, 1, 20, 100, 250, 5000]),
    ("writes_starved", &[0, 1, 2, 5]),
    ("fifo_batch", &[0, 1, 2, 4, 16, 64]),
    ("front_merges", &[0, 1]),
    ("read_batch_expire", &[0, 10, 50, 500, 1000]),
    ("write_batch_expire", &[0, 10, 30, 125, 500]),
    ("antic_expire", &[0, 1, 2, 6, 10, 20, 40]),
    ("quantum", &[1, 2, 4, 8, 16]),
    ("fifo_expire_sync", &[1, 5, 30, 125, 400]),
    ("fifo_expire_async", &[1, 5, 50, 250, 800]),
    ("back_seek_max", &[0, 16, 1024, 16384, 1_000_000]),
    ("back_seek_penalty", &[1, 2, 3, 10]),
    ("slice_sync", &[1, 10, 50, 100, 300]),
    ("slice_async", &[1, 10, 40, 100]),
    ("slice_async_rq", &[1, 2, 4, 8]),
    ("slice_idle", &[0, 1, 4, 8, 20, 50]),
];

impl Manner {
    fn draw(random: &mut Random) -> Manner {
        let lengths: [&[u64]; 4] =
            [&[8], &[8, 16, 24, 32, 48, 64], &[1, 2, 3, 4, 5, 8, 12, 16], &[8, 8, 8, 128, 256]];
        let ticks: [&[u64]; 4] =
            [&[1], &[1, 1, 2, 3, 5, 8], &[1, 4, 10, 25, 60, 130], &[1, 2, 30, 100, 300, 1000]];
        Manner {
            processes: random.pick(&[1, 2, 2, 3, 4, 6, 9]),
            region: random.pick(&[256, 1024, 4096, 65_536, 4_000_000, 400_000_000]),
            grain: random.pick(&[8, 8, 8, 4, 1]),
            lengths: random.pick(&lengths),
            continues: random.pick(&[0, 20, 50, 80]),
            precedes: random.pick(&[0, 0, 10, 30]),
            writes: random.pick(&[0, 10, 40, 70, 100]),
            sync_writes: random.pick(&[0, 10, 50, 100]),
            meta: random.pick(&[0, 0, 0, 20]),
            submits: random.pick(&[25, 40, 55]),
            completes: random.pick(&[15, 25, 35]),
            requeues: random.pick(&[0, 0, 2, 6]),
            exits: random.pick(&[0, 0, 2, 6]),
            priorities: random.pick(&[0, 0, 0, 3, 8]),
            tunables: random.pick(&[0, 0, 2, 6]),
            ticks: random.pick(&ticks),
        }
    }
}

pub fn generate(seed: u64) -> Script {
    let mut random = Random(seed.wrapping_mul(0xD134_2543_DE82_EF95));
    let manner = Manner::draw(&mut random);
    let queue_depth = random.pick(&[1, 1, 1, 2, 3, 6, 16]);
    let max_sectors: u64 = random.pick(&[1024, 1024, 1024, 512, 64]);
    let longest = random.pick(&[12, 30, 80]);
    let length = 6 + random.below(longest);
    let mut ends = vec![0; manner.processes as usize];
    let mut starts = vec![0; 4];
    let mut events = Vec::new();
    if random.percent(20) {
        let settings = 1 + random.below(3);
        (0..settings).for_each(|_| events.push(tunable(&mut random)));
    }
    while (events.len() as u64) < length {
        events.push(event(&mut random, &manner, max_sectors, &mut ends, &mut starts));
    }
    for _ in 0..random.below(16) {
        events.push(Event::Complete(random.below(3) as u32));
        if random.percent(40) {
            events.push(Event::Ticks(random.pick(manner.ticks) as u32));
        }
    }
    Script { queue_depth, max_sectors: max_sectors as u32, events }
}

fn event(
    random: &mut Random,
    manner: &Manner,
    max: u64,
    ends: &mut [u64],
    starts: &mut [u64],
) -> Event {
    let process = random.below(manner.processes);
    let mut draw = random.below(100);
    let mut falls = |share: u64| {
        let falls = draw < share;
        draw = draw.wrapping_sub(if falls { 0 } else { share });
        falls
    };
    if falls(manner.submits) {
        return submission(random, manner, max, process, ends, starts);
    }
    if falls(manner.completes) {
        return Event::Complete(if random.percent(60) { 0 } else { random.below(20) as u32 });
    }
    if falls(manner.requeues) {
        return Event::Requeue(random.below(20) as u32);
    }
    if falls(manner.exits) {
        return Event::Exit(process as u32);
    }
    if falls(manner.priorities) {
        return Event::Priority(process as u32, priority(random));
    }
    if falls(manner.tunables) {
        return tunable(random);
    }
    if random.percent(if manner.requeues > 0 { 30 } else { 5 }) {
        Event::Ask
    } else {
        Event::Ticks(random.pick(manner.ticks) as u32)
    }
}

fn submission(
    random: &mut Random,
    manner: &Manner,
    max: u64,
    process: u64,
    ends: &mut [u64],
    starts: &mut [u64],
) -> Event {
    let nr_sectors = random.pick(manner.lengths).min(max);
    let end = &mut ends[process as usize];
    let begin = starts[random.below(starts.len() as u64) as usize];
    let sector = if random.percent(manner.continues) {
        *end
    } else if random.percent(manner.precedes) && begin >= nr_sectors {
        begin - nr_sectors
    } else {
        random.below(manner.region) / manner.grain * manner.grain
    };
    *end = sector + nr_sectors;
    starts[random.below(starts.len() as u64) as usize] = sector;
    let kind = match random.percent(manner.writes) {
        false => Kind::Read,
        true if random.percent(manner.sync_writes) => Kind::SyncWrite,
        true => Kind::Write,
    };
    let meta = random.percent(manner.meta);
    Event::Submit { process: process as u32, kind, meta, sector, nr_sectors: nr_sectors as u32 }
}

fn priority(random: &mut Random) -> Priority {
    let class = random.pick(&[
        PrioClass::BestEffort,
        PrioClass::BestEffort,
        PrioClass::RealTime,
        PrioClass::Idle,
    ]);
    let level = if class == PrioClass::Idle { 0 } else { random.below(8) as u8 };
    Priority { class, level }
}

fn tunable(random: &mut Random) -> Event {
    let (name, values) = random.pick(TUNABLES);
    Event::Set(name.to_owned(), random.pick(values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::original::digest;

    #[test]
    fn a_seed_gives_the_same_script_for_ever_and_every_script_is_read_as_it_is_written() {
        let mut all = String::new();
        for seed in 0..200 {
            let script = generate(seed);
            assert_eq!(script.to_string().parse().as_ref(), Ok(&script), "seed {seed}");
            all += &script.to_string();
        }
        assert_eq!(
            digest(&all),
            873_484_646,
            "reports name seeds: with another generator they would name other scripts"
        );
    }
}
