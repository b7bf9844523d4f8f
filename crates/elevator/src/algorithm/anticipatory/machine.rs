//! The common part of the anticipatory family: batches, dispatch list, accounting, hooks.
//!
//! Source: Linux 2.6.20 block/as-iosched.c and block/elevator.c; confirmed. `trees.rs` holds
//! requests, `dispatching.rs` chooses, `waiting.rs` anticipates, `history.rs` learns, and a
//! [`Rule`] defines the members' differences. Departures: plugging is left to the queue; dispatched
//! requests go to the device at once, so the dispatch list is non-empty only between an alias and
//! the next dispatch; a process always has a record, so rule 3 never applies; no forced dispatch.

use std::cell::Cell;

use crate::choose::BackSeek;
use crate::clock::Clock;
use crate::dispatch_list::DispatchList;
use crate::fifo::Fifo;
use crate::kind::Build;
use crate::request::{BlockRequest, Extent, Finished};
use crate::scheduler::{Anticipation, DepthLimit, Disk, Elevator, InsertAt, Legacy, Merge};
use crate::starts::Starts;
use crate::vocabulary::{Op, Time};

use super::history::{History, Newcomers};
use super::rule::Rule;
use super::timing::{Moment, Ticker};
use super::trees::{ASYNC, Class, SYNC, Slot, State};
use super::tunables::Settings;

/// At most 512 MiB backwards, at twice the cost; compile-time constants in the kernel, too.
pub(super) const BACK_SEEK: BackSeek = BackSeek { max_sectors: 1024 * 1024, penalty: 2 };

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Antic {
    Off,
    /// Waiting, but the process's last request is in the device: no timer yet.
    WaitReq,
    /// Waiting until the timer fires.
    WaitNext,
    /// The wait is over; the next dispatch may not wait again.
    Finished,
}

#[derive(Debug)]
pub(crate) struct Machine<R> {
    pub(super) rule: R,
    pub(super) settings: Settings,
    pub(super) ticker: Ticker,
    pub(super) classes: [Class; 2],
    pub(super) list: DispatchList,
    pub(super) slots: Vec<Option<Slot>>,
    /// Records; a number whose process has exited gets a new one.
    pub(super) processes: Vec<History>,
    /// Records by number, from the first request until exit.
    numbers: Vec<Option<u32>>,
    ended: Vec<u32>,
    pub(super) newcomers: Newcomers,
    /// The one-hit cache of merges.
    pub(super) last_merge: Option<u32>,
    pub(super) dir: usize,
    /// In jiffies.
    pub(super) batch_expires: u64,
    /// The class has changed, and the device is still serving the previous batch.
    pub(super) changed: bool,
    /// No synchronous request of the new batch has completed yet.
    pub(super) new_batch: bool,
    pub(super) write_count: u64,
    pub(super) writes_left: u64,
    /// There was no contention, so the duration is not representative.
    pub(super) write_idled: bool,
    /// Requests on the dispatch list and in the device.
    pub(super) nr_dispatched: u32,
    pub(super) antic: Antic,
    /// Last completion of a request of `who`.
    pub(super) antic_start: Moment,
    /// When the timer fires, in [`Antic::WaitNext`].
    pub(super) antic_ends: Time,
    pub(super) who: Option<u32>,
    /// One of its requests has completed since.
    pub(super) who_done: bool,
    /// A wait has ended, and the queue is to be run.
    pub(super) runs: Cell<bool>,
    pub(super) counts: Anticipation,
}

impl<R: Rule> Machine<R> {
    pub(crate) fn new(build: &Build, rule: R) -> Machine<R> {
        let clock = Clock::new(build.hz);
        let settings = Settings::new(clock);
        let class = || Class {
            tree: Starts::default(),
            order: Fifo::new(build.nr_tags),
            fifo: Fifo::new(build.nr_tags),
            next: None,
            last_sector: 0,
            last_check: None,
        };
        Machine {
            rule,
            ticker: Ticker::new(clock),
            classes: [class(), class()],
            list: DispatchList::default(),
            slots: vec![None; build.nr_tags as usize],
            processes: Vec::new(),
            numbers: Vec::new(),
            ended: Vec::new(),
            newcomers: Newcomers::default(),
            last_merge: None,
            dir: ASYNC,
            batch_expires: settings.batch_expire[SYNC],
            changed: false,
            new_batch: false,
            write_count: (settings.batch_expire[ASYNC] / 10).max(2),
            writes_left: 0,
            write_idled: false,
            nr_dispatched: 0,
            antic: Antic::Off,
            antic_start: Moment::default(),
            antic_ends: Time::ZERO,
            who: None,
            who_done: false,
            runs: Cell::new(false),
            counts: Anticipation::default(),
            settings,
        }
    }

    pub(super) fn moment(&mut self, now: Time) -> Moment {
        Moment { time: now, jiffies: self.ticker.jiffies(now) }
    }

    pub(super) fn history(&mut self, process: u32) -> &mut History {
        &mut self.processes[process as usize]
    }

    /// A process's record; a number gets a new one after an exit.
    fn record(&mut self, number: u32) -> u32 {
        let at = number as usize;
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, None);
        }
        if let Some(record) = self.numbers[at] {
            return record;
        }
        let unused = self.ended.iter().position(|ended| {
            let History { queued, listed, in_device, .. } = self.processes[*ended as usize];
            queued + listed + in_device == 0 && self.who != Some(*ended)
        });
        let record = match unused {
            Some(at) => self.ended.swap_remove(at),
            None => {
                self.processes.push(History::default());
                self.processes.len() as u32 - 1
            }
        };
        self.processes[record as usize] = History::default();
        self.rule.forget(record);
        self.numbers[at] = Some(record);
        record
    }

    /// Updates the history of the request's process, or of the one it cooperates with.
    pub(super) fn learn(&mut self, now: Moment, process: u32, request: Extent) {
        let max_think = (self.ticker.clock().hz() / 50).saturating_sub(1);
        let history = &mut self.processes[process as usize];
        let arrival = history.arrive(now, process, request, max_think, &mut self.newcomers);
        self.rule.learn(&arrival);
    }

    fn class_of(&self, tag: u32) -> &Class {
        &self.classes[usize::from(self.held(tag).sync)]
    }

    pub(super) fn oldest(&self, class: usize) -> Option<u32> {
        self.classes[class].fifo.head()
    }

    /// Inserts a requeued or urgent request, bypassing the trees.
    fn insert_at_head(&mut self, request: &BlockRequest) {
        let given_back = self
            .slot(request.tag)
            .filter(|slot| slot.place == State::Device)
            .map(|slot| slot.process);
        let process = given_back.unwrap_or_else(|| self.record(request.process));
        let history = self.history(process);
        history.listed += 1;
        if given_back.is_some() {
            history.in_device -= 1;
        } else {
            self.nr_dispatched += 1;
        }
        let (extent, sync) = (request.into(), request.sync);
        self.put(Slot { extent, sync, process, place: State::Listed, expires: 0 });
        self.list.add_head(extent);
    }
}

impl<R: Rule> Legacy for Machine<R> {
    fn take_run(&self) -> bool {
        self.runs.take()
    }

    fn is_sorted(&self, tag: u32) -> bool {
        self.slot(tag).is_some_and(|slot| slot.place == State::Queued)
    }

    fn front(&self, bio: &BlockRequest) -> Option<u32> {
        // Trees are indexed by sync = 1, but the kernel uses the direction, write = 1.
        let index = if self.settings.front_merge { bio.sync } else { bio.op == Op::Write };
        self.classes[usize::from(index)].tree.tag_at(bio.end())
    }

    fn former(&self, tag: u32) -> Option<u32> {
        self.class_of(tag).order.before(tag)
    }

    fn latter(&self, tag: u32) -> Option<u32> {
        self.class_of(tag).order.after(tag)
    }
}

impl<R: Rule> Elevator for Machine<R> {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        if at == InsertAt::Head {
            return self.insert_at_head(request);
        }
        let now = self.moment(now);
        let of = usize::from(request.sync);
        let process = self.record(request.process);
        let BlockRequest { tag, sector, sync, .. } = *request;
        if sync {
            self.learn(now, process, request.into());
        }
        self.history(process).queued += 1;
        let expires = now.jiffies + self.settings.fifo_expire[of];
        let extent = request.into();
        self.put(Slot { extent, sync, process, place: State::Queued, expires });
        self.add_sorted(tag);
        let class = &mut self.classes[of];
        class.fifo.push_back(tag);
        class.next = BACK_SEEK.choose(Some((sector, tag)), class.next, class.last_sector);
        self.last_merge = self.last_merge.or(Some(tag));
        self.arrived(now, tag);
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        if self.list.is_empty() {
            let now = self.moment(now);
            let next = self.choose_next(now)?;
            self.move_to_dispatch(next);
        }
        let tag = self.list.pop()?;
        let slot = self.slots[tag as usize].as_mut().expect("what is listed is held");
        slot.place = State::Device;
        let process = slot.process;
        let history = self.history(process);
        history.listed -= 1;
        history.in_device += 1;
        Some(tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        let now = self.moment(now);
        let request = &done.request;
        let process =
            self.slots[request.tag as usize].take().expect("what completes was dispatched").process;
        self.batch_completed(now, usize::from(request.sync));
        self.history(process).in_device -= 1;
        if self.who == Some(process) {
            self.awaited_completed(now);
        }
        if request.sync {
            self.history(process).end(now);
        }
    }

    fn len(&self) -> usize {
        self.classes.iter().map(|class| class.fifo.len()).sum::<usize>() + self.list.len()
    }

    fn next_timer(&self) -> Option<Time> {
        (self.antic == Antic::WaitNext).then_some(self.antic_ends)
    }

    fn on_timer(&mut self, now: Time) {
        if self.antic == Antic::WaitNext && now >= self.antic_ends {
            let now = self.moment(now);
            self.timed_out(now);
        }
    }

    fn legacy(&self) -> Option<&dyn Legacy> {
        Some(self)
    }

    fn limit_depth(&self, request: &BlockRequest, _word: u32) -> DepthLimit {
        let record = || self.numbers.get(request.process as usize).copied().flatten();
        match self.antic {
            Antic::WaitReq | Antic::WaitNext if self.who.is_some() && self.who == record() => {
                DepthLimit::Exceed
            }
            _ => DepthLimit::None,
        }
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, how: Merge) -> bool {
        if !self.is_sorted(request.tag) {
            return false;
        }
        if how == Merge::Back || self.settings.front_merge || self.last_merge == Some(request.tag) {
            return true;
        }
        // See `index` above: the kernel confuses sync with direction.
        request.sync == (bio.op == Op::Write)
    }

    fn merged(&mut self, _now: Time, before: &BlockRequest, after: &BlockRequest) {
        self.last_merge = Some(before.tag);
        let slot = self.slots[before.tag as usize].as_mut().expect("only held requests grow");
        assert!(slot.place == State::Queued, "only queued requests grow: {before:?}");
        // A request stays in its class regardless of merges.
        slot.extent = after.into();
        let class = &mut self.classes[usize::from(slot.sync)];
        class.tree.remove(before.sector);
        class.order.remove(before.tag);
        if let Some((sector, _)) = class.next.as_mut().filter(|(_, next)| *next == after.tag) {
            *sector = after.sector;
        }
        self.add_sorted(after.tag);
    }

    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let now = self.moment(now);
        let [one, two] = [survivor, gone].map(|of| *self.held(of.tag));
        if two.expires < one.expires && one.sync == two.sync {
            let fifo = &mut self.classes[usize::from(one.sync)].fifo;
            fifo.remove(survivor.tag);
            fifo.insert_before(survivor.tag, gone.tag);
            self.put(Slot { expires: two.expires, ..one });
        }
        self.take_out(gone.tag);
        self.slots[gone.tag as usize] = None;
        self.last_merge = Some(survivor.tag);
        if two.sync {
            self.history(two.process).end(now);
        }
    }

    fn exited(&mut self, _now: Time, process: u32) {
        if let Some(record) = self.numbers.get_mut(process as usize).and_then(Option::take) {
            self.history(record).running = false;
            self.ended.push(record);
        }
    }

    fn get(&self, tunable: &str) -> u64 {
        let clock = self.ticker.clock();
        let own = self.rule.get(clock, tunable).or_else(|| self.settings.get(clock, tunable));
        own.unwrap_or_else(|| unreachable!("there is no tunable {tunable}"))
    }

    fn set(&mut self, tunable: &str, value: u64) {
        let clock = self.ticker.clock();
        let known =
            self.rule.set(clock, tunable, value) || self.settings.set(clock, tunable, value);
        assert!(known, "there is no tunable {tunable}");
    }

    fn anticipation(&self) -> Option<Anticipation> {
        Some(self.counts)
    }
}
