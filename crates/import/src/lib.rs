//! External measurements as samples for an analysis: tables and the output of benchmark programs.
//!
//! Pure: text in, samples out. Callers read files and choose directions. Each format is one file
//! and one row of [`IMPORTERS`], from which `--from`, `schedlab list formats` and the reference
//! page are generated. Information missing in a format (order, rounds, repetitions) becomes a
//! caution.
//!
//! A trial is one start of a program; I/Os, transactions and iterations within a process are
//! aggregated before comparing.
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
