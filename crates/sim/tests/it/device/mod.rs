//! The properties of devices: over every row with arbitrary commands (`properties.rs`), and whether
//! they bite (`mutants.rs`).

mod mutants;
mod properties;
mod watch;
