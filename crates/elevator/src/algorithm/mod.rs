//! One file for each scheduler. Each holds its row of the table; `table.rs` lists the rows.

pub(crate) mod none;

// Linux before blk-mq.
pub(crate) mod cfq;
pub(crate) mod deadline;
pub(crate) mod linus_24;
pub(crate) mod noop;
