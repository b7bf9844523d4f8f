//! Traces of real loop devices, by BPF and by tracefs, held against what was asked of them.

mod common;
mod sources;
