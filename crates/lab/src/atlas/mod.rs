//! The atlas: every scheduler on the standard workloads and many devices.
//!
//! An atlas is a directory of ordinary experiments, one per arena, device and workload, with a
//! fixed number of rounds. The remaining work follows from the design and the results files, so an
//! atlas can be resumed, measured on several machines, and merged by copying. File names come only
//! from the design, whose names are checked against the tables. Statistics: [`experiment::atlas`].

mod across;
mod design;
mod matched;
mod measure;
mod names;
mod workloads;

pub use design::{Choice, Design, Planned, Plans, check_number};
pub use measure::{Looked, adopt, look, measure};

pub const DESIGN: &str = "atlas.toml";

pub const CELLS: &str = "cells";
