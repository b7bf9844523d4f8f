//! Conversions between `machine` and results files.

use experiment::plan;
use experiment::results::InvalidReason;
use machine::Problem;
use machine::session::Share;

use crate::signals::Stop;

pub(super) fn share_of(share: &plan::Share) -> Share {
    let plan::Share { io_weight, io_max, ioprio } = share.clone();
    Share { io_weight, io_max, ioprio, ..Share::default() }
}

pub(super) fn invalid_of(problem: Problem) -> InvalidReason {
    match problem {
        Problem::WriteFailed { attribute, wanted, error } => {
            InvalidReason::WriteFailed { attribute, wanted, error }
        }
        Problem::NotInEffect { attribute, wanted, found } => {
            InvalidReason::NotInEffect { attribute, wanted, found }
        }
        Problem::ChangedMeanwhile { attribute, wanted, found } => {
            InvalidReason::ChangedMeanwhile { attribute, wanted, found }
        }
        Problem::DeviceGone { device } => {
            InvalidReason::DeviceVanished { detail: format!("{device} is gone") }
        }
    }
}

pub(super) fn interrupted(stop: &Stop) -> InvalidReason {
    InvalidReason::Interrupted { by: stop.signal().unwrap_or("a signal").to_owned() }
}
