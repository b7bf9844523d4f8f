//! Moves every task back. Tasks are journaled with id, start time and mask before they are moved.
//!
//! - A noted task gets its exact mask back, unless another program has changed it since, which is
//!   reported.
//! - A later task with the reduced mask of a noted task of its line (`line`) gets that task's
//!   mask. If its nearest older parent was not moved and has the same mask, it is left alone.
//! - Other tasks are left alone. This repeats until nothing changes.

use std::collections::BTreeSet;
use std::time::Duration;

use rustix::io::Errno;

use super::moved::{Moved, MovedTask};
use super::tasks::{Task, Tasks};
use crate::Error;
use crate::placement::CpuList;
use crate::placement::{Mask, Touch};
use crate::session::Fault;

/// Between passes without a find; longer than a fork.
const PAUSE: Duration = Duration::from_millis(15);

/// Passes without a find that end the loop.
const QUIET: u32 = 2;

/// The same if tasks exited during a pass, because a repeatedly forking task can hide from one.
const QUIET_AMONG_CHANGES: u32 = 4;

const PASSES: u32 = 500;

const GENERATIONS: u32 = 10_000;

#[derive(Debug, Default)]
struct Done {
    back: BTreeSet<(u32, u64)>,
    heirs: BTreeSet<(u32, u64)>,
    /// Changed by another program during the isolation.
    changed_by_others: BTreeSet<String>,
    failed: BTreeSet<String>,
}

/// Moves back every task that still has its reduced mask; returns these.
///
/// The kernel does not record who set a mask, so this can be wrong. A task that bound itself to a
/// reduced mask is treated as a child of the moved one. An orphan may get the wider mask of another
/// line with the same reduced mask (always, with two CPUs). A moved task no longer follows its
/// cpuset when that grows. One that could use only isolated CPUs gets all others of its cpuset; its
/// later children are found only if those are all others.
pub(super) fn put_back(tasks: &dyn Tasks, moved: &Moved) -> Result<Vec<String>, Error> {
    let set = Mask::of(&moved.cpus);
    let mut done = Done::default();
    let (mut quiet, mut needed) = (0, QUIET);
    for _ in 0..PASSES {
        let (changed, vanished) = pass(tasks, moved, &set, &mut done);
        quiet = if changed { 0 } else { quiet + 1 };
        needed = if changed { QUIET } else { needed };
        if vanished {
            needed = QUIET_AMONG_CHANGES;
        }
        if quiet >= needed {
            break;
        }
        if quiet > 0 {
            tasks.sleep(PAUSE);
        }
    }
    if !done.failed.is_empty() {
        let what = format!("the way back to {}", moved.in_words());
        let names: Vec<String> = done.failed.into_iter().collect();
        let why = format!("{}; then `schedlab restore`", names.join(", "));
        return Err(Fault::Placement { what, why }.into());
    }
    Ok(done.words(moved))
}

/// Whether a task was changed, and whether one exited.
fn pass(tasks: &dyn Tasks, moved: &Moved, set: &Mask, done: &mut Done) -> (bool, bool) {
    let (mut changed, mut vanished) = (false, false);
    done.failed.clear();
    for process in tasks.processes() {
        let threads = tasks.threads(process);
        vanished |= threads.is_empty();
        for id in threads {
            match tasks.touch(id, set) {
                None => vanished = true,
                Some(Touch::Apart) => match (tasks.stat(id), tasks.mask(id)) {
                    (Some(task), Some(mask)) if !task.is_over => {
                        changed |= set_back(tasks, moved, process, id, &task, &mask, done);
                    }
                    (Some(_), _) => {}
                    (None, _) => vanished = true,
                },
                Some(_) => done.look_at_changed(tasks, moved, id),
            }
        }
    }
    (changed, vanished)
}

/// If it lost the CPUs directly or by inheritance; returns whether it did.
fn set_back(
    tasks: &dyn Tasks,
    moved: &Moved,
    process: u32,
    id: u32,
    task: &Task,
    mask: &CpuList,
    done: &mut Done,
) -> bool {
    let noted = moved.last_of(id, task.start);
    let wanted = match noted {
        Some(noted) if moved.is_reduced_mask_of(noted, mask) => noted.mask.clone(),
        Some(_) => {
            done.changed_by_others.insert(format!("{} ({id}) has {mask}", task.name));
            return false;
        }
        None if task.start <= moved.since => return false,
        None => match find_ancestor(tasks, moved, process, task, mask) {
            Some(noted) => noted.mask.clone(),
            None => return false,
        },
    };
    match tasks.bind(id, &wanted) {
        Ok(()) => {
            let which = if noted.is_some() { &mut done.back } else { &mut done.heirs };
            which.insert((id, task.start))
        }
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => false,
        Err(error) => {
            done.failed.insert(format!("{} ({id}): {error}", task.name));
            false
        }
    }
}

/// The noted task whose mask a later one inherited: the nearest of its own process, its parent's,
/// and so on, or else any, because a parent may have exited.
fn find_ancestor<'a>(
    tasks: &dyn Tasks,
    moved: &'a Moved,
    process: u32,
    task: &Task,
    mask: &CpuList,
) -> Option<&'a MovedTask> {
    let fitting: Vec<&MovedTask> =
        moved.tasks.iter().filter(|noted| moved.reduced_mask(&noted.mask) == *mask).collect();
    let (mut process, mut parent) = (process, task.parent);
    for _ in 0..GENERATIONS {
        if let Some(noted) = fitting.iter().rfind(|noted| noted.process == process) {
            return Some(noted);
        }
        let first = tasks.stat(process);
        // Orphans are reparented to init, whose mask is unrelated.
        let is_older = process != 1
            && first.is_some_and(|first| {
                first.start <= moved.since && !moved.has(process, first.start)
            });
        if is_older && tasks.mask(process).as_ref() == Some(mask) {
            // Its ancestor had this mask all along.
            return None;
        }
        let Some(next) = (parent != 0).then(|| tasks.stat(parent)).flatten() else { break };
        (process, parent) = (parent, next.parent);
    }
    fitting.into_iter().max_by_key(|noted| (noted.mask.count(), std::cmp::Reverse(noted.task)))
}

impl Done {
    /// A noted task with a changed mask that includes some of the CPUs.
    fn look_at_changed(&mut self, tasks: &dyn Tasks, moved: &Moved, id: u32) {
        if !moved.tasks.iter().any(|noted| noted.task == id) {
            return;
        }
        if let (Some(task), Some(mask)) = (tasks.stat(id), tasks.mask(id))
            && moved.last_of(id, task.start).is_some_and(|noted| noted.mask != mask)
        {
            self.changed_by_others.insert(format!("{} ({id}) has {mask}", task.name));
        }
    }

    fn words(&self, moved: &Moved) -> Vec<String> {
        let cpus = moved.in_words();
        let tasks = |number: usize| {
            if number == 1 { "1 task".to_string() } else { format!("{number} tasks") }
        };
        let mut words = Vec::new();
        if !self.back.is_empty() {
            words.push(format!("{} may use {cpus} again", tasks(self.back.len())));
        }
        if !self.heirs.is_empty() {
            words.push(format!(
                "{} started in the meantime may also use {cpus}",
                tasks(self.heirs.len())
            ));
        }
        if !self.changed_by_others.is_empty() {
            let names: Vec<&str> = self.changed_by_others.iter().map(String::as_str).collect();
            words.push(format!("left as another program has set them: {}", names.join(", ")));
        }
        words
    }
}
