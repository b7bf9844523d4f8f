//! Shared by commands that follow a live disk.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use experiment::plan::parse_duration_s;
use lab::arena::open::restore_leftovers;
use machine::Root;
use recorder::live::{Live, Options};

use crate::failure::usage;
use crate::progress::Progress;
use crate::rights;

/// Drain interval: the kernel's ring holds a second of events at 200,000 a second.
const EVERY: Duration = Duration::from_millis(50);
/// Longer times are rejected as typos.
const LONGEST_S: f64 = 366.0 * 86_400.0;

/// Parses `--for`; `such_as` is the example in errors.
pub(super) fn length(word: &str, such_as: &str) -> Result<Duration> {
    let seconds = parse_duration_s(word).map_err(|e| usage(format!("--for: {e}")))?;
    if !(0.01..=LONGEST_S).contains(&seconds) {
        return Err(usage(format!(
            "--for {word}: out of range (expected 10ms to 366 days); give e.g. {such_as}"
        )));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// Restores what crashed processes left, starts following a disk, and drops privileges except to
/// write results and to clean up.
pub(super) fn begin(
    root: &Root,
    options: &Options,
    results: &[&Path],
    progress: &Progress,
) -> Result<Live> {
    if rustix::process::geteuid().is_root() {
        restore_leftovers(root, progress)?;
    }
    let live = Live::start(root, options)?;
    if live.works_unprivileged() {
        rights::give_up_but_removals(results, &live.removes_in())?;
    }
    Ok(live)
}

/// Waits for the next drain; false when the time is up.
pub(super) fn wait(began: Instant, length: Option<Duration>) -> bool {
    let left = length.map(|length| length.saturating_sub(began.elapsed()));
    if left == Some(Duration::ZERO) {
        return false;
    }
    std::thread::sleep(left.map_or(EVERY, |left| left.min(EVERY)));
    true
}
