//! Errors of a simulated trial.

use crate::workload::ParamError;

use crate::device::DeviceError;

/// Why a trial cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The parameters do not fit the device.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// The device could not be made.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// `stop` returned true.
    #[error("simulation: interrupted")]
    Interrupted,
}
