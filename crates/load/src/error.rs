//! Why nothing was measured.

use std::path::PathBuf;

use sim::workload::ParamError;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    #[error(transparent)]
    Params(#[from] ParamError),
    #[error("{doing} {}: {cause}{}", .path.display(), advice(.cause))]
    File {
        /// E.g. `cannot open`.
        doing: &'static str,
        path: PathBuf,
        cause: std::io::Error,
    },
    #[error("{doing}: {cause}; {next}")]
    Setup { doing: &'static str, cause: std::io::Error, next: &'static str },
    #[error("{}: not enough space for the workload's files (found {free} bytes, expected {needed}); make room or give a smaller file_size", .dir.display())]
    NoSpace { dir: PathBuf, needed: u64, free: u64 },
    #[error("{}: the device hangs: no answer to {clients} clients for {seconds} s; see dmesg", .path.display())]
    Hung { clients: usize, path: PathBuf, seconds: u64 },
    #[error(
        "client {client} broke off: a mistake in schedlab, please report it with the message above"
    )]
    Panicked { client: usize },
}

/// The remedy, if known.
fn advice(error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => " (run as root)",
        Some(libc::EINVAL) => " (does the target support direct I/O? else set direct = false)",
        Some(libc::EBUSY) => " (somebody has it open exclusively: fuser and lsblk show who)",
        _ => "",
    }
}
