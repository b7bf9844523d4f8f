//! Why nothing was measured.

use std::path::PathBuf;

use workload::ParamError;

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Parameters and target do not go together.
    #[error(transparent)]
    Params(#[from] ParamError),
    /// A device or file could not be used.
    #[error("{doing} {}: {cause}{}", .path.display(), advice(.cause))]
    File {
        /// What was tried, e.g. `cannot open`.
        doing: &'static str,
        /// The device or file.
        path: PathBuf,
        /// The kernel's answer.
        cause: std::io::Error,
    },
    /// Something that every client needs was refused by the kernel.
    #[error("{doing}: {cause}; {next}")]
    Setup {
        /// What was tried.
        doing: &'static str,
        /// The kernel's answer.
        cause: std::io::Error,
        /// What to do about it.
        next: &'static str,
    },
    /// There is no room for the files of a workload.
    #[error("{}: not enough space for the workload's files (found {free} bytes, expected {needed}); make room or give a smaller file_size", .dir.display())]
    NoSpace {
        /// The directory.
        dir: PathBuf,
        /// Bytes that all files need.
        needed: u64,
        /// Bytes that were free at the start.
        free: u64,
    },
    /// Clients did not come back: the device holds their requests.
    #[error("{}: the device hangs: no answer to {clients} clients for {seconds} s; see dmesg", .path.display())]
    Hung {
        /// How many clients wait.
        clients: usize,
        /// The device or file of the first of them.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
    /// A client's thread ended by a panic: a mistake in schedlab.
    #[error("client {client} broke off: a mistake in schedlab, please report it with the message above")]
    Panicked {
        /// Its number.
        client: usize,
    },
}

/// What to do about an error of the kernel, where it can be said.
fn advice(error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => " (run as root)",
        Some(libc::EINVAL) => " (does the target support direct I/O? else set direct = false)",
        Some(libc::EBUSY) => " (somebody has it open exclusively: fuser and lsblk show who)",
        _ => "",
    }
}
