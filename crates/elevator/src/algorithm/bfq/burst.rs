//! Bursts: many queues created at once belong to the threads of one program and are not interactive.
//!
//! Source: Linux 6.12 block/bfq-iosched.c; confirmed. Eight queues created within 180 ms of one another, the first of them on an
//! idle device, are a large burst: none of them is raised, nor those that follow within 180 ms. A queue leaves the burst when it
//! had nothing to do for ten seconds. The switch `burst` is ours; in the kernel this is always on.

use super::Bfq;

/// Queues that make a burst large.
const LARGE: u32 = 8;
const INTERVAL_MS: u64 = 180;
const FORGIVEN_MS: u64 = 10_000;

/// The burst that is on.
#[derive(Debug, Default)]
pub(super) struct Burst {
    /// Its queues, until it is large.
    queues: Vec<u32>,
    size: u32,
    large: bool,
    /// The jiffy at which the last queue joined.
    mark: u64,
}

impl Burst {
    /// A queue does not belong to it any more; it still counts.
    pub(super) fn forget(&mut self, id: u32) {
        self.queues.retain(|queue| *queue != id);
    }
}

impl Bfq {
    /// Whether a queue was created in a large burst.
    pub(super) fn in_large_burst(&self, id: u32) -> bool {
        self.settings.burst && self.queue(id).in_large_burst
    }

    /// A queue that has not been busy yet gets a request: it may be one of a burst. With other queues busy and no burst on,
    /// there are others to protect it from, so it may be raised.
    pub(super) fn observe_burst(&mut self, jiffies: u64, id: u32) {
        let idle = self.busy == [0; 3];
        let queue = &self.queues[id as usize];
        let known = queue.in_large_burst || self.burst.queues.contains(&id);
        if !queue.just_created || known || (self.burst.size == 0 && !idle) {
            return;
        }
        if jiffies > self.burst.mark + self.clock.from_ms(INTERVAL_MS) {
            let queues = if idle { vec![id] } else { Vec::new() };
            self.burst = Burst { size: queues.len() as u32, queues, large: false, mark: jiffies };
            return;
        }
        self.burst.mark = jiffies;
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

    /// An idle queue gets a request: after a long time it is no more part of a burst.
    pub(super) fn leave_burst_if_over(&mut self, jiffies: u64, id: u32) {
        let forgiven = self.clock.from_ms(FORGIVEN_MS);
        let queue = self.queue_mut(id);
        let long = queue.budget_timeout.is_none_or(|since| jiffies > since.saturating_add(forgiven));
        if !queue.just_created && queue.dispatched == 0 && long {
            queue.in_large_burst = false;
            self.burst.forget(id);
        }
    }
}
