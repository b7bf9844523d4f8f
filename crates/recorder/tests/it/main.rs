//! Traces of real loop devices by BPF and by tracefs, compared with the issued I/O.

mod common;
mod sources;
