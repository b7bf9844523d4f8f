//! One file a command.

pub(crate) mod devices;
pub(crate) mod experiment;
pub(crate) mod list;
pub(crate) mod restore;
pub(crate) mod study;
