//! The simulator's engine, from outside: what clients see, what is counted, and the properties that
//! hold for every trial.

mod common;
mod counted;
mod lazy;
mod properties;
mod replayed;
mod rows;
mod steps;
mod synthesized;
