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
    #[error("{}: not enough space for the workload's files (found {free} bytes, expected {needed}); free some space or set a smaller file_size", .dir.display())]
    NoSpace { dir: PathBuf, needed: u64, free: u64 },
    #[error("{}: the device hangs: no completion for {clients} clients in {seconds} s; see dmesg", .path.display())]
    Hung { clients: usize, path: PathBuf, seconds: u64 },
    #[error("client {client} panicked: a bug in schedlab; please report it with the message above")]
    Panicked { client: usize },
}

/// The remedy, if known.
fn advice(error: &std::io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => " (run as root)",
        Some(libc::EINVAL) => " (does the target support direct I/O? else set direct = false)",
        Some(libc::EBUSY) => " (another program has it open exclusively; see fuser and lsblk)",
        _ => "",
    }
}
