//! The simulator's engine, from outside: what clients see, what is counted, and the laws that hold
//! for every trial.

mod common;
mod counted;
mod laws;
mod lazy;
mod replayed;
mod rows;
mod steps;
mod synthesized;
