//! The laboratory for Linux schedulers.
fn main() {}
