//! Emptying CPUs of every other task, and putting each task back.
//!
//! Every task of the machine that may use one of the CPUs loses them from its affinity mask; one
//! that would have none left gets all others. New tasks inherit the mask of the one that starts
//! them, so they come without; those that come with (a task that binds itself anew) are found by a
//! thread that looks every 100 ms. Tasks that the kernel binds, or does not let user space move,
//! are counted with the reason. What is measured may use only the isolated CPUs, and so is left
//! alone: a task that was not there at the beginning and may use nothing else is not moved. A
//! cpuset partition would need the measured program in a group of its own, and a kernel with the
//! controller in the v2 hierarchy; what both leave on the CPUs (interrupts, bound kernel threads)
//! is the same.
//!
//! # The way back
//! A task is noted in the journal, by id, start time and mask, before it is moved. On the way back
//! - a noted task that lives gets its mask again, to the bit, offline CPUs included; if it has
//!   another mask than what it was left with, another program has set that meanwhile: it is left
//!   so, and reported;
//! - a task that was started later than the isolation, and has exactly what one of its line was
//!   left with, gets that one's mask. Its line is the noted tasks of its own process, of its
//!   parent's, and so on; a parent that is gone breaks the line, and then it is any noted task that
//!   was left with that; if its nearest older parent was not moved and has the same mask, it comes
//!   from that one and is left;
//! - everything else is left alone. This is repeated until nothing changes any more.
//!
//! The doubt in this: a task that was started meanwhile and bound itself to exactly the CPUs that a
//! moved one was left with is taken for an heir, since the kernel does not say who has set a mask.
//! An orphan whose mask two lines were left with (on a machine of two CPUs that is every line) can
//! get that of the other line, the wider one. And a moved task is from then on one whose mask was
//! set by hand: if its cpuset is extended later, it does not follow. A task that could use only
//! isolated CPUs gets all others that its cpuset has; those that it starts meanwhile are found only
//! where the cpuset has all of them.

mod admit;
mod back;
#[cfg(test)]
mod fake;
mod moved;
mod sweep;
mod tasks;
#[cfg(test)]
mod tests;

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

pub(crate) use moved::Moved;
use sweep::{Notes, Sweep};
use tasks::Kernel;

use super::ledger::Ledger;
use crate::Error;
use crate::Root;
use crate::placement::CpuList;
use crate::session::Fault;
use crate::settings::Problem;

/// How often it is looked for new tasks.
const LOOK: Duration = Duration::from_millis(100);

/// Every so many looks every thread of every process is looked at, too.
const THOROUGH: u32 = 10;

/// How many tasks a message names.
const NAMED: usize = 5;

impl Notes for Ledger {
    fn note(&self, moved: &Moved) -> Result<(), Error> {
        Ledger::note(self, |made| made.moved = Some(moved.clone()))
    }
}

/// What the thread that keeps the CPUs empty shares with its owner.
#[derive(Debug)]
struct State {
    sweep: Sweep<Ledger>,
    /// Why it has stopped.
    failed: Option<String>,
    /// CPU time that it has used.
    cost: Duration,
}

/// CPUs that are kept empty; dropped, nothing is put back (that is [`Isolation::end`]'s, or the
/// journal's).
#[derive(Debug)]
pub(super) struct Isolation {
    root: Root,
    ledger: Ledger,
    state: Arc<Mutex<State>>,
    /// Its end is the thread's.
    stop: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Isolation {
    /// Refuses what can be known to be impossible here: CPUs that are not there, all that there
    /// are, no permission.
    pub(super) fn admit(root: &Root, cpus: &CpuList) -> Result<(), Error> {
        admit::admit(root, cpus)
    }

    /// Moves every other task, and goes on moving those that come.
    ///
    /// # Errors
    /// [`Error::Io`] when the journal cannot be written, [`Error::Session`] when the CPUs are not
    /// there.
    pub(super) fn begin(root: &Root, cpus: &CpuList, ledger: &Ledger) -> Result<Isolation, Error> {
        admit::admit(root, cpus)?;
        let others =
            crate::placement::online(root)?.without(cpus).expect("it is admitted, so one is left");
        let mut sweep = Sweep::new(Arc::new(Kernel(root.clone())), ledger.clone(), cpus, &others);
        sweep.moved.namespace = namespace(root);
        sweep.begin()?;
        let state = Arc::new(Mutex::new(State { sweep, failed: None, cost: Duration::ZERO }));
        let (stop, stopped) = channel();
        let shared = state.clone();
        let keep = move || {
            for look in 1u32.. {
                if stopped.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let mut state = lock(&shared);
                if let Err(error) = state.sweep.pass(look % THOROUGH == 0) {
                    state.failed = Some(error.to_string());
                    return;
                }
                let used = clock_gettime(ClockId::ThreadCPUTime);
                state.cost = Duration::try_from(used).unwrap_or_default();
            }
        };
        let keeper = thread::Builder::new().name("isolation".to_string()).spawn(keep);
        let keeper = Some(keeper.map_err(Error::io("start", "a thread that keeps CPUs empty"))?);
        Ok(Isolation {
            root: root.clone(),
            ledger: ledger.clone(),
            state,
            stop: Some(stop),
            keeper,
        })
    }

    /// What is against its being in effect: others' tasks on the CPUs that could be moved and are
    /// not yet.
    pub(super) fn check(&self) -> Vec<Problem> {
        let mut state = lock(&self.state);
        let (attribute, wanted) = ("isolate".to_string(), state.sweep.moved.cpus.to_string());
        let strays = state.sweep.find(true);
        let mut problems = Vec::new();
        if let Some(why) = &state.failed {
            let found = format!("new tasks are not moved any more: {why}");
            problems.push(Problem::NotInEffect {
                attribute: attribute.clone(),
                wanted: wanted.clone(),
                found,
            });
        }
        if !strays.is_empty() {
            let named =
                strays.iter().take(NAMED).map(|task| format!("{} ({})", task.name, task.task));
            let found = format!(
                "{} of others may use it: {}",
                count(strays.len()),
                named.collect::<Vec<_>>().join(", ")
            );
            problems.push(Problem::ChangedMeanwhile { attribute, wanted, found });
        }
        problems
    }

    /// Figures for the results file, since the beginning: tasks moved at first, tasks that cannot
    /// be moved, times that one was moved later, and the CPU time that looking for those has cost.
    pub(super) fn counters(&self) -> Vec<(String, f64)> {
        let state = lock(&self.state);
        let figures = [
            ("isolate_moved", state.sweep.nr_moved as f64),
            ("isolate_unmovable", state.sweep.unmovable.len() as f64),
            ("isolate_late", state.sweep.nr_late as f64),
            ("isolate_own_ms", state.cost.as_secs_f64() * 1e3),
        ];
        figures.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
    }

    pub(super) fn unmovable(&self) -> Vec<String> {
        let state = lock(&self.state);
        let words = |((task, _), (name, why)): (&(u32, u64), &(String, String))| {
            format!("{name} ({task}): {why}")
        };
        state.sweep.unmovable.iter().map(words).collect()
    }

    /// Puts every task back.
    ///
    /// # Errors
    /// [`Error::Session`] naming the tasks that could not be put back, [`Error::Io`]; the journal
    /// has them then.
    pub(super) fn end(mut self) -> Result<(), Error> {
        self.rest();
        let moved = lock(&self.state).sweep.moved.clone();
        put_back(&self.root, &moved)?;
        self.ledger.note(|made| made.moved = None)
    }

    /// Ends the thread.
    fn rest(&mut self) {
        self.stop = None;
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

impl Drop for Isolation {
    fn drop(&mut self) {
        self.rest();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The machine's first PID namespace, from which all tasks can be seen.
const INITIAL: &str = "pid:[4026531836]";

/// Whether every task of the machine is seen, and not only those of a PID namespace.
pub fn sees_all_tasks(root: &Root) -> bool {
    namespace(root).is_none_or(|here| here == INITIAL)
}

/// Whether a process of this PID namespace is seen.
fn lives(root: &Root, namespace: Option<&str>) -> bool {
    let processes =
        root.names(root.proc("")).into_iter().filter(|name| name.parse::<u32>().is_ok());
    let mut theirs =
        processes.filter_map(|name| std::fs::read_link(root.proc(format!("{name}/ns/pid"))).ok());
    theirs.any(|found| found.to_str() == namespace)
}

/// The PID namespace of this process, e.g. `pid:[4026531836]`; none where the kernel does not tell.
fn namespace(root: &Root) -> Option<String> {
    Some(std::fs::read_link(root.proc("self/ns/pid")).ok()?.to_string_lossy().into_owned())
}

fn count(tasks: usize) -> String {
    if tasks == 1 { "1 task".to_string() } else { format!("{tasks} tasks") }
}

/// Puts every task back by what the journal says; gives what was done.
pub(super) fn put_back(root: &Root, moved: &Moved) -> Result<Vec<String>, Error> {
    let here = namespace(root);
    if moved.namespace.is_some() && moved.namespace != here {
        if here.as_deref() == Some(INITIAL) && !lives(root, moved.namespace.as_deref()) {
            return Ok(vec![
                "the PID namespace whose tasks had left CPUs is gone, and they with it".to_string(),
            ]);
        }
        let what = format!("the way back to {}", moved.in_words());
        let why = "its tasks are those of another PID namespace, where their numbers mean others: call `schedlab restore` there".to_string();
        return Err(Fault::Placement { what, why }.into());
    }
    back::put_back(&Kernel(root.clone()), moved)
}
