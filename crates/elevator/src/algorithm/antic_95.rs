//! antic-95: waits while the seek it may save outweighs the likely wait, at most for the 95th
//! percentile of think times. A fixed wait suits neither fast nor slow processes.
//!
//! Cost is the rest of the median think time; benefit is the difference in positioning time between
//! the candidate and the process's expected next request. Positioning time is the geometry's seek
//! curve without rotation; without a geometry nothing can be saved and it never waits.
//!
//! Source: S. Iyer, P. Druschel, "Anticipatory scheduling", SOSP 2001, the "95%-Heuristic" of later
//! work, within the anticipatory scheduler of Linux 2.6.20 for comparison. The body of the paper
//! was not available, hence:
//!
//! | part | evidence |
//! |---|---|
//! | base: batches, FIFOs, order, breaking rules 1 to 7 (`anticipatory/`) | confirmed in 2.6.20 |
//! | cost = rest of the median think time; wait = rest of the 95th percentile; wait while benefit > cost | second-hand |
//! | a decayed frequency table of think times for each process | second-hand |
//! | benefit = positioning time of the candidate − expected positioning time of the awaited process | recalled |
//! | the expected positioning time is a decayed mean over its requests | recalled |
//! | buckets and timer of 500 µs | recalled |
//! | decay 0.2589 per sample (ten newer samples leave 5 %) | derived from a recalled rule |
//! | the same decay for positioning times; 0 before the first one | proposed |
//! | think times of 20 ms and more overflow; a percentile there means no wait | proposed |
//! | before 5 samples: median 3 ms, 95th percentile 6 ms | proposed |
//! | median in the middle of its bucket, percentile at the upper edge | proposed |
//! | combination with 2.6.20: the rule replaces rule 8, the percentile replaces antic_expire | proposed |
//!
//! Parameters: those of anticipatory without antic_expire, and `anticipate` 1, `percentile` 95,
//! `bucket_us` 500 (40 buckets and the overflow), `alpha` 16967 of 65536, `min_samples` 5,
//! `prior_median_us` 3000, `prior_wait_us` 6000, `timer_us` 500 (0: the kernel's tick).
//!
//! Departures: fixed point with 65536 = 1.0; think times in nanoseconds. As in anticipatory, the
//! think time is 0 while the process has requests outstanding.

use crate::clock::Clock;
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::scheduler::Elevator;

use super::anticipatory::arm::Actuator;
use super::anticipatory::history::Arrival;
use super::anticipatory::machine::Machine;
use super::anticipatory::rule::{Outlook, Rule};
use super::anticipatory::timing::Period;
use super::anticipatory::tunables;

const fn own(
    name: &'static str,
    unit: &'static str,
    range: (u64, u64),
    mark: Evidence,
    help: &'static str,
) -> Tunable {
    Tunable { name, unit, min: range.0, max: range.1, evidence: mark, help, role: Role::Knob }
}

/// In a legacy Linux queue like its base, so that only the rule differs.
pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "antic-95",
    origin: Origin::LegacyLinux,
    help: "anticipatory with the SOSP 2001 rule (partly recalled): benefit against cost, 95th percentile of think times",
    source: "Iyer & Druschel, SOSP 2001, on Linux 2.6.20 block/as-iosched.c",
    evidence: Evidence::Recalled,
    guarantees: &[Guarantee::IdlesWithTimer],
    tunables: &[
        tunables::READ_EXPIRE,
        tunables::WRITE_EXPIRE,
        tunables::READ_BATCH_EXPIRE,
        tunables::WRITE_BATCH_EXPIRE,
        tunables::DRAIN,
        tunables::FRONT_MERGE,
        tunables::FIRST_WRITE,
        tunables::switch(
            "anticipate",
            Evidence::Proposed,
            "0 = never wait, 1 = wait where it pays",
        ),
        own(
            "percentile",
            "percent",
            (1, 100),
            Evidence::SecondHand,
            "wait at most for this percentile of think times",
        ),
        own(
            "bucket_us",
            "µs",
            (10, 10_000),
            Evidence::Recalled,
            "width of the 40 buckets; a change discards think times",
        ),
        own(
            "alpha",
            "of 65536",
            (1, 65_535),
            Evidence::Recalled,
            "weight of the newest sample (0.2589)",
        ),
        own(
            "min_samples",
            "samples",
            (0, 1000),
            Evidence::Proposed,
            "think times needed before the table is used",
        ),
        own(
            "prior_median_us",
            "µs",
            (0, 1_000_000),
            Evidence::Proposed,
            "median think time before that",
        ),
        own("prior_wait_us", "µs", (0, 1_000_000), Evidence::Proposed, "longest wait before that"),
        own("timer_us", "µs", (0, 10_000), Evidence::Recalled, "resolution of the timer; 0: ticks")
            .with_role(Role::Reading),
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    Box::new(Machine::new(build, BenefitCost::new(build)))
}

const BUCKETS: usize = 40;

const ONE: u64 = 1 << 16;

#[derive(Debug, Clone)]
struct Record {
    /// Weights by think time, the overflow last.
    table: [u32; BUCKETS + 1],
    /// At least up to `min_samples`.
    samples: u64,
    /// Decayed mean of seek times in nanoseconds; None before the first.
    seek_ns: Option<u64>,
}

impl Record {
    const NEW: Record = Record { table: [0; BUCKETS + 1], samples: 0, seek_ns: None };

    fn add_think(&mut self, bucket: usize, alpha: u32) {
        // At most 65536 · 65535, which fits 32 bits, so that eight are computed at a time.
        let keep = ONE as u32 - alpha;
        self.table.iter_mut().for_each(|weight| *weight = (*weight * keep) >> 16);
        self.table[bucket.min(BUCKETS)] += alpha;
        self.samples = self.samples.saturating_add(1);
    }

    fn add_seek(&mut self, ns: u64, alpha: u64) {
        let mean = self.seek_ns.unwrap_or(ns);
        self.seek_ns = Some((mean * (ONE - alpha) + ns * alpha) / ONE);
    }

    /// The bucket of a percentile; None: the overflow.
    fn bucket_of(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.table.iter().map(|weight| u64::from(*weight)).sum();
        let mut sum = 0;
        let at = self.table.iter().position(|weight| {
            sum += u64::from(*weight);
            sum * 100 >= all * percent
        });
        at.filter(|at| *at < BUCKETS).map(|at| at as u64)
    }
}

#[derive(Debug)]
struct BenefitCost {
    actuator: Actuator,
    records: Vec<Record>,
    anticipate: bool,
    percentile: u64,
    bucket_ns: u64,
    alpha: u32,
    min_samples: u64,
    prior_median_ns: u64,
    prior_wait_ns: u64,
    timer_ns: u64,
}

impl BenefitCost {
    fn new(build: &Build) -> BenefitCost {
        BenefitCost {
            actuator: Actuator::new(build.geometry.clone()),
            records: Vec::new(),
            anticipate: true,
            percentile: 95,
            bucket_ns: 500_000,
            alpha: 16_967,
            min_samples: 5,
            prior_median_ns: 3_000_000,
            prior_wait_ns: 6_000_000,
            timer_ns: 500_000,
        }
    }

    fn record(&self, process: u32) -> &Record {
        self.records.get(process as usize).unwrap_or(&Record::NEW)
    }

    fn longest_wait_ns(&self, process: u32) -> Option<u64> {
        let record = self.record(process);
        if record.samples < self.min_samples || record.samples == 0 {
            return Some(self.prior_wait_ns);
        }
        record.bucket_of(self.percentile).map(|bucket| (bucket + 1) * self.bucket_ns)
    }

    fn median_ns(&self, process: u32) -> Option<u64> {
        let record = self.record(process);
        if record.samples < self.min_samples || record.samples == 0 {
            return Some(self.prior_median_ns);
        }
        record.bucket_of(50).map(|bucket| bucket * self.bucket_ns + self.bucket_ns / 2)
    }
}

impl Rule for BenefitCost {
    fn is_on(&self) -> bool {
        self.anticipate
    }

    fn period(&mut self, clock: Clock, process: u32) -> Period {
        let ns = self.longest_wait_ns(process).unwrap_or(0);
        match self.timer_ns {
            0 => Period::ticks_of(clock, ns),
            grain_ns => Period::Exact { ns, grain_ns },
        }
    }

    fn refuses(&mut self, see: &Outlook<'_>) -> bool {
        let (Some(_), Some(median)) =
            (self.longest_wait_ns(see.process), self.median_ns(see.process))
        else {
            return true;
        };
        let Some(candidate) = see.candidate.or(see.background) else { return true };
        let cost = median.saturating_sub(see.elapsed_ns);
        let distance = self.actuator.distance(see.head, candidate);
        let expected = self.record(see.process).seek_ns.unwrap_or(0);
        let benefit = self.actuator.seek_ns(distance).saturating_sub(expected);
        benefit <= cost
    }

    fn forget(&mut self, process: u32) {
        if let Some(record) = self.records.get_mut(process as usize) {
            *record = Record::NEW;
        }
    }

    fn learn(&mut self, arrival: &Arrival) {
        let at = arrival.process as usize;
        if at >= self.records.len() {
            self.records.resize(at + 1, Record::NEW);
        }
        let Some(since) = arrival.since else { return };
        let think_ns = match since.last_end {
            Some(end) if since.idle => arrival.now.time - end.time,
            _ => 0,
        };
        let record = &mut self.records[at];
        record.add_think((think_ns / self.bucket_ns).min(BUCKETS as u64) as usize, self.alpha);
        let distance = self.actuator.distance(since.last_pos, arrival.sector);
        record.add_seek(self.actuator.seek_ns(distance), u64::from(self.alpha));
    }

    fn get(&self, _clock: Clock, tunable: &str) -> Option<u64> {
        Some(match tunable {
            "anticipate" => u64::from(self.anticipate),
            "percentile" => self.percentile,
            "bucket_us" => self.bucket_ns / 1000,
            "alpha" => u64::from(self.alpha),
            "min_samples" => self.min_samples,
            "prior_median_us" => self.prior_median_ns / 1000,
            "prior_wait_us" => self.prior_wait_ns / 1000,
            "timer_us" => self.timer_ns / 1000,
            _ => return None,
        })
    }

    fn set(&mut self, _clock: Clock, tunable: &str, value: u64) -> bool {
        match tunable {
            "anticipate" => self.anticipate = value != 0,
            "percentile" => self.percentile = value,
            "bucket_us" => {
                if self.bucket_ns != value * 1000 {
                    self.records
                        .iter_mut()
                        .for_each(|record| (record.table, record.samples) = ([0; BUCKETS + 1], 0));
                }
                self.bucket_ns = value * 1000;
            }
            "alpha" => self.alpha = value as u32,
            "min_samples" => self.min_samples = value,
            "prior_median_us" => self.prior_median_ns = value * 1000,
            "prior_wait_us" => self.prior_wait_ns = value * 1000,
            "timer_us" => self.timer_ns = value * 1000,
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::anticipatory::testing::{Bench, hp97560, ms, us};

    fn record(thinks: &[usize]) -> Record {
        let mut record = Record::NEW;
        thinks.iter().for_each(|bucket| record.add_think(*bucket, 16_967));
        record
    }

    #[test]
    fn ten_newer_samples_leave_five_percent() {
        let mut thinks = vec![3; 200];
        thinks.extend([7; 10]);
        let record = record(&thinks);
        let percent = |bucket: usize| u64::from(record.table[bucket]) * 100 / ONE;
        assert_eq!((percent(3), percent(7)), (4, 94), "a little is lost to rounding: 5 and 95");
    }

    #[test]
    fn percentiles_are_where_the_weights_have_come_to_and_the_overflow_has_none() {
        let even = record(&[0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!((even.bucket_of(1), even.bucket_of(100)), (Some(0), Some(3)));
        assert_eq!(record(&[1, 1, 1, 1, 1, 1, 30]).bucket_of(50), Some(1));
        assert_eq!(
            record(&[1, 1, 1, 1, 1, 1, 30]).bucket_of(95),
            Some(30),
            "the newest has 26 percent"
        );
        assert_eq!(record(&[1, 1, 1, 1, 1, 1, 99]).bucket_of(95), None);
    }

    #[test]
    fn it_waits_for_a_close_thinker_when_the_other_is_far() {
        let mut bench = Bench::hp(&ROW);
        let end = bench.stream(ms(1), 0, 0, 20, 1000);
        bench.read(end, 1, 2_000_000);
        assert_eq!(bench.dispatch(end), None, "13 ms of seek against half a millisecond");
        assert_eq!(
            bench.elevator.next_timer(),
            Some(end + 1_500_000),
            "95 percent think for less than 1.5 ms"
        );
        bench.elevator.on_timer(end + 1_500_000);
        assert_eq!(bench.dispatch(end + 1_500_000).unwrap().process, 1);
        let counts = bench.elevator.anticipation().unwrap();
        assert_eq!((counts.started, counts.failures, counts.failure_wait_ns), (1, 1, 1_500_000));
    }

    #[test]
    fn it_does_not_wait_longer_than_the_seek_that_it_would_save() {
        // Just outside the 4 MiB that are always close: seven cylinders, 4.3 ms.
        for (think_us, waits) in [(1000, true), (3900, true), (5000, false), (15_000, false)] {
            let mut bench = Bench::hp(&ROW);
            let end = bench.stream(ms(1), 0, 0, 20, think_us);
            bench.read(end, 1, 9600);
            assert_eq!(bench.dispatch(end).is_none(), waits, "think time {think_us} µs");
        }
    }

    #[test]
    fn a_process_that_is_all_over_the_disk_is_not_worth_waiting_for() {
        let mut bench = Bench::hp(&ROW);
        let mut now = ms(1);
        for at in 0..20 {
            bench.read(now, 0, at % 2 * 1_200_000);
            bench.serve(now, 0);
            now = now + 2_000_000;
        }
        // A seek of 16.2 ms, of which the process's own takes 15.0; it thinks for 2 ms.
        let end = us(39_000);
        bench.read(end, 1, 2_600_000);
        assert_eq!(bench.dispatch(end).map(|got| got.process), Some(1));
    }

    #[test]
    fn it_waits_for_the_slow_think_times_too_but_weighs_the_usual_one() {
        let mut bench = Bench::hp(&ROW);
        let end = bench.stream(ms(1), 0, 0, 20, 1000) + 3_000_000;
        bench.read(end, 0, 160);
        bench.serve(end, 0);
        bench.read(end, 1, 9600);
        assert_eq!(
            (bench.dispatch(end), bench.elevator.next_timer()),
            (None, Some(end + 3_500_000))
        );
    }

    #[test]
    fn think_times_in_the_overflow_mean_no_wait() {
        let mut bench = Bench::hp(&ROW);
        let end = bench.stream(ms(1), 0, 0, 20, 25_000);
        bench.read(end, 1, 2_000_000);
        assert!(bench.dispatch(end).is_some());
    }

    #[test]
    fn a_new_process_is_waited_for_by_the_prior() {
        let mut bench = Bench::hp(&ROW);
        let end = bench.stream(ms(1), 0, 0, 1, 0);
        bench.read(end, 1, 2_000_000);
        assert_eq!(
            (bench.dispatch(end), bench.elevator.next_timer()),
            (None, Some(end + 6_000_000))
        );
    }

    #[test]
    fn without_an_arm_or_when_told_not_to_it_never_waits() {
        let arms = [Build::default(), Build { geometry: hp97560(), ..Build::default() }];
        for (build, anticipate) in arms.iter().zip([1, 0]) {
            let mut bench = Bench::new(&ROW, build);
            bench.set("anticipate", anticipate);
            let end = bench.stream(ms(1), 0, 0, 20, 500);
            bench.read(end, 1, 2_000_000);
            assert!(bench.dispatch(end).is_some());
            assert_eq!(bench.elevator.anticipation().unwrap().started, 0);
        }
    }
}
