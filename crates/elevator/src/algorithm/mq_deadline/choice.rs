//! The choice of the next request: batches, expired requests, and aged classes.
//!
//! Source: Linux 6.12 block/mq-deadline.c; confirmed.

use super::{MqDeadline, READ, Slot, State, WRITE};

impl MqDeadline {
    /// started_after. The kernel derives the arrival from the expiry.
    fn came_after(&self, slot: &Slot, latest: Option<i128>) -> bool {
        let expire = self.clock.from_ms(self.expire_ms[slot.dir]);
        latest.is_some_and(|latest| i128::from(slot.expires) - i128::from(expire) > latest)
    }

    /// __dd_dispatch_request, up to `latest`.
    fn choose(&mut self, now: u64, class: usize, latest: Option<i128>) -> Option<u32> {
        if self.is_61()
            && let Some(tag) = self.classes[class].head.head()
        {
            return (!self.came_after(self.held(tag), latest)).then(|| self.take(class, tag));
        }
        let goes_on = self.batch.batching < self.fifo_batch;
        let tag = match goes_on.then(|| self.next(class, self.batch.last_dir)).flatten() {
            Some(tag) => tag,
            None => self.new_batch(now, class)?,
        };
        if self.came_after(self.held(tag), latest) {
            return None;
        }
        self.batch.batching += 1;
        Some(self.take(class, tag))
    }

    fn new_batch(&mut self, now: u64, class: usize) -> Option<u32> {
        let [reads, writes] = [READ, WRITE].map(|dir| !self.classes[class].fifo[dir].is_empty());
        let dir = if reads && !(writes && self.writes_are_starved()) {
            READ
        } else if writes {
            self.batch.starved = 0;
            WRITE
        } else {
            return None;
        };
        let oldest = self.classes[class].fifo[dir].head().expect("the direction has requests");
        let expired = self.held(oldest).expires <= now;
        let next = self.next(class, dir).filter(|_| !expired);
        self.batch.last_dir = dir;
        self.batch.batching = 0;
        Some(next.unwrap_or(oldest))
    }

    /// Counts a choice of reads while writes wait.
    fn writes_are_starved(&mut self) -> bool {
        self.batch.starved += 1;
        self.batch.starved > self.writes_starved
    }

    fn take(&mut self, class: usize, tag: u32) -> u32 {
        let slot = self.slot(tag);
        let Slot { state, dir, key, .. } = *slot;
        slot.state = State::InFlight;
        if state == State::Head {
            self.classes[class].head.remove(tag);
        } else {
            let is_61 = self.is_61();
            let class = &mut self.classes[class];
            class.latest[dir] = key.0;
            if is_61 {
                class.next[dir] = class.successor(dir, key);
            }
            class.remove_sorted(dir, key, tag);
        }
        self.len -= 1;
        tag
    }

    pub(super) fn try_dispatch(&mut self, now: u64) -> Option<u32> {
        if !self.is_61()
            && let Some(tag) = self.classes[0].head.head()
        {
            return Some(self.take(0, tag));
        }
        if self.classes.iter().filter(|class| class.pending > 0).count() >= 2 {
            let latest = i128::from(now) - i128::from(self.clock.from_ms(self.aging_ms));
            for class in 1..3 {
                if let Some(tag) = self.choose(now, class, Some(latest)) {
                    return Some(tag);
                }
            }
        }
        for class in 0..3 {
            let tag = self.choose(now, class, None);
            if tag.is_some() || self.classes[class].pending > 0 {
                return tag;
            }
        }
        None
    }
}
