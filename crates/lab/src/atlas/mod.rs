//! The atlas: every scheduler on the standard workloads and on many devices, each cell an
//! experiment.
//!
//! **Problem.** A plan has one device, and a map of who wins where has many; it takes long, and is
//! cut off, spread over machines and drawn again. **Approach.** A directory of ordinary
//! experiments, one for each arena, device and workload, with a fixed number of rounds. Nothing is
//! kept beside them but the design: what there is to do follows from it and from the results files,
//! so that repeating the command continues, pieces may be measured anywhere, and joining them is
//! copying results files. [`experiment::atlas`] has the statistics.
//!
//! **Properties.** In virtual time a results file is a function of its plan, so that pages and data
//! are the same bytes however often the work was cut off and wherever its pieces were measured. No
//! name of a file is taken from the directory or from a results file: what is read follows from the
//! design, whose every name is checked against the tables.

mod across;
mod design;
mod matched;
mod measure;
mod names;
mod workloads;

pub use design::{Choice, Design, Planned, Plans, check_number};
pub use measure::{Looked, adopt, look, measure};

/// The design of an atlas, in its directory.
pub const DESIGN: &str = "atlas.toml";

/// The directory of the cells, in that of the atlas.
pub const CELLS: &str = "cells";
