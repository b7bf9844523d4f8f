//! Tag accounting: who may have a request, and its number.
//!
//! Legacy Linux (block/ll_rw_blk.c) has a pool of nr_requests per direction (2.6.20; confirmed),
//! blk-mq one pool (recalled). The elevator can limit a kind of request
//! ([`crate::DepthLimit::OfKind`]) or let an anticipated process exceed the pool
//! ([`crate::DepthLimit::Exceed`]) by nr_requests / 2, legacy Linux's maximum. Departures: blk-mq
//! has the latter, too (proposed); no batching of 32 requests within 20 ms as in 2.6.20; a limited
//! kind counts only its own tags, not a shallow part of all (recalled).

use crate::vocabulary::Op;

/// Direction and synchrony.
pub(super) const CLASSES: usize = 4;

pub(super) fn class(op: Op, sync: bool) -> usize {
    direction(op) * 2 + usize::from(sync)
}

pub(super) fn direction(op: Op) -> usize {
    match op {
        Op::Read => 0,
        Op::Write => 1,
    }
}

#[derive(Debug, Clone)]
pub(super) struct Tags {
    /// The next one last.
    free: Vec<u32>,
    /// Free tags from `announced` up, used last, so that numbers stay dense.
    spare: Vec<u32>,
    announced: u32,
    nr_requests: u32,
    /// Tags beyond the pool for an anticipated process.
    excess: u32,
    pools: usize,
    used_of_pool: [u32; 2],
    used_of_class: [u32; CLASSES],
}

impl Tags {
    pub(super) fn new(nr_requests: u32, pools: u32) -> Tags {
        assert!(nr_requests >= 1, "a queue has room for one request at least");
        let announced = nr_requests * pools;
        let excess = (nr_requests / 2).max(1);
        let all = announced + excess * pools;
        Tags {
            free: (0..announced).rev().collect(),
            spare: (announced..all).rev().collect(),
            announced,
            nr_requests,
            excess,
            pools: pools as usize,
            used_of_pool: [0; 2],
            used_of_class: [0; CLASSES],
        }
    }

    /// All tags are below it.
    pub(super) fn end(&self) -> u32 {
        self.announced + self.excess * self.pools as u32
    }

    pub(super) fn announced(&self) -> u32 {
        self.announced
    }

    /// Whether a tag is free within `limit`. One request is always allowed: a limit of 0 would
    /// block forever.
    pub(super) fn has_room(&self, op: Op, sync: bool, limit: Option<u32>) -> bool {
        self.used_of_pool[self.pool(op)] < self.nr_requests
            && limit.is_none_or(|limit| self.used_of_class[class(op, sync)] < limit.max(1))
    }

    /// Whether an anticipated process could get a tag.
    pub(super) fn has_spare(&self, op: Op) -> bool {
        self.used_of_pool[self.pool(op)] < self.nr_requests + self.excess
    }

    /// Requires [`Tags::has_room`] or [`Tags::has_spare`].
    pub(super) fn take(&mut self, op: Op, sync: bool) -> u32 {
        let tag = self
            .free
            .pop()
            .or_else(|| self.spare.pop())
            .expect("the pools hold as many tags as they count");
        let pool = self.pool(op);
        self.used_of_pool[pool] += 1;
        self.used_of_class[class(op, sync)] += 1;
        tag
    }

    pub(super) fn free(&mut self, tag: u32, op: Op, sync: bool) {
        let pool = self.pool(op);
        self.used_of_pool[pool] -= 1;
        self.used_of_class[class(op, sync)] -= 1;
        if tag < self.announced { self.free.push(tag) } else { self.spare.push(tag) }
    }

    fn pool(&self, op: Op) -> usize {
        if self.pools == 2 { direction(op) } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legacy_pools_are_apart_and_blk_mq_has_one() {
        let (mut legacy, mut mq) = (Tags::new(2, 2), Tags::new(2, 1));
        for tags in [&mut legacy, &mut mq] {
            (0..2).for_each(|tag| assert_eq!(tags.take(Op::Read, true), tag));
            assert!(!tags.has_room(Op::Read, false, None));
        }
        assert!(legacy.has_room(Op::Write, false, None) && !mq.has_room(Op::Write, false, None));
    }

    #[test]
    fn excess_is_half_the_pool_and_uses_high_numbers_only_when_the_others_are_gone() {
        let mut tags = Tags::new(2, 2);
        (0..3).for_each(|_| {
            assert!(tags.has_spare(Op::Read) && tags.take(Op::Read, true) < tags.announced())
        });
        assert!(!tags.has_spare(Op::Read) && tags.has_spare(Op::Write));
        let writes: Vec<u32> = (0..3).map(|_| tags.take(Op::Write, false)).collect();
        assert_eq!((writes, tags.end()), (vec![3, 4, 5], 6));
        tags.free(5, Op::Write, false);
        tags.free(1, Op::Read, true);
        assert_eq!(tags.take(Op::Read, true), 1, "the dense number first");
    }

    #[test]
    fn a_limit_bounds_its_own_kind_and_never_below_one() {
        let mut tags = Tags::new(8, 1);
        assert!(tags.has_room(Op::Write, false, Some(0)));
        tags.take(Op::Write, false);
        assert!(
            !tags.has_room(Op::Write, false, Some(0)) && !tags.has_room(Op::Write, false, Some(1))
        );
        assert!(tags.has_room(Op::Write, true, Some(1)));
    }
}
