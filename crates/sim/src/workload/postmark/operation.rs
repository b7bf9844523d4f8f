//! One operation of PostMark on a file.

/// A phase of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PostmarkPhase {
    /// Creates the first `number` files.
    Creation,
    /// The transactions.
    Transactions,
    /// Deletes the remaining files.
    Deletion,
}

/// Files are numbered from 1 in order of creation, as PostMark names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostmarkOperation {
    /// Creates a file.
    Create {
        /// Its number.
        file: u32,
        /// Its directory, from 0.
        directory: u32,
        /// Its length.
        bytes: u32,
    },
    /// Reads a whole file.
    Read {
        /// Its number.
        file: u32,
        /// Its length.
        bytes: u32,
    },
    /// Extends a file.
    Append {
        /// Its number.
        file: u32,
        /// Additional bytes.
        bytes: u32,
    },
    /// Deletes a file.
    Delete {
        /// Its number.
        file: u32,
    },
}
