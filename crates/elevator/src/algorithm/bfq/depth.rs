//! Limits of depth: how many tags writes may have, and how many a process that has more than its
//! share.
//!
//! Problem: requests that have all tags keep those out that shall go first; raising a weight is no
//! use to a process without a tag.
//!
//! Approach: asynchronous requests and synchronous writes may use a part of the tags only, a
//! smaller one while somebody is raised. And a process, or a group, that has as many requests as
//! its weight entitles it to is left one tag of each word of the bitmap.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-iosched.c (bfq_limit_depth, bfqq_request_over_limit,
//! bfq_update_depths); confirmed. While raised queues are busy the share of another rounds to
//! nothing: it waits for one of those few tags though it has no request.

use super::Bfq;
use crate::request::BlockRequest;
use crate::vocabulary::Op;

/// Levels of a class.
const LEVELS: u64 = 8;

impl Bfq {
    /// How many tags a new request may choose from; None: all.
    pub(super) fn depth_of(&self, request: &BlockRequest, word: u32) -> Option<u32> {
        let sixteenths = match (request.sync, self.raised_busy > 0) {
            (true, _) if request.op == Op::Read => 16,
            (true, false) => 12,
            (false, false) => 8,
            (true, true) => 6,
            (false, true) => 3,
        };
        let of = |tags: u64| (tags * sixteenths / 16).max(1);
        // In 6.1 the part is one of each word.
        let word = u64::from(word);
        let (depth, limit) = if self.is_old() {
            (of(word), self.nr_tags * of(word) / word)
        } else {
            (of(self.nr_tags), of(self.nr_tags))
        };
        if self.is_over_limit(request, if sixteenths == 16 { self.nr_tags } else { limit }) {
            return Some(1);
        }
        (sixteenths < 16).then_some(depth as u32)
    }

    /// Whether the queue of a request, or its group, has as many requests as its weight entitles it
    /// to, of `limit`.
    fn is_over_limit(&self, request: &BlockRequest, mut limit: u64) -> bool {
        let Some(id) = self.find_queue(request) else { return false };
        let entity = self.tree.get(id);
        let group = self.tree.group_of(id);
        if !entity.is_known() || group.is_some_and(|(group, _)| !group.is_known()) {
            return false;
        }
        if let Some((group, allocated)) = group {
            let weights = self.tree.weights_beside(None, group.class);
            limit = share(limit, group.weight, weights);
            if u64::from(allocated) >= limit {
                return true;
            }
        }
        let weights = (0..=entity.class)
            .fold(0, |sum, class| sum * LEVELS + self.tree.weights_beside(Some(id), class));
        weights > 0 && u64::from(self.queue(id).pins) >= share(limit, entity.weight, weights)
    }
}

/// The part of `limit` that a weight of all gives, rounded to the nearest.
fn share(limit: u64, weight: u64, weights: u64) -> u64 {
    (limit * weight + weights / 2).checked_div(weights).unwrap_or(limit)
}
