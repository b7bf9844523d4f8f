//! Modelled devices. The queue submits commands; the model completes each at the time it computes.

mod description;
mod error;
#[cfg(test)]
mod figures;
mod flash;
mod hdd;
mod make;
mod measured;
mod model;
mod null;
#[cfg(test)]
mod refusals;
mod table;
mod tables;

pub use error::{DeviceError, Location};
pub use make::{device, device_from_toml, read_changes};
pub(crate) use model::MAX_SECTORS;
pub use model::{Command, DeviceModel, DeviceStats};
pub use table::{DEVICES, DeviceKind};
