//! Background processes, started before a trial and ended after it.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use experiment::results::InvalidReason;
use machine::Session;
use machine::session::{Ended, Launch, Running};
use rustix::process::Signal;

/// Time limit for starting, and for ending.
const PATIENCE: Duration = Duration::from_secs(30);

/// Longer than any trial.
pub(super) const WITHOUT_END: Duration = Duration::from_secs(7 * 86_400);

/// Printed by a process that has started.
pub(crate) const BEGUN: &str = "begun";

/// Dropping this ends them.
#[derive(Debug, Default)]
pub(super) struct Processes {
    running: Vec<(String, Running, Instant)>,
}

impl Processes {
    /// Starts processes under the names used in messages, and waits until they print [`BEGUN`].
    pub(super) fn start(session: &Session, launches: Vec<(String, Launch)>) -> Result<Processes> {
        let mut all = Processes::default();
        for (name, launch) in launches {
            all.running.push((name, session.start(&launch)?, Instant::now()));
        }
        let began = Instant::now();
        for (name, running, _) in &mut all.running {
            while !running.stdout().starts_with(BEGUN) {
                if !running.is_alive() {
                    bail!(
                        "background load {name}: ended before it began: {}",
                        running.stderr().trim()
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

    /// A process that exited early invalidates the trial.
    pub(super) fn end(self) -> Result<Vec<Result<(String, Ended), InvalidReason>>> {
        let never = std::sync::atomic::AtomicBool::new(false);
        let mut all = Vec::new();
        for (name, mut running, started) in self.running {
            let was_alive = running.is_alive();
            running.signal(Signal::TERM);
            // Kills stopped processes and those waiting for a hung device.
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

pub(super) fn ended_early(name: &str, ended: &Ended) -> InvalidReason {
    let said = ended.stderr.lines().last().unwrap_or("(no output)").to_owned();
    InvalidReason::ProgramFailed {
        detail: format!("the background load {name} ended during the trial: {said}"),
    }
}
