//! Dies that prefer reads: a read passes programs and erases that wait for its die, and suspends
//! one that runs.
//!
//! Problem: a program takes ten times as long as a read, an erase fifty times; a read that comes to
//! a die that is busy with one waits for it, and for all that were there before.
//!
//! Approach: each die has a line of reads and one of programs, erases and the moves of garbage
//! collection. It takes reads first. At most `passes` of them pass what waits, so that no program
//! starves. A read that finds a program or erase running suspends it: the die is free for reads
//! after `program_suspend_ns` or `erase_suspend_ns`; when no read waits, or `passes` of them have
//! gone first, the rest follows after `resume_ns`. A program is suspended `program_suspends` times
//! at most, an erase `erase_suspends` times, and neither when it would be over before it is
//! suspended.
//!
//! Source: MQSim's scheduler of transactions, which takes reads first, and its times to suspend
//! (ssdconfig.xml: 100 µs for a program, 700 µs for an erase; confirmed); a bound on suspends of
//! one operation as NAND has it (recalled). `resume_ns` and `passes` are proposals.

use std::collections::VecDeque;

/// How far a line of reads is searched for one of another plane. [P]
const MOST_SEARCHED: usize = 64;

/// How dies prefer reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Priority {
    /// Reads that pass what waits at most.
    pub(super) passes: u32,
    /// How often a program, and how often an erase is suspended at most.
    pub(super) program_suspends: u32,
    pub(super) erase_suspends: u32,
    pub(super) program_suspend_ns: u64,
    pub(super) erase_suspend_ns: u64,
    pub(super) resume_ns: u64,
}

/// A page that is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read {
    pub(super) slot: u32,
    pub(super) plane: u32,
    pub(super) bytes: u64,
    pub(super) ns: u64,
}

/// What else a die does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A page of the host's is programmed.
    Program(u32),
    /// Garbage collection reads a page.
    MoveRead,
    /// It programs one.
    MoveProgram,
    /// It erases a block.
    Erase,
}

/// An operation that is no read of the host's.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    pub(super) work: Work,
    pub(super) plane: u32,
    pub(super) ns: u64,
}

/// A program, an erase or a move that has begun.
#[derive(Debug, Clone, Copy)]
struct Begun {
    work: Work,
    /// What is left of it.
    ns: u64,
    suspended: u32,
}

#[derive(Debug, Clone, Copy)]
enum Running {
    Reads,
    Write(Begun),
    /// The operation that is being suspended is in `suspended`.
    Suspending,
}

#[derive(Debug, Clone, Default)]
struct Die {
    running: Option<Running>,
    until_ns: u64,
    /// The number of the end that is due.
    number: u64,
    reads: VecDeque<Read>,
    writes: VecDeque<Write>,
    suspended: Option<Begun>,
    /// Reads that went before what waits.
    passed: u32,
    /// The reads that run, and the host's pages that are programmed, of several planes.
    reading: Vec<Read>,
    programming: Vec<u32>,
}

/// All dies.
#[derive(Debug, Clone)]
pub(super) struct Dies {
    priority: Priority,
    nr: u32,
    dies: Vec<Die>,
    /// How often anything was suspended.
    pub(super) suspends: u64,
}

/// The end of what a die does: the time, and the number by which [`Dies::end`] knows it.
pub(super) type End = (u64, u64);

impl Dies {
    pub(super) fn new(priority: Priority, dies: u32) -> Dies {
        Dies { priority, nr: dies, dies: vec![Die::default(); dies as usize], suspends: 0 }
    }

    /// A read comes to its die. The new end of what that does, if it is another.
    pub(super) fn read(&mut self, now: u64, die: u32, read: Read) -> Option<End> {
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

    /// Something else comes to a die. The new end of what that does, if it is another.
    pub(super) fn write(&mut self, now: u64, die: u32, write: Write) -> Option<End> {
        let at = &mut self.dies[die as usize];
        at.writes.push_back(write);
        if at.running.is_none() { self.begin(now, die) } else { None }
    }

    /// A die is at an end of something: what that was, and the next end. Nothing if it was
    /// suspended since.
    pub(super) fn end(&mut self, now: u64, die: u32, number: u64, done: &mut Done) -> Option<End> {
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
            // One read of each plane, the oldest: they run together.
            while index < at.reads.len().min(MOST_SEARCHED) {
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
            // Pages of the host's for other planes are programmed together.
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

/// What a die has finished.
#[derive(Debug, Clone, Default)]
pub(super) struct Done {
    pub(super) reads: Vec<Read>,
    pub(super) programs: Vec<u32>,
}
