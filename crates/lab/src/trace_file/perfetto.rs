//! Traces for ui.perfetto.dev: events become requests as they come, and tracks at the end.

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

    /// A trial of more requests than a trace may have is refused as a whole: a part would look
    /// like all of it.
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
