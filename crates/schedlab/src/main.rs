//! The laboratory for Linux schedulers.
#[expect(dead_code, reason = "the commands that call the renderers arrive with the command line")]
mod report;

fn main() {}
