//! One file for each scheduler. Each holds its row of the table; `table.rs` lists the rows.

pub(crate) mod none;
