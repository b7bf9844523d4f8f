//! The table of workloads, their properties, and replayed traces.

mod fio_iolog;
mod properties;
mod table;
