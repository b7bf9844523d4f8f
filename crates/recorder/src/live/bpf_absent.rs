//! What a build without the feature `bpf` says.

use anyhow::{Result, bail};
use machine::Root;

use super::clock::Began;
use super::events::Events;
use super::target::{Filter, Target};

pub(super) fn start(_root: &Root, _targets: &[Target], _filter: &Filter) -> Result<(Box<dyn Events>, Began)> {
    bail!(
        "BPF: this build of schedlab does not support it (the one of `make demo` is without it); \
         install schedlab with `make install` or the .deb, which support it"
    )
}
