//! A fleet: results of many machines in one place, and their analysis.
//!
//! A result is one results file: facts of machine and drive, and every metric of every trial. It is
//! stored as a Parquet file named after its content's hash, in a directory or bucket, so writers
//! need no lock and duplicates are one file. Nothing else is stored. Reasons:
//! docs/decisions/0028-fleet.md.
#![forbid(unsafe_code)]

#[cfg(feature = "s3")]
mod bucket;
mod contribution;
mod directory;
mod entry;
mod file;
mod known;
mod question;
mod result;
mod select;
mod sql;
mod store;
mod summary;
#[cfg(test)]
mod testing;

pub use contribution::{Contribution, line_of};
pub use entry::{Entry, Listing, Pushed};
pub use known::{KNOWN, Known, KnownAnswer};
pub use question::{FleetAnalysis, GroupAnalysis, Key, QuestionAnalysis, Sides, analyze, compare};
pub use result::{
    Header, Machine, MachineResult, Series, Value, compact_variant, compact_workload, machine_name,
};
pub use select::Selection;
pub use sql::view;
pub use store::{Location, Store};
pub use summary::{Damaged, Loaded, Summary, load};
