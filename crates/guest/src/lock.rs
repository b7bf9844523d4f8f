//! File locks, so that one process at a time builds a kernel.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::files::{Attempt, OwnLock};

use crate::Error;

#[derive(Debug)]
pub(crate) struct Lock {
    _file: OwnLock,
}

impl Lock {
    pub(crate) fn try_take(dir: &Path, name: &str) -> Result<Option<Lock>, Error> {
        fs::create_dir_all(dir).map_err(|cause| Error::io("create", dir, cause))?;
        let path = dir.join(format!("{name}.lock"));
        match OwnLock::attempt(&path).map_err(|error| Error::io("lock", &path, error.into()))? {
            Attempt::Locked(file) => Ok(Some(Lock { _file: file })),
            Attempt::Taken { .. } => Ok(None),
        }
    }

    /// Calls `waiting` once if it must wait.
    pub(crate) fn take(
        dir: &Path,
        name: &str,
        stop: &AtomicBool,
        waiting: &mut dyn FnMut(),
    ) -> Result<Lock, Error> {
        if let Some(lock) = Lock::try_take(dir, name)? {
            return Ok(lock);
        }
        waiting();
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            std::thread::sleep(Duration::from_millis(50));
            if let Some(lock) = Lock::try_take(dir, name)? {
                return Ok(lock);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_had_by_one_and_waited_for_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let first = Lock::try_take(dir.path(), "a").unwrap().expect("it is free");
        assert!(Lock::try_take(dir.path(), "a").unwrap().is_none());
        assert!(Lock::try_take(dir.path(), "b").unwrap().is_some(), "another name is another lock");
        let stop = AtomicBool::new(false);
        let mut first = Some(first);
        let mut waited = 0;
        Lock::take(dir.path(), "a", &stop, &mut || {
            waited += 1;
            drop(first.take());
        })
        .unwrap();
        assert_eq!(waited, 1);
    }

    #[test]
    fn waiting_ends_when_it_is_told_to() {
        let dir = tempfile::tempdir().unwrap();
        let _held = Lock::try_take(dir.path(), "a").unwrap();
        let answer = Lock::take(dir.path(), "a", &AtomicBool::new(true), &mut || ());
        assert!(matches!(answer, Err(Error::Interrupted)));
    }
}
