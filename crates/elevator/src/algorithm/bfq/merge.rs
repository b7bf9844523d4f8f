//! Queue merging: processes that read one file interleaved (dump, hypervisor threads) are random
//! each and sequential together, so they share a queue.
//!
//! Early queue merge: a process moves to the queue whose service or next request is within 8192
//! sectors of its bio. Both must be synchronous, of one class and group, not seeky, and active for
//! at most 100 ms. A seeky shared queue is split. Stable merge: queues created within 180 ms merge
//! permanently, at once on a fast queueing device, otherwise after 600 ms if idling does not pay.
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c; confirmed. Departures: of two close queues the
//! upper is taken (the kernel's tree decides by shape); positions follow front merges at once.

use super::Bfq;
use super::process::Saved;
use super::queue::LONG_AGO;
use crate::request::BlockRequest;
use crate::vocabulary::Time;

/// In sectors.
const CLOSE: u64 = 8 * 1024;
/// Maximum time since a queue's first I/O.
const TOO_LATE_MS: u64 = 100;
/// Maximum time between creations of queues.
const STABLE_MS: u64 = 600;
/// How long a split queue is neither part of a burst nor raised.
const SPLIT_MS: u64 = 10;

#[derive(Debug, Clone, Copy)]
pub(super) struct Merging {
    /// bfqq->new_bfqq.
    pub(super) into: Option<u32>,
    pub(super) shared: bool,
    /// It has become seeky and will be split.
    pub(super) to_split: bool,
    /// Jiffy of the last split.
    pub(super) split_at: i64,
    /// Jiffy of the first service since it became busy.
    pub(super) first_io: i64,
    /// Its key in `positions`.
    position: Option<u64>,
}

impl Default for Merging {
    fn default() -> Merging {
        Merging {
            into: None,
            shared: false,
            to_split: false,
            split_at: LONG_AGO,
            first_io: 0,
            position: None,
        }
    }
}

impl Bfq {
    /// A fast queueing device ignores positions and merges stably at once.
    pub(super) fn is_fast(&self) -> bool {
        !self.rotational && self.queueing.detected
    }

    pub(super) fn is_fresh_part(&self, id: u32) -> bool {
        self.queue(id).merging.split_at + self.ticks(SPLIT_MS) >= self.jiffies
    }

    /// Whether the state saved at its split still applies.
    pub(super) fn is_recently_split(&self, id: u32) -> bool {
        self.queue(id).merging.split_at + self.ticks(super::raising::MIN_IDLE_MS) >= self.jiffies
    }

    /// bfq_too_late_for_merging.
    fn is_late(&self, id: u32) -> bool {
        let queue = self.queue(id);
        queue.raising.service_since_idle > 0
            && queue.merging.first_io + self.ticks(TOO_LATE_MS) < self.jiffies
    }

    /// bfq_pos_tree_add_move.
    pub(super) fn update_position(&mut self, id: u32) {
        if !self.variant.is_linux() || self.is_fast() {
            return;
        }
        self.drop_position(id);
        if self.is_late(id) || self.tree.get(id).class == 2 {
            return;
        }
        let Some(next) = self.queue(id).next else { return };
        let sector = self.slot(next).request.sector;
        if self.positions.insert((self.tree.get(id).group, sector), id) {
            self.queue_mut(id).merging.position = Some(sector);
        }
    }

    pub(super) fn drop_position(&mut self, id: u32) {
        if let Some(sector) = self.queue_mut(id).merging.position.take() {
            self.positions.remove((self.tree.get(id).group, sector));
        }
    }

    /// bfq_find_close_cooperator.
    fn close_to(&self, group: u32, sector: u64) -> Option<u32> {
        let near = |((of, at), _): &((u32, u64), u32)| *of == group && at.abs_diff(sector) <= CLOSE;
        let above = self.positions.at_or_after((group, sector)).filter(near);
        let close = above.or_else(|| self.positions.below((group, sector)).filter(near));
        close.map(|(_, id)| id)
    }

    /// bfq_may_be_close_cooperator.
    fn may_cooperate(&self, id: u32, other: u32) -> bool {
        let (one, two) = (self.queue(id), self.queue(other));
        let classes = [id, other].map(|id| self.tree.get(id).class);
        !self.is_late(other)
            && classes[0] == classes[1]
            && classes[0] != 2
            && !one.is_seeky()
            && !two.is_seeky()
            && one.sync
            && two.sync
    }

    /// bfq_setup_cooperator.
    pub(super) fn cooperator(&mut self, id: u32, sector: u64, owner: u32) -> Option<u32> {
        if let Some(mut into) = self.queue(id).merging.into {
            while let Some(next) = self.queue(into).merging.into {
                into = next;
            }
            return Some(into);
        }
        if self.is_fast() {
            return None;
        }
        let (queue, wait) = (self.queue(id), self.ticks(STABLE_MS));
        let ripe =
            !queue.just_created && queue.merging.split_at.max(queue.created) + wait < self.jiffies;
        if queue.sync && ripe && self.process(owner).stable.is_some() {
            return self.merge_for_good(id, owner);
        }
        if self.is_late(id) || self.busy.iter().sum::<u32>() == 1 {
            return None;
        }
        let group = self.tree.get(id).group;
        if let Some(served) = self.in_service.filter(|served| *served != id)
            && self.served_position.abs_diff(sector) <= CLOSE
            && self.tree.get(served).group == group
            && self.may_cooperate(id, served)
            && let Some(into) = self.schedule_merge(id, served)
        {
            return Some(into);
        }
        let other = self.close_to(group, sector).filter(|other| *other != id)?;
        if self.may_cooperate(id, other) { self.schedule_merge(id, other) } else { None }
    }

    /// bfq_setup_stable_merge.
    fn merge_for_good(&mut self, id: u32, owner: u32) -> Option<u32> {
        let other = self.process(owner).stable?;
        let users = self.queue(id).users.min(self.queue(other).users);
        let into = if users > 0 && !self.idling_boosts_throughput(id) {
            self.schedule_merge(id, other)
        } else {
            None
        };
        if let Some(into) = into {
            self.process(owner).stably_merged = true;
            if let Some(other) = self.queue(into).owner {
                self.process(other).stably_merged = true;
            }
        }
        self.drop_stable(owner);
        into
    }

    /// bfq_setup_merge.
    fn schedule_merge(&mut self, id: u32, other: u32) -> Option<u32> {
        if self.queue(other).users == 0 {
            return None;
        }
        let mut into = other;
        while let Some(next) = self.queue(into).merging.into {
            if next == id {
                return None;
            }
            into = next;
        }
        let users = self.queue(id).users;
        let together = self.tree.get(id).group == self.tree.get(into).group;
        if into == id || users == 0 || self.queue(into).users == 0 || !together {
            return None;
        }
        self.queue_mut(id).merging.into = Some(into);
        self.queue_mut(into).users += users;
        Some(into)
    }

    /// bfq_merge_bfqqs.
    pub(super) fn merge_step(&mut self, owner: u32, id: u32) -> u32 {
        let into = self.queue(id).merging.into.expect("the merge was scheduled");
        self.save(id);
        self.save(into);
        let old = self.queue_mut(id);
        let io_bound = std::mem::take(&mut old.habits.io_bound);
        let (waker, raising) = (old.waking.waker, old.raising);
        self.queue_mut(into).habits.io_bound |= io_bound;
        if let Some(waker) = waker
            && self.queue(into).waking.waker.is_none()
            && waker != into
        {
            self.set_waker(into, waker);
        }
        let coefficient = self.tree.get(id).coefficient;
        if coefficient > 1 {
            if self.tree.get(into).coefficient == 1 {
                self.queue_mut(into).raising.inherit(&raising);
                self.set_coefficient(into, coefficient);
            }
            self.set_coefficient(id, 1);
        }
        self.assign(owner, Some(into));
        let new = self.queue_mut(into);
        new.merging.shared = true;
        new.owner = None;
        self.queue_mut(id).owner = None;
        self.replace_last_created(id, Some(into));
        self.drop_user(id);
        into
    }

    /// bfq_bfqq_save_state.
    fn save(&mut self, id: u32) {
        let Some(owner) = self.queue(id).owner else { return };
        let entity = *self.tree.get(id);
        let fresh = self.queue(id).just_created
            && !self.queue(id).in_large_burst
            && self.settings.low_latency;
        let (duration, jiffies) = (self.raising_duration(), self.jiffies);
        let queue = &self.queues[id as usize];
        let mut saved = Saved {
            habits: queue.habits,
            weight: entity.base,
            coefficient: entity.coefficient,
            raising: queue.raising,
            in_large_burst: queue.in_large_burst,
            in_burst_list: self.burst.holds(id),
            last_service_ns: queue.waking.last_service_ns,
            inject_limit: queue.waking.inject_limit,
            inject_mark: queue.waking.inject_mark,
        };
        if fresh {
            // Its first request would have raised it.
            let service = self.process(owner).saved.map_or(0, |saved| saved.raising.service);
            saved.coefficient = super::raising::COEFFICIENT;
            saved.raising.begin(jiffies, duration, service);
        }
        self.process(owner).saved = Some(saved);
    }

    /// bfq_split_bfqq. Returns the process's queue, and whether it is the old one (last user).
    pub(super) fn split(&mut self, now: Time, id: u32, request: &BlockRequest) -> (u32, bool) {
        let owner = request.process;
        let waker = self.living_waker(id);
        if self.queue(id).in_large_burst
            && let Some(saved) = &mut self.process(owner).saved
        {
            saved.in_large_burst = true;
        }
        let queue = self.queue_mut(id);
        if queue.users == 1 && queue.merging.into.is_none() {
            (queue.merging.shared, queue.merging.to_split) = (false, false);
            return (id, true);
        }
        self.assign(owner, None);
        self.drop_cooperators(id);
        self.drop_user(id);
        let new = self.new_queue(now, request, true);
        let (listed, large) = self
            .process(owner)
            .saved
            .map_or((false, false), |saved| (saved.in_burst_list, saved.in_large_burst));
        if listed && self.burst.is_large() || large {
            self.queue_mut(new).in_large_burst = true;
        } else if listed {
            self.burst.rejoin(new);
        }
        self.queue_mut(new).merging.split_at = self.jiffies;
        if let Some(waker) = waker {
            self.set_waker(new, waker);
        }
        (new, false)
    }

    /// bfq_bfqq_resume_state.
    pub(super) fn resume(&mut self, id: u32, owner: u32, existing: bool) {
        let Some(saved) = self.process(owner).saved else { return };
        let low_latency = self.settings.low_latency;
        let queue = self.queue_mut(id);
        queue.habits = saved.habits;
        queue.raising.resume(&saved.raising);
        queue.waking.last_service_ns = saved.last_service_ns;
        queue.waking.inject_limit = saved.inject_limit;
        queue.waking.inject_mark = saved.inject_mark;
        let busy = existing && queue.busy;
        let entity = self.tree.get_mut(id);
        let old = entity.coefficient;
        entity.wanted.1 = saved.weight;
        entity.changed = true;
        if low_latency {
            entity.coefficient = saved.coefficient;
        }
        self.end_stale_raising(id);
        let new = self.tree.get(id).coefficient;
        if busy {
            self.raised_busy = self.raised_busy + u32::from(new > 1) - u32::from(old > 1);
        }
    }

    /// bfq_put_cooperator.
    pub(super) fn drop_cooperators(&mut self, id: u32) {
        let mut into = self.queue(id).merging.into;
        while let Some(other) = into.filter(|other| *other != id) {
            into = self.queue(other).merging.into;
            self.queue_mut(other).users -= 1;
            self.release(other);
        }
    }

    /// bfq_put_stable_ref.
    pub(super) fn drop_stable(&mut self, owner: u32) {
        if let Some(other) = self.process(owner).stable.take() {
            self.queue_mut(other).stable_users -= 1;
            self.release(other);
        }
    }

    /// bfq_do_or_sched_stable_merge. Returns the queue to use.
    pub(super) fn merge_with_last_created(&mut self, id: u32, owner: u32) -> u32 {
        let group = self.tree.get(id).group;
        let created = self.queue(id).created;
        let alike = |one: u32, two: u32| {
            let [one, two] = [one, two].map(|id| self.tree.get(id));
            (one.class, one.base) == (two.class, two.base)
        };
        let last = self.last_created.get(&group).copied();
        let last = last.filter(|last| {
            self.queue(*last).created + self.ticks(STABLE_MS) >= created && alike(*last, id)
        });
        let Some(last) = last else {
            self.last_created.insert(group, id);
            return id;
        };
        if self.queue(last).created + self.ticks(super::burst::INTERVAL_MS) < created {
            return id;
        }
        if !self.is_fast() {
            self.queue_mut(last).stable_users += 1;
            self.process(owner).stable = Some(last);
            return id;
        }
        let Some(into) = self.schedule_merge(id, last) else { return id };
        if let Some(other) = self.queue(into).owner {
            self.process(other).stably_merged = true;
        }
        self.process(owner).stably_merged = true;
        self.queue_mut(id).owner = Some(owner);
        self.merge_step(owner, id)
    }

    /// bfq_reassign_last_bfqq.
    pub(super) fn replace_last_created(&mut self, id: u32, new: Option<u32>) {
        let group = self.tree.get(id).group;
        if self.last_created.get(&group) == Some(&id) {
            match new {
                Some(new) => self.last_created.insert(group, new),
                None => self.last_created.remove(&group),
            };
        }
    }

    /// bfq_bio_merge: bfq_allow_bio_merge merges queues before the bio looks for a request.
    pub(super) fn merge_before_joining(&mut self, bio: &BlockRequest) {
        let Some(last) = self.last_merge else { return };
        let cached = self.slot(last).request;
        if cached.op != bio.op || (bio.sync && !cached.sync) {
            return;
        }
        let (Some(mut id), owner) = (self.find_queue(bio), bio.process) else { return };
        let Some(into) = self.cooperator(id, bio.sector, owner) else { return };
        while bio.sync && id != into {
            id = self.merge_step(owner, id);
        }
    }
}
