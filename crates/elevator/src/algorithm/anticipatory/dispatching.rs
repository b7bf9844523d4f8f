//! The choice of the next request: alternating batches of synchronous and asynchronous requests.
//!
//! Source: Linux 2.6.20 block/as-iosched.c; confirmed, including its oddities: a batch that waits
//! for the device to drain starts with the previous batch's deadline (`drain`), and the first write
//! is not the oldest (`first_write`).

use super::machine::{Antic, Machine};
use super::rule::{Decision, Rule};
use super::timing::Moment;
use super::trees::{ASYNC, SYNC};
use super::waiting::Verdict;

impl<R: Rule> Machine<R> {
    pub(super) fn choose_next(&mut self, now: Moment) -> Option<u32> {
        let [writes, reads] = [ASYNC, SYNC].map(|of| !self.classes[of].fifo.is_empty());
        if self.dir == ASYNC && !reads && (self.writes_left == 0 || !writes) {
            self.write_idled = true;
        }
        if !(reads || writes)
            || self.changed
            || matches!(self.antic, Antic::WaitReq | Antic::WaitNext)
        {
            return None;
        }
        if !(reads && writes && self.batch_expired(now)) {
            let next = self.classes[self.dir].next.map(|(_, tag)| tag);
            if self.dir == SYNC && self.rule.is_on() {
                if self.fifo_expired(now, SYNC) {
                    return self.begin(now, self.oldest(SYNC)?);
                }
                if self.can_anticipate(now, next) {
                    self.start_waiting();
                    return None;
                }
            }
            if let Some(next) = next {
                if reads && !writes {
                    // Without contention the batch does not age.
                    self.batch_expires = now.jiffies + self.settings.batch_expire[SYNC];
                }
                return self.prefer_expired(now, next);
            }
        }
        let first = self.new_batch(now, reads, writes)?;
        self.prefer_expired(now, first)
    }

    /// Once the device has drained, the new batch begins, and its first completion sets its
    /// deadline.
    pub(super) fn batch_completed(&mut self, now: Moment, class: usize) {
        if self.changed && self.nr_dispatched == 1 {
            self.changed = false;
            if self.dir == SYNC {
                self.new_batch = true;
            }
            if self.settings.drain {
                self.batch_expires = now.jiffies + self.settings.batch_expire[self.dir];
            }
        }
        self.nr_dispatched -= 1;
        if self.new_batch && self.dir == class {
            self.update_write_count(now);
            self.batch_expires = now.jiffies + self.settings.batch_expire[SYNC];
            self.new_batch = false;
        }
    }

    /// Begins a batch of the other class, or the same; returns its first request.
    fn new_batch(&mut self, now: Moment, reads: bool, writes: bool) -> Option<u32> {
        if reads && !(writes && self.dir == SYNC) {
            self.changed |= self.dir == ASYNC;
            self.dir = SYNC;
            self.classes[SYNC].last_check = Some(now.jiffies);
            return self.oldest(SYNC);
        }
        if self.dir == SYNC {
            self.changed = true;
            self.new_batch = false;
        }
        self.dir = ASYNC;
        self.writes_left = self.write_count;
        self.write_idled = false;
        match self.settings.first_write {
            true => self.oldest(ASYNC),
            // A front merge that displaces another request leaves no next one; the source then
            // needs an expired one, or fails.
            false => self.classes[ASYNC].next.map(|(_, tag)| tag).or_else(|| self.oldest(ASYNC)),
        }
    }

    fn prefer_expired(&mut self, now: Moment, chosen: u32) -> Option<u32> {
        let tag = if self.fifo_expired(now, self.dir) { self.oldest(self.dir)? } else { chosen };
        self.begin(now, tag)
    }

    /// Begins a new batch once the device has completed the previous one.
    fn begin(&mut self, now: Moment, tag: u32) -> Option<u32> {
        if self.changed {
            if self.nr_dispatched > 0 {
                return None;
            }
            match self.dir {
                ASYNC => self.batch_expires = now.jiffies + self.settings.batch_expire[ASYNC],
                _ => self.new_batch = true,
            }
            self.changed = false;
        }
        Some(tag)
    }

    fn batch_expired(&self, now: Moment) -> bool {
        !self.changed
            && !self.new_batch
            && (now.jiffies > self.batch_expires || (self.dir == ASYNC && self.writes_left == 0))
    }

    /// as_fifo_expired. Once per expiry interval: seeks to many old requests must not dominate.
    fn fifo_expired(&mut self, now: Moment, class: usize) -> bool {
        let recently = |last| now.jiffies - last < self.settings.fifo_expire[class];
        if self.classes[class].last_check.is_some_and(recently) {
            return false;
        }
        self.classes[class].last_check = Some(now.jiffies);
        self.oldest(class).is_some_and(|tag| now.jiffies > self.held(tag).expires)
    }

    fn can_anticipate(&mut self, now: Moment, next: Option<u32>) -> bool {
        self.who.is_some()
            && self.antic != Antic::Finished
            && self.assess(now, next, Decision::Begin) == Verdict::Wait
    }

    /// Adapts to the last batch's duration, known at the next synchronous completion.
    fn update_write_count(&mut self, now: Moment) {
        let batch = self.settings.batch_expire[ASYNC];
        let took = (now.jiffies + batch).saturating_sub(self.batch_expires);
        if took > batch && !self.write_idled {
            self.write_count =
                if took > 3 * batch { self.write_count / 2 } else { self.write_count - 1 };
        } else if took < batch && self.writes_left == 0 {
            self.write_count = if batch > 3 * took {
                self.write_count.saturating_mul(2)
            } else {
                self.write_count.saturating_add(1)
            };
        }
        self.write_count = self.write_count.max(1);
    }
}
