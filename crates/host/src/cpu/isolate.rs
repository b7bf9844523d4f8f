//! Emptying processors of every other task, and putting each task back.

use serde::{Deserialize, Serialize};

use super::CpuList;
use super::guard::Ledger;
use crate::error::Error;
use crate::root::Root;
use crate::settings::Problem;

/// What was moved, as the journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Moved {
    pub(crate) cpus: CpuList,
}

/// Processors that are kept empty; dropped, nothing is put back (that is [`Isolation::end`]'s, or the journal's).
#[derive(Debug)]
pub(super) struct Isolation;

impl Isolation {
    /// Refuses what can be known to be impossible here.
    pub(super) fn admit(_root: &Root, _cpus: &CpuList) -> Result<(), Error> {
        Ok(())
    }

    /// Moves every other task, and goes on moving those that come.
    pub(super) fn begin(_root: &Root, _cpus: &CpuList, _ledger: &Ledger) -> Result<Isolation, Error> {
        Ok(Isolation)
    }

    /// What is against its being in effect.
    pub(super) fn check(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// Figures for the record.
    pub(super) fn counters(&self) -> Vec<(String, f64)> {
        Vec::new()
    }

    /// Puts every task back.
    pub(super) fn end(self) -> Result<(), Error> {
        Ok(())
    }
}

/// The same from the journal; gives what was done.
pub(super) fn put_back(_root: &Root, _moved: &Moved) -> Result<Vec<String>, Error> {
    Ok(Vec::new())
}
