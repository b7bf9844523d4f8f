//! The tables of a trace in progress.

use std::collections::HashMap;

use machine::Root;
use trace::{About, Process, Trace};

use super::cgroups::Cgroups;
use super::clock::{self, Began};
use super::target::{Filter, Target};

/// Further ones are recorded as unknown.
const MAX_PROCESSES: usize = 1 << 20;

/// A requesting process, as seen by a source.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asker {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) began: u64,
    pub(crate) name: String,
    /// 0 is unknown.
    pub(crate) cgroup: u64,
    pub(crate) io_context: Option<Context>,
}

/// Kernel address and number of threads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    pub(crate) number: u64,
    pub(crate) users: u32,
}

type Identity = (u32, u64, u64, String);

pub(crate) struct Tables {
    trace: Trace,
    began: Began,
    cgroups: Cgroups,
    processes: HashMap<Identity, u32>,
    /// By the source's numbers, from 1.
    numbers: Vec<u32>,
    unknown: Option<u32>,
    /// Our numbers by kernel address, which would reveal the memory layout.
    contexts: HashMap<u64, u64>,
    last_context: u64,
}

const NO_INDEX: u32 = u32::MAX;

impl Tables {
    pub(crate) fn new(root: &Root, targets: &[Target], filter: &Filter, began: Began) -> Tables {
        let parts = targets
            .iter()
            .filter_map(|target| target.partition.as_ref().map(|name| format!("partition {name}")));
        let about = About {
            kernel: root.read_optional(root.proc("sys/kernel/osrelease")).unwrap_or_default(),
            began: began.wall,
            filter: parts.chain(filter.words()).collect::<Vec<_>>().join(", "),
            ..About::default()
        };
        let devices = targets.iter().map(|target| target.device.clone()).collect();
        let trace = Trace { about, devices, ..Trace::default() };
        Tables {
            trace,
            began,
            cgroups: Cgroups::new(root),
            processes: HashMap::new(),
            numbers: Vec::new(),
            unknown: None,
            contexts: HashMap::new(),
            last_context: 0,
        }
    }

    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }

    pub(crate) fn source(&mut self, name: &str) {
        name.clone_into(&mut self.trace.about.source);
    }

    /// Sets the total so far.
    pub(crate) fn set_lost(&mut self, lost: u64) {
        self.trace.about.lost = lost;
    }

    pub(crate) fn tick(&mut self) {
        self.trace.about.length = clock::monotonic().saturating_sub(self.began.monotonic);
    }

    pub(crate) fn end(&mut self, unfinished: u64) -> About {
        self.trace.about.unfinished = unfinished;
        self.trace.about.clone()
    }

    /// 0 for times before the start.
    pub(crate) fn since_began(&self, monotonic: u64) -> u64 {
        monotonic.saturating_sub(self.began.monotonic)
    }

    pub(crate) fn process(&mut self, asker: &Asker) -> u32 {
        let identity = (asker.tid, asker.began, asker.cgroup, asker.name.clone());
        if let Some(index) = self.processes.get(&identity).copied() {
            if asker.io_context.is_some() && self.trace.processes[index as usize].io_context == 0 {
                self.trace.processes[index as usize].io_context = self.io_context(asker.io_context);
            }
            return index;
        }
        if self.trace.processes.len() >= MAX_PROCESSES {
            return self.unknown_process();
        }
        let process = Process {
            pid: asker.pid,
            tid: asker.tid,
            name: asker.name.clone(),
            began: asker.began,
            io_context: self.io_context(asker.io_context),
            cgroup: self.cgroups.path(asker.cgroup),
        };
        let index = self.add(process);
        self.processes.insert(identity, index);
        index
    }

    /// Always a new one, regardless of its id.
    pub(crate) fn add_process(&mut self, asker: &Asker, cgroup: String) -> u32 {
        if self.trace.processes.len() >= MAX_PROCESSES {
            return self.unknown_process();
        }
        let Asker { pid, tid, began, name, .. } = asker.clone();
        self.add(Process { pid, tid, name, began, io_context: 0, cgroup })
    }

    /// Assigns the source's number to a process.
    pub(crate) fn assign_number(&mut self, number: u32, asker: &Asker) {
        let index = self.process(asker);
        // Sources number from 1 in steps of one.
        let at = number as usize;
        if at <= self.numbers.len().saturating_add(MAX_PROCESSES) {
            if self.numbers.len() <= at {
                self.numbers.resize(at + 1, NO_INDEX);
            }
            self.numbers[at] = index;
        }
    }

    /// The process with the source's number.
    pub(crate) fn by_number(&mut self, number: u32) -> u32 {
        match self.numbers.get(number as usize).copied() {
            Some(index) if index != NO_INDEX => index,
            _ => self.unknown_process(),
        }
    }

    pub(crate) fn unknown_process(&mut self) -> u32 {
        match self.unknown {
            Some(index) => index,
            None => {
                let index = self.add(Process::default());
                self.unknown = Some(index);
                index
            }
        }
    }

    pub(crate) fn scheduler(&mut self, name: &str) -> u8 {
        let known = &mut self.trace.schedulers;
        let at = known.iter().position(|other| other == name).unwrap_or_else(|| {
            known.push(name.to_owned());
            known.len() - 1
        });
        // A kernel has fewer than ten.
        u8::try_from(at).unwrap_or(u8::MAX)
    }

    fn add(&mut self, process: Process) -> u32 {
        self.trace.processes.push(process);
        u32::try_from(self.trace.processes.len() - 1).unwrap_or(NO_INDEX - 1)
    }

    /// A single user's context at the address of a shared one is new.
    fn io_context(&mut self, context: Option<Context>) -> u64 {
        let Some(context) = context else { return 0 };
        let known = self.contexts.get(&context.number).copied();
        match known.filter(|_| context.users > 1) {
            Some(number) => number,
            None => {
                self.last_context += 1;
                self.contexts.insert(context.number, self.last_context);
                self.last_context
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables() -> Tables {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Tables::new(
            &Root::at(dir.path()),
            &[],
            &Filter::default(),
            Began { monotonic: 1000, boot: 2000, wall: 3000 },
        )
    }

    #[test]
    fn a_number_of_a_process_that_is_given_again_is_another_process() {
        let mut tables = tables();
        let asker =
            |began| Asker { pid: 7, tid: 7, began, name: "dd".to_owned(), ..Asker::default() };
        let first = tables.process(&asker(10));
        assert_eq!(tables.process(&asker(10)), first);
        let second = tables.process(&asker(11));
        assert_ne!(second, first);
        tables.assign_number(1, &asker(10));
        tables.assign_number(2, &asker(11));
        assert_eq!((tables.by_number(1), tables.by_number(2)), (first, second));
        let unknown = tables.by_number(9);
        assert_eq!(tables.trace().processes[unknown as usize], Process::default());
    }

    #[test]
    fn threads_share_the_number_of_an_io_context_and_no_address_is_passed_on() {
        let mut tables = tables();
        let asker = |tid, users| Asker {
            tid,
            io_context: Some(Context { number: 0xffff_8880_1234_0000, users }),
            ..Asker::default()
        };
        let contexts: Vec<u64> = [(1, 1), (2, 2), (3, 1)]
            .map(|(tid, users)| tables.process(&asker(tid, users)) as usize)
            .map(|index| tables.trace().processes[index].io_context)
            .to_vec();
        // At the address of a formerly shared one, with a single user.
        assert_eq!(contexts, [1, 1, 2]);
    }

    #[test]
    fn a_time_before_the_beginning_is_the_beginning() {
        assert_eq!((tables().since_began(999), tables().since_began(1500)), (0, 500));
    }
}
