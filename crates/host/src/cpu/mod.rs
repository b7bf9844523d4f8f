//! Processors: how a program is placed on them ([`Placement`]), what of the machine's scheduler is changed for an experiment ([`Guard`]),
//! and what the kernel counted ([`TaskSeen`]).
//!
//! What belongs to the measured program goes with it, and needs no journal. What is changed on the machine (sysctls, features, governors,
//! other tasks' masks) goes through the guard, whose journal entry says before each change what to put back.

mod attributes;
mod facts;
mod guard;
mod isolate;
mod list;
mod mask;
mod overseer;
mod placement;
mod realtime;
mod sched_ext;
#[cfg(test)]
mod sched_ext_tests;
mod seen;
mod setting;

#[cfg(test)]
pub(crate) use attributes::fake_machine;
pub(crate) use facts::facts;
pub use facts::{Here, sched_ext_here};
pub use guard::Guard;
pub(crate) use guard::{Made, undo};
pub use isolate::{check_online, sees_all_tasks};
pub use list::CpuList;
pub(crate) use mask::Mask;
pub(crate) use overseer::{Overseer, bound_realtime};
pub use placement::{Placement, Policy, own_place};
pub use seen::TaskSeen;
pub use setting::{Attribute, KEYS, Key, Setting};
