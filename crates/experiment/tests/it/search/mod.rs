//! Searches as a whole, over simulated experiments.

mod calibration;
mod properties;
