//! What a build without the feature `metrics` answers to `--metrics-listen`.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use report::running::Running;

use crate::failure::usage;

pub(super) fn check() -> Result<()> {
    Err(usage(
        "--metrics-listen: this build of schedlab has no server (the one of `make demo` is without it); use --metrics-file, or install \
         schedlab with `make install`, the .deb or `cargo install`, which have it",
    ))
}

pub(super) fn serve(_listener: TcpListener, _running: Arc<Mutex<Running>>) {}
