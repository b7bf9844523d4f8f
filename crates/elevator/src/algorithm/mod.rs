//! One file for each scheduler. The table in `table.rs` names them all.

pub(crate) mod none;
