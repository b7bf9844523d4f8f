//! One experiment, from plan to results file, in each of the arenas, and everything built on
//! experiments, such as search and watch.
//!
//! Architecture invariant: this crate neither prints nor exits. Progress goes to the caller's
//! [`progress::Progress`], arguments are plain structs, and the caller chooses the exit status:
//! [`failure::is_usage`] distinguishes wrong usage from failure.
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
