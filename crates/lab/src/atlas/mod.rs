//! The atlas: every scheduler on the standard workloads and many devices.
//!
//! An atlas is a directory of ordinary experiments, one per arena, device and workload, with a
//! fixed number of rounds. The design and the results files determine the remaining work: repeating
//! the command continues, cells may be measured anywhere, and merging copies results files. Virtual
//! results depend only on the plan, so pages and data are reproducible byte for byte. File names
//! come only from the design, whose names are checked against the tables. Statistics:
//! [`experiment::atlas`].

mod across;
mod design;
mod matched;
mod measure;
mod names;
mod workloads;

pub use design::{Choice, Design, Planned, Plans, check_number};
pub use measure::{Looked, adopt, look, measure};

/// The design file in an atlas's directory.
pub const DESIGN: &str = "atlas.toml";

/// The directory of the cells.
pub const CELLS: &str = "cells";
