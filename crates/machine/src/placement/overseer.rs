//! Keeps realtime programs from locking up the machine.
//!
//! A realtime task that never sleeps keeps fair tasks off its CPU. Three independent protections:
//! the waiting thread has a higher priority than any program ([`Overseer`]), so deadlines are kept
//! even if every CPU is taken; the kernel kills a fifo or rr program past its deadline
//! (RLIMIT_RTTIME); and a program dies with the thread that started it (PR_SET_PDEATHSIG). For
//! deadline tasks, the kernel's admission control leaves time for others.

use std::io;
use std::time::Duration;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getrlimit, prlimit, set_parent_process_death_signal, setrlimit,
};

use super::attributes::Attributes;
use super::{Placement, Policy};

/// RLIMIT_RTTIME until the deadline is known.
const UNTIL_KNOWN: Duration = Duration::from_secs(60);

/// From the deadline until the kernel kills the program; before, the waiting thread does.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// No program has this priority.
const HIGHEST: u8 = 99;

/// Limits a realtime program, between fork and exec, where allocation is forbidden.
pub(crate) fn bound_realtime(placement: &Placement) -> io::Result<()> {
    if !placement.policy.is_some_and(Policy::is_realtime) {
        return Ok(());
    }
    let now = getrlimit(Resource::Rttime);
    let bound = micros(UNTIL_KNOWN).min(now.maximum.unwrap_or(u64::MAX));
    setrlimit(Resource::Rttime, Rlimit { current: Some(bound), maximum: now.maximum })?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    Ok(())
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Raises the calling thread's priority above every program's until dropped, if permitted and
/// needed.
#[derive(Debug)]
pub(crate) struct Overseer {
    before: Option<Attributes>,
}

impl Overseer {
    /// While waiting for a program with this placement.
    pub(crate) fn of(placement: &Placement, program: Option<Pid>, deadline: Duration) -> Overseer {
        let none = Overseer { before: None };
        let (Some(Policy::Fifo(_) | Policy::Rr(_) | Policy::Deadline { .. }), Some(program)) =
            (placement.policy, program)
        else {
            return none;
        };
        let (soft, hard) = (
            micros(deadline.saturating_add(KILL_TIMEOUT)),
            micros(deadline.saturating_add(2 * KILL_TIMEOUT)),
        );
        // The program may have exited; a lower limit stays.
        let _ = prlimit(
            Some(program),
            Resource::Rttime,
            Rlimit { current: Some(soft), maximum: Some(hard) },
        );
        let Ok(before) = Attributes::of_task(0) else { return none };
        // This thread's children must not inherit the priority.
        match Attributes::of(Policy::Fifo(HIGHEST), 0, 0).reset_on_fork().give(0) {
            Ok(()) => Overseer { before: Some(before) },
            Err(_) => none,
        }
    }
}

impl Drop for Overseer {
    /// Restores the policy. Without CAP_SYS_NICE, a thread cannot clear reset-on-fork.
    fn drop(&mut self) {
        if let Some(before) = self.before {
            let _ = before.give(0).or_else(|_| before.reset_on_fork().give(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs in a separate thread, whose policy no other test changes.
    #[test]
    fn the_waiting_thread_is_as_it_was_before_when_nothing_is_waited_for_any_more() {
        let seen = std::thread::spawn(|| {
            let before = Attributes::of_task(0).unwrap();
            let realtime = Placement { policy: Some(Policy::Rr(1)), ..Placement::default() };
            let mut child = std::process::Command::new("sleep").arg("10").spawn().unwrap();
            let pid = Pid::from_child(&child);
            let overseer = Overseer::of(&realtime, Some(pid), Duration::from_secs(3));
            let during = Attributes::of_task(0).unwrap();
            let limit =
                prlimit(Some(pid), Resource::Rttime, Rlimit { current: Some(1), maximum: Some(1) })
                    .unwrap();
            drop(overseer);
            let after = Attributes::of_task(0).unwrap();
            let _ = child.kill().and_then(|()| child.wait());
            (before, during, after, limit.current)
        });
        let (before, during, after, limit) = seen.join().unwrap();
        assert_eq!(after, before);
        if rustix::process::geteuid().is_root() {
            assert_eq!(during, Attributes::of(Policy::Fifo(HIGHEST), 0, 0).reset_on_fork());
        }
        assert_eq!(limit, Some(13_000_000), "the program's deadline and the grace");
    }

    #[test]
    fn a_program_of_fair_shares_is_waited_for_as_ever() {
        let placement =
            Placement { policy: Some(Policy::Batch), nice: Some(1), ..Placement::default() };
        assert!(Overseer::of(&placement, None, Duration::from_secs(3)).before.is_none());
    }
}
