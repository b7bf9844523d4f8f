//! What a PostMark with given parameters does to its files, without saying where they lie.
//!
//! The client of the workload turns each operation into requests; the runner of the real program
//! needs the operations themselves: to compare the two, and to know what the program must have done
//! and how much of it has to reach a device.

use super::operation::{PostmarkOperation, PostmarkPhase};
use super::{Layout, Phase, Postmark, PostmarkParams};
use crate::workload::row::Params;

/// The operations of one run, in order.
#[derive(Debug)]
pub struct PostmarkOperations {
    postmark: Postmark,
}

impl PostmarkOperations {
    /// A run with these parameters.
    ///
    /// # Errors
    /// What cannot be, with what would be right.
    pub fn new(setup: &PostmarkParams, seed: u32) -> Result<PostmarkOperations, String> {
        super::possible(&Params { postmark: setup.clone(), ..Params::default() })?;
        // One block for each file, and no metadata: only the order matters, and where files lie
        // does not touch it.
        let block = setup.size_max;
        let setup = PostmarkParams { metadata: false, ..setup.clone() };
        let region = Layout::least(&setup, block.into()).blocks() * u64::from(block);
        Ok(PostmarkOperations { postmark: Postmark::new(&setup, block, region, seed) })
    }
}

impl Iterator for PostmarkOperations {
    type Item = (PostmarkPhase, PostmarkOperation);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.postmark.done.pop_front() {
                return Some(item);
            }
            if matches!(self.postmark.phase, Phase::Delete(slot) if slot == self.postmark.files.slots())
            {
                return None;
            }
            self.postmark.advance();
            self.postmark.queue.clear();
        }
    }
}
