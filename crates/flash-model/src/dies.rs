//! Dies that prefer reads: reads overtake waiting programs and erases, and suspend running ones.
//!
//! After `passes` reads the other queue gets a turn. A read suspends a running program or erase
//! after `program_suspend_ns` or `erase_suspend_ns`, at most `program_suspends` or `erase_suspends`
//! times each, and not if the operation ends sooner; the rest follows after `resume_ns`. Source:
//! MQSim's transaction scheduler (suspend times of ssdconfig.xml: 100 µs, 700 µs); `resume_ns` and
//! `passes` are proposals.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

/// How far the read queue is searched for a read of another plane. [P]
const MAX_SEARCHED: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Priority {
    /// Maximum reads overtaking a waiting operation.
    pub passes: u32,
    /// Maximum suspensions per program, and per erase.
    pub program_suspends: u32,
    pub erase_suspends: u32,
    pub program_suspend_ns: u64,
    pub erase_suspend_ns: u64,
    pub resume_ns: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Read {
    pub(crate) slot: u32,
    pub(crate) plane: u32,
    pub(crate) bytes: u64,
    pub(crate) ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Program(u32),
    MoveRead,
    MoveProgram,
    Erase,
}

/// Any operation other than a host read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write {
    pub(crate) work: Work,
    pub(crate) plane: u32,
    pub(crate) ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct Begun {
    work: Work,
    ns: u64,
    suspended: u32,
}

#[derive(Debug, Clone, Copy)]
enum Running {
    Reads,
    Write(Begun),
    /// The operation being suspended is in `suspended`.
    Suspending,
}

#[derive(Debug, Clone, Default)]
struct Die {
    running: Option<Running>,
    until_ns: u64,
    /// Identifies the next end; stale events have another number.
    number: u64,
    reads: VecDeque<Read>,
    writes: VecDeque<Write>,
    suspended: Option<Begun>,
    /// Reads that have overtaken.
    passed: u32,
    reading: Vec<Read>,
    programming: Vec<u32>,
}

#[derive(Debug, Clone)]
pub(crate) struct Dies {
    priority: Priority,
    nr: u32,
    dies: Vec<Die>,
    pub(crate) suspends: u64,
}

/// Time and number, which [`Dies::end`] compares.
pub(crate) type End = (u64, u64);

impl Dies {
    pub(crate) fn new(priority: Priority, dies: u32) -> Dies {
        Dies { priority, nr: dies, dies: vec![Die::default(); dies as usize], suspends: 0 }
    }

    /// Returns the new end if it changed.
    pub(crate) fn read(&mut self, now: u64, die: u32, read: Read) -> Option<End> {
        let of = self.priority;
        let at = &mut self.dies[die as usize];
        at.reads.push_back(read);
        match at.running {
            None => self.begin(now, die),
            Some(Running::Write(begun)) => {
                let (limit, suspend_ns) = match begun.work {
                    Work::Program(_) | Work::MoveProgram => {
                        (of.program_suspends, of.program_suspend_ns)
                    }
                    Work::Erase => (of.erase_suspends, of.erase_suspend_ns),
                    Work::MoveRead => (0, 0),
                };
                let left_ns = at.until_ns - now;
                if begun.suspended >= limit || left_ns <= suspend_ns {
                    return None;
                }
                at.suspended = Some(Begun { ns: left_ns, suspended: begun.suspended + 1, ..begun });
                at.passed = 0;
                self.suspends += 1;
                Some(self.run(now, die, Running::Suspending, suspend_ns))
            }
            Some(_) => None,
        }
    }

    /// Returns the new end if it changed.
    pub(crate) fn write(&mut self, now: u64, die: u32, write: Write) -> Option<End> {
        let at = &mut self.dies[die as usize];
        at.writes.push_back(write);
        if at.running.is_none() { self.begin(now, die) } else { None }
    }

    /// Returns the next end; ignores a suspended operation.
    pub(crate) fn end(&mut self, now: u64, die: u32, number: u64, done: &mut Done) -> Option<End> {
        let at = &mut self.dies[die as usize];
        if at.number != number {
            return None;
        }
        match at.running.take() {
            Some(Running::Reads) => done.reads.append(&mut at.reading),
            Some(Running::Write(_)) => done.programs.append(&mut at.programming),
            Some(Running::Suspending) | None => {}
        }
        self.begin(now, die)
    }

    fn begin(&mut self, now: u64, die: u32) -> Option<End> {
        let Priority { passes, resume_ns, .. } = self.priority;
        let nr = self.nr;
        let at = &mut self.dies[die as usize];
        let waits = at.suspended.is_some() || !at.writes.is_empty();
        let reads_go_first = !waits || at.passed < passes;
        if reads_go_first && !at.reads.is_empty() {
            let mut planes = 0_u32;
            let mut index = 0;
            // The oldest read of each plane: they run together.
            while index < at.reads.len().min(MAX_SEARCHED) {
                let bit = 1 << (at.reads[index].plane / nr);
                if planes & bit == 0 {
                    planes |= bit;
                    at.reading.extend(at.reads.remove(index));
                } else {
                    index += 1;
                }
            }
            at.passed = if waits { at.passed + at.reading.len() as u32 } else { 0 };
            let ns = at.reading.iter().map(|read| read.ns).max().unwrap_or(0);
            return Some(self.run(now, die, Running::Reads, ns));
        }
        at.passed = 0;
        if let Some(begun) = at.suspended.take() {
            let begun = Begun { ns: begun.ns + resume_ns, ..begun };
            return Some(self.run(now, die, Running::Write(begun), begun.ns));
        }
        let Write { work, plane, ns } = at.writes.pop_front()?;
        if let Work::Program(program) = work {
            at.programming.push(program);
            let mut planes = 1_u32 << (plane / nr);
            // Host pages for other planes are programmed together.
            while let Some(Write { work: Work::Program(program), plane, .. }) =
                at.writes.front().copied()
            {
                let bit = 1 << (plane / nr);
                if planes & bit != 0 {
                    break;
                }
                planes |= bit;
                at.programming.push(program);
                at.writes.pop_front();
            }
        }
        Some(self.run(now, die, Running::Write(Begun { work, ns, suspended: 0 }), ns))
    }

    fn run(&mut self, now: u64, die: u32, running: Running, ns: u64) -> End {
        let at = &mut self.dies[die as usize];
        at.running = Some(running);
        at.until_ns = now + ns;
        at.number += 1;
        (at.until_ns, at.number)
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Done {
    pub(crate) reads: Vec<Read>,
    pub(crate) programs: Vec<u32>,
}
