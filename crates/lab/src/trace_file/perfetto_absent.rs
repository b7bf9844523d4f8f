//! What a build without the feature `perfetto` says to a trace in that format.

use std::convert::Infallible;
use std::fs::File;

use anyhow::Result;
use sim::Event;
use trace::Recording;

pub(super) fn available() -> Result<()> {
    Err(crate::failure::usage(
        "trace: this build of schedlab does not write traces of Perfetto (the one of `make demo` is without it); use csv, or install \
         schedlab with `make install`, the .deb or `cargo install`, which do",
    ))
}

pub(super) fn write(_file: File, _recording: &Recording) -> Result<()> {
    available()
}

/// Cannot be made.
pub(super) struct Writer(Infallible);

impl Writer {
    pub(super) fn new(_file: File) -> Result<Writer> {
        available()?;
        unreachable!("it is not available")
    }

    pub(super) fn push(&mut self, _event: &Event) {
        match self.0 {}
    }

    pub(super) fn finish(self) -> Result<()> {
        match self.0 {}
    }
}
