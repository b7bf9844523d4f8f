//! Moves every other task off the isolated CPUs, and back (`back.rs`).
//!
//! Every task loses the CPUs from its affinity mask; one without others gets all others. New tasks
//! inherit the mask, and a thread looks for rebound ones every 100 ms. Unmovable tasks are counted
//! with the reason. A later task that may use only isolated CPUs is the measured program, and is
//! left alone. A cpuset partition would need a group for it and the v2 controller, and would leave
//! the same interrupts and kernel threads.

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

/// Between two looks for new tasks.
const SWEEP_INTERVAL: Duration = Duration::from_millis(100);

/// Every nth look checks all threads of all processes.
const THOROUGH: u32 = 10;

/// Maximum number of tasks in a message.
const NAMED: usize = 5;

impl Notes for Ledger {
    fn note(&self, moved: &Moved) -> Result<(), Error> {
        Ledger::note(self, |made| made.moved = Some(moved.clone()))
    }
}

#[derive(Debug)]
struct State {
    sweep: Sweep<Ledger>,
    failed: Option<String>,
    cost: Duration,
}

/// Dropping this moves no task back; [`Isolation::end`] or the journal does.
#[derive(Debug)]
pub(super) struct Isolation {
    root: Root,
    ledger: Ledger,
    state: Arc<Mutex<State>>,
    /// Dropped to end the thread.
    stop: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

impl Isolation {
    /// Refuses missing CPUs, all CPUs, or missing permission.
    pub(super) fn admit(root: &Root, cpus: &CpuList) -> Result<(), Error> {
        admit::admit(root, cpus)
    }

    /// Moves all tasks, and new ones until the end.
    ///
    /// # Errors
    /// [`Error::Io`] if the journal cannot be written, [`Error::Session`] if the CPUs do not exist.
    pub(super) fn begin(root: &Root, cpus: &CpuList, ledger: &Ledger) -> Result<Isolation, Error> {
        admit::admit(root, cpus)?;
        let others = crate::placement::online(root)?
            .difference(cpus)
            .expect("it is admitted, so one is left");
        let mut sweep = Sweep::new(Arc::new(Kernel(root.clone())), ledger.clone(), cpus, &others);
        sweep.moved.namespace = namespace(root);
        sweep.begin()?;
        let state = Arc::new(Mutex::new(State { sweep, failed: None, cost: Duration::ZERO }));
        let (stop, stopped) = channel();
        let shared = state.clone();
        let keep = move || {
            for look in 1u32.. {
                if stopped.recv_timeout(SWEEP_INTERVAL) != Err(RecvTimeoutError::Timeout) {
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

    /// Reports movable tasks on the CPUs.
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

    /// Tasks moved at first, unmovable tasks, later moves, and CPU time of the thread.
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

    /// Moves every task back.
    ///
    /// # Errors
    /// [`Error::Session`] naming the remaining tasks, [`Error::Io`]; the journal then keeps them.
    pub(super) fn end(mut self) -> Result<(), Error> {
        self.stop_thread();
        let moved = lock(&self.state).sweep.moved.clone();
        put_back(&self.root, &moved)?;
        self.ledger.note(|made| made.moved = None)
    }

    fn stop_thread(&mut self) {
        self.stop = None;
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

impl Drop for Isolation {
    fn drop(&mut self) {
        self.stop_thread();
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// All tasks are visible in the initial PID namespace.
const INITIAL: &str = "pid:[4026531836]";

pub fn sees_all_tasks(root: &Root) -> bool {
    namespace(root).is_none_or(|here| here == INITIAL)
}

/// Whether a process of this PID namespace is visible.
fn lives(root: &Root, namespace: Option<&str>) -> bool {
    let processes =
        root.names(root.proc("")).into_iter().filter(|name| name.parse::<u32>().is_ok());
    let mut theirs =
        processes.filter_map(|name| std::fs::read_link(root.proc(format!("{name}/ns/pid"))).ok());
    theirs.any(|found| found.to_str() == namespace)
}

/// E.g. `pid:[4026531836]`; `None` if unknown.
fn namespace(root: &Root) -> Option<String> {
    Some(std::fs::read_link(root.proc("self/ns/pid")).ok()?.to_string_lossy().into_owned())
}

fn count(tasks: usize) -> String {
    if tasks == 1 { "1 task".to_string() } else { format!("{tasks} tasks") }
}

/// Returns the restored tasks.
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
