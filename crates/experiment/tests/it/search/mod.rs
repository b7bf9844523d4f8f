//! Whole searches over simulated experiments.

mod calibration;
mod properties;
