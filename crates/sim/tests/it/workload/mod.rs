//! The table of workloads, their properties, and the traces that they replay.

mod fio_iolog;
mod properties;
mod table;
