//! The connection of a long operation to its user.

use crate::progress::Progress;
use crate::signals::Stop;

#[derive(Debug, Clone, Copy)]
pub struct Console<'a> {
    pub stop: &'a Stop,
    pub progress: &'a dyn Progress,
}

impl<'a> Console<'a> {
    pub fn new(stop: &'a Stop, progress: &'a dyn Progress) -> Console<'a> {
        Console { stop, progress }
    }
}
