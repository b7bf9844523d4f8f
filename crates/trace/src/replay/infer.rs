//! Infers what a request waited for, from its process's times alone.
//!
//! The dependency of a request is the process's last completion before it was queued; its think
//! time counts from the later of that and the previous request; its depth is the number then open.
//! The replay makes it when no more are open and the think time has passed. Not inferred [P]: waits
//! for other processes, page cache hits, batch sizes on a faster disk. Asynchronous writes keep
//! their recorded times, as a separate client. An unknown completion counts as immediate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::types::Start;

#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) queued: u64,
    pub(super) completed: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Inference {
    open: BinaryHeap<Reverse<u64>>,
    last_queued: Option<u64>,
    last_completed: u64,
}

impl Inference {
    /// The start event of the next request, the delay in ns, and the number of others open then.
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
