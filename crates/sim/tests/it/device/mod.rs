//! Properties of devices under arbitrary commands (`properties.rs`), and their mutation test
//! (`mutants.rs`).

mod mutants;
mod properties;
mod watch;
