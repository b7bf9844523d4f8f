//! SIGINT, SIGTERM and SIGHUP: stop measuring, put the settings back, keep the record.
//!
//! The handler only sets a flag. The measuring loop polls it; the restore is ordinary code and runs once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Set by a signal that asks schedlab to end.
#[derive(Debug, Clone)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Installs the handlers. A second signal changes nothing: restoring takes milliseconds and must not be cut off.
    pub fn install() -> Result<Stop> {
        let stop = Stop { flag: Arc::default(), signal: Arc::default() };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).expect("signal numbers are positive");
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.signal), number)
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop.flag)))
                .context("signal handler: cannot install")?;
        }
        Ok(stop)
    }

    /// The flag itself, for the load engine.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// The exit status of a program that this signal has ended, as shells have it.
    pub fn status(&self) -> u8 {
        u8::try_from(128 + self.signal.load(Ordering::Relaxed)).unwrap_or(u8::MAX)
    }

    /// The name of the signal that came, if one came.
    pub fn signal(&self) -> Option<&'static str> {
        self.flag.load(Ordering::Relaxed).then(|| match i32::try_from(self.signal.load(Ordering::Relaxed)) {
            Ok(SIGTERM) => "SIGTERM",
            Ok(SIGHUP) => "SIGHUP",
            _ => "SIGINT",
        })
    }
}
