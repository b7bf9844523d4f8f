//! The built binary, end to end and under attack.
//!
//! One test program: it links once, and the compiler finds unused helpers.

mod attacks;
mod common;
mod e2e;
mod made_fleet;
