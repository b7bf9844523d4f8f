//! One file for each scheduler. Each holds its row of the table; `table.rs` lists the rows.

pub(crate) mod none;

pub(crate) mod bfq;
#[cfg(test)]
mod blk_mq_testing;
pub(crate) mod kyber;
pub(crate) mod mq_deadline;
