//! Why a trial cannot be simulated.

use crate::workload::ParamError;

use crate::device::DeviceError;

/// Why a trial cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// Parameters and device do not go together.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// There is no such device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The caller's `stop` said so.
    #[error("simulation: interrupted")]
    Interrupted,
}
