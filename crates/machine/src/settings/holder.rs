//! The holder of a temporary setting, and ending it early.

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::Snapshot;
use super::recover::{self, Found, Restoration};
use crate::device::Device;
use crate::error::Error;
use crate::journal::{self, Abandoned, Entry, Lasting, Lock};
use crate::root::Root;

/// For restoring; a switch of the scheduler waits for requests in flight.
const ENDED_WITHIN: Duration = Duration::from_secs(60);

/// A process that will restore a device's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// If not, `schedlab restore` or the next start restores the settings.
    pub alive: bool,
    /// `None` for an experiment.
    pub lasting: Option<Lasting>,
    /// The settings to be restored.
    pub original: Snapshot,
}

/// According to the journal.
///
/// # Errors
/// [`Error::Io`] if the entry cannot be read, which needs root, and [`Error::Journal`] if it cannot
/// be parsed.
pub fn holder(root: &Root, device: &Device) -> Result<Option<Holder>, Error> {
    let Some(entry) = journal::read(root, &journal::key(&device.identity))? else {
        return Ok(None);
    };
    if entry.boot_id != root.boot_id()? {
        return Ok(None);
    }
    let Some(Found { original, .. }) = Found::of(&entry) else { return Ok(None) };
    let alive = root.proc(entry.pid.to_string()).exists();
    Ok(Some(Holder { pid: entry.pid, alive, lasting: entry.lasting, original }))
}

/// The owner gets SIGTERM, restores everything, and is awaited; for a dead owner, this process
/// restores. `None`: no temporary setting.
///
/// # Errors
/// [`Error::Busy`] if the device belongs to an experiment; the errors of restoring.
pub fn end(root: &Root, device: &Device) -> Result<Option<Restoration>, Error> {
    let key = journal::key(&device.identity);
    let what = device.path.display().to_string();
    let Some(entry) = journal::read(root, &key)? else { return Ok(None) };
    match Lock::take(root, &key, &what) {
        // The owner is dead or has just exited: no other process can be restoring.
        Ok(lock) => return restore_dead(root, &key, &lock),
        Err(Error::Busy { .. }) if entry.lasting.is_some() => {}
        Err(error) => return Err(error),
    }
    terminate_owner(root, &key, &what, &entry)?;
    let since = Instant::now();
    loop {
        match Lock::take(root, &key, &what) {
            Ok(lock) => {
                let name = device.name.clone();
                let left = restore_dead(root, &key, &lock)?;
                return Ok(Some(
                    left.unwrap_or(Restoration::Restored { device: name, changed: Vec::new() }),
                ));
            }
            Err(Error::Busy { .. }) if since.elapsed() < ENDED_WITHIN => {
                thread::sleep(Duration::from_millis(5))
            }
            Err(error) => return Err(error),
        }
    }
}

fn restore_dead(root: &Root, key: &str, lock: &Lock) -> Result<Option<Restoration>, Error> {
    let Some(entry) = journal::read(root, key)? else { return Ok(None) };
    recover::undo(root, &Abandoned { key, entry: &entry, lock }).map(Some)
}

/// Sends SIGTERM to an entry's owner. Process ids are reused, so a pidfd is opened first: if the
/// same entry is then still locked by another process, its owner was alive all the time, and is
/// that process.
fn terminate_owner(root: &Root, key: &str, what: &str, entry: &Entry) -> Result<(), Error> {
    let pid = i32::try_from(entry.pid).ok().and_then(Pid::from_raw);
    let Some(Ok(process)) = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())) else {
        return Ok(());
    };
    let is_same = journal::read(root, key)?.as_ref() == Some(entry);
    if is_same && matches!(Lock::take(root, key, what), Err(Error::Busy { .. })) {
        let sent = pidfd_send_signal(&process, Signal::TERM);
        sent.map_err(|errno| {
            Error::io("send a signal to the owner", journal::path(root, key))(errno.into())
        })?;
    }
    Ok(())
}

/// Adds a temporary setting's end time.
pub(super) fn explain(root: &Root, key: &str, error: Error) -> Error {
    match error {
        Error::Busy { device, pid_of_other } => {
            match journal::read(root, key).ok().flatten().and_then(|entry| entry.lasting_now(root))
            {
                Some(lasting) => Error::Held { device, pid_of_other, lasting },
                None => Error::Busy { device, pid_of_other },
            }
        }
        other => other,
    }
}
