//! Traces of real loop devices, compared with the issued I/O.

mod common;
mod sources;
