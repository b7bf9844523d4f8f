//! What a build without the feature `s3` says to a bucket.

use std::convert::Infallible;

use anyhow::{Result, bail};
use bytes::Bytes;

use crate::entry::{Entry, Listing, Pushed};

/// Cannot be opened.
#[derive(Debug)]
pub struct Bucket(Infallible);

impl Bucket {
    pub(crate) fn open(bucket: &str, _prefix: &str) -> Result<Bucket> {
        bail!(
            "s3://{bucket}: this build of schedlab does not support buckets (those of `make demo` and `make tar` are without them); install schedlab with \
             `make install`, the .deb or `cargo install`, or name a directory"
        )
    }

    pub(crate) fn list(&self) -> Result<Listing> {
        match self.0 {}
    }

    pub(crate) fn read<T: Send>(
        &self,
        _entries: &[Entry],
        _each: impl Fn(&Entry, Result<Bytes>) -> T + Sync,
    ) -> Vec<T> {
        match self.0 {}
    }

    pub(crate) fn put(&self, _name: &str, _bytes: Bytes) -> Result<Pushed> {
        match self.0 {}
    }
}
