//! Depth limits (Linux 6.1, 6.12 and 7.3 bfq_limit_depth, bfqq_request_over_limit,
//! bfq_update_depths; confirmed).
//!
//! Raising a weight is useless to a process without a tag. Asynchronous requests and synchronous
//! writes may use only part of the tags, less while a queue is raised. A process or group that has
//! the requests its weight entitles it to is left one tag per word of the bitmap. Consequence of
//! the source: while raised queues are busy, another's share rounds to zero, so it waits for one of
//! those few tags even without any request. Departure: in 7.3 a switch to bfq computes the limits
//! from the previous scheduler's `async_depth`, until it is written.

use super::Bfq;
use super::settings::NEW;
use crate::request::BlockRequest;
use crate::vocabulary::{LINUX_7, Op};

const LEVELS: u64 = 8;

impl Bfq {
    /// bfq_limit_depth; None: all tags.
    pub(super) fn depth_of(&self, request: &BlockRequest, word: u32) -> Option<u32> {
        let sixteenths = match (request.sync, self.raised_busy > 0) {
            (true, _) if request.op == Op::Read => 16,
            (true, false) => 12,
            (false, false) => 8,
            (true, true) => 6,
            (false, true) => 3,
        };
        let of = |tags: u64| (tags * sixteenths / 16).max(1);
        // 6.1 limits each word.
        let word = u64::from(word);
        // 7.0 derives all limits from that of synchronous writes.
        let set = self.settings.async_depth.min(self.nr_tags);
        let (depth, limit) = match self.settings.linux {
            _ if sixteenths == 16 => (0, self.nr_tags),
            0..NEW => (of(word), self.nr_tags * of(word) / word),
            NEW..LINUX_7 => (of(self.nr_tags), of(self.nr_tags)),
            _ => [(set * sixteenths / 12).max(1); 2].into(),
        };
        if self.is_over_limit(request, limit) {
            return Some(1);
        }
        (sixteenths < 16).then_some(depth as u32)
    }

    /// bfqq_request_over_limit.
    fn is_over_limit(&self, request: &BlockRequest, mut limit: u64) -> bool {
        let Some(id) = self.find_queue(request) else { return false };
        let entity = self.tree.get(id);
        let group = self.tree.group_of(id);
        if !entity.is_known() || group.is_some_and(|(group, _)| !group.is_known()) {
            return false;
        }
        if let Some((group, allocated)) = group {
            let weights = self.tree.class_weights(None, group.class);
            limit = share(limit, group.weight, weights);
            if u64::from(allocated) >= limit {
                return true;
            }
        }
        let weights = (0..=entity.class)
            .fold(0, |sum, class| sum * LEVELS + self.tree.class_weights(Some(id), class));
        weights > 0 && u64::from(self.queue(id).refs) >= share(limit, entity.weight, weights)
    }
}

fn share(limit: u64, weight: u64, weights: u64) -> u64 {
    (limit * weight + weights / 2).checked_div(weights).unwrap_or(limit)
}
