//! Whole experiments: simulated ones with known truth, fleets, and analyses of stored results.

mod analysis;
mod arenas;
mod calibration;
mod fleet;
mod search;
