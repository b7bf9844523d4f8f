//! The values of the parameters of `postmark`, with PostMark's defaults [C].

/// The parameters that only `postmark` has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostmarkParams {
    /// Files at the start; the table has twice as many slots.
    pub number: u32,
    /// Transactions of a run.
    pub transactions: u32,
    /// Bytes of the smallest file; at least 1.
    pub size_min: u32,
    /// Bytes of the largest file.
    pub size_max: u32,
    /// Directories that files are spread over; 0 and 1: all in one.
    pub subdirectories: u32,
    /// Bytes of a read.
    pub read_block: u32,
    /// Bytes of a write.
    pub write_block: u32,
    /// Of ten first halves of a transaction, how many read; the others append. None: neither.
    pub bias_read: Option<u8>,
    /// Of ten second halves of a transaction, how many create; the others delete. None: neither.
    pub bias_create: Option<u8>,
    /// Whether each create, append and delete writes a block of metadata.
    pub metadata: bool,
    /// The seed of every run; None: the trial's.
    pub seed: Option<u32>,
}

impl Default for PostmarkParams {
    /// PostMark's own.
    fn default() -> PostmarkParams {
        PostmarkParams {
            number: 500,
            transactions: 500,
            size_min: 500,
            size_max: 10_000,
            subdirectories: 0,
            read_block: 512,
            write_block: 512,
            bias_read: Some(5),
            bias_create: Some(5),
            metadata: true,
            seed: Some(42),
        }
    }
}

impl PostmarkParams {
    /// Bytes of the largest read and the largest write: whole blocks of the file system, at least
    /// one.
    pub(crate) fn requests(&self, block: u32) -> (u32, u32) {
        let whole = |size: u32| size.div_ceil(block.max(1)).max(1).saturating_mul(block);
        (whole(self.read_block), whole(self.write_block))
    }
}
