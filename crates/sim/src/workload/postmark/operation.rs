//! One operation of PostMark on a file.

/// Which part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PostmarkPhase {
    /// The first `number` files are created.
    Creation,
    /// What PostMark is about.
    Transactions,
    /// What is left is deleted.
    Deletion,
}

/// What is done to a file. Files are numbered from 1 in the order of their creation, as the program
/// names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostmarkOperation {
    /// A file comes into being with this many bytes.
    Create {
        /// Its number.
        file: u32,
        /// Its directory, from 0.
        directory: u32,
        /// Its length.
        bytes: u32,
    },
    /// All of a file is read.
    Read {
        /// Its number.
        file: u32,
        /// Its length.
        bytes: u32,
    },
    /// A file becomes longer.
    Append {
        /// Its number.
        file: u32,
        /// By how much.
        bytes: u32,
    },
    /// A file is deleted.
    Delete {
        /// Its number.
        file: u32,
    },
}
