//! What a build without the feature `dashboard` says to `--watch`.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Result;
use trace::Io;
use trace::profile::Profile;

use crate::failure::usage;

/// A key that was pressed.
pub(super) enum Key {
    End,
    Again,
}

/// Cannot be made.
pub(super) struct Dashboard(Infallible);

impl Dashboard {
    pub(super) fn check() -> Result<Dashboard> {
        Err(usage(
            "--watch: this build of schedlab has no dashboard (the one of `make demo` is without it); leave it out, \
             or install schedlab with `make install`, the .deb or `cargo install`, which have it",
        ))
    }

    pub(super) fn begin(&mut self) -> Result<()> {
        match self.0 {}
    }

    pub(super) fn end(&mut self) {
        match self.0 {}
    }

    pub(super) fn again(&mut self) {
        match self.0 {}
    }

    pub(super) fn is_paused(&self) -> bool {
        match self.0 {}
    }

    pub(super) fn count(&mut self, _io: &Io) {
        match self.0 {}
    }

    pub(super) fn key(&mut self) -> Result<Option<Key>> {
        match self.0 {}
    }

    pub(super) fn draw(&mut self, _profile: &Profile, _elapsed: Duration, _lost: u64) -> Result<()> {
        match self.0 {}
    }
}
