//! The CPUs. Each runs one job after another, interrupts before submissions; all share one lock.
//!
//! [`crate::host`] gives the CPU time per request. A CPU that waits for the lock is busy; the lock
//! is granted in order of arrival. If requests cost nothing, this module is bypassed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use elevator::{Request, Time, Topology};

use crate::host::{CpuCost, PhaseCost};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    Submit { client: u32, request: Request, asked: Time },
    Complete { tag: u32 },
}

#[derive(Debug, Default)]
struct Cpu {
    /// Job, and whether it has or waits for the lock.
    running: Option<(Job, bool)>,
    interrupts: VecDeque<Job>,
    submissions: VecDeque<Job>,
}

#[derive(Debug)]
pub(super) struct Cpus {
    topology: Topology,
    cost: CpuCost,
    costs_time: bool,
    cpus: Vec<Cpu>,
    /// Ties in order of scheduling.
    due: BinaryHeap<Reverse<(Time, u64, u32)>>,
    scheduled: u64,
    lock_free: Time,
    lock_had: Option<u32>,
}

impl Cpus {
    pub(super) fn new(topology: Topology, cost: CpuCost) -> Cpus {
        Cpus {
            topology,
            cost,
            costs_time: cost != CpuCost::default(),
            cpus: Vec::new(),
            due: BinaryHeap::new(),
            scheduled: 0,
            lock_free: Time::ZERO,
            lock_had: None,
        }
    }

    #[inline]
    pub(super) fn cost_time(&self) -> bool {
        self.costs_time
    }

    pub(super) fn enqueue(&mut self, now: Time, process: u32, job: Job) {
        let number = self.topology.cpu(process);
        if self.cpus.len() <= number as usize {
            self.cpus.resize_with(number as usize + 1, Cpu::default);
        }
        let cpu = &mut self.cpus[number as usize];
        match job {
            Job::Submit { .. } => cpu.submissions.push_back(job),
            Job::Complete { .. } => cpu.interrupts.push_back(job),
        }
        if cpu.running.is_none() {
            self.begin(now, number);
        }
    }

    #[inline]
    pub(super) fn next(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, ..))| *at)
    }

    #[inline]
    pub(super) fn pop(&mut self, now: Time) -> Option<Job> {
        while self.next().is_some_and(|at| at <= now) {
            if let Some(job) = self.end_phase(now) {
                return Some(job);
            }
        }
        None
    }

    /// The job that is done, unless it continues with the lock.
    fn end_phase(&mut self, now: Time) -> Option<Job> {
        let Reverse((_, _, number)) = self.due.pop()?;
        let (job, locked) =
            self.cpus[number as usize].running.take().expect("only a CPU that runs is due");
        let phase = self.phase(job);
        if !locked && phase.locks() {
            let own = self.lock_had.is_none_or(|had| had == number);
            let handover_ns = if own { 0 } else { phase.handover_ns };
            self.lock_free = now.max(self.lock_free) + (phase.held_ns + handover_ns);
            self.lock_had = Some(number);
            self.cpus[number as usize].running = Some((job, true));
            self.schedule(self.lock_free, number);
            return None;
        }
        self.begin(now, number);
        Some(job)
    }

    fn phase(&self, job: Job) -> PhaseCost {
        match job {
            Job::Submit { .. } => self.cost.submission,
            Job::Complete { .. } => self.cost.completion,
        }
    }

    fn begin(&mut self, now: Time, number: u32) {
        let cpu = &mut self.cpus[number as usize];
        let Some(job) = cpu.interrupts.pop_front().or_else(|| cpu.submissions.pop_front()) else {
            return;
        };
        cpu.running = Some((job, false));
        let free_ns = self.phase(job).free_ns;
        self.schedule(now + free_ns, number);
    }

    fn schedule(&mut self, at: Time, number: u32) {
        self.scheduled += 1;
        self.due.push(Reverse((at, self.scheduled, number)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: CpuCost = CpuCost {
        submission: PhaseCost { free_ns: 100, held_ns: 10, handover_ns: 30 },
        completion: PhaseCost { free_ns: 50, held_ns: 0, handover_ns: 0 },
    };

    fn done(topology: Topology, jobs: &[(u32, Job)]) -> Vec<(u64, Job)> {
        let mut cpus = Cpus::new(topology, COST);
        jobs.iter().for_each(|(process, job)| cpus.enqueue(Time::ZERO, *process, *job));
        let mut done = Vec::new();
        while let Some(at) = cpus.next() {
            done.extend(std::iter::from_fn(|| cpus.pop(at)).map(|job| (at.as_ns(), job)));
        }
        done
    }

    fn submit(client: u32) -> (u32, Job) {
        let request = Request::new(elevator::Op::Read, 0, 512);
        (client, Job::Submit { client, request, asked: Time::ZERO })
    }

    #[test]
    fn a_cpu_does_one_thing_after_another_and_pays_no_handover_to_itself() {
        let one = done(Topology::new(1, 1), &[submit(0), submit(1), submit(2)]);
        assert_eq!(one.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [110, 220, 330]);
    }

    #[test]
    fn cpus_work_side_by_side_and_hand_the_lock_over_in_order_of_arrival() {
        let four = done(Topology::new(4, 1), &[submit(0), submit(1), submit(2), submit(3)]);
        assert_eq!(four.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [110, 150, 190, 230]);
        let clients: Vec<u32> = four
            .iter()
            .map(|(_, job)| match job {
                Job::Submit { client, .. } => *client,
                Job::Complete { .. } => unreachable!("none was given"),
            })
            .collect();
        assert_eq!(clients, [0, 1, 2, 3]);
    }

    #[test]
    fn interrupts_go_first_but_interrupt_nothing() {
        let complete = (0, Job::Complete { tag: 7 });
        let all = done(Topology::new(1, 1), &[submit(0), submit(0), complete]);
        assert_eq!(all.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [110, 160, 270]);
        assert_eq!(all[1].1, complete.1);
    }
}
