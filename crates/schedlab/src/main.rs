//! The laboratory for Linux schedulers.
//!
//! Commands, the conductor of an experiment, and reports: the only crate that prints or exits. What an exit status means stands
//! in `failure`.

mod arena;
mod bench;
mod cli;
mod command;
mod conduct;
mod failure;
mod foreign;
mod out;
mod progress;
mod report_files;
mod signals;
mod store;
mod trace_file;
mod tune;
mod watch;
mod whole_file;
mod words;
mod work;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use host::Root;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let root = Root::real().with_state_dir(&cli.state_dir);
    match dispatch(&root, &cli.command) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            out::note(format_args!("schedlab: {error:#}"));
            ExitCode::from(failure::status_of(&error))
        }
    }
}

fn dispatch(root: &Root, command: &Command) -> Result<u8> {
    match command {
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
        Command::Bench(args) => command::bench::run(args),
        Command::SettingKeeper(args) => command::settings::keeper::run(root, args),
        Command::BackgroundLoad => arena::host::background::inside(),
        Command::CpuWork => arena::cpu::inside::run(),
        Command::GuestWarden(args) => Ok(guest::warden::watch_over(args.parent, &args.workdir, &args.command)),
        Command::GuestInit(args) => arena::kernel::inside::run(&args.workdir),
        Command::GuestExec(args) => arena::kernel::exec::inside(&args.workdir),
        Command::GuestBench(args) => bench::kernel::run_inside(&args.workdir),
    }
}
