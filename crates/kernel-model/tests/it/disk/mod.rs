//! The disk in C against the simulator's, and its description in bytes.

mod blob;
mod differential;
mod properties;
