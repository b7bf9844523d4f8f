//! What a build without the feature `parquet` says to a trace in that format.

use std::convert::Infallible;
use std::fs::File;

use anyhow::Result;
use sim::Event;

/// Cannot be made.
pub(super) struct Writer(Infallible);

impl Writer {
    pub(super) fn new(_file: File) -> Result<Writer> {
        Err(super::columns::unsupported())
    }

    pub(super) fn push(&mut self, _event: &Event) -> Result<()> {
        match self.0 {}
    }

    pub(super) fn finish(self) -> Result<()> {
        match self.0 {}
    }
}

pub(super) fn read(_file: File, _each: &mut dyn FnMut(&Event) -> Result<()>) -> Result<()> {
    Err(super::columns::unsupported())
}
