//! Experiments as a whole: simulated ones whose truth is known, fleets, and analyses of stored
//! results.

mod analysis;
mod arenas;
mod calibration;
mod fleet;
mod search;
