//! The schedulers' published claims, checked end to end on modelled drives.

mod antic_timing;
mod common;
mod flash;
mod headlines;
mod two_readers;
