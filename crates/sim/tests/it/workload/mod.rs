//! The table of workloads, their laws, and the traces that they replay.

mod fio_iolog;
mod laws;
mod table;
