//! PostMark's file operations, independent of file placement.
//!
//! The workload's client turns operations into requests. The runner of the real program needs the
//! operations themselves, to check the program's counts and the amount of I/O.

use super::operation::{PostmarkOperation, PostmarkPhase};
use super::{Layout, Phase, Postmark, PostmarkParams};
use crate::workload::row::Params;

/// The operations of one run, in order.
#[derive(Debug)]
pub struct PostmarkOperations {
    postmark: Postmark,
}

impl PostmarkOperations {
    /// A run with these parameters; the error includes the remedy.
    pub fn new(setup: &PostmarkParams, seed: u32) -> Result<PostmarkOperations, String> {
        super::possible(&Params { postmark: setup.clone(), ..Params::default() })?;
        // One block per file and no metadata: placement does not affect the order.
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
