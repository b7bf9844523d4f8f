//! The laboratory for Linux schedulers.
//!
//! Commands, the conductor of an experiment, and reports: the only crate that prints or exits. What an exit status means stands
//! in `failure`.
#![forbid(unsafe_code)]

mod cli;
mod command;
#[cfg(test)]
mod docs;
mod failure;
mod out;
mod progress;
mod report_files;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use host::Root;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    if let Some(status) = lab::inside::dispatch().or_else(command::settings::keeper::dispatch) {
        return status;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return out::usage(&error),
    };
    let root = Root::real().with_state_dir(&cli.state_dir);
    match dispatch(&root, &cli.command) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            out::error(&error);
            ExitCode::from(failure::status_of(&error))
        }
    }
}

fn dispatch(root: &Root, command: &Command) -> Result<u8> {
    match command {
        #[cfg(feature = "packaging")]
        Command::PackageFiles(args) => command::package_files::run(args),
        Command::Devices(args) => command::devices::run(root, args),
        Command::List(args) => command::list::run(root, args),
        Command::Compare(args) => command::experiment::compare(root, args),
        Command::Run(args) => command::experiment::run(root, args),
        Command::Sweep(args) => command::sweep::sweep(root, args),
        Command::Tune(args) => command::tune::tune(root, args),
        Command::Show(args) => command::settings::show(root, args),
        Command::Set(args) => command::settings::set(root, args),
        Command::Keep(args) => command::keep::keep(root, args),
        Command::Forget(args) => command::keep::forget(root, args),
        Command::Watch(args) => command::watch::watch(root, args),
        Command::History(args) => command::watch::history(root, args),
        Command::Trace(args) => command::trace::run(args),
        Command::Study(args) => command::study::study(args),
        Command::Report(args) => command::study::report(args),
        Command::Restore(args) => command::restore::run(root, args),
        Command::Kernel(args) => command::kernel::run(args),
        Command::Bench(args) => Err(command::bench_moved(args)),
    }
}
