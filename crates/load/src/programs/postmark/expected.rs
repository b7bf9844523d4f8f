//! PostMark's expected work, from our own generator, which issues the same operations (a test
//! traces both).
//!
//! It shows whether the program did the requested work, and how many bytes must reach the device if
//! the page cache is dropped between phases.

use std::collections::BTreeMap;

use sim::workload::{PostmarkOperation, PostmarkOperations, PostmarkParams, PostmarkPhase};

use crate::programs::kind::Moved;

/// Allocation unit of file systems.
const BLOCK: u64 = 4096;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Expected {
    pub(super) created: u64,
    pub(super) read: u64,
    pub(super) appended: u64,
    pub(super) deleted: u64,
    pub(super) read_bytes: u64,
    pub(super) written_bytes: u64,
    pub(super) transaction_read_bytes: u64,
    pub(super) transaction_written_bytes: u64,
    /// Lower bound, with a flush after each phase and a cold cache after the first.
    pub(super) flushed: Moved,
    /// Of all files, in whole blocks.
    pub(super) peak_bytes: u64,
    /// Without files, the transactions stopped early.
    pub(super) breaks_off: bool,
}

#[derive(Debug, Default)]
struct Live {
    bytes: u64,
    /// Bytes written since the last flush.
    dirty: u64,
    /// In memory since the cache was dropped.
    cached: bool,
}

impl Expected {
    pub(super) fn of(setup: &PostmarkParams, seed: u32) -> Result<Expected, String> {
        let mut expected = Expected::default();
        let mut files: BTreeMap<u32, Live> = BTreeMap::new();
        let mut phase = PostmarkPhase::Creation;
        let mut space = 0;
        for (now, operation) in PostmarkOperations::new(setup, seed)? {
            if now != phase {
                expected.flush(&mut files, phase);
                phase = now;
            }
            expected.count(&mut files, phase, operation, &mut space);
            expected.breaks_off |= phase == PostmarkPhase::Transactions && files.is_empty();
        }
        if phase == PostmarkPhase::Creation {
            expected.flush(&mut files, phase);
        }
        Ok(expected)
    }

    fn count(
        &mut self,
        files: &mut BTreeMap<u32, Live>,
        phase: PostmarkPhase,
        operation: PostmarkOperation,
        space: &mut u64,
    ) {
        let blocks = |bytes: u64| bytes.next_multiple_of(BLOCK);
        let in_transaction = u64::from(phase == PostmarkPhase::Transactions);
        match operation {
            PostmarkOperation::Create { file, bytes, .. } => {
                let bytes = u64::from(bytes);
                files.insert(file, Live { bytes, dirty: bytes, cached: true });
                *space += blocks(bytes);
                self.created += 1;
                self.written_bytes += bytes;
                self.transaction_written_bytes += in_transaction * bytes;
            }
            PostmarkOperation::Read { file, bytes } => {
                let live = files.get_mut(&file).expect("only what is there is read");
                let bytes = u64::from(bytes);
                if !std::mem::replace(&mut live.cached, true) {
                    self.flushed.read_bytes += live.bytes - live.dirty;
                }
                self.read += 1;
                self.read_bytes += bytes;
                self.transaction_read_bytes += in_transaction * bytes;
            }
            PostmarkOperation::Append { file, bytes } => {
                let live = files.get_mut(&file).expect("only what is there grows");
                let bytes = u64::from(bytes);
                *space += blocks(live.bytes + bytes) - blocks(live.bytes);
                live.bytes += bytes;
                live.dirty += bytes;
                self.appended += 1;
                self.written_bytes += bytes;
                self.transaction_written_bytes += in_transaction * bytes;
            }
            PostmarkOperation::Delete { file } => {
                let live = files.remove(&file).expect("only what is there is deleted");
                *space -= blocks(live.bytes);
                self.deleted += 1;
            }
        }
        self.peak_bytes = self.peak_bytes.max(*space);
    }

    /// Drops the cache too after the first phase.
    fn flush(&mut self, files: &mut BTreeMap<u32, Live>, over: PostmarkPhase) {
        for live in files.values_mut() {
            self.flushed.written_bytes += std::mem::take(&mut live.dirty);
            live.cached &= over != PostmarkPhase::Creation;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_with_the_defaults_is_the_one_that_the_program_reports() {
        let expected = Expected::of(&PostmarkParams::default(), 42).unwrap();
        let counts = (expected.created, expected.read, expected.appended, expected.deleted);
        assert_eq!(counts, (764, 243, 257, 764));
        assert!(!expected.breaks_off && expected.flushed.read_bytes < expected.read_bytes);
    }

    #[test]
    fn only_first_reads_and_what_is_still_there_at_the_end_of_a_phase_reach_the_device() {
        let reading = PostmarkParams {
            number: 20,
            transactions: 400,
            bias_read: Some(10),
            bias_create: None,
            ..Default::default()
        };
        let expected = Expected::of(&reading, 42).unwrap();
        let files = expected.written_bytes;
        assert_eq!(
            expected.flushed,
            Moved { read_bytes: files, written_bytes: files, exact: false },
            "each file was read"
        );
        assert!(expected.read_bytes > 10 * files && expected.peak_bytes >= files);
        let appending = PostmarkParams { bias_read: Some(0), ..reading.clone() };
        let expected = Expected::of(&appending, 42).unwrap();
        assert_eq!(
            expected.flushed,
            Moved { read_bytes: 0, written_bytes: expected.written_bytes, exact: false }
        );
        assert_eq!(expected.written_bytes, files + expected.transaction_written_bytes);
        let mixed = PostmarkParams { bias_read: Some(5), ..reading.clone() };
        let expected = Expected::of(&mixed, 42).unwrap();
        assert_eq!(
            expected.flushed.read_bytes, files,
            "what was appended since the drop is in memory"
        );
        let churning = PostmarkParams { bias_read: None, bias_create: Some(5), ..reading.clone() };
        let expected = Expected::of(&churning, 42).unwrap();
        let flushed = expected.flushed.written_bytes;
        assert!(
            files < flushed && flushed < expected.written_bytes,
            "what is deleted at once is never written out"
        );
        let emptying = PostmarkParams { bias_read: None, bias_create: Some(0), ..reading };
        assert!(Expected::of(&emptying, 42).unwrap().breaks_off);
    }
}
