//! Flags of `schedlab compare --commands`: programs as variants, without a device.

use clap::{Arg, Args, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct CommandsArgs {
    /// Compare these command lines, each run by /bin/sh once per round in random order; the first
    /// is the baseline. Needs neither root nor device.
    #[arg(
        long,
        num_args = 2..,
        value_name = "COMMAND",
        conflicts_with_all = [
            "arena", "device", "schedulers", "workload", "clients", "fs", "kernel", "destroy_data",
            "trace",
        ]
    )]
    pub(crate) commands: Vec<String>,
    /// Name the commands in reports [default: the command lines].
    #[arg(long, value_delimiter = ',', value_name = "NAME,…", requires = "commands")]
    pub(crate) names: Vec<String>,
    /// Decide between the commands by this [default: time].
    #[arg(long, value_name = "METRIC", requires = "commands")]
    pub(crate) metric: Option<CommandMetric>,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub(crate) enum CommandMetric {
    /// Wall-clock time, from the start of the command to its end.
    #[default]
    Time,
    /// User and system time of the command and of what it waits for; less noise on a busy machine.
    Cpu,
    /// Peak resident memory; differences below what schedlab itself holds cannot be seen.
    Memory,
}

impl CommandMetric {
    pub(crate) fn name(self) -> &'static str {
        match self {
            CommandMetric::Time => "wall_s",
            CommandMetric::Cpu => "cpu_s",
            CommandMetric::Memory => "memory_mib",
        }
    }
}

/// Makes --device optional with --commands.
pub(super) fn device(arg: Arg) -> Arg {
    arg.required_unless_present_any(["arena", "commands"])
}
