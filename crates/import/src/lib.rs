//! Numbers that somebody else measured, as samples for an analysis: tables, and the outputs of
//! benchmark programs.
//!
//! Pure: text in, samples out. Reading files and choosing directions are the caller's. Each format
//! is one file and one row of [`IMPORTERS`], from which `--from`, `schedlab list formats` and the
//! reference page follow. What a format does not say (order, rounds, repetitions) is not made up:
//! it becomes a caution of the analysis.
//!
//! The unit of repetition is the trial, a start of a program: I/Os, transactions and iterations
//! within one process are put together before they are compared.
#![forbid(unsafe_code)]

mod assemble;
mod capframex;
mod criterion;
mod error;
mod fio;
mod formats;
mod frames;
mod google_benchmark;
mod guess;
mod hyperfine;
mod importer;
mod jmh;
mod json;
mod lkp;
mod mangohud;
mod mmtests;
mod names;
mod pgbench;
mod pgbench_log;
mod pts;
mod rows;
pub mod table;

pub use assemble::{Choice, Import, import};
pub use error::Error;
pub use formats::{IMPORTERS, find, recognise};
pub use guess::{Guess, guess, is_table};
pub use importer::Importer;
pub use rows::File;
