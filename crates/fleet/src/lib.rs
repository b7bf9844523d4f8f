//! Results of many machines in one place: what is stored, where, and what follows from it.
//!
//! A result is one results file: the facts of its machine and drive, and the value of every metric
//! of every trial. It is one file of Parquet in a directory or bucket, named after the hash of its
//! content, so that many writers need no lock and the same result twice is one file. Nothing else
//! is kept beside the files. docs/decisions/0028-fleet.md has the reasons.
#![forbid(unsafe_code)]

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
    Header, Machine, MachineResult, Series, Value, machine_name, variant_word, workload_word,
};
pub use select::Selection;
pub use sql::view;
pub use store::{Location, Store};
pub use summary::{Damaged, Loaded, Summary, load};
