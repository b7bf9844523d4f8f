//! The frame of real-time schedulers around a [`Rule`], which orders the requests with deadlines.
//!
//! The frame holds requests until their release, requeued requests, the actuator's position, and
//! requests without a deadline, which go in LOOK order when no other is available, or earlier into
//! the schedule's slack ([`Rule::has_slack_for`]).
//!
//! All proposed; the papers have neither merges nor requeues. Requests of different deadlines do
//! not merge: the earlier one would bind both, and the plan would transfer more than it needs.

pub(crate) mod jobs;
pub(crate) mod planned;
#[cfg(test)]
pub(crate) mod testing;

use std::fmt;

use crate::geometry::Geometry;
use crate::kind::Build;
use crate::ordered::Ordered;
use crate::request::BlockRequest;
use crate::scheduler::{Disk, Elevator, Features, InsertAt, Merge};
use crate::sweep::{Direction, Places};
use crate::textbook::{Actuator, Held};
use crate::vocabulary::Time;

#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) now: Time,
    pub(crate) arm: Actuator,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) tag: u32,
    /// Position of the first sector.
    pub(crate) position: u64,
    /// Whether it may be served now; otherwise the device waits for its release.
    pub(crate) released: bool,
}

/// An order of requests with deadlines.
pub(crate) trait Rule: fmt::Debug + Send {
    /// Whether requests are inserted before their release.
    const PLANS: bool;

    fn insert(&mut self, held: &Held);

    fn remove(&mut self, held: &Held);

    /// The next request, if any. Repeating the call at the same time changes nothing.
    fn choose(&mut self, view: &View) -> Option<Choice>;

    /// Whether serving it now keeps every planned deadline.
    fn has_slack_for(&self, _view: &View, _other: &Held) -> bool {
        false
    }

    /// Whether others wait for slack even if the next planned request is not released.
    fn guards_the_unreleased(&self) -> bool {
        false
    }

    fn get(&self, tunable: &str) -> u64 {
        unreachable!("this scheduler has no tunable {tunable}")
    }

    fn set(&mut self, tunable: &str, _value: u64) {
        unreachable!("this scheduler has no tunable {tunable}")
    }
}

#[derive(Debug)]
pub(crate) struct RealTime<R> {
    rule: R,
    geometry: Geometry,
    arm: Actuator,
    /// By tag.
    table: Vec<Option<Held>>,
    /// Unreleased requests, by release time and rank.
    asleep: Ordered<(u64, u64)>,
    /// Released requests without a deadline.
    others: Places,
    direction: Direction,
    /// The next one last.
    requeued: Vec<u32>,
    len: usize,
    arrived: u64,
}

impl<R: Rule + 'static> RealTime<R> {
    pub(crate) fn boxed(build: &Build, rule: R) -> Box<dyn Elevator> {
        let geometry = build.geometry.clone();
        Box::new(RealTime {
            rule,
            arm: Actuator { positions: geometry.cylinders, ..Actuator::default() },
            geometry,
            table: vec![None; build.nr_tags as usize],
            asleep: Ordered::default(),
            others: Places::default(),
            direction: Direction::Up,
            requeued: Vec::new(),
            len: 0,
            arrived: 0,
        })
    }
}

/// The sector itself without a geometry.
pub(crate) fn position(geometry: &Geometry, sector: u64) -> u64 {
    let has_arm = geometry.cylinders > 0 && geometry.sectors_per_cylinder > 0;
    if has_arm { geometry.cylinder(sector) } else { sector }
}

impl<R: Rule> RealTime<R> {
    /// `now`: None for a change to a held request.
    fn put(&mut self, held: Held, now: Option<Time>) {
        let tag = held.request.tag as usize;
        if self.table.len() <= tag {
            self.table.resize(tag + 1, None);
        }
        assert!(self.table[tag].is_none(), "a tag is held once: {:?}", held.request);
        self.table[tag] = Some(held);
        self.len += 1;
        if held.requeued {
            return;
        }
        let sleeps = now.is_some_and(|now| !held.request.is_released(now));
        if let Some(release) = held.request.release.filter(|_| sleeps) {
            self.asleep.insert((release.as_ns(), held.rank), held.request.tag);
        }
        if !sleeps || plans::<R>(&held) {
            self.enter(&held);
        }
    }

    fn enter(&mut self, held: &Held) {
        match held.request.deadline {
            Some(_) => self.rule.insert(held),
            None => self.others.insert(held),
        }
    }

    /// Removes a request; the caller updates `requeued`.
    fn take(&mut self, tag: u32) -> Held {
        let held = self.table[tag as usize].take().expect("the request is held");
        self.len -= 1;
        if held.requeued {
            return held;
        }
        let release = held.request.release.map(Time::as_ns);
        let slept =
            release.is_some_and(|release| self.asleep.remove((release, held.rank)).is_some());
        if !slept || plans::<R>(&held) {
            match held.request.deadline {
                Some(_) => self.rule.remove(&held),
                None => self.others.remove(&held),
            }
        }
        held
    }

    fn wake(&mut self, now: Time) {
        while let Some((key, tag)) =
            self.asleep.first().filter(|((release, _), _)| *release <= now.as_ns())
        {
            self.asleep.remove(key);
            let held = self.table[tag as usize].expect("a request asleep is held");
            if !plans::<R>(&held) {
                self.enter(&held);
            }
        }
    }

    fn choose(&mut self, now: Time) -> Option<u32> {
        let view = View { now, arm: self.arm };
        let Some(choice) = self.rule.choose(&view) else { return self.next_of_sweep() };
        if let Some(other) = self.on_the_way(choice.position) {
            let held = self.table[other as usize].as_ref().expect("a request of the sweep is held");
            if self.rule.has_slack_for(&view, held) {
                return Some(other);
            }
            if !choice.released && !self.rule.guards_the_unreleased() {
                return self.next_of_sweep();
            }
        }
        choice.released.then_some(choice.tag)
    }

    /// The nearest request towards a position, otherwise the nearest behind.
    fn on_the_way(&self, to: u64) -> Option<u32> {
        let direction = if to >= self.arm.start { Direction::Up } else { Direction::Down };
        let ahead = self.others.ahead(self.arm.start, direction);
        ahead.or_else(|| self.others.behind(self.arm.start, direction)).map(|(_, tag)| tag)
    }

    fn next_of_sweep(&mut self) -> Option<u32> {
        if self.others.is_empty() {
            return None;
        }
        let ahead = self.others.ahead(self.arm.start, self.direction).or_else(|| {
            self.direction = self.direction.reversed();
            self.others.ahead(self.arm.start, self.direction)
        });
        ahead.map(|(_, tag)| tag)
    }

    /// Updates `requeued` after a merge.
    fn rename_requeued(&mut self, kept: &Held, gone: &Held) {
        let (kept_tag, gone_tag) = (kept.request.tag, gone.request.tag);
        if !gone.requeued {
            return;
        }
        let stays = |tag: &u32| *tag == kept_tag || *tag == gone_tag;
        if kept.requeued {
            // The one nearer the end of the list is earlier; both tags now mean the survivor.
            let later =
                self.requeued.iter().position(stays).expect("both requests are in the list");
            self.requeued.remove(later);
        }
        let left = self
            .requeued
            .iter_mut()
            .find(|tag| stays(tag))
            .expect("a requeued request is in the list");
        *left = kept_tag;
    }
}

/// Whether the rule has it from insertion.
fn plans<R: Rule>(held: &Held) -> bool {
    R::PLANS && held.request.deadline.is_some()
}

impl<R: Rule> Elevator for RealTime<R> {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        let requeued = at == InsertAt::Head;
        if requeued {
            self.requeued.push(request.tag);
        }
        let position = position(&self.geometry, request.sector);
        let (rank, since) = (self.arrived, request.allocated);
        self.put(Held { request: *request, position, rank, since, requeued }, Some(now));
        self.arrived += 1;
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        self.wake(now);
        let tag = match self.requeued.pop() {
            Some(tag) => tag,
            None => self.choose(now)?,
        };
        let held = self.take(tag);
        self.arm.start = held.position;
        self.arm.head = position(&self.geometry, held.request.end() - 1);
        Some(tag)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn next_timer(&self) -> Option<Time> {
        self.asleep.first().map(|((release, _), _)| Time::from_ns(release))
    }

    fn on_timer(&mut self, now: Time) {
        self.wake(now);
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, _how: Merge) -> bool {
        request.deadline == bio.deadline
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        let held = self.take(before.tag);
        let since = held.since.min(after.allocated);
        self.put(
            Held {
                request: *after,
                position: position(&self.geometry, after.sector),
                since,
                ..held
            },
            None,
        );
    }

    fn coalesced(&mut self, _now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let (kept, gone) = (self.take(survivor.tag), self.take(gone.tag));
        self.rename_requeued(&kept, &gone);
        let (rank, since) = (kept.rank.min(gone.rank), kept.since.min(gone.since));
        self.put(Held { rank, since, requeued: kept.requeued || gone.requeued, ..kept }, None);
    }

    fn features(&self) -> Features {
        Features { takes_unreleased: R::PLANS, ..Features::default() }
    }

    fn get(&self, tunable: &str) -> u64 {
        self.rule.get(tunable)
    }

    fn set(&mut self, tunable: &str, value: u64) {
        self.rule.set(tunable, value);
    }
}
