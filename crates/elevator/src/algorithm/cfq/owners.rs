//! Processes and their queues: which queue a request belongs to, and how long queues live.
//!
//! Processes and requests reference a queue, which dies with the last reference; a new one has no
//! history and goes first in its list. Shared asynchronous queues are thus as young as the last
//! process that brought requests. Queues are looked up by process (none for shared ones) and
//! priority; after a change of priority a process finds its queue only with its next request.

use super::process::Process;
use super::{Cfq, Now, ProcessQueue, is_sync};
use crate::chain::Chain;
use crate::request::{BlockRequest, PrioClass, Priority};
use crate::starts::Starts;

/// The idle class has one level, the last.
fn effective(priority: Priority) -> Priority {
    match priority.class {
        PrioClass::Idle => Priority { class: PrioClass::Idle, level: 7 },
        class => Priority { class, level: priority.level.min(7) },
    }
}

impl Cfq {
    /// cfq_find_cfq_hash.
    pub(super) fn known_queue(&self, request: &BlockRequest) -> Option<u32> {
        let number = is_sync(request).then_some(request.process);
        self.look_up(number, effective(request.priority))
    }

    fn look_up(&self, number: Option<u32>, priority: Priority) -> Option<u32> {
        let of_number = match number {
            Some(number) => self.of_numbers.get(number as usize)?,
            None => &self.shared,
        };
        // Youngest first.
        of_number
            .iter()
            .rev()
            .copied()
            .find(|queue| self.queues[*queue as usize].priority == priority)
    }

    /// cfq_set_request: references both.
    pub(super) fn admit(&mut self, now: Now, request: &BlockRequest) -> (u32, u32) {
        let (sync, priority) = (is_sync(request), effective(request.priority));
        if let Some(queue) = self.known_queue(request) {
            self.apply_priority(queue, priority);
        }
        let record = self.record(now, request.process, priority);
        self.change_priority(now, record, priority);
        let process = &self.processes[record as usize];
        let known = if sync { process.sync_queue } else { process.async_queue };
        let queue = known.unwrap_or_else(|| {
            let queue = self.get_queue(sync.then_some(request.process), priority);
            let process = &mut self.processes[record as usize];
            *(if sync { &mut process.sync_queue } else { &mut process.async_queue }) = Some(queue);
            queue
        });
        self.processes[record as usize].requests += 1;
        self.queue(queue).references += 1;
        self.apply_priority(queue, priority);
        (queue, record)
    }

    /// cfq_put_request.
    pub(super) fn release(&mut self, now: Now, queue: u32, record: u32) {
        self.processes[record as usize].requests -= 1;
        self.put_queue(now, queue);
    }

    /// cfq_exit_io_context.
    pub(super) fn end_process(&mut self, now: Now, number: u32) {
        let Some(record) = self.numbers.get_mut(number as usize).and_then(Option::take) else {
            return;
        };
        let process = &mut self.processes[record as usize];
        process.alive = false;
        for queue in [process.async_queue.take(), process.sync_queue.take()].into_iter().flatten() {
            if self.active == Some(queue) {
                self.expire(now, false);
            }
            self.put_queue(now, queue);
        }
        self.ended.push(record);
    }

    fn record(&mut self, now: Now, number: u32, priority: Priority) -> u32 {
        let at = number as usize;
        if at >= self.numbers.len() {
            self.numbers.resize(at + 1, None);
        }
        if let Some(record) = self.numbers[at] {
            return record;
        }
        let is_unused = |record: &u32| {
            self.processes[*record as usize].requests == 0 && self.active_process != Some(*record)
        };
        let record = match self.ended.iter().position(is_unused) {
            Some(at) => self.ended.swap_remove(at),
            None => self.processes.len() as u32,
        };
        let process = Process::new(now.jiffies, priority);
        match self.processes.get_mut(record as usize) {
            Some(former) => *former = process,
            None => self.processes.push(process),
        }
        self.numbers[at] = Some(record);
        record
    }

    /// changed_ioprio.
    fn change_priority(&mut self, now: Now, record: u32, priority: Priority) {
        let process = &mut self.processes[record as usize];
        if process.priority == priority {
            return;
        }
        process.priority = priority;
        let (shared, own) = (process.async_queue, process.sync_queue);
        if let Some(old) = shared {
            let new = self.get_queue(None, priority);
            self.processes[record as usize].async_queue = Some(new);
            self.put_queue(now, old);
        }
        if let Some(own) = own {
            self.queue(own).priority_changed = true;
        }
    }

    /// cfq_init_prio_data.
    fn apply_priority(&mut self, queue: u32, priority: Priority) {
        let this = self.queue(queue);
        if !std::mem::take(&mut this.priority_changed) {
            return;
        }
        this.priority = priority;
        this.idle_window &= priority.class != PrioClass::Idle;
        if self.lists.contains(queue) {
            self.refile(queue, false);
        }
    }

    /// cfq_get_queue.
    fn get_queue(&mut self, number: Option<u32>, priority: Priority) -> u32 {
        let queue =
            self.look_up(number, priority).unwrap_or_else(|| self.new_queue(number, priority));
        self.queue(queue).references += 1;
        queue
    }

    fn new_queue(&mut self, number: Option<u32>, priority: Priority) -> u32 {
        let new = ProcessQueue {
            number,
            priority,
            priority_changed: false,
            references: 0,
            sorted: Starts::default(),
            fifo: Chain::default(),
            next: None,
            in_flight: 0,
            meta_pending: 0,
            slice_end: 0,
            slice_left: 2 * self.tunables.slice_idle,
            wait_request: false,
            must_dispatch: false,
            fifo_checked: false,
            idle_window: priority.class != PrioClass::Idle,
            is_new: true,
        };
        let queue = match self.dead.pop() {
            Some(dead) => {
                self.queues[dead as usize] = new;
                dead
            }
            None => {
                self.queues.push(new);
                self.queues.len() as u32 - 1
            }
        };
        self.of_number(number).push(queue);
        queue
    }

    /// cfq_put_queue.
    fn put_queue(&mut self, now: Now, queue: u32) {
        let this = self.queue(queue);
        this.references -= 1;
        if this.references > 0 {
            return;
        }
        let number = this.number;
        debug_assert!(!self.lists.contains(queue), "a queue with requests has references");
        if self.active == Some(queue) {
            self.expire(now, false);
        }
        self.of_number(number).retain(|other| *other != queue);
        self.dead.push(queue);
    }

    fn of_number(&mut self, number: Option<u32>) -> &mut Vec<u32> {
        let Some(number) = number else { return &mut self.shared };
        let at = number as usize;
        if at >= self.of_numbers.len() {
            self.of_numbers.resize_with(at + 1, Vec::new);
        }
        &mut self.of_numbers[at]
    }
}
