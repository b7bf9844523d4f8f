//! The laws of devices: over every row with arbitrary commands (`laws.rs`), and whether they bite
//! (`mutants.rs`).

mod laws;
mod mutants;
mod watch;
