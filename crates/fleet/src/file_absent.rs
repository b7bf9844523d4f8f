//! What a build without the feature `parquet` says to a fleet.

use anyhow::{Result, bail};
use bytes::Bytes;

use crate::result::{Header, MachineResult, Value};

/// Fails in a build without support for fleets.
///
/// # Errors
/// Always in this build.
pub fn available() -> Result<()> {
    bail!(
        "fleet: this build of schedlab does not support Parquet (the one of `make demo` is without it); install schedlab with `make \
         install`, the .deb or `cargo install`, which support it"
    )
}

impl MachineResult {
    /// Cannot be made in this build.
    ///
    /// # Errors
    /// Always.
    pub fn to_file(&self) -> Result<(String, Vec<u8>)> {
        available().map(|()| (String::new(), Vec::new()))
    }

    /// Cannot be read in this build.
    ///
    /// # Errors
    /// Always.
    pub fn from_file(_name: &str, _bytes: Bytes) -> Result<MachineResult> {
        Err(available().expect_err("this build has no Parquet"))
    }
}

/// Cannot be opened.
pub(crate) struct ResultFile {
    pub(crate) header: Header,
}

impl ResultFile {
    pub(crate) fn open(_name: &str, _bytes: Bytes) -> Result<ResultFile> {
        Err(available().expect_err("this build has no Parquet"))
    }

    pub(crate) fn rows(&mut self, _group: usize) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }
}
