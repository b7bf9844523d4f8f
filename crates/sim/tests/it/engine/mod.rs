//! The engine from outside: the clients' view, counters, and properties of every trial.

mod common;
mod counted;
mod lazy;
mod properties;
mod replayed;
mod rows;
mod steps;
mod synthesized;
