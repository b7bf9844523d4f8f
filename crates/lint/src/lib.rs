//! Checks of the workspace that the compiler cannot make, run by `make lint`.
//!
//! | check | what fails |
//! |---|---|
//! | [`cycles`] | files of one crate that use each other in a circle |
//! | [`layers`] | a crate that depends on one above it, a pure crate that reads the clock, a file that does not say what it is |
//! | [`words`] | a word of the list in `words/table.rs`, in a name, a comment, a message, a help text or a page |
//! | [`printing`] | printing outside of the one file that escapes what it prints |
//! | [`starting`] | a program that is started outside of the one module that gives it its environment |
//! | [`unsafe_code`] | `unsafe` outside of a crate's module `sys` |
//! | [`errors`] | an error that does not begin with its subject |
//!
//! Each returns [`Finding`]s and leaves printing to the binary, so that the tests can plant a fault and count.
#![forbid(unsafe_code)]

pub mod cycles;
pub mod errors;
pub mod layers;
pub mod printing;
pub mod starting;
pub mod unsafe_code;
pub mod words;

mod finding;
mod lexer;
mod workspace;

pub use finding::Finding;
pub use workspace::{Krate, Workspace};
