//! One experiment: plan → results file, in each of the arenas; and what is built from experiments,
//! search and watch.
//!
//! Architecture invariant: this crate neither prints nor exits. Progress goes to a
//! [`progress::Progress`] of the caller's, the arguments are plain structs, and the exit status of
//! an error is the caller's choice: wrong usage differs from failure by [`failure::is_usage`].
#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "full"), allow(dead_code, reason = "the full build uses all of it"))]

pub mod advise;
pub mod arena;
pub mod atlas;
pub mod bisect;
pub mod build;
mod conduct;
pub mod console;
pub mod controllers;
pub mod driver;
mod estimate;
pub mod failure;
pub mod feasibility;
pub mod fit;
pub mod gate;
pub mod inside;
pub mod iocost;
pub mod length;
mod log_file;
pub mod output;
pub mod pilot;
pub mod progress;
pub mod repeats;
pub mod resolve;
mod role;
pub mod run;
pub mod session;
pub mod shards;
pub mod signals;
pub mod sources;
pub mod standing;
pub mod store;
pub mod sweep;
pub mod synthesize;
pub mod trace_file;
pub mod traces;
pub mod tune;
pub mod watch;
pub mod workloads;
