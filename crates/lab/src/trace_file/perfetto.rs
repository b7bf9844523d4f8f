//! Traces for ui.perfetto.dev: events are joined to requests, and tracks are written at the end.

use std::fs::File;

use anyhow::{Result, bail};
use sim::{Event, Observer, Recorder};

use super::Sink;

pub(super) struct Writer {
    file: File,
    recorder: Recorder,
}

impl Writer {
    pub(super) fn new(file: File) -> Writer {
        Writer { file, recorder: Recorder::default() }
    }
}

impl Sink for Writer {
    fn push(&mut self, event: &Event) -> Result<()> {
        self.recorder.event(event);
        Ok(())
    }

    /// Refuses a trial that exceeds the size of a trace, because a truncated trace would look
    /// complete.
    fn finish(self: Box<Self>) -> Result<()> {
        let trace = self.recorder.finish();
        if trace.about.lost > 0 {
            bail!(
                "trace: too many requests for Perfetto's tracks; choose a shorter --trial-time, or --trace parquet"
            );
        }
        recorder::file::write_tracks(self.file, &trace)
    }
}
