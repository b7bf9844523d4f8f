//! One file per scheduler, with its row of the table; `table.rs` lists the rows.

// Current Linux.
pub(crate) mod bfq;
#[cfg(test)]
mod blk_mq_testing;
pub(crate) mod kyber;
pub(crate) mod mq_deadline;
pub(crate) mod none;

// Linux before blk-mq.
pub(crate) mod cfq;
pub(crate) mod deadline;
pub(crate) mod linus_24;
pub(crate) mod noop;

// The anticipatory family.
pub(crate) mod antic_95;
pub(crate) mod anticipatory;
pub(crate) mod wpcas;

// Real time.
pub(crate) mod dm_scan;
pub(crate) mod edf;
pub(crate) mod gsr;
mod realtime;
pub(crate) mod rg_scan;
pub(crate) mod scan_edf;

// The literature.
pub(crate) mod asptf;
pub(crate) mod c_look;
pub(crate) mod c_scan;
pub(crate) mod fcfs;
pub(crate) mod fscan;
pub(crate) mod look;
pub(crate) mod scan;
pub(crate) mod sptf;
pub(crate) mod sstf;
pub(crate) mod vscan_r;

// Common parts of flow schedulers.
pub(crate) mod flow_elevator;
pub(crate) mod flow_queues;
pub(crate) mod flow_rule;
#[cfg(test)]
mod flow_testing;

// Reservations.
pub(crate) mod argon;
pub(crate) mod bfq_2010;
pub(crate) mod drr;
pub(crate) mod dvt;
pub(crate) mod hybrid;
pub(crate) mod mbac;
pub(crate) mod pclock;
pub(crate) mod yfq;

// Our own.
pub(crate) mod occupancy;

// Current research.
pub(crate) mod adios;
pub(crate) mod flashfq;
pub(crate) mod gimbal;
pub(crate) mod iocost;
pub(crate) mod k2;
pub(crate) mod mqfq;
pub(crate) mod sfq_d;
