//! The built binary, end to end, on real loop devices and in the simulator.
//!
//! One test program rather than one a file: it links once, and a helper that no file uses is seen.

mod common;
mod compare;
mod cpu_arena;
mod cpu_isolation;
mod cpu_settings;
mod cpu_works;
mod faults;
mod figures;
mod files;
mod fit;
mod gate;
mod iocost;
mod keep;
mod kernel;
mod kernel_arena;
mod kernel_bisect;
mod kernel_cpus;
mod kernel_flows;
mod occasions;
mod pages;
mod planning;
mod programs;
mod programs_command;
mod programs_fio;
mod programs_pgbench;
mod published;
mod record;
mod refusals;
mod replay;
mod schema;
mod settings;
mod simulator;
mod stopping;
mod sweep;
mod tables;
mod tune;
mod usage;
mod watch;
mod weights;
