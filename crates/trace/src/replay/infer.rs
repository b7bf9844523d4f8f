//! What a request waited for, from the times of its process alone.
//!
//! **Terms.** q(r) is when request r was queued, c(r) when it completed. Of one process, in the
//! order of q:
//!
//! - The *dependency* of r is the completion that came last before q(r). Nothing in a trace of
//!   requests says that r needed that answer, but a process that asks right after an answer, again
//!   and again, did.
//! - The *think time* of r is the time from then, or from the process's previous request if that is
//!   later, to q(r).
//! - The *depth* of r is how many of the process's requests were open at q(r). A process that waits
//!   for each answer has depth 0 throughout; one that keeps 32 open has 31, and asks again with
//!   each completion.
//!
//! The replay makes r when at most so many of the process's requests are open, and the think time
//! has passed since the later of its latest completion and its latest request. For a process with
//! one request at a time that is its program's own behaviour.
//!
//! **Not inferred** [P]: waiting for another process (a transaction for the journal's thread), what
//! was read from the page cache or computed for another client, and how much longer or shorter a
//! batch would have been on a faster disk.
//!
//! **Writes that nobody waits for** (without the mark SYNC, where the trace has marks) keep
//! their recorded times in a closed loop, too, and count as a client of their own: the kernel makes
//! them when pages are old, not when earlier ones are done.
//!
//! A request whose completion is not known counts as completed at once: its think time then
//! includes the old disk's service time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::types::Start;

/// What is known of a request of one process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) queued: u64,
    pub(super) completed: Option<u64>,
}

/// A process while its requests are gone through.
#[derive(Debug, Default)]
pub(super) struct Inference {
    open: BinaryHeap<Reverse<u64>>,
    last_queued: Option<u64>,
    last_completed: u64,
}

impl Inference {
    /// The next request of the process: what it begins after, how many nanoseconds later, and how
    /// many others are open then.
    pub(super) fn next(&mut self, times: Times) -> (Start, u64, u16) {
        let Times { queued, completed } = times;
        while let Some(&Reverse(done)) = self.open.peek() {
            if done > queued {
                break;
            }
            self.open.pop();
            self.last_completed = self.last_completed.max(done);
        }
        let depth = u16::try_from(self.open.len()).unwrap_or(u16::MAX);
        let next = match self.last_queued {
            None => (Start::Recorded, queued, 0),
            Some(last_queued) => {
                (Start::Answer, queued - self.last_completed.max(last_queued), depth)
            }
        };
        self.last_queued = Some(queued);
        match completed {
            Some(completed) => self.open.push(Reverse(completed)),
            None => self.last_completed = self.last_completed.max(queued),
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(times: &[(u64, u64)]) -> Vec<(Start, u64, u16)> {
        let mut inference = Inference::default();
        let times =
            times.iter().map(|&(queued, completed)| Times { queued, completed: Some(completed) });
        times.map(|times| inference.next(times)).collect()
    }

    use Start::{Answer, Recorded};

    #[test]
    fn one_at_a_time_thinks_from_each_answer() {
        let expected = [(Recorded, 10, 0), (Answer, 5, 0), (Answer, 70, 0)];
        assert_eq!(inferred(&[(10, 50), (55, 60), (130, 140)]), expected);
    }

    #[test]
    fn a_batch_follows_its_first_request_and_a_full_window_follows_each_completion() {
        let batch = [(0, 100), (1, 90), (3, 95), (105, 110)];
        assert_eq!(
            inferred(&batch),
            [(Recorded, 0, 0), (Answer, 1, 1), (Answer, 2, 2), (Answer, 5, 0)]
        );
        let window = [(0, 10), (0, 20), (10, 30), (21, 40)];
        assert_eq!(
            inferred(&window),
            [(Recorded, 0, 0), (Answer, 0, 1), (Answer, 0, 1), (Answer, 1, 1)]
        );
    }

    #[test]
    fn without_completions_the_gaps_are_the_recorded_ones() {
        let mut inference = Inference::default();
        let next = [7, 9, 19].map(|queued| inference.next(Times { queued, completed: None }));
        assert_eq!(next, [(Recorded, 7, 0), (Answer, 2, 0), (Answer, 10, 0)]);
    }
}
