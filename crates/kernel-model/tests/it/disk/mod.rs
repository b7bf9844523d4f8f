//! The C disk compared with the simulator's, and its tables.

mod blob;
mod differential;
mod properties;
