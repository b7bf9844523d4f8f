//! Bursts: many queues created at once belong to the threads of one program and are not
//! interactive.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c (bfq_handle_burst); confirmed. Eight queues of a
//! group, created within 180 ms of one another with the first on an idle device, are a large burst:
//! neither they nor those following within 180 ms are raised. A queue leaves the burst after ten
//! idle seconds. Departure: the switch `burst`; the kernel has no such setting.

use super::Bfq;

/// bfq_large_burst_thresh: number of queues in a large burst.
const LARGE: u32 = 8;
pub(super) const INTERVAL_MS: u64 = 180;
const FORGIVEN_MS: u64 = 10_000;

#[derive(Debug, Default)]
pub(super) struct Burst {
    /// Its queues until it is large.
    queues: Vec<u32>,
    size: u32,
    large: bool,
    mark: i64,
    group: u32,
}

impl Burst {
    /// Removes a queue, which still counts.
    pub(super) fn forget(&mut self, id: u32) {
        self.queues.retain(|queue| *queue != id);
    }

    /// Whether a queue belongs to it while it is not large.
    pub(super) fn holds(&self, id: u32) -> bool {
        self.queues.contains(&id)
    }

    pub(super) fn is_large(&self) -> bool {
        self.large
    }

    /// Re-adds a queue in place of one already counted.
    pub(super) fn rejoin(&mut self, id: u32) {
        self.queues.push(id);
    }
}

impl Bfq {
    pub(super) fn in_large_burst(&self, id: u32) -> bool {
        self.settings.burst && self.queue(id).in_large_burst
    }

    /// bfq_handle_burst, bfq_add_to_burst. A burst begins only on an idle device: other busy queues
    /// need protection from a new one.
    pub(super) fn observe_burst(&mut self, id: u32) {
        let idle = self.busy == [0; 3];
        let queue = &self.queues[id as usize];
        if !queue.just_created || (self.burst.size == 0 && !idle) {
            return;
        }
        if queue.in_large_burst || self.burst.holds(id) || self.is_fresh_part(id) {
            return;
        }
        let group = self.tree.get(id).group;
        let (mark, over) = (self.jiffies, self.jiffies > self.burst.mark + self.ticks(INTERVAL_MS));
        if over || group != self.burst.group {
            let queues = if idle { vec![id] } else { Vec::new() };
            self.burst = Burst { size: queues.len() as u32, queues, large: false, mark, group };
            return;
        }
        self.burst.mark = mark;
        if self.burst.large {
            self.queue_mut(id).in_large_burst = true;
            return;
        }
        self.burst.size += 1;
        self.burst.queues.push(id);
        if self.burst.size == LARGE {
            self.burst.large = true;
            for id in std::mem::take(&mut self.burst.queues) {
                self.queue_mut(id).in_large_burst = true;
            }
        }
    }

    pub(super) fn leave_burst_if_over(&mut self, id: u32, long_idle: bool) {
        let forgiven = self.ticks(FORGIVEN_MS);
        let jiffies = self.jiffies;
        let queue = self.queue_mut(id);
        if !queue.just_created && long_idle && queue.budget_timeout + forgiven < jiffies {
            queue.in_large_burst = false;
            self.burst.forget(id);
        }
    }
}
