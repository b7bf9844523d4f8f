//! What a long operation talks to.

use crate::progress::Progress;
use crate::signals::Stop;

/// The user of an operation: what asks it to end, and what shows how far it is.
#[derive(Debug, Clone, Copy)]
pub struct Console<'a> {
    /// Whether a signal asks to end.
    pub stop: &'a Stop,
    /// Shows progress and messages.
    pub progress: &'a dyn Progress,
}

impl<'a> Console<'a> {
    /// Both together.
    pub fn new(stop: &'a Stop, progress: &'a dyn Progress) -> Console<'a> {
        Console { stop, progress }
    }
}
