//! The parameter values of `postmark`, with PostMark's defaults [C].

/// The parameters of `postmark`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostmarkParams {
    /// Initial files; the table has twice as many slots.
    pub number: u32,
    /// Transactions per run.
    pub transactions: u32,
    /// Minimum file size in bytes; at least 1.
    pub size_min: u32,
    /// Maximum file size in bytes.
    pub size_max: u32,
    /// Number of directories; 0 and 1: a single one.
    pub subdirectories: u32,
    /// Bytes of a read.
    pub read_block: u32,
    /// Bytes of a write.
    pub write_block: u32,
    /// Reads among ten first halves of transactions, the others append; `None`: neither.
    pub bias_read: Option<u8>,
    /// Creations among ten second halves of transactions, the others delete; `None`: neither.
    pub bias_create: Option<u8>,
    /// Whether create, append and delete write a metadata block.
    pub metadata: bool,
    /// The seed of every run; `None`: the trial's.
    pub seed: Option<u32>,
}

impl Default for PostmarkParams {
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
    /// Returns the read and the write block in bytes: whole file system blocks, at least one.
    pub(crate) fn requests(&self, block: u32) -> (u32, u32) {
        let whole = |size: u32| size.div_ceil(block.max(1)).max(1).saturating_mul(block);
        (whole(self.read_block), whole(self.write_block))
    }
}
