//! The I/O schedulers: the laws over every row, mutants of them, and the worked example of the book.

mod deadlines;
mod laws;
mod memory;
mod mutants;
mod original;
mod write_an_elevator;
