//! The time from a completion to the client's next step: interrupt, wake-up, system call.
//!
//! Each client has its own stream for the whole trial. A draw thus depends only on the client's
//! earlier draws, and an arena with another order of events draws the same.

use crate::random::{Stream, stream};

/// The turnarounds of all clients of a trial.
#[derive(Debug, Clone)]
pub struct Turnarounds {
    seed: u64,
    least_ns: u64,
    spread_ns: u64,
    streams: Vec<Stream>,
}

impl Turnarounds {
    /// Draws uniformly from `turnaround_ns` ± `spread_ns`, with the spread capped at the
    /// turnaround.
    pub fn new(seed: u64, turnaround_ns: u64, spread_ns: u64) -> Turnarounds {
        let spread_ns = spread_ns.min(turnaround_ns);
        Turnarounds { seed, least_ns: turnaround_ns - spread_ns, spread_ns, streams: Vec::new() }
    }

    /// The constant turnaround, if there is no spread.
    pub fn constant(&self) -> Option<u64> {
        (self.spread_ns == 0).then_some(self.least_ns.max(1))
    }

    /// A client's next turnaround; at least 1 ns, so that closed loops advance.
    #[inline]
    pub fn draw(&mut self, client: u32) -> u64 {
        if self.spread_ns == 0 {
            return self.least_ns.max(1);
        }
        while self.streams.len() <= client as usize {
            self.streams
                .push(stream(self.seed, &format!("turnaround of client {}", self.streams.len())));
        }
        (self.least_ns + self.streams[client as usize].below(2 * self.spread_ns + 1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_draws_the_same_whatever_the_others_draw() {
        let mut alone = Turnarounds::new(3, 1000, 500);
        let mut among = alone.clone();
        let own: Vec<u64> = (0..50).map(|_| alone.draw(7)).collect();
        let same: Vec<u64> = (0..50)
            .map(|round| {
                for other in 0..round % 5 {
                    let _ = among.draw(other);
                }
                among.draw(7)
            })
            .collect();
        assert_eq!(own, same);
        assert_ne!(own, (0..50).map(|_| alone.draw(8)).collect::<Vec<_>>());
        assert!(
            own.iter().all(|ns| (500..=1500).contains(ns)) && own.iter().any(|ns| *ns != own[0]),
            "{own:?}"
        );
    }

    #[test]
    fn without_a_spread_it_is_constant_and_never_nothing() {
        assert_eq!(
            (Turnarounds::new(1, 20, 0).constant(), Turnarounds::new(1, 0, 9).draw(4)),
            (Some(20), 1)
        );
        assert_eq!(
            (Turnarounds::new(1, 20, 5).constant(), Turnarounds::new(1, 0, 9).constant()),
            (None, Some(1))
        );
    }
}
