//! Traces from files: those of every format that crate `recorder` reads, and traces of events
//! that `compare --trace` wrote.
//!
//! A simulated trial is a trace like any other, once its events are joined to requests: what is
//! profiled, replayed and fitted can be made without a disk, too.

use std::io::Read;
use std::path::Path;

use anyhow::Result;
use recorder::file::ReadOptions;
use sim::Recorder;
use trace::Trace;
use trace::formats::Format;

use crate::trace_file;

/// How a trace of events begins, as text.
const EVENTS: &[u8] = b"at_ns,event,";

/// Reads a trace, or the events of a simulated trial.
///
/// # Errors
/// It cannot be read, has no known format or is broken; the error names the file.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Trace> {
    if options.format == Format::Auto && is_events(path) {
        of_events(path)
    } else {
        recorder::file::read(path, options)
    }
}

/// Whether a file holds the events of a simulated trial.
pub fn is_events(path: &Path) -> bool {
    begin(path, EVENTS.len() as u64) == EVENTS
        || begin(path, 4) == b"PAR1" && !recorder::file::is_trace(path)
}

fn of_events(path: &Path) -> Result<Trace> {
    let mut recorder = Recorder::default();
    trace_file::read(path, &mut |event| sim::Observer::event(&mut recorder, event))?;
    let trace = recorder.finish();
    anyhow::ensure!(
        !trace.ios.is_empty(),
        "{}: no request in it; name a trace of a longer trial",
        path.display()
    );
    Ok(trace)
}

fn begin(path: &Path, bytes: u64) -> Vec<u8> {
    let mut begin = Vec::new();
    // What cannot be read is named where the file is read as a whole.
    if let Ok(file) = machine::files::open_input(path) {
        let _ = file.take(bytes).read_to_end(&mut begin);
    }
    begin
}
