//! The placed clients of a trial, and its passes; common to all arenas that execute steps
//! themselves.

use std::fmt;

use elevator::{FlowSpec, Priority};

use crate::workload::client::Client;
use crate::workload::row::{Extent, Params, Seat, WorkloadKind};

/// A client of a trial: program, place and depth.
pub struct Member {
    /// Its program.
    pub program: Box<dyn Client + Send>,
    /// First byte of its region on the device.
    pub base: u64,
    /// At least 1. A client that thinks between requests and always has room is an open loop.
    pub iodepth: u32,
    /// The I/O priority of its requests.
    pub priority: Priority,
    /// Its flow and guarantees, if any.
    pub flow: Option<(u32, FlowSpec)>,
}

impl Member {
    /// A client without priority or guarantees.
    pub fn new(program: Box<dyn Client + Send>, base: u64, iodepth: u32) -> Member {
        Member { program, base, iodepth, priority: Priority::default(), flow: None }
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("base", &self.base)
            .field("iodepth", &self.iodepth)
            .finish_non_exhaustive()
    }
}

/// One run of all clients, from their first step to the last one's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pass {
    /// Nanoseconds before the window opens.
    pub warmup_ns: u64,
    /// Nanoseconds of the window.
    pub duration_ns: u64,
    /// Whether it is measured.
    pub counts: bool,
}

impl WorkloadKind {
    /// Creates the clients at the places given by [`WorkloadKind::extents`].
    pub fn members(&self, params: &Params, extents: &[Extent], seed: u64) -> Vec<Member> {
        let count = extents.len() as u32;
        (0..count)
            .zip(extents)
            .map(|(index, extent)| {
                let program = self.client(params, Seat { index, count, len: extent.len, seed });
                let member = Member::new(program, extent.base, self.iodepth(params, index));
                match params.flow_of(index) {
                    None => member,
                    Some(number) => {
                        let flow = &params.flows[number];
                        Member {
                            priority: flow.priority,
                            flow: Some((number as u32, flow.spec)),
                            ..member
                        }
                    }
                }
            })
            .collect()
    }

    /// Runs a trial's passes; `pass` returns the nanoseconds taken, including the drain.
    ///
    /// Pass-based workloads repeat until the duration is used up, after one uncounted pass if the
    /// phase needs one; the last pass is truncated. Others run once: warm-up if applicable, then
    /// the window.
    pub fn passes<E>(
        &self,
        params: &Params,
        warmup_ns: u64,
        duration_ns: u64,
        mut pass: impl FnMut(Pass) -> Result<u64, E>,
    ) -> Result<(), E> {
        if !self.pass_based {
            let warmup_ns = if self.warms_up_with(params) { warmup_ns } else { 0 };
            return pass(Pass { warmup_ns, duration_ns, counts: true }).map(drop);
        }
        if params.phase.repeats_a_pass() {
            pass(Pass { warmup_ns: 0, duration_ns, counts: false })?;
        }
        let mut left = duration_ns;
        while left > 0 {
            let took = pass(Pass { warmup_ns: 0, duration_ns: left, counts: true })?;
            assert!(took > 0, "a pass takes time");
            left = left.saturating_sub(took);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::find;

    fn made(name: &str, pairs: &[(&str, &str)], took: u64) -> Vec<Pass> {
        let kind = find(name).unwrap();
        let params = kind.params(pairs.iter().copied()).unwrap();
        let mut made = Vec::new();
        kind.passes(&params, 7, 100, |pass| {
            made.push(pass);
            Ok::<u64, ()>(took)
        })
        .unwrap();
        made
    }

    #[test]
    fn a_workload_without_passes_warms_up_and_runs_once_unless_it_has_an_amount() {
        let once = |warmup_ns| vec![Pass { warmup_ns, duration_ns: 100, counts: true }];
        assert_eq!(made("randread", &[], 30), once(7));
        assert_eq!(made("randread", &[("amount", "1M")], 30), once(0));
    }

    #[test]
    fn passes_are_repeated_until_the_time_is_used_up_and_a_practice_pass_is_not_counted() {
        let pass = |duration_ns, counts| Pass { warmup_ns: 0, duration_ns, counts };
        let counted = [100, 60, 20].map(|left| pass(left, true));
        assert_eq!(made("iozone", &[("phase", "read")], 40), counted);
        let practice: Vec<Pass> = [pass(100, false)].into_iter().chain(counted).collect();
        assert_eq!(made("iozone", &[("phase", "reread")], 40), practice);
    }

    #[test]
    fn members_sit_at_their_extents_with_their_own_numbers() {
        let kind = find("think-mix").unwrap();
        let params =
            kind.params([("clients", "3"), ("random_share", "100"), ("file_size", "1M")]).unwrap();
        let extents = kind.extents(&params, 1 << 30, 512).unwrap();
        let mut members = kind.members(&params, &extents, 1);
        assert_eq!(
            members.iter().map(|member| member.base).collect::<Vec<_>>(),
            [0, 2 << 20, 4 << 20]
        );
        let first: Vec<_> =
            members.iter_mut().map(|m| m.program.next(elevator::Time::ZERO, None)).collect();
        assert!(first[0] != first[1] && first[1] != first[2], "{first:?}");
    }
}
