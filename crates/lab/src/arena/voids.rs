//! From the words of `machine` to those of a record, and back.

use experiment::plan;
use experiment::record::VoidReason;
use machine::Problem;
use machine::session::Share;

use crate::signals::Stop;

/// A plan's share of the device as `machine` takes it.
pub(super) fn share_of(share: &plan::Share) -> Share {
    let plan::Share { io_weight, io_max, ioprio } = share.clone();
    Share { io_weight, io_max, ioprio, ..Share::default() }
}

/// A problem with a setting as a reason against a trial.
pub(super) fn void_of(problem: Problem) -> VoidReason {
    match problem {
        Problem::WriteFailed { attribute, wanted, error } => {
            VoidReason::WriteFailed { attribute, wanted, error }
        }
        Problem::NotInEffect { attribute, wanted, found } => {
            VoidReason::NotInEffect { attribute, wanted, found }
        }
        Problem::ChangedMeanwhile { attribute, wanted, found } => {
            VoidReason::ChangedMeanwhile { attribute, wanted, found }
        }
        Problem::DeviceGone { device } => {
            VoidReason::DeviceVanished { detail: format!("{device} is gone") }
        }
    }
}

/// The signal that cut a trial short.
pub(super) fn interrupted(stop: &Stop) -> VoidReason {
    VoidReason::Interrupted { by: stop.signal().unwrap_or("a signal").to_owned() }
}
