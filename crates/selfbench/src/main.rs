//! Benchmarks of schedlab itself: load engine, statistics, search and arenas against other tools
//! and their guarantees. A developer program, not installed.
#![forbid(unsafe_code)]

mod analysis;
mod arenas;
mod cli;
mod conformance;
mod cpu;
#[cfg(test)]
mod docs;
mod drives;
mod engine;
mod fio;
mod fleet;
mod kernel;
mod linpack;
mod oracle;
mod out;
mod profile;
mod progress;
mod record;
mod run;
mod tune;

use std::process::ExitCode;

use clap::Parser;
use lab::{failure, inside};

fn main() -> ExitCode {
    if let Some(status) = inside::dispatch() {
        return status;
    }
    if std::env::args().nth(1).is_some_and(|role| role == kernel::ROLE) {
        return inside::status(inside::in_guest(kernel::run_inside));
    }
    match run::run(&cli::Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("selfbench: {error:#}");
            ExitCode::from(if failure::is_usage(&error) { 2 } else { 1 })
        }
    }
}
