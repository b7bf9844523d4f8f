//! One file per command.

pub(crate) mod advise;
pub(crate) mod analyze;
pub(crate) mod atlas;
pub(crate) mod bisect;
mod commands;
pub(crate) mod devices;
pub(crate) mod exec;
pub(crate) mod experiment;
pub(crate) mod fit;
#[cfg(feature = "full")]
pub(crate) mod fleet;
#[cfg(not(feature = "full"))]
#[path = "minimal.rs"]
pub(crate) mod fleet;
pub(crate) mod gate;
pub(crate) mod iocost;
pub(crate) mod kernel;
pub(crate) mod list;
mod live;
#[cfg(feature = "full")]
pub(crate) mod package_files;
pub(crate) mod persist;
pub(crate) mod plan;
pub(crate) mod profile;
#[cfg(feature = "full")]
pub(crate) mod record;
pub(crate) mod repeats;
pub(crate) mod report;
pub(crate) mod restore;
pub(crate) mod settings;
pub(crate) mod shard;
pub(crate) mod status;
pub(crate) mod sweep;
pub(crate) mod synthesize;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod watch;
