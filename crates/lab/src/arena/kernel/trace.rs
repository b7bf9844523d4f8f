//! Records the I/O of a guest's disk from tracefs events, for Perfetto traces.
//!
//! An event reads the guest clock, 256 ns of virtual time if interrupts are enabled. Tracing thus
//! shifts a trial by microseconds, so it uses an additional run.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use guest::inside::Inside;
use machine::Root;
use recorder::live::{Live, Options, Source};
use trace::{Io, Trace};

use super::disk::Modelled;
use super::order;
use crate::arena::traced::TraceTo;

/// Additional guest memory for event buffers and requests.
pub(super) const MEMORY_MIB: u32 = 192;
/// Requests take about 100 bytes of memory each.
const MOST_REQUESTS: usize = 1_000_000;
const MOST_BYTES: u64 = 64 << 20;
/// Virtual time; 16 MiB of buffer hold about 40,000 requests.
const EVERY: Duration = Duration::from_millis(10);
/// A state directory in the guest's memory.
const STATE: &str = "/dev/schedlab";
const TRACEFS: &str = "/sys/kernel/tracing";

pub(super) struct RunningTrace {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Result<Trace>>,
}

impl RunningTrace {
    /// # Errors
    /// The guest's kernel has no block-layer events.
    pub(super) fn begin(inside: &Inside, disk: &Modelled) -> Result<RunningTrace> {
        inside.mount(Path::new("none"), Path::new(TRACEFS), "tracefs", "")?;
        let devices = vec![disk.name().to_owned()];
        let ends = Arc::new(AtomicBool::new(false));
        let (begun, begins) = mpsc::channel();
        let until = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            let options = Options { devices, source: Source::Tracefs, ..Options::default() };
            let root = Root::real().with_state_dir(STATE);
            let live = Live::start(&root, &options)
                .context("trace: the guest's disk cannot be recorded")?;
            let _ = begun.send(());
            record(live, &until)
        });
        // On failure the channel is closed, and `end` returns the error.
        let _ = begins.recv();
        Ok(RunningTrace { ends, thread })
    }

    pub(super) fn end(self, to: &Path) -> Result<()> {
        self.ends.store(true, Ordering::Relaxed);
        let trace =
            self.thread.join().map_err(|_| anyhow!("trace: a thread of the guest panicked"))??;
        std::fs::write(to, recorder::file::write_bytes(&trace)?)
            .context("trace: cannot be written in the guest")
    }
}

fn record(mut live: Live, ends: &AtomicBool) -> Result<Trace> {
    let mut ios: Vec<Io> = Vec::new();
    while !ends.load(Ordering::Relaxed) && ios.len() <= MOST_REQUESTS {
        thread::sleep(EVERY);
        live.drain(&mut |io| ios.push(*io))?;
    }
    let about = live.finish(&mut |io| ios.push(*io))?;
    if ios.len() > MOST_REQUESTS {
        bail!(
            "trace: too many requests (expected at most {MOST_REQUESTS}); choose a shorter --trial-time"
        );
    }
    if about.lost > 0 {
        bail!(
            "trace: the guest's kernel lost {} events; choose a shorter --trial-time",
            about.lost
        );
    }
    let mut trace = Trace { about, ios, ..live.tables().clone() };
    trace.sort();
    Ok(trace)
}

/// The guest is not trusted: see [`guest::read_result`].
pub(super) fn pass_on(dir: &Path, to: &TraceTo) -> Result<()> {
    let bytes = guest::read_result(dir, order::TRACE, MOST_BYTES)
        .context("trace: missing in the guest's directory")?;
    to.trace(&recorder::file::read_bytes(bytes)?)
}
