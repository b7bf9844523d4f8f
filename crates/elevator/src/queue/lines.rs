//! Waiting for a tag in blk-mq: a client that finds no free tag sleeps in one of eight wait queues and is woken in batches.
//!
//! Source: Debian's Linux 6.1 lib/sbitmap.c (as since 6.2) and block/blk-mq-tag.c; confirmed. Clients join the wait queues
//! round-robin. Freed tags are counted while clients wait; each full batch wakes as many clients at the front of one wait
//! queue, again round-robin. Tags are not reserved for woken clients: they try again, and if a new arrival has taken the tag
//! they join the end of the wait queue that was next when they woke. With more clients than tags, arrivals therefore
//! overtake, and order of arrival is not kept.
//!
//! A batch is an eighth of the tags, 1 to 8; where a scheduler limits kinds of requests to a part of each word of the bitmap, an
//! eighth of the least such part ([`crate::Elevator::least_depth`]).

use std::collections::VecDeque;

use super::types::Waiter;

const LINES: usize = 8;
const MOST_WOKEN: u32 = 8;

/// Bits that a word of the kernel's bitmap of so many tags has: 64, or fewer so that there are four words.
pub(super) fn word(tags: u32) -> u32 {
    let mut bits = 64;
    while tags >= 4 && 4 * bits > tags {
        bits /= 2;
    }
    bits
}

/// Number of freed tags that wake clients, if `least` bits of each word of the bitmap are used.
fn batch(tags: u32, least: Option<u32>) -> u32 {
    let word = word(tags);
    let least = least.unwrap_or(word).min(word);
    let usable = tags / word * least + (tags % word).min(least);
    (usable / LINES as u32).clamp(1, MOST_WOKEN)
}

#[derive(Debug)]
pub(super) struct Lines {
    lines: [VecDeque<Waiter>; LINES],
    /// Indices of the wait queue that is joined next and of the one that is woken next.
    joined: usize,
    woken_line: usize,
    batch: u32,
    /// Tags that became free since the last batch.
    freed: u32,
    waiting: usize,
    /// Woken clients in the order in which they try again.
    woken: VecDeque<Waiter>,
}

impl Lines {
    pub(super) fn new(tags: u32, least: Option<u32>) -> Lines {
        Lines {
            lines: Default::default(),
            joined: 0,
            woken_line: 0,
            batch: batch(tags, least),
            freed: 0,
            waiting: 0,
            woken: VecDeque::new(),
        }
    }

    /// Somebody has found no tag.
    pub(super) fn join(&mut self, waiter: Waiter) {
        let line = self.next_line();
        self.stand(line, waiter);
    }

    /// Somebody who was woken has found no tag.
    pub(super) fn stand(&mut self, line: usize, waiter: Waiter) {
        self.lines[line].push_back(waiter);
        self.waiting += 1;
    }

    fn next_line(&mut self) -> usize {
        let line = self.joined;
        self.joined = (self.joined + 1) % LINES;
        line
    }

    /// A tag has become free.
    pub(super) fn freed(&mut self) {
        if self.waiting == 0 {
            return;
        }
        self.freed += 1;
        if self.freed < self.batch {
            return;
        }
        self.freed -= self.batch;
        for _ in 0..LINES {
            let line = &mut self.lines[self.woken_line];
            self.woken_line = (self.woken_line + 1) % LINES;
            if !line.is_empty() {
                let awake = line.len().min(self.batch as usize);
                self.woken.extend(line.drain(..awake));
                self.waiting -= awake;
                return;
            }
        }
    }

    /// The next one that has been woken and tries again, and the line where it stands if it fails: it takes its turn at the lines in
    /// any case, before it tries.
    pub(super) fn next_woken(&mut self) -> Option<(usize, Waiter)> {
        let waiter = self.woken.pop_front()?;
        Some((self.next_line(), waiter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    fn waiter(part: u32) -> Waiter {
        Waiter { request: request(part, 8 * u64::from(part)), part }
    }

    fn woken(lines: &mut Lines) -> Vec<u32> {
        std::iter::from_fn(|| lines.next_woken()).map(|(_, waiter)| waiter.part).collect()
    }

    #[test]
    fn a_batch_is_an_eighth_of_what_can_be_used() {
        let of = |tags, least: Option<u32>| batch(tags, least);
        assert_eq!((of(32, None), of(64, None), of(256, None), of(4, None), of(1, None)), (4, 8, 8, 1, 1));
        assert_eq!((word(32), word(64), word(256), word(3), word(2)), (8, 16, 64, 64, 64));
        assert_eq!((of(64, Some(1)), of(64, Some(12)), of(256, Some(48))), (1, 6, 8));
    }

    #[test]
    fn lines_are_joined_in_turn_and_a_batch_wakes_the_front_of_one() {
        let mut lines = Lines::new(32, None);
        (0..10).for_each(|part| lines.join(waiter(part)));
        (0..3).for_each(|_| lines.freed());
        assert_eq!(woken(&mut lines), [], "a batch is not full");
        lines.freed();
        assert_eq!(woken(&mut lines), [0, 8], "all of the first line, which is less than a batch");
        (0..4).for_each(|_| lines.freed());
        assert_eq!(woken(&mut lines), [1, 9]);
        (10..14).for_each(|part| lines.join(waiter(part)));
        let mut all = Vec::new();
        for _ in 0..6 {
            (0..4).for_each(|_| lines.freed());
            all.push(woken(&mut lines));
        }
        assert_eq!(
            all,
            [vec![2], vec![3], vec![4], vec![5], vec![6, 10], vec![7, 11]],
            "each of four who were woken took a turn"
        );
    }

    #[test]
    fn tags_that_become_free_while_no_piece_waits_do_not_count_and_empty_lines_are_passed_over() {
        let mut lines = Lines::new(32, None);
        (0..9).for_each(|_| lines.freed());
        (0..3).for_each(|part| lines.join(waiter(part)));
        for expected in [0, 1, 2] {
            (0..3).for_each(|_| lines.freed());
            assert_eq!(woken(&mut lines), []);
            lines.freed();
            assert_eq!(woken(&mut lines), [expected]);
        }
        lines.join(waiter(3));
        lines.join(waiter(4));
        lines.woken_line = 5;
        (0..4).for_each(|_| lines.freed());
        assert_eq!(woken(&mut lines), [3], "the lines from the sixth to the third are empty");
    }
}
