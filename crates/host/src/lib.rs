//! The machine: its devices, their settings and the journal of them.
//!
//! The only crate that writes to the machine. Every path goes through a [`Root`], every change of a setting through a [`Guard`],
//! and every workload that writes through a [`Claim`].
#![deny(unsafe_op_in_unsafe_fn)]

pub mod consent;
pub mod device;
pub mod environment;
pub mod error;
pub mod journal;
pub mod kept;
pub mod loopdev;
pub mod modules;
pub mod placement;
pub mod probe;
pub mod rivals;
mod root;
pub mod session;
pub mod settings;
pub mod systemd;

pub use consent::{Claim, Obstacle, check_writable, obstacles};
pub use device::Device;
pub use error::Error;
pub use journal::key;
pub use loopdev::LoopDevice;
pub use root::Root;
pub use session::Session;
pub use settings::{Change, Guard, Outcome, Problem, Restored, Setting, Watch, restore_all};
