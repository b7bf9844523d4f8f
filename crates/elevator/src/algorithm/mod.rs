//! One file for each scheduler. Each holds its row of the table; `table.rs` lists the rows.

// The anticipatory family.
pub(crate) mod antic_95;
pub(crate) mod anticipatory;
pub(crate) mod wpcas;

pub(crate) mod none;
