//! A fake machine whose tasks fork, exit and rebind at any moment, even within a pass.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::Moved;
use super::sweep::Notes;
use super::tasks::{Task, Tasks};
use crate::Error;
use crate::placement::CpuList;
use crate::placement::{Mask, Touch};

pub(super) const CPUS: u32 = 6;

/// Applies to the nth living task.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Nothing,
    /// A new process has its parent's mask and is not visible yet.
    Fork(usize),
    /// A new thread is visible at once.
    Thread(usize),
    /// Forks in progress complete.
    Appear,
    End(usize),
    /// Binds itself to other CPUs.
    Bind(usize, CpuList),
    Tick,
}

#[derive(Debug, Clone)]
pub(super) struct FakeTask {
    pub(super) process: u32,
    pub(super) parent: u32,
    pub(super) start: u64,
    pub(super) mask: CpuList,
    /// The mask without the isolation.
    pub(super) own: CpuList,
    /// It or an ancestor has bound itself.
    pub(super) is_self_made: bool,
    pub(super) is_bound: bool,
}

#[derive(Debug, Default)]
pub(super) struct Machine {
    pub(super) tasks: BTreeMap<u32, FakeTask>,
    forks: Vec<FakeTask>,
    pub(super) events: VecDeque<Event>,
    ticks: u64,
    next: u32,
    /// Between reading and setting the mask, another program's change is lost.
    held: BTreeSet<u32>,
    /// Calls until schedlab is killed.
    pub(super) dies_in: Option<usize>,
    /// Durable writes until schedlab is killed.
    pub(super) dies_in_notes: Option<usize>,
    pub(super) noted: Option<Moved>,
    pub(super) nr_binds: usize,
}

/// The machine with its journal.
#[derive(Debug, Clone, Default)]
pub(super) struct Fake(Arc<Mutex<Machine>>);

/// Unwinds through the code under test.
pub(super) struct Killed;

impl Fake {
    /// Process 1 with children that have these masks.
    pub(super) fn with(masks: &[CpuList]) -> Fake {
        let fake = Fake::default();
        let mut machine = fake.state();
        (machine.ticks, machine.next) = (100, 1);
        let every = CpuList::of(0..CPUS).unwrap();
        machine.add(1, 0, every, 1);
        for (nr, mask) in masks.iter().enumerate() {
            machine.add(2 + nr as u32, 1, mask.clone(), 50 + nr as u64);
        }
        drop(machine);
        fake
    }

    pub(super) fn state(&self) -> MutexGuard<'_, Machine> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// An event may happen before the call.
    fn call(&self) -> MutexGuard<'_, Machine> {
        let mut machine = self.state();
        if let Some(event) = machine.events.pop_front() {
            machine.happen(event);
        }
        if let Some(left) = &mut machine.dies_in {
            if *left == 0 {
                machine.dies_in = None;
                drop(machine);
                resume_unwind(Box::new(Killed));
            }
            *left -= 1;
        }
        machine
    }
}

impl Machine {
    pub(super) fn add(&mut self, id: u32, parent: u32, mask: CpuList, start: u64) {
        self.next = self.next.max(id + 1);
        let own = mask.clone();
        let task = FakeTask {
            process: id,
            parent,
            start,
            mask,
            own,
            is_self_made: false,
            is_bound: false,
        };
        self.tasks.insert(id, task);
    }

    pub(super) fn happen(&mut self, event: Event) {
        let nth = |nth: usize| {
            self.tasks.keys().nth(nth % self.tasks.len()).copied().expect("process 1 never ends")
        };
        match event {
            Event::Nothing => {}
            Event::Tick => self.ticks += 1,
            Event::Fork(which) => {
                let of = self.tasks[&nth(which)].clone();
                self.forks.push(FakeTask { parent: of.process, is_bound: false, ..of });
            }
            Event::Appear => {
                for mut task in std::mem::take(&mut self.forks) {
                    (task.process, task.start) = (self.next, self.ticks);
                    if !self.tasks.values().any(|other| other.process == task.parent) {
                        task.parent = 1;
                    }
                    self.tasks.insert(self.next, task);
                    self.next += 1;
                }
            }
            Event::Thread(which) => {
                let of = self.tasks[&nth(which)].clone();
                self.tasks.insert(self.next, FakeTask { start: self.ticks, is_bound: false, ..of });
                self.next += 1;
            }
            Event::End(which) => {
                let id = nth(which);
                let process = self.tasks[&id].process;
                if id != 1
                    && !(id == process
                        && self.tasks.values().filter(|task| task.process == process).count() > 1)
                {
                    self.tasks.remove(&id);
                    self.tasks
                        .values_mut()
                        .filter(|task| task.parent == id)
                        .for_each(|task| task.parent = 1);
                }
            }
            Event::Bind(which, mask) => {
                let id = nth(which);
                let is_free = !self.held.contains(&id);
                if let Some(task) = self.tasks.get_mut(&id).filter(|task| is_free && !task.is_bound)
                {
                    (task.own, task.is_self_made) = (mask.clone(), true);
                    task.mask = mask;
                }
            }
        }
    }
}

impl Tasks for Fake {
    fn processes(&self) -> Vec<u32> {
        let mut machine = self.call();
        machine.held.clear();
        machine
            .tasks
            .values()
            .map(|task| task.process)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    fn threads(&self, process: u32) -> Vec<u32> {
        let machine = self.call();
        machine
            .tasks
            .iter()
            .filter(|(_, task)| task.process == process)
            .map(|(id, _)| *id)
            .collect()
    }

    fn stat(&self, task: u32) -> Option<Task> {
        let machine = self.call();
        let FakeTask { start, parent, is_bound, .. } = *machine.tasks.get(&task)?;
        Some(Task { start, parent, name: format!("t{task}"), is_bound, is_over: false })
    }

    fn mask(&self, task: u32) -> Option<CpuList> {
        let mut machine = self.call();
        machine.held.insert(task);
        Some(machine.tasks.get(&task)?.mask.clone())
    }

    fn touch(&self, task: u32, set: &Mask) -> Option<Touch> {
        let machine = self.call();
        Some(Mask::of(&machine.tasks.get(&task)?.mask).touch(set))
    }

    fn bind(&self, task: u32, cpus: &CpuList) -> io::Result<()> {
        let mut machine = self.call();
        machine.held.remove(&task);
        machine.nr_binds += 1;
        let Some(task) = machine.tasks.get_mut(&task) else {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        };
        if task.is_bound {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        task.mask = cpus.clone();
        Ok(())
    }

    fn ticks(&self) -> u64 {
        self.call().ticks
    }

    /// Longer than a tick and every fork.
    fn sleep(&self, _: Duration) {
        let mut machine = self.call();
        machine.happen(Event::Tick);
        machine.happen(Event::Appear);
    }
}

impl Notes for Fake {
    fn note(&self, moved: &Moved) -> Result<(), Error> {
        let mut machine = self.call();
        let dies = machine.dies_in_notes.map(|left| left == 0).unwrap_or(false);
        machine.dies_in_notes = machine.dies_in_notes.and_then(|left| left.checked_sub(1));
        if dies {
            drop(machine);
            resume_unwind(Box::new(Killed));
        }
        machine.noted = Some(moved.clone());
        Ok(())
    }
}
