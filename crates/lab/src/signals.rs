//! SIGINT, SIGTERM and SIGHUP: stop measuring, restore the settings, keep the results file.
//!
//! The handler only sets a flag that the measuring loop polls; restoring is ordinary code. SIGXFSZ
//! gets a handler too, so that exceeding the file size limit becomes a write error.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::low_level;

/// Time limit of the report after an interruption.
const REPORT: Duration = Duration::from_millis(1500);

/// The signal received; outlives the experiment and its [`Stop`] for the exit status.
static CAME: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

pub fn status() -> Option<u8> {
    let came = CAME.get()?.load(Ordering::Relaxed);
    (came != 0).then(|| of_signal(came))
}

fn of_signal(signal: usize) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Makes writes beyond the file size limit (`ulimit -f`) fail with EFBIG instead of ending the
/// process.
///
/// The handler does nothing. Ignoring the signal instead would be inherited by child programs,
/// whereas a handler is reset to the default action by execve.
pub fn survive_file_size_limit() -> Result<()> {
    let installed = signal_hook::flag::register(SIGXFSZ, Arc::default());
    installed.map(drop).context("signal handler: cannot install")
}

/// Set by a signal that ends schedlab.
#[derive(Debug, Clone)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    nothing_to_undo: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Installs the handlers. A second signal has no effect, because restoring takes milliseconds
    /// and must not be interrupted.
    pub fn install() -> Result<Stop> {
        let signal = Arc::clone(CAME.get_or_init(Arc::default));
        let stop = Stop { flag: Arc::default(), nothing_to_undo: Arc::default(), signal };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = usize::try_from(signal).expect("signal numbers are positive");
            signal_hook::flag::register_conditional_default(
                signal,
                Arc::clone(&stop.nothing_to_undo),
            )
            .context("signal handler: cannot install")?;
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.signal), number)
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop.flag)))
                .context("signal handler: cannot install")?;
        }
        Ok(stop)
    }

    /// For programs with their own handlers, which call [`Stop::ask`].
    pub fn manual() -> Stop {
        Stop { flag: Arc::default(), nothing_to_undo: Arc::default(), signal: Arc::default() }
    }

    pub fn ask(&self) {
        self.signal.store(
            usize::try_from(SIGINT).expect("signal numbers are positive"),
            Ordering::Relaxed,
        );
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Lets signals end the process at once, because the settings are restored and the results are
    /// on disk. If a signal has already arrived, the report has a moment to finish; otherwise
    /// `report_cut` is called. The exit status is the same.
    pub fn end_at_once(&self, report_cut: fn()) {
        self.nothing_to_undo.store(true, Ordering::Relaxed);
        if self.signal().is_some() {
            let status = self.status();
            // Without the thread, the report merely takes longer.
            let _ = thread::Builder::new().spawn(move || {
                thread::sleep(REPORT);
                report_cut();
                low_level::exit(status.into())
            });
        }
    }

    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// By shell convention.
    pub fn status(&self) -> u8 {
        of_signal(self.signal.load(Ordering::Relaxed))
    }

    pub fn signal(&self) -> Option<&'static str> {
        self.flag.load(Ordering::Relaxed).then(|| {
            match i32::try_from(self.signal.load(Ordering::Relaxed)) {
                Ok(SIGTERM) => "SIGTERM",
                Ok(SIGHUP) => "SIGHUP",
                _ => "SIGINT",
            }
        })
    }
}
