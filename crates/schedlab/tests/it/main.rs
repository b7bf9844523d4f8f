//! The built binary: what it does end to end, and what it does under attack.
//!
//! One test program rather than several: it links once, and a helper that no file uses is seen.

mod attacks;
mod common;
mod e2e;
mod made_fleet;
