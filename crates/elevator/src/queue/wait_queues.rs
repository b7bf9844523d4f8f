//! blk-mq's wait queues: a client without a tag sleeps in one of eight, joined round-robin, and is
//! woken in batches of 1/8 of the tags (1 to 8).
//!
//! A full batch of freed tags wakes that many clients of the next wait queue; 6.12 continues with
//! further queues, 6.1 does not. Tags are not reserved, so new arrivals can overtake. With
//! [`crate::Elevator::min_shallow_depth`] the batch is 1/8 of the limited tags: of their sum over
//! words in 6.1, of the limit since 6.12 (sbq_calc_wake_batch).
//!
//! Source: Debian's Linux 6.1.192, 6.12.117 and 7.3.4, lib/sbitmap.c, block/blk-mq-tag.c; confirmed.

use std::collections::VecDeque;

use super::bitmap::{Bitmap, PROPORTIONAL, word};

const LINES: usize = 8;
const MAX_WOKEN: u32 = 8;
/// Since this version, a batch wakes several wait queues.
const WHOLE_BATCHES: u64 = 612;

/// What the elevator's tunables determine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    pub(super) linux: u64,
    batch: u32,
}

impl Rules {
    /// `least(n)`: minimum shallow depth of `n` bits.
    pub(super) fn new(linux: u64, tags: u32, least: impl Fn(u32) -> u32) -> Rules {
        let limit = |bits: u32| least(bits).min(bits);
        let usable = if linux < PROPORTIONAL {
            let word = word(tags);
            tags / word * limit(word) + (tags % word).min(limit(word))
        } else {
            limit(tags)
        };
        Rules { linux, batch: (usable / LINES as u32).clamp(1, MAX_WOKEN) }
    }
}

#[derive(Debug)]
pub(super) struct WaitQueues {
    bitmap: Bitmap,
    lines: [VecDeque<u32>; LINES],
    /// The next wait queue to join, and to wake.
    joined: usize,
    woken_line: usize,
    freed: u32,
    waiting: usize,
    /// Woken clients in retry order.
    woken: VecDeque<u32>,
}

impl WaitQueues {
    pub(super) fn new(tags: u32) -> WaitQueues {
        WaitQueues {
            bitmap: Bitmap::new(tags),
            lines: Default::default(),
            joined: 0,
            woken_line: 0,
            freed: 0,
            waiting: 0,
            woken: VecDeque::new(),
        }
    }

    /// As in blk_mq_get_tag, an unlimited request takes its turn at the wait queues before the
    /// second search. A limited request's search covers whole words, so it takes no turn.
    pub(super) fn take(&mut self, limited: bool) -> Option<u32> {
        self.bitmap.search().or_else(|| {
            if !limited {
                self.next_line();
            }
            self.bitmap.search()
        })
    }

    pub(super) fn take_shallow(&mut self, shallow: u32, linux: u64) -> Option<u32> {
        self.bitmap.search_shallow(shallow, linux)
    }

    pub(super) fn take_woken(&mut self) -> Option<u32> {
        self.bitmap.search().or_else(|| self.bitmap.search())
    }

    pub(super) fn join(&mut self, waiter: u32) {
        let line = self.next_line();
        self.requeue(line, waiter);
    }

    /// Queues a woken client again.
    pub(super) fn requeue(&mut self, line: usize, waiter: u32) {
        self.bitmap.search_in_vain();
        self.lines[line].push_back(waiter);
        self.waiting += 1;
    }

    fn next_line(&mut self) -> usize {
        let line = self.joined;
        self.joined = (self.joined + 1) % LINES;
        line
    }

    /// `rules` returns those that apply now.
    pub(super) fn free(&mut self, tag: u32, rules: impl FnOnce() -> Rules) {
        self.bitmap.free(tag);
        self.count_freed(rules);
    }

    #[inline]
    fn count_freed(&mut self, rules: impl FnOnce() -> Rules) {
        if self.waiting > 0 {
            self.freed += 1;
            let rules = rules();
            if self.freed >= rules.batch {
                self.wake(rules);
            }
        }
    }

    fn wake(&mut self, Rules { linux, batch }: Rules) {
        self.freed -= batch;
        let mut left = batch as usize;
        for _ in 0..LINES {
            let line = &mut self.lines[self.woken_line];
            self.woken_line = (self.woken_line + 1) % LINES;
            let awake = line.len().min(left);
            (0..awake).for_each(|_| self.woken.extend(line.pop_front()));
            self.waiting -= awake;
            left -= awake;
            if left == 0 || awake > 0 && linux < WHOLE_BATCHES {
                return;
            }
        }
    }

    /// Whether a woken client has not yet retried.
    #[inline]
    pub(super) fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }

    /// A client to retry, and its wait queue if that fails. The client takes that turn before it
    /// retries, even if it succeeds.
    pub(super) fn next_woken(&mut self) -> Option<(usize, u32)> {
        let waiter = self.woken.pop_front()?;
        Some((self.next_line(), waiter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 32 tags without a limit.
    fn rules(linux: u64) -> Rules {
        Rules::new(linux, 32, |bits| bits)
    }

    fn woken(lines: &mut WaitQueues) -> Vec<u32> {
        std::iter::from_fn(|| lines.next_woken()).map(|(_, waiter)| waiter).collect()
    }

    #[test]
    fn a_batch_is_an_eighth_of_what_can_be_used() {
        let of = |tags, least: fn(u32) -> u32| {
            [601, 612].map(|linux| Rules::new(linux, tags, least).batch)
        };
        for (tags, expected) in [(32, 4), (64, 8), (256, 8), (4, 1), (1, 1)] {
            assert_eq!(of(tags, |bits| bits), [expected; 2], "{tags} tags");
        }
        assert_eq!((word(32), word(64), word(256), word(3), word(2)), (8, 16, 64, 64, 64));
        assert_eq!((of(64, |_| 1), of(64, |_| 12), of(256, |_| 48)), ([1, 1], [6, 1], [8, 6]));
        assert_eq!(of(1024, |_| 1), [2, 1], "16 words of one bit each, or one bit of all");
        assert_eq!(of(64, |bits| bits * 3 / 4), [6, 6], "kyber");
    }

    #[test]
    fn lines_are_joined_in_turn_and_a_batch_wakes_the_front_of_one() {
        let mut lines = WaitQueues::new(32);
        (0..10).for_each(|part| lines.join(part));
        (0..3).for_each(|_| lines.count_freed(|| rules(601)));
        assert_eq!(woken(&mut lines), [], "a batch is not full");
        lines.count_freed(|| rules(601));
        assert_eq!(woken(&mut lines), [0, 8], "all of the first line, which is less than a batch");
        (0..4).for_each(|_| lines.count_freed(|| rules(601)));
        assert_eq!(woken(&mut lines), [1, 9]);
        (10..14).for_each(|part| lines.join(part));
        let mut all = Vec::new();
        for _ in 0..6 {
            (0..4).for_each(|_| lines.count_freed(|| rules(601)));
            all.push(woken(&mut lines));
        }
        assert_eq!(
            all,
            [vec![2], vec![3], vec![4], vec![5], vec![6, 10], vec![7, 11]],
            "each of four who were woken took a turn"
        );
    }

    #[test]
    fn a_batch_of_612_goes_on_with_the_next_lines() {
        let mut lines = WaitQueues::new(32);
        (0..10).for_each(|part| lines.join(part));
        (0..4).for_each(|_| lines.count_freed(|| rules(612)));
        assert_eq!(woken(&mut lines), [0, 8, 1, 9]);
        assert_eq!(lines.woken_line, 2);
        (0..4).for_each(|_| lines.count_freed(|| rules(612)));
        assert_eq!(woken(&mut lines), [2, 3, 4, 5]);
        (0..8).for_each(|_| lines.count_freed(|| rules(612)));
        assert_eq!(
            (woken(&mut lines), lines.waiting, lines.woken_line),
            (vec![6, 7], 0, 6),
            "there are no more"
        );
    }

    #[test]
    fn a_request_that_finds_its_tag_at_the_second_search_has_taken_a_turn() {
        let mut lines = WaitQueues::new(32);
        (0..32).for_each(|tag| assert_eq!(lines.take(false), Some(tag)));
        lines.free(12, || rules(601));
        assert_eq!(lines.take(false), Some(12));
        assert_eq!(lines.joined, 0);
        lines.free(9, || rules(601));
        assert_eq!(
            (lines.take(false), lines.joined),
            (Some(9), 1),
            "9 is below the hint in its word"
        );
        lines.free(8, || rules(601));
        assert_eq!(
            (lines.take(true), lines.joined),
            (Some(8), 1),
            "a limited search returns to the bits below the hint"
        );
    }

    #[test]
    fn tags_that_become_free_while_no_bio_waits_do_not_count_and_empty_lines_are_passed_over() {
        let mut lines = WaitQueues::new(32);
        (0..9).for_each(|_| lines.count_freed(|| rules(601)));
        (0..3).for_each(|part| lines.join(part));
        for expected in [0, 1, 2] {
            (0..3).for_each(|_| lines.count_freed(|| rules(601)));
            assert_eq!(woken(&mut lines), []);
            lines.count_freed(|| rules(601));
            assert_eq!(woken(&mut lines), [expected]);
        }
        lines.join(3);
        lines.join(4);
        lines.woken_line = 5;
        (0..4).for_each(|_| lines.count_freed(|| rules(601)));
        assert_eq!(woken(&mut lines), [3], "the lines from the sixth to the third are empty");
    }
}
