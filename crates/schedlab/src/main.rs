//! The laboratory for Linux schedulers: the only crate that prints or exits. `failure` lists the
//! exit statuses.
#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "full"), allow(dead_code, reason = "the full build uses all of it"))]

mod cli;
mod command;
#[cfg(test)]
mod docs;
mod failure;
mod monitor;
mod out;
mod progress;
mod report_files;
mod rights;
mod version;

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;
use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _};
use machine::Root;

use crate::cli::{
    Cli, Command, FleetArgs, FleetCommand, ShardCommand, TraceArgs, TraceCommand, WatchArgs,
    WatchCommand,
};

fn main() -> ExitCode {
    version::register();
    // First of all, since a hidden role writes files, too.
    if let Err(error) = lab::signals::survive_file_size_limit() {
        out::error(&error);
        return ExitCode::from(failure::status_of(&error));
    }
    if let Some(status) = lab::inside::dispatch().or_else(command::settings::keeper::dispatch) {
        return status;
    }
    if let Some(printed) = version::print_json() {
        return printed.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
    }
    let mut cli = match parse(&std::env::args_os().collect::<Vec<_>>()) {
        Ok(cli) => cli,
        Err(error) => return out::usage(&error),
    };
    let root = Root::real().with_state_dir(&cli.state_dir);
    let done = complete_arena(&mut cli.command)
        .and_then(|()| give_up_rights(&cli.command))
        .and_then(|()| dispatch(&root, &cli.command));
    match done {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            out::error(&error);
            ExitCode::from(failure::status_of(&error))
        }
    }
}

/// Parses the command line. Only what is printed is laid out: help, or the usage in an error. The
/// latter shows only the options that were given: clap would show those of environment variables,
/// too.
fn parse(words: &[OsString]) -> Result<Cli, clap::Error> {
    let read = |command: clap::Command| {
        let found = command.try_get_matches_from(words)?;
        Cli::from_arg_matches(&found)
    };
    read(Cli::command()).map_err(|error| {
        let printed = match error.kind() {
            ErrorKind::DisplayVersion => return error,
            ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                cli::with_groups(Cli::command())
            }
            // For clap a variable is an argument: it would not show the help if one is set.
            ErrorKind::MissingSubcommand => cli::with_groups(cli::without_environment()),
            _ => cli::without_environment(),
        };
        let is_missing = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
        match read(printed) {
            Err(printed) if [error.kind(), is_missing].contains(&printed.kind()) => printed,
            _ => error,
        }
    })
}

fn complete_arena(command: &mut Command) -> Result<()> {
    match command {
        Command::Compare(args) => args.design.complete_arena(),
        Command::Sweep(args) => args.design.complete_arena(),
        _ => Ok(()),
    }
}

/// Commands that only compute. Simulated experiments do so when their arena is known; commands that
/// start kernels confine the kernels.
fn give_up_rights(command: &Command) -> Result<()> {
    let result = match command {
        Command::Devices(_) | Command::List(_) | Command::Show(_) | Command::Status(_) => None,
        Command::Analyze(args) => args.out.as_deref(),
        Command::Report(args) => Some(args.figures.as_deref().unwrap_or(&args.dir)),
        Command::Trace(TraceArgs { what }) => match what {
            TraceCommand::Convert(args) => args.to.as_deref(),
            TraceCommand::Synthesize(args) => args.out.as_deref(),
            TraceCommand::Profile(args) if args.file().is_some() => args.html.as_deref(),
            TraceCommand::Profile(_) | TraceCommand::Record(_) => return Ok(()),
        },
        Command::Watch(WatchArgs { what: WatchCommand::History(args) }) => args.out.as_deref(),
        Command::Fleet(FleetArgs { what: FleetCommand::Contribute(args) }) => args.out.as_deref(),
        _ => return Ok(()),
    };
    rights::give_up(&[], result)
}

fn dispatch(root: &Root, command: &Command) -> Result<u8> {
    match command {
        Command::Devices(args) => command::devices::run(root, args),
        Command::List(args) => command::list::run(root, args),
        Command::Compare(args) => match args.repeats.several()? {
            Some(several) => command::repeats::compare(root, args, &several),
            None => command::experiment::compare(root, args),
        },
        Command::Run(args) => match args.repeats.several()? {
            Some(several) => command::repeats::run(root, args, &several),
            None => command::experiment::run_plan(root, args),
        },
        Command::Gate(args) => command::gate::gate(root, args),
        Command::Shard(args) => match &args.what {
            ShardCommand::Run(args) => command::shard::measure(args),
            ShardCommand::Merge(args) => command::shard::join(root, args),
        },
        Command::Atlas(args) => command::atlas::atlas(args),
        Command::Sweep(args) => command::sweep::sweep(root, args),
        Command::Tune(args) => command::tune::tune(root, args),
        Command::Show(args) => command::settings::show(root, args),
        Command::Set(args) => command::settings::set(root, args),
        Command::Persist(args) => command::persist::persist(root, args),
        Command::Unpersist(args) => command::persist::unpersist(root, args),
        Command::Iocost(args) => command::iocost::run(root, args),
        Command::Advise(args) => command::advise::run(root, args),
        Command::Fit(args) => command::fit::run(root, args),
        Command::Watch(args) => command::watch::watch(root, args),
        Command::Trace(args) => match &args.what {
            TraceCommand::Record(args) => record(root, args),
            TraceCommand::Profile(args) => command::profile::run(root, args),
            TraceCommand::Convert(args) => command::trace::run(args),
            TraceCommand::Synthesize(args) => command::synthesize::run(args),
        },
        Command::Status(args) => command::status::run(args),
        Command::Analyze(args) => command::analyze::analyze(root, args),
        Command::Report(args) => command::report::report(args),
        Command::Restore(args) => command::restore::run(root, args),
        Command::Bisect(args) => command::bisect::run(root, args),
        Command::Kernel(args) => command::kernel::run(args),
        Command::Fleet(args) => fleet(root, args),
        Command::PackageFiles(args) => package_files(args),
    }
}

#[cfg(feature = "full")]
use command::{fleet::run as fleet, package_files::run as package_files, record::run as record};

#[cfg(not(feature = "full"))]
mod minimal {
    //! Commands missing from a minimal build.

    use anyhow::Result;
    use machine::Root;

    use crate::cli::{FleetArgs, PackageFilesArgs, RecordArgs};
    use crate::failure;

    fn absent(name: &str) -> Result<u8> {
        Err(failure::usage(text::absent(name, "it", "")))
    }

    pub(super) fn fleet(_root: &Root, _args: &FleetArgs) -> Result<u8> {
        absent("fleet")
    }

    pub(super) fn record(_root: &Root, _args: &RecordArgs) -> Result<u8> {
        absent("trace record")
    }

    pub(super) fn package_files(_args: &PackageFilesArgs) -> Result<u8> {
        absent("package-files")
    }
}
#[cfg(not(feature = "full"))]
use minimal::{fleet, package_files, record};
