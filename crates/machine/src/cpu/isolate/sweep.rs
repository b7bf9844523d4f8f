//! Moves every other task off the CPUs, including new ones.
//!
//! A pass journals all tasks to be moved in one write, and then moves them. A task that forks in
//! between leaves a child with all its CPUs, so passes repeat until one finds nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use rustix::io::Errno;

use super::moved::{Moved, MovedTask};
use super::tasks::{Task, Tasks};
use crate::Error;
use crate::placement::CpuList;
use crate::placement::{Mask, Touch};

/// Of the first sweep; later passes move the rest.
const PASSES: u32 = 50;

/// Above this, notes of exited tasks with the mask of another note are dropped.
const MAX_NOTES: usize = 1024;

/// Records tasks to be moved.
pub(super) trait Notes: std::fmt::Debug + Send {
    /// The note is durable once this returns.
    fn note(&self, moved: &Moved) -> Result<(), Error>;
}

/// Task id and start time.
type Key = (u32, u64);

#[derive(Debug)]
pub(super) struct Sweep<N> {
    tasks: Arc<dyn Tasks>,
    notes: N,
    set: Mask,
    pub(super) moved: Moved,
    has_begun: bool,
    /// Name and reason.
    pub(super) unmovable: BTreeMap<Key, (String, String)>,
    seen: HashSet<u32>,
    pub(super) nr_moved: u64,
    pub(super) nr_late: u64,
}

impl<N: Notes> Sweep<N> {
    /// `others` are the CPUs for tasks that would have none left.
    pub(super) fn new(
        tasks: Arc<dyn Tasks>,
        notes: N,
        cpus: &CpuList,
        others: &CpuList,
    ) -> Sweep<N> {
        let (cpus, others) = (cpus.clone(), others.clone());
        let set = Mask::of(&cpus);
        let moved =
            Moved { cpus, others, since: tasks.ticks(), namespace: None, tasks: Vec::new() };
        let (unmovable, seen) = (BTreeMap::new(), HashSet::new());
        Sweep {
            tasks,
            notes,
            set,
            moved,
            has_begun: false,
            unmovable,
            seen,
            nr_moved: 0,
            nr_late: 0,
        }
    }

    /// Waits for the next tick first, so that only tasks with a later start time can inherit a
    /// reduced mask.
    pub(super) fn begin(&mut self) -> Result<(), Error> {
        while self.tasks.ticks() <= self.moved.since {
            self.tasks.sleep(std::time::Duration::from_millis(1));
        }
        for _ in 0..PASSES {
            if self.pass(true)? == 0 {
                break;
            }
        }
        self.has_begun = true;
        Ok(())
    }

    /// Checks all tasks, or if not thorough, all processes and the tasks of new ones. Returns the
    /// number of moves.
    pub(super) fn pass(&mut self, is_thorough: bool) -> Result<u64, Error> {
        let found = self.find(is_thorough);
        let is_new =
            |found: &&MovedTask| self.moved.last_of(found.task, found.start) != Some(*found);
        let new: Vec<MovedTask> = found.iter().filter(is_new).cloned().collect();
        if !new.is_empty() {
            // Earlier children inherited the old mask, so its note stays.
            self.moved.tasks.retain(|old| !new.contains(old));
            self.moved.tasks.extend(new);
            self.forget_the_dead();
            self.notes.note(&self.moved)?;
        }
        let mut moved = 0;
        for task in found {
            if self.tasks.stat(task.task).is_none_or(|now| now.start != task.start) {
                continue;
            }
            match self.tasks.bind(task.task, &self.moved.reduced_mask(&task.mask)) {
                Ok(()) => moved += 1,
                Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
                Err(error) => {
                    self.unmovable.insert(task.key(), (task.name, reason(&error)));
                }
            }
        }
        *(if self.has_begun { &mut self.nr_late } else { &mut self.nr_moved }) += moved;
        Ok(moved)
    }

    pub(super) fn find(&mut self, is_thorough: bool) -> Vec<MovedTask> {
        let mut found = Vec::new();
        let processes = self.tasks.processes();
        for &process in &processes {
            let is_new = !self.seen.contains(&process);
            let tasks =
                if is_thorough || is_new { self.tasks.threads(process) } else { vec![process] };
            found.extend(tasks.into_iter().filter_map(|task| self.examine(process, task)));
        }
        self.seen = processes.into_iter().collect();
        found
    }

    fn examine(&mut self, process: u32, id: u32) -> Option<MovedTask> {
        let touch = self.tasks.touch(id, &self.set)?;
        if touch == Touch::Apart {
            return None;
        }
        let Task { start, name, is_bound, is_over, .. } = self.tasks.stat(id)?;
        let is_left_alone = touch == Touch::Within && self.has_begun && !self.moved.has(id, start);
        if is_over || is_left_alone || self.unmovable.contains_key(&(id, start)) {
            return None;
        }
        if is_bound {
            self.unmovable
                .insert((id, start), (name, "the kernel binds it to its CPUs".to_string()));
            return None;
        }
        let mask = self.tasks.mask(id).filter(|mask| mask.intersects(&self.moved.cpus))?;
        Some(MovedTask { task: id, process, start, name, mask })
    }

    /// Bounds the notes when there are many short-lived tasks.
    fn forget_the_dead(&mut self) {
        if self.moved.tasks.len() <= MAX_NOTES {
            return;
        }
        let is_alive = |noted: &MovedTask| {
            self.tasks.stat(noted.task).is_some_and(|now| now.start == noted.start)
        };
        let (alive, dead): (Vec<MovedTask>, Vec<MovedTask>) =
            self.moved.tasks.drain(..).partition(is_alive);
        let mut remaining = alive;
        for noted in dead {
            if !remaining.iter().any(|other| other.mask == noted.mask) {
                remaining.push(noted);
            }
        }
        self.moved.tasks = remaining;
    }
}

fn reason(error: &std::io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::INVAL) => {
            "the kernel or its cpuset leaves it no other CPU (EINVAL)".to_string()
        }
        Some(Errno::PERM) => "it is not permitted (EPERM)".to_string(),
        Some(Errno::BUSY) => "it is a deadline task, which keeps all CPUs (EBUSY)".to_string(),
        _ => error.to_string(),
    }
}
