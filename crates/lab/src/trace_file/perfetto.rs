//! Traces for ui.perfetto.dev: events become requests as they come, and tracks at the end.

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Result, bail};
use sim::{Event, Observer, Recorder};
use trace::Recording;

pub(super) fn available() -> Result<()> {
    Ok(())
}

pub(super) struct Writer {
    file: File,
    recorder: Recorder,
}

impl Writer {
    pub(super) fn new(file: File) -> Result<Writer> {
        Ok(Writer { file, recorder: Recorder::default() })
    }

    pub(super) fn push(&mut self, event: &Event) {
        self.recorder.event(event);
    }

    /// A trial of more requests than a recording may have is refused as a whole: a part would look like all of it.
    pub(super) fn finish(self) -> Result<()> {
        let recording = self.recorder.finish();
        if recording.about.lost > 0 {
            bail!("trace: too many requests for Perfetto's tracks; choose a shorter --trial-time, or --trace parquet");
        }
        write(self.file, &recording)
    }
}

pub(super) fn write(file: File, recording: &Recording) -> Result<()> {
    recorder::perfetto::write(BufWriter::new(file), recording).map(drop)
}
