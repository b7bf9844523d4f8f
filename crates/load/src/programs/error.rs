//! Failures of programs.

use std::path::{Path, PathBuf};

use machine::session::Ended;

/// Last lines of a program to show.
const LAST_LINES: usize = 5;

/// `tail` is a suffix with the program's last lines, if any.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    #[error(transparent)]
    Host(#[from] machine::Error),
    /// A file of the runner itself.
    #[error("{}: cannot {doing}: {cause}", path.display())]
    File { doing: &'static str, path: PathBuf, cause: std::io::Error },
    #[error("{program}: unsupported version (found version {found}, expected {needed}); {remedy}")]
    Version { program: String, found: String, needed: String, remedy: String },
    #[error("{program}: ended with {status}{tail}")]
    Failed { program: String, status: String, tail: String },
    #[error(
        "{program}: still running after {seconds} s, terminated; allow more with deadline={tail}"
    )]
    TooLong { program: String, seconds: u64, tail: String },
    /// Not the output of a known version.
    #[error("{program}: printed no {missing}{tail}")]
    Unreadable { program: String, missing: String, tail: String },
    /// Too little space before the start.
    #[error(
        "{what}: not enough space (found {free_mib} MiB, expected about {needed_mib} MiB); {remedy}"
    )]
    NoRoom { what: String, needed_mib: u64, free_mib: u64, remedy: String },
    /// The device became full while the program ran.
    #[error("file system on the device: full ({line}); {remedy}")]
    Full { line: String, remedy: String },
    #[error("user {name}: {problem}; name another, e.g. user=postgres")]
    NoUser { name: String, problem: &'static str },
    /// It cannot run here, or did something else; `problem` includes the remedy.
    #[error("{program}: {problem}{tail}")]
    Wrong { program: String, problem: String, tail: String },
    #[error("interrupted")]
    Interrupted,
}

impl RunnerError {
    pub(crate) fn file(
        doing: &'static str,
        path: &Path,
    ) -> impl FnOnce(std::io::Error) -> RunnerError + use<> {
        let path = path.to_path_buf();
        move |cause| RunnerError::File { doing, path, cause }
    }
}

/// The last lines of standard error or, if empty, standard output, as a suffix.
pub(crate) fn tail(ended: &Ended) -> String {
    tail_of(&ended.stderr, &ended.stdout)
}

/// The last lines of the first nonempty text.
pub(crate) fn tail_of(first: &str, second: &str) -> String {
    let last = |text: &str| -> Vec<String> {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let shown = |line: &&str| {
            line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
        };
        lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(shown).collect()
    };
    let said = Some(last(first)).filter(|lines| !lines.is_empty()).unwrap_or_else(|| last(second));
    if said.is_empty() {
        "; no output".to_string()
    } else {
        format!("; its last lines:\n  {}", said.join("\n  "))
    }
}
