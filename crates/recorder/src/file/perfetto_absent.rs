//! What a build without the feature `perfetto` says to a trace of Perfetto.

use std::io::Read;

use anyhow::{Result, bail};
use trace::Recording;

/// Whether a file begins so, as far as this build looks.
pub(super) fn is_perfetto(_begin: &[u8]) -> bool {
    false
}

pub(super) fn read(_trace: impl Read) -> Result<Recording> {
    bail!(
        "trace: this build of schedlab does not read traces of Perfetto (the one of `make demo` is without it); install schedlab with \
         `make install`, the .deb or `cargo install`, which do"
    )
}
