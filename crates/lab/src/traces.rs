//! Reads traces in every format of crate `recorder`, and event traces written by `compare --trace`,
//! whose events are joined to requests.

use std::io::Read;
use std::path::Path;

use anyhow::Result;
use recorder::file::ReadOptions;
use sim::Recorder;
use trace::Trace;
use trace::formats::Format;

use crate::trace_file;

/// The beginning of a CSV event trace.
const EVENTS: &[u8] = b"at_ns,event,";

pub fn read(path: &Path, options: &ReadOptions) -> Result<Trace> {
    if options.format == Format::Auto && is_events(path) {
        of_events(path)
    } else {
        recorder::file::read(path, options)
    }
}

/// Whether a file is an event trace.
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
    // Read errors are reported when the whole file is read.
    if let Ok(file) = machine::files::open_input(path) {
        let _ = file.take(bytes).read_to_end(&mut begin);
    }
    begin
}
