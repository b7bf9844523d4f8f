//! One file a command.

pub(crate) mod bench;
pub(crate) mod devices;
pub(crate) mod exec;
pub(crate) mod experiment;
pub(crate) mod keep;
pub(crate) mod kernel;
pub(crate) mod list;
pub(crate) mod plan;
pub(crate) mod restore;
pub(crate) mod settings;
pub(crate) mod study;
pub(crate) mod sweep;
pub(crate) mod trace;
pub(crate) mod tune;
pub(crate) mod watch;
