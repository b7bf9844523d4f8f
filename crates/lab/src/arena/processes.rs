//! Background processes, started before a trial and ended after it.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use experiment::results::InvalidReason;
use machine::Session;
use machine::session::{Ended, Launch, Running};
use rustix::process::Signal;

/// Maximum time for a process to start, and to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// Longer than any trial.
pub(super) const WITHOUT_END: Duration = Duration::from_secs(7 * 86_400);

/// Printed by a process when it has started.
pub(crate) const BEGUN: &str = "begun";

/// Running processes; dropping this ends them.
#[derive(Debug, Default)]
pub(super) struct Processes {
    running: Vec<(String, Running, Instant)>,
}

impl Processes {
    /// Starts processes, each with a name for messages, and waits for them to begin.
    pub(super) fn start(session: &Session, launches: Vec<(String, Launch)>) -> Result<Processes> {
        let mut all = Processes::default();
        for (name, launch) in launches {
            all.running.push((name, session.start(&launch)?, Instant::now()));
        }
        let began = Instant::now();
        for (name, running, _) in &mut all.running {
            while !running.printed().starts_with(BEGUN) {
                if !running.is_alive() {
                    bail!(
                        "background load {name}: ended before it began: {}",
                        running.complained().trim()
                    );
                }
                if began.elapsed() > PATIENCE {
                    bail!("background load {name}: did not begin within {} s", PATIENCE.as_secs());
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(all)
    }

    /// Ends the processes. One that had already exited invalidates the trial.
    pub(super) fn end(self) -> Result<Vec<Result<(String, Ended), InvalidReason>>> {
        let never = std::sync::atomic::AtomicBool::new(false);
        let mut all = Vec::new();
        for (name, mut running, started) in self.running {
            let was_alive = running.is_alive();
            running.signal(Signal::TERM);
            // Kills a process that does not end, such as a stopped one or one waiting for a hung
            // device.
            let ended = running.wait(started.elapsed() + PATIENCE, &never)?;
            all.push(if was_alive && !ended.too_long {
                Ok((name, ended))
            } else if was_alive {
                let detail = format!(
                    "the background load {name} did not end within {} s and was killed",
                    PATIENCE.as_secs()
                );
                Err(InvalidReason::ProgramFailed { detail })
            } else {
                Err(ended_early(&name, &ended))
            });
        }
        Ok(all)
    }
}

/// Reason for an invalid trial: its load exited early.
pub(super) fn ended_early(name: &str, ended: &Ended) -> InvalidReason {
    let said = ended.stderr.lines().last().unwrap_or("it said nothing").to_owned();
    InvalidReason::ProgramFailed {
        detail: format!("the background load {name} ended during the trial: {said}"),
    }
}
