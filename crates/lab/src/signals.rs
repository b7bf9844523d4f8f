//! SIGINT, SIGTERM and SIGHUP: stop measuring, put the settings back, keep the results file.
//!
//! The handler only sets a flag. The measuring loop polls it; the restore is ordinary code and runs
//! once.
//!
//! SIGXFSZ has a handler, too, so that a limit on file sizes is an error of the write that reaches
//! it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::low_level;

/// How long the report of an interrupted experiment may take.
const REPORT: Duration = Duration::from_millis(1500);

/// The signal that came, which gives the exit status after the experiment and its [`Stop`] are
/// gone.
static CAME: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// The exit status of this process if a signal has asked it to end, as shells have it.
pub fn status() -> Option<u8> {
    let came = CAME.get()?.load(Ordering::Relaxed);
    (came != 0).then(|| of_signal(came))
}

fn of_signal(signal: usize) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// From now on a write beyond the limit on file sizes (`ulimit -f`) fails with EFBIG, and SIGXFSZ
/// does not end the process.
///
/// The handler does nothing. Were the signal ignored instead, the programs that this process starts
/// would inherit that; a handler is replaced by the default action when a program is executed.
///
/// # Errors
/// The handler cannot be installed.
pub fn survive_file_size_limit() -> Result<()> {
    let installed = signal_hook::flag::register(SIGXFSZ, Arc::default());
    installed.map(drop).context("signal handler: cannot install")
}

/// Set by a signal that asks schedlab to end.
#[derive(Debug, Clone)]
pub struct Stop {
    flag: Arc<AtomicBool>,
    nothing_to_undo: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Installs the handlers. A second signal changes nothing: restoring takes milliseconds and
    /// must not be cut off.
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

    /// One that no signal sets, for a program with handlers of its own: it calls [`Stop::ask`].
    pub fn manual() -> Stop {
        Stop { flag: Arc::default(), nothing_to_undo: Arc::default(), signal: Arc::default() }
    }

    /// Asks to end, as SIGINT does.
    pub fn ask(&self) {
        self.signal.store(
            usize::try_from(SIGINT).expect("signal numbers are positive"),
            Ordering::Relaxed,
        );
        self.flag.store(true, Ordering::Relaxed);
    }

    /// From now on a signal ends the process at once: the settings are restored and the results
    /// file is on the disk, and comparing and reporting can be repeated from it. Where one has come
    /// already, the report has a moment to be written; the exit status is the same whether it was
    /// enough or not; where it was not, `report_cut` prints that.
    pub fn end_at_once(&self, report_cut: fn()) {
        self.nothing_to_undo.store(true, Ordering::Relaxed);
        if self.signal().is_some() {
            let status = self.status();
            // Without the thread the report only takes longer.
            let _ = thread::Builder::new().spawn(move || {
                thread::sleep(REPORT);
                report_cut();
                low_level::exit(status.into())
            });
        }
    }

    /// The flag itself, for the load engine.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// The exit status of a program that this signal has ended, as shells have it.
    pub fn status(&self) -> u8 {
        of_signal(self.signal.load(Ordering::Relaxed))
    }

    /// The name of the signal that came, if one came.
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
