//! The I/O schedulers: properties over every row, mutants, and the book's example.

mod deadlines;
mod memory;
mod mutants;
mod original;
mod properties;
#[path = "../../examples/shortest_first.rs"]
#[allow(dead_code, reason = "main is the example's own")]
mod shortest_first;
mod tags;
mod write_an_elevator;
