//! The delay between a completion and the client's next request: interrupt, wake-up, system call.
//!
//! In a guest whose clock stops while the CPU works, a program would submit before the kernel has
//! dispatched another request, unlike any real program.

use crate::Submission;
use crate::shared::Shared;

#[derive(Debug)]
pub(crate) struct Turnaround {
    /// 0 on a real machine.
    mean_ns: u64,
    state: u64,
}

impl Turnaround {
    pub(crate) fn new(submission: Submission, seed: u64, client: u32) -> Turnaround {
        let mean_ns = match submission {
            Submission::IoUring => 0,
            Submission::Aio { turnaround_ns } => turnaround_ns,
        };
        Turnaround { mean_ns, state: seed ^ u64::from(client).wrapping_mul(0xD1B5_4A32_D192_ED03) }
    }

    /// 0.5 to 1.5 times the mean, uniformly distributed; returns the time.
    pub(crate) fn wait(&mut self, now: u64, close: u64, shared: &Shared) -> u64 {
        match self.mean_ns {
            0 => now,
            mean_ns => shared.sleep_until(now + mean_ns / 2 + self.draw() % (mean_ns + 1), close),
        }
    }

    /// SplitMix64: keeps clients out of step.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turnarounds_lie_around_the_mean_and_differ_by_client() {
        let draws = |client| {
            let mut turnaround =
                Turnaround::new(Submission::Aio { turnaround_ns: 1000 }, 7, client);
            (0..1000).map(|_| 500 + turnaround.draw() % 1001).collect::<Vec<u64>>()
        };
        let (one, other) = (draws(0), draws(1));
        assert_ne!(one, other);
        let mean = one.iter().sum::<u64>() / 1000;
        assert!((970..=1030).contains(&mean), "{mean}");
    }

    #[test]
    fn a_client_waits_in_a_guest_and_nowhere_else() {
        let shared = Shared::default();
        shared.open_gate(None);
        let now = shared.now();
        let mut guests = Turnaround::new(Submission::Aio { turnaround_ns: 1_000_000 }, 7, 0);
        assert!(guests.wait(now, u64::MAX, &shared) >= now + 500_000);
        assert_eq!(Turnaround::new(Submission::IoUring, 7, 0).wait(now, u64::MAX, &shared), now);
    }
}
