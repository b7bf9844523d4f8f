//! Claims a device for overwriting, with a last chance to keep its data.

use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use machine::{Authority, Claim, Device, Error, Root};

use super::check::as_usage;
use crate::progress::Progress;
use crate::signals::Stop;

/// Time for a user at a terminal to interrupt.
const NOTICE: Duration = Duration::from_secs(5);

/// Claims the device for writing. If this took the user's consent, prints what will be lost, and
/// waits on a terminal.
pub(super) fn claim(
    root: &Root,
    device: &Device,
    authority: Authority<'_>,
    stop: &Stop,
    progress: &dyn Progress,
) -> Result<Claim> {
    let path = device.path.display().to_string();
    let looking = format!("looking for data on {path}");
    let mut show = |done, total| {
        progress.prepare(&looking, done, total);
        if stop.signal().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let claim = machine::check_writable(root, device, authority, &mut show).map_err(as_usage)?;
    if authority == Authority::Made {
        return Ok(claim);
    }
    let content: Vec<String> = claim.content().iter().map(ToString::to_string).collect();
    let unknown = match claim.hidden() {
        [] => String::new(),
        hidden => format!("; cannot see whether it is open in {}", hidden.join(", ")),
    };
    progress.say(&format!("{path} will be overwritten: {}{unknown}", content.join("; ")));
    if progress.is_interactive() {
        give_notice(&path, stop, progress)?;
    }
    Ok(claim)
}

fn give_notice(path: &str, stop: &Stop, progress: &dyn Progress) -> Result<()> {
    let since = Instant::now();
    while let Some(left) = NOTICE.checked_sub(since.elapsed()) {
        if stop.signal().is_some() {
            return Err(Error::Interrupted { doing: format!("{path}: nothing was written") }.into());
        }
        let shown = format!("writing to {path} in {} s; Ctrl-C keeps its data", left.as_secs() + 1);
        progress.prepare(
            &shown,
            since.elapsed().as_millis().try_into().unwrap_or(0),
            NOTICE.as_millis().try_into().unwrap_or(1),
        );
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
