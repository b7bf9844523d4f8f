//! Finds the held request of least value, where the value grows with the positioning time; for
//! `sptf` and `asptf`.
//!
//! Positioning times change with every decision, so no order by them lasts. Seek time bounds them
//! from below and grows with distance: the search goes outwards from the actuator and stops when
//! the bound exceeds the best value; if age counts, it also advances from the oldest request
//! (threshold algorithm: Fagin, Lotem & Naor, PODS 2001; recalled). The choice equals a linear
//! search's, which remains for disks without bounds ([`Disk::survey`](crate::Disk::survey)).

use crate::ordered::Ordered;
use crate::scheduler::Survey;
use crate::textbook::{Held, View};
use crate::vocabulary::Time;

/// (value, order of arrival) and tag.
type Best = ((i128, u64), u32);

/// Steps by distance per step by age.
const STEPS_BY_DISTANCE: u32 = 4;

pub(crate) trait Value {
    /// Monotone in `t_ns` for a fixed `since`, the submission.
    fn value(&self, now: Time, t_ns: u64, since: Time) -> i128;

    /// A lower bound for requests that take `least_ns` to `most_ns` and are not older than `since`.
    fn bound(&self, now: Time, least_ns: u64, most_ns: u64, since: Time) -> i128;

    /// Whether only steps by age tighten the bound for requests not older than `since`. None: age
    /// does not count.
    fn prefers_age(&self, now: Time, since: Time) -> Option<bool>;
}

/// Requests by start sector and, if age counts, by age.
#[derive(Debug, Default)]
pub(crate) struct Nearest {
    by_sector: Ordered<u128>,
    /// By submission, then arrival. None: age does not count.
    by_age: Option<Ordered<u128>>,
}

fn key(first: u64, rank: u64) -> u128 {
    u128::from(first) << 64 | u128::from(rank)
}

impl Nearest {
    pub(crate) fn with_age() -> Nearest {
        Nearest { by_sector: Ordered::default(), by_age: Some(Ordered::default()) }
    }

    pub(crate) fn insert(&mut self, held: &Held) {
        let new = self.by_sector.insert(key(held.request.sector, held.rank), held.request.tag);
        assert!(new, "of two requests one is the older: {held:?}");
        if let Some(by_age) = &mut self.by_age {
            by_age.insert(key(held.since.as_ns(), held.rank), held.request.tag);
        }
    }

    pub(crate) fn remove(&mut self, held: &Held) {
        let gone = self.by_sector.remove(key(held.request.sector, held.rank));
        assert_eq!(gone, Some(held.request.tag), "a request is removed from where it was put");
        if let Some(by_age) = &mut self.by_age {
            by_age.remove(key(held.since.as_ns(), held.rank));
        }
    }

    /// The earliest arrival on a tie. Requires a held request.
    pub(crate) fn least(&self, view: &View<'_>, value: &impl Value) -> u32 {
        let mut best: Option<Best> = None;
        view.disk.survey(view.now, &mut |survey| {
            let search = Search { held: self, view, value, survey };
            best = Some(search.least());
        });
        let (_, tag) = best.unwrap_or_else(|| self.least_of_all(view, value));
        tag
    }

    fn least_of_all(&self, view: &View<'_>, value: &impl Value) -> Best {
        let ask = |(_, tag): (u128, u32)| {
            let held = view.held(tag);
            let t_ns = view.disk.positioning_ns(view.now, &held.request);
            ((value.value(view.now, t_ns, held.since), held.rank), tag)
        };
        self.by_sector.iter().map(ask).min().expect("something is held")
    }
}

struct Search<'a, V> {
    held: &'a Nearest,
    view: &'a View<'a>,
    value: &'a V,
    survey: &'a dyn Survey,
}

impl<V: Value> Search<'_, V> {
    fn consider(&self, best: &mut Option<Best>, tag: u32) {
        let held = self.view.held(tag);
        let value =
            self.value.value(self.view.now, self.survey.positioning_ns(&held.request), held.since);
        let found = ((value, held.rank), tag);
        *best = Some(best.map_or(found, |best| best.min(found)));
    }

    fn least(&self) -> Best {
        let mut best = None;
        let sectors = &self.held.by_sector;
        self.survey.exempt(&mut |first, last| {
            let within = sectors
                .upwards(key(first, 0))
                .take_while(|(key, _)| *key >> 64 <= u128::from(last));
            within.for_each(|(_, tag)| self.consider(&mut best, tag));
        });
        let center = key(self.survey.center(), 0);
        // Next on each side, with a lower bound for anything beyond.
        let floored = |(key, tag): (u128, u32)| (self.survey.at_least_ns((key >> 64) as u64), tag);
        let (mut upwards, mut downwards) =
            (sectors.upwards(center).map(floored), sectors.downwards(center).map(floored));
        let (mut up, mut down) = (upwards.next(), downwards.next());
        let most_ns = self.survey.at_most_ns();
        let mut ages = self.held.by_age.as_ref().map(|by_age| by_age.iter());
        let mut oldest = ages.as_mut().and_then(Iterator::next);
        let mut steps = 0;
        loop {
            let nearer = match (up, down) {
                (Some((above, _)), Some((below, _))) => above <= below,
                (above, below) if above.is_none() && below.is_none() => break,
                (above, _) => above.is_some(),
            };
            let (floor_ns, tag) = (if nearer { up } else { down }).expect("one side is left");
            let since = oldest.map_or(Time::ZERO, |(key, _)| Time::from_ns((key >> 64) as u64));
            let bound = self.value.bound(self.view.now, floor_ns, most_ns, since);
            if best.is_some_and(|((least, _), _)| bound > least) {
                break;
            }
            steps += 1;
            let by_age = self.value.prefers_age(self.view.now, since);
            if let (Some((_, tag)), Some(only)) = (oldest, by_age)
                && (only || steps % STEPS_BY_DISTANCE == 0)
            {
                self.consider(&mut best, tag);
                oldest = ages.as_mut().and_then(Iterator::next);
                if oldest.is_none() {
                    break;
                }
                continue;
            }
            self.consider(&mut best, tag);
            if nearer {
                up = upwards.next();
            } else {
                down = downwards.next();
            }
        }
        best.expect("something is held")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::algorithm::sptf::bench::{Drive, SECTORS};
    use crate::algorithm::{asptf, sptf};
    use crate::kind::ElevatorKind;
    use crate::request::BlockRequest;
    use crate::scheduler::{Disk, InsertAt, Survey};
    use crate::testing::{Keeper, request};
    use crate::textbook::vectors::drive;
    use crate::vocabulary::Time;

    /// A drive without bounds: the search is linear.
    struct Unbounded<'a>(&'a Drive);

    impl Disk for Unbounded<'_> {
        fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64 {
            self.0.positioning_ns(now, request)
        }
    }

    /// A drive whose bounds are too tight by this many nanoseconds.
    struct TooTight<'a>(&'a Drive, u64);

    struct Tightened<'a>(&'a dyn Survey, u64);

    impl Disk for TooTight<'_> {
        fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64 {
            self.0.positioning_ns(now, request)
        }

        fn survey(&self, now: Time, search: &mut dyn FnMut(&dyn Survey)) {
            self.0.survey(now, &mut |survey| search(&Tightened(survey, self.1)));
        }
    }

    impl Survey for Tightened<'_> {
        fn positioning_ns(&self, request: &BlockRequest) -> u64 {
            self.0.positioning_ns(request)
        }
        fn center(&self) -> u64 {
            self.0.center()
        }
        fn at_least_ns(&self, sector: u64) -> u64 {
            self.0.at_least_ns(sector) + self.1
        }
        fn at_most_ns(&self) -> u64 {
            self.0.at_most_ns()
        }
        fn exempt(&self, each: &mut dyn FnMut(u64, u64)) {
            self.0.exempt(each);
        }
    }

    /// The first difference from the linear search, from 10 s on.
    fn first_difference(
        row: &ElevatorKind,
        set: &[(&str, u64)],
        waiting: &[(u64, u64)],
        remembered: u64,
        too_tight_ns: u64,
    ) -> Option<usize> {
        let mut elevators = [(), ()].map(|()| Keeper::new((row.build)(&drive(200))));
        for elevator in &mut elevators {
            set.iter().for_each(|(name, value)| elevator.set(name, *value));
            for (tag, (sector, ms)) in waiting.iter().enumerate() {
                let allocated = Time::from_ns(ms * 1_000_000);
                let bio = BlockRequest { nr_sectors: 1, allocated, ..request(tag as u32, *sector) };
                elevator.insert(allocated, bio, InsertAt::Sorted);
            }
        }
        let [linear, bounded] = &mut elevators;
        let mut disk = Drive { remembered: (remembered, remembered + 15), ..Drive::default() };
        let mut now = Time::from_ns(10_000_000_000);
        (0..waiting.len()).find(|_| {
            let expected = linear.dispatch(now, &Unbounded(&disk)).expect("requests are left");
            let found =
                bounded.dispatch(now, &TooTight(&disk, too_tight_ns)).expect("requests are left");
            now = disk.serve(now, &expected);
            found != expected
        })
    }

    fn waiting() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0..SECTORS, 0u64..10_000), 1..80)
    }

    fn aged() -> impl Strategy<Value = [(&'static str, u64); 3]> {
        (1u64..12_000, 0u64..3, 0u64..2000)
            .prop_map(|(w_ms, rule, weight)| [("w_ms", w_ms), ("rule", rule), ("weight", weight)])
    }

    proptest! {
        #[test]
        fn the_choice_is_that_of_the_linear_search(waiting in waiting(), set in aged(), remembered in 0..SECTORS) {
            prop_assert_eq!(first_difference(&sptf::ROW, &[], &waiting, remembered, 0), None);
            prop_assert_eq!(first_difference(&asptf::ROW, &set, &waiting, remembered, 0), None, "{:?}", set);
        }
    }

    #[test]
    fn a_bound_that_is_too_tight_by_a_cylinder_is_found() {
        let mut seed = 5_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        let mut found = [0, 0];
        for _ in 0..100 {
            // Nearly equal ages, so that age hides nothing.
            let waiting: Vec<(u64, u64)> =
                (0..60).map(|_| (random(SECTORS), 9_900 + random(100))).collect();
            for (row, found) in [sptf::ROW, asptf::ROW].iter().zip(&mut found) {
                *found += u32::from(first_difference(row, &[], &waiting, 0, 50_000).is_some());
            }
        }
        assert!(found.iter().all(|found| *found > 0), "{found:?} of 100 queues");
    }
}
