//! asptf: aged shortest positioning time first. sptf starves requests that are always farther away
//! than new arrivals.
//!
//! The smallest effective time is next; ties go to the older request. t is the positioning time
//! computed by the disk, `age` the time since insertion; `rule` selects the definition:
//!
//! | `rule` | effective time | evidence |
//! |---|---|---|
//! | 0 | t · (w_ms − age) / w_ms | DiskSim's source, confirmed; below 0 the request with the largest product wins |
//! | 1 | t − age · weight / 1000 | DiskSim's source, confirmed |
//! | 2 | t − age · weight | Jacobson and Wilkes 1991, recalled |
//!
//! Source: DiskSim (disksim_ioqueue.c) and the literature, as in the table. DiskSim's WPTF_OPT is
//! rule 0 and its ASPTF_OPT rule 1, so a paper's "ASPTF(6)" is more likely rule 1 with weight 6
//! than rule 0 with 6 s.
//!
//! Parameters: `rule` (choice, default 0); `w_ms` (ms, default 6000; literature 6 to 30 s,
//! recalled); `weight` (thousandths in rule 1, integer in rule 2; default 6, recalled).
//!
//! Departures: exact integers where DiskSim rounds. As in DiskSim, a merged request has the age of
//! its oldest bio. Cost: as sptf; where age outweighs distance, the oldest are rated, too.

use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Role, Tunable};
use crate::nearest::{Nearest, Value};
use crate::scheduler::Elevator;
use crate::textbook::{Held, Rule, Textbook, View};
use crate::vocabulary::Time;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "asptf",
    origin: Origin::Literature,
    help: "sptf with aging: a long wait counts as a short distance",
    source: "DiskSim disksim_ioqueue.c; Jacobson and Wilkes, HPL-CSP-91-7 (recalled)",
    evidence: Evidence::Confirmed,
    guarantees: &[Guarantee::WorkConserving],
    tunables: &[
        Tunable {
            name: "w_ms",
            unit: "ms",
            min: 1,
            max: 3_600_000,
            evidence: Evidence::Recalled,
            help: "rule 0: the age at which a request's positioning time counts as 0",
            role: Role::Knob,
        },
        Tunable {
            name: "rule",
            unit: "choice",
            min: 0,
            max: 2,
            evidence: Evidence::Confirmed,
            help: "0 t*(w_ms-age)/w_ms (DiskSim's WPTF), 1 t-age*weight/1000 (DiskSim's ASPTF), 2 t-age*weight (Jacobson and Wilkes, recalled)",
            role: Role::Reading,
        },
        Tunable {
            name: "weight",
            unit: "factor",
            min: 0,
            max: 1_000_000,
            evidence: Evidence::Recalled,
            help: "rules 1 and 2: share of the age that is subtracted from the positioning time; 0 is sptf",
            role: Role::Knob,
        },
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    Textbook::boxed(
        build,
        Asptf { held: Nearest::with_age(), aging: Aging { w_ms: 6000, rule: 0, weight: 6 } },
    )
}

#[derive(Debug)]
struct Asptf {
    held: Nearest,
    aging: Aging,
}

#[derive(Debug)]
struct Aging {
    w_ms: u64,
    rule: u64,
    weight: u64,
}

impl Aging {
    /// Time left until `w_ms` in nanoseconds, negative for older requests.
    fn left(&self, now: Time, since: Time) -> i128 {
        i128::from(self.w_ms) * 1_000_000 - age(now, since)
    }
}

fn age(now: Time, since: Time) -> i128 {
    i128::from(now.as_ns().saturating_sub(since.as_ns()))
}

impl Value for Aging {
    /// The effective time × a common factor: only the order matters, and no digit is lost.
    fn value(&self, now: Time, t_ns: u64, since: Time) -> i128 {
        let (t, weight) = (i128::from(t_ns), i128::from(self.weight));
        match self.rule {
            0 => t.saturating_mul(self.left(now, since)),
            1 => 1000 * t - age(now, since) * weight,
            _ => t - age(now, since) * weight,
        }
    }

    fn bound(&self, now: Time, least_ns: u64, most_ns: u64, since: Time) -> i128 {
        let overdue = self.rule == 0 && self.left(now, since) < 0;
        self.value(now, if overdue { most_ns } else { least_ns }, since)
    }

    fn prefers_age(&self, now: Time, since: Time) -> Option<bool> {
        match self.rule {
            0 => Some(self.left(now, since) < 0),
            _ => (self.weight > 0).then_some(false),
        }
    }
}

impl Rule for Asptf {
    fn insert(&mut self, held: &Held) {
        self.held.insert(held);
    }

    fn remove(&mut self, held: &Held) {
        self.held.remove(held);
    }

    fn choose(&mut self, view: &View<'_>) -> u32 {
        self.held.least(view, &self.aging)
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "w_ms" => self.aging.w_ms,
            "rule" => self.aging.rule,
            _ => self.aging.weight,
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "w_ms" => self.aging.w_ms = value,
            "rule" => self.aging.rule = value,
            _ => self.aging.weight = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sptf;
    use super::super::sptf::bench::steady;
    use super::*;
    use crate::request::BlockRequest;
    use crate::scheduler::{Disk, InsertAt};
    use crate::testing::request;
    use crate::textbook::vectors::drive;

    /// Positioning time in milliseconds equals the sector.
    #[derive(Debug)]
    struct BySector;

    impl Disk for BySector {
        fn positioning_ns(&self, _now: Time, request: &BlockRequest) -> u64 {
            request.sector * 1_000_000
        }
    }

    /// Which (positioning time in ms, age in ms) is served first at 10 s.
    fn first(set: &[(&str, u64)], waiting: &[(u64, u64)]) -> usize {
        let mut elevator = (ROW.build)(&drive(0));
        set.iter().for_each(|(name, value)| elevator.set(name, *value));
        for (tag, (t, age)) in waiting.iter().enumerate() {
            let allocated = Time::from_ns((10_000 - age) * 1_000_000);
            elevator.insert(
                allocated,
                &BlockRequest { allocated, ..request(tag as u32, *t) },
                InsertAt::Sorted,
            );
        }
        elevator.dispatch(Time::from_ns(10_000_000_000), &BySector).unwrap() as usize
    }

    #[test]
    fn rule_0_multiplies_by_what_is_left_of_w_and_the_longest_overdue_wins() {
        let set = [("w_ms", 6000)];
        // 12 · (6000 − 3000)/6000 = 6 against 5.9 and 6.1 of age 0, in tenths: 120, 59, 61.
        assert_eq!(first(&set, &[(120, 3000), (59, 0)]), 1);
        assert_eq!(first(&set, &[(120, 3000), (61, 0)]), 0);
        assert_eq!(first(&set, &[(120, 3000), (60, 0)]), 0, "equal: the older");
        assert_eq!(first(&set, &[(60, 0), (120, 3000)]), 0, "equal: who arrived first");
        assert_eq!(first(&set, &[(5, 9000), (5, 7000), (1, 0)]), 0, "-2.5, -0.8 and 1");
        assert_eq!(first(&[("w_ms", 12_000)], &[(120, 3000), (61, 0)]), 1, "90 against 61");
    }

    #[test]
    fn rules_1_and_2_take_a_share_of_the_age_off() {
        // 20 − 6 · 1 s/1000 = 14.
        for (set, age) in [([("rule", 1), ("weight", 6)], 1000), ([("rule", 2), ("weight", 6)], 1)]
        {
            assert_eq!(first(&set, &[(20, age), (13, 0)]), 1);
            assert_eq!(first(&set, &[(20, age), (15, 0)]), 0);
            assert_eq!(first(&set, &[(14, 0), (20, age)]), 0, "equal: who arrived first");
        }
        assert_eq!(
            first(&[("rule", 1), ("weight", 0)], &[(20, 9000), (19, 0)]),
            1,
            "no weight: sptf"
        );
    }

    #[test]
    fn the_age_of_a_merged_request_is_that_of_its_oldest_bio() {
        let mut elevator = (ROW.build)(&drive(0));
        let at = |tag, sector, ms: u64| BlockRequest {
            allocated: Time::from_ns(ms * 1_000_000),
            ..request(tag, sector)
        };
        let [old, young, near] = [at(0, 128, 0), at(1, 120, 5000), at(2, 25, 5000)];
        [old, young, near]
            .into_iter()
            .for_each(|request| elevator.insert(request.allocated, &request, InsertAt::Sorted));
        elevator.coalesced(young.allocated, &young, &old);
        let now = Time::from_ns(5_000_000_000);
        assert_eq!(elevator.dispatch(now, &BySector).unwrap(), 1, "120 · 1/6 = 20 against 25");
    }

    #[test]
    fn extreme_times_and_weights_do_not_overflow() {
        #[derive(Debug)]
        struct Slow;
        impl Disk for Slow {
            fn positioning_ns(&self, _now: Time, _request: &BlockRequest) -> u64 {
                u64::MAX
            }
        }
        for rule in 0..3 {
            let mut elevator = (ROW.build)(&drive(0));
            [("rule", rule), ("weight", 1_000_000)]
                .into_iter()
                .for_each(|(name, value)| elevator.set(name, value));
            [0, 1]
                .into_iter()
                .for_each(|tag| elevator.insert(Time::ZERO, &request(tag, 0), InsertAt::Sorted));
            assert_eq!(elevator.dispatch(Time::from_ns(u64::MAX), &Slow).unwrap(), 0);
        }
    }

    #[test]
    fn the_longest_wait_is_shorter_than_sptfs_at_little_cost_in_service_time() {
        let greedy = steady(&sptf::ROW, &[], 64);
        for set in [&[("w_ms", 500)][..], &[("rule", 1), ("weight", 30)]] {
            let aged = steady(&ROW, set, 64);
            assert!(
                2 * aged.longest_wait_ns < greedy.longest_wait_ns,
                "{set:?}: {aged:?} against {greedy:?}"
            );
            assert!(
                aged.mean_service_ns < 2 * greedy.mean_service_ns,
                "{set:?}: {aged:?} against {greedy:?}"
            );
        }
    }
}
