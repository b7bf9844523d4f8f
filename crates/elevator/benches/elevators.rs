//! Scheduler overhead: nanoseconds to insert, dispatch and complete a request through the queue
//! with 64 and with 4096 others held.
//!
//! `cargo bench -p elevator [-- NAME…]` selects rows by parts of their names. Rounds of all rows
//! alternate, so that a slowdown of the machine affects all; the median counts. A logarithmic cost
//! doubles from 64 to 4096; rows that inspect every request are marked `Guarantee::LinearTime`.

use std::hint::black_box;
use std::time::Instant;

use elevator::{
    Bio, BlockRequest, Build, Disk, ELEVATORS, ElevatorKind, Geometry, Guarantee, Limits, Op,
    Priority, Queue, SeekCurve, Survey, Time,
};

const HELD: [u32; 2] = [64, 4096];
const ROUNDS: usize = 7;
const PER_ROUND: u32 = 20_000;
const DISK: u64 = 1 << 22;
/// The kernel's documented overhead per request, in nanoseconds
/// (Documentation/block/bfq-iosched.rst).
const DOCUMENTED_NS: [(&str, u64); 2] = [("mq-deadline", 700), ("bfq", 1900)];

/// Positioning time equals distance.
struct Arm(u64);

impl Disk for Arm {
    fn positioning_ns(&self, _now: Time, request: &BlockRequest) -> u64 {
        self.0.abs_diff(request.sector) * 10
    }

    fn survey(&self, _now: Time, search: &mut dyn FnMut(&dyn Survey)) {
        search(self);
    }
}

impl Survey for Arm {
    fn positioning_ns(&self, request: &BlockRequest) -> u64 {
        self.0.abs_diff(request.sector) * 10
    }

    fn center(&self) -> u64 {
        self.0
    }

    fn at_least_ns(&self, sector: u64) -> u64 {
        self.0.abs_diff(sector) * 10
    }

    fn at_most_ns(&self) -> u64 {
        DISK * 10
    }

    fn exempt(&self, _each: &mut dyn FnMut(u64, u64)) {}
}

/// A queue that always holds the same number of requests.
struct Bed {
    queue: Queue,
    now: Time,
    arm: Arm,
    random: u64,
    done: Vec<u64>,
}

impl Bed {
    fn new(kind: &ElevatorKind, held: u32) -> Bed {
        let seek = SeekCurve {
            knee: 383,
            a_ns: 3_240_000,
            b_ns: 400_000,
            c_ns: 8_000_000,
            e_ps: 8_000_000,
            first: vec![],
        };
        let geometry = Geometry {
            cylinders: DISK / 1368 + 1,
            sectors_per_cylinder: 1368,
            seek,
            ..Geometry::default()
        };
        let limits =
            Limits { nr_requests: held + 64, queue_depth: 1, max_sectors: 1024, merge: true };
        let queue = Queue::new(kind, &Build { geometry, ..Build::default() }, limits);
        let mut bed = Bed {
            queue,
            now: Time::ZERO,
            arm: Arm(0),
            random: 88_172_645_463_325_252,
            done: Vec::new(),
        };
        (0..held).for_each(|nr| bed.submit(nr % 40));
        bed
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn submit(&mut self, process: u32) {
        let random = self.next();
        let op = if random % 10 < 7 { Op::Read } else { Op::Write };
        let bio = Bio {
            cookie: random,
            process,
            op,
            // Apart, because merges would make it cheaper.
            sector: (random >> 16) % (DISK / 32) * 32,
            nr_sectors: 8,
            sync: true,
            meta: false,
            priority: Priority::default(),
            release: None,
            deadline: None,
        };
        self.queue.submit(self.now, bio, &mut |entry| {
            black_box(entry);
        });
    }

    /// Completes a request and inserts another of the same process.
    fn one(&mut self) {
        let mut waits = 0;
        let request = loop {
            if let Some(request) = self.queue.dispatch(self.now, &self.arm).copied() {
                break request;
            }
            let timer = self
                .queue
                .next_timer()
                .expect("a scheduler that idles with nothing in flight has a timer");
            self.now = self.now.max(timer);
            self.queue.on_timer(self.now, &mut |_| {});
            waits += 1;
            assert!(waits < 1000, "it idles without end");
        };
        self.arm = Arm(request.end());
        self.now = self.now + 100_000;
        self.done.clear();
        self.queue.complete(self.now, request.tag, &mut self.done);
        self.queue.admit_waiting(self.now, &mut |entry| {
            black_box(entry);
        });
        self.submit(request.process);
    }

    fn round_ns(&mut self) -> f64 {
        let start = Instant::now();
        (0..PER_ROUND).for_each(|_| self.one());
        start.elapsed().as_nanos() as f64 / f64::from(PER_ROUND)
    }
}

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = |kind: &&ElevatorKind| {
        kind.name == "none"
            || words.is_empty()
            || words.iter().any(|word| kind.name.contains(word.as_str()))
    };
    let rows: Vec<&ElevatorKind> = ELEVATORS.iter().filter(wanted).collect();
    let mut beds: Vec<[Bed; 2]> =
        rows.iter().map(|kind| HELD.map(|held| Bed::new(kind, held))).collect();
    let mut seen = vec![[[0.0; ROUNDS]; 2]; rows.len()];
    for round in 0..=ROUNDS {
        for (beds, seen) in beds.iter_mut().zip(&mut seen) {
            for (bed, seen) in beds.iter_mut().zip(seen) {
                let ns = bed.round_ns();
                // The first round is a warm-up.
                if let Some(at) = round.checked_sub(1) {
                    seen[at] = ns;
                }
            }
        }
    }
    let medians: Vec<[f64; 2]> = seen.iter().map(|seen| seen.map(median)).collect();
    let none = rows.iter().position(|kind| kind.name == "none").map(|at| medians[at]);
    println!(
        "ns for insertion + dispatch + completion of one request, through the queue; median of {ROUNDS} rounds"
    );
    println!(
        "{:<16} {:>9} {:>9} {:>9} {:>9} {:>11}  remark",
        "scheduler", "64 held", "4096 held", "4096/64", "to none", "documented"
    );
    for (kind, [few, many]) in rows.iter().zip(&medians) {
        let growth = many / few;
        let linear = kind.guarantees(Guarantee::LinearTime);
        let remark = match (linear, growth > 4.0) {
            (true, _) => "linear by nature",
            (false, true) => "GROWS FASTER THAN THE LOGARITHM",
            (false, false) => "",
        };
        let to_none = none.map_or(String::new(), |none| format!("{:.1}", few / none[0]));
        let documented = DOCUMENTED_NS.iter().find(|(name, _)| *name == kind.name);
        let documented = documented.map_or(String::new(), |(_, ns)| format!("{ns} ns"));
        println!(
            "{:<16} {few:>9.0} {many:>9.0} {growth:>9.1} {to_none:>9} {documented:>11}  {remark}",
            kind.name
        );
    }
}

fn median(mut values: [f64; ROUNDS]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[ROUNDS / 2]
}
