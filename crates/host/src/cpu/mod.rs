//! Processors: how a program is placed on them ([`Placement`]), what of the machine's scheduler is changed for an experiment ([`Guard`]),
//! and what the kernel counted ([`TaskSeen`]).
//!
//! What belongs to the measured program goes with it, and needs no journal. What is changed on the machine (sysctls, features, governors,
//! other tasks' masks) goes through the guard, whose journal entry says before each change what to put back.

mod attributes;
mod guard;
mod isolate;
mod list;
mod mask;
mod placement;
mod realtime;
mod seen;
mod setting;

pub use guard::Guard;
pub(crate) use guard::{Made, undo};
pub use isolate::check_online;
pub use list::CpuList;
pub(crate) use mask::Mask;
pub use placement::{Placement, Policy};
pub(crate) use realtime::{Overseer, bound_realtime};
pub use seen::TaskSeen;
pub use setting::{Attribute, KEYS, Key, Setting};
