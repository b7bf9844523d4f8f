//! Processes: their queues, and the state they keep across merge and split.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c (struct bfq_io_cq, bfq_init_rq); confirmed.
//! Departure: a process is forgotten when it exits; the kernel, after its last
//! completion.

use super::queue::{BfqQueue, Habits, LONG_AGO, class_and_weight};
use super::raising::Raising;
use super::{Bfq, Expiry};
use crate::request::{BlockRequest, Priority};
use crate::vocabulary::Time;

#[derive(Debug, Clone, Default)]
pub(super) struct Process {
    pub(super) sync: Option<u32>,
    pub(super) asynchronous: Option<u32>,
    priority: Option<Priority>,
    pub(super) requests: u32,
    /// 0: none.
    pub(super) group: u32,
    /// bic->stable_merge_bfqq.
    pub(super) stable: Option<u32>,
    pub(super) stably_merged: bool,
    pub(super) saved: Option<Saved>,
}

/// State before its queue merged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saved {
    pub(super) habits: Habits,
    pub(super) weight: u64,
    pub(super) coefficient: u64,
    pub(super) raising: Raising,
    pub(super) in_large_burst: bool,
    pub(super) in_burst_list: bool,
    pub(super) last_service_ns: u64,
    pub(super) inject_limit: u32,
    pub(super) inject_mark: i64,
}

impl Bfq {
    pub(super) fn process(&mut self, process: u32) -> &mut Process {
        let at = process as usize;
        if self.processes.len() <= at {
            self.processes.resize_with(at + 1, Process::default);
        }
        &mut self.processes[at]
    }

    pub(super) fn owner_of(&self, request: &BlockRequest) -> Option<u32> {
        let owner = if self.variant.is_linux() { request.process } else { self.flow_of(request)? };
        ((owner as usize) < self.processes.len()).then_some(owner)
    }

    pub(super) fn find_queue(&self, request: &BlockRequest) -> Option<u32> {
        let process = &self.processes[self.owner_of(request)? as usize];
        if request.sync || !self.variant.is_linux() { process.sync } else { process.asynchronous }
    }

    /// bfq_init_rq.
    pub(super) fn queue_in_linux(&mut self, now: Time, request: &BlockRequest) -> u32 {
        let owner = request.process;
        self.observe_priority(request);
        let mut reused = None;
        let id = match self.find_queue(request) {
            None => self.new_queue(now, request, false),
            Some(id) => {
                let merging = &self.queue(id).merging;
                if merging.shared && merging.to_split && !self.process(owner).stably_merged {
                    let (id, existing) = self.split(now, id, request);
                    reused = Some(existing);
                    id
                } else {
                    id
                }
            }
        };
        self.process(owner).requests += 1;
        let queue = self.queue_mut(id);
        if queue.merging.into.is_none() && queue.users == 1 {
            queue.owner = Some(owner);
            if let Some(existing) = reused {
                self.resume(id, owner, existing);
            }
        }
        self.observe_burst(id);
        id
    }

    /// bfq_check_ioprio_change.
    fn observe_priority(&mut self, request: &BlockRequest) {
        let process = self.process(request.process);
        let seen = process.priority.replace(request.priority);
        if seen.is_none_or(|seen| seen == request.priority) {
            return;
        }
        let (sync, old) = (process.sync, process.asynchronous.take());
        if let Some(old) = old {
            let new = self.async_queue(self.now, request);
            self.process(request.process).asynchronous = Some(new);
            self.drop_user(old);
        }
        if let Some(id) = sync {
            let entity = self.tree.get_mut(id);
            entity.wanted = class_and_weight(request.priority);
            entity.changed = true;
        }
    }

    /// bfq_get_queue.
    pub(super) fn new_queue(&mut self, now: Time, request: &BlockRequest, again: bool) -> u32 {
        if !request.sync {
            let id = self.async_queue(now, request);
            self.process(request.process).asynchronous = Some(id);
            return id;
        }
        let group = self.process(request.process).group;
        let id = self.create(now, true, group, class_and_weight(request.priority));
        self.queue_mut(id).users = 1;
        let id = if again { id } else { self.merge_with_last_created(id, request.process) };
        self.assign(request.process, Some(id));
        id
    }

    fn async_queue(&mut self, now: Time, request: &BlockRequest) -> u32 {
        let group = self.process(request.process).group;
        let (class, weight) = class_and_weight(request.priority);
        let id = match self.asynchronous.get(&(group, class, weight)) {
            Some(id) => *id,
            None => {
                let id = self.create(now, false, group, (class, weight));
                self.asynchronous.insert((group, class, weight), id);
                // Shared queues persist without processes.
                self.queue_mut(id).users = 1;
                id
            }
        };
        self.queue_mut(id).users += 1;
        id
    }

    /// bfq_init_bfqq.
    pub(super) fn create(
        &mut self,
        now: Time,
        sync: bool,
        group: u32,
        wanted: (usize, u64),
    ) -> u32 {
        let (jiffies, budget) = (self.jiffies, self.first_budget());
        let mut new = BfqQueue::new(now, jiffies, sync, wanted.0 == 2, budget);
        // 6.1 leaves it at boot time, so the limit is reset at once.
        new.waking.inject_mark = if self.is_old() { LONG_AGO } else { jiffies };
        let id = match self.spare.pop() {
            Some(id) => {
                self.queues[id as usize] = new;
                id
            }
            None => {
                self.queues.push(new);
                self.queues.len() as u32 - 1
            }
        };
        self.tree.add(id, group, wanted);
        id
    }

    pub(super) fn assign(&mut self, owner: u32, id: Option<u32>) {
        let old = std::mem::replace(&mut self.process(owner).sync, id);
        if let Some(old) = old
            && self.queue(old).owner == Some(owner)
        {
            self.queue_mut(old).owner = None;
        }
        if id.is_some() && self.process(owner).stable == id {
            self.drop_stable(owner);
        }
    }

    /// bfq_release_process_ref.
    pub(super) fn drop_user(&mut self, id: u32) {
        let queue = self.queue(id);
        if queue.busy && queue.sorted.is_empty() && self.in_service != Some(id) {
            self.retire(id, false);
        }
        self.replace_last_created(id, None);
        self.queue_mut(id).users -= 1;
        self.release(id);
    }

    /// bfq_exit_icq.
    pub(super) fn forget_process(&mut self, owner: u32) {
        if owner as usize >= self.processes.len() {
            return;
        }
        self.drop_stable(owner);
        let Process { sync, asynchronous, group, .. } = self.processes[owner as usize];
        self.assign(owner, None);
        for id in sync.into_iter().chain(asynchronous) {
            if self.in_service == Some(id) {
                self.expire(self.now, false, Expiry::Exited);
            }
            self.drop_cooperators(id);
            self.drop_user(id);
        }
        self.processes[owner as usize] = Process { group, ..Process::default() };
    }

    /// bfq_put_queue.
    pub(super) fn release(&mut self, id: u32) {
        let queue = &self.queues[id as usize];
        let entity = self.tree.get(id);
        if queue.users > 0 || queue.refs > 0 || queue.stable_users > 0 || queue.busy {
            return;
        }
        if entity.is_known() || entity.counted.is_some() || queue.is_free {
            return;
        }
        self.burst.forget(id);
        self.forget_waker(id);
        if self.last_completed == Some(id) {
            self.last_completed = None;
        }
        self.queue_mut(id).is_free = true;
        self.spare.push(id);
    }

    /// Frees queues referenced only by the tree until now.
    pub(super) fn release_forgotten(&mut self) {
        while let Some(id) = self.tree.forgotten.pop() {
            self.release(id);
        }
    }
}
