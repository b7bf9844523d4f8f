//! What can go wrong with a program.

use std::path::Path;

use host::session::Ended;

/// How many of a program's last lines are shown.
const LAST_LINES: usize = 5;

/// Why a program did not give a measurement.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The machine refused something: a program that is missing, a file that cannot be written.
    #[error(transparent)]
    Host(#[from] host::Error),
    /// A file of the runner's own could not be used.
    #[error("cannot {doing}: {cause}")]
    File {
        /// What was tried, with the path.
        doing: String,
        /// The system's answer.
        cause: std::io::Error,
    },
    /// What the program is to do is not allowed, or cannot be done here.
    #[error("{program}: {problem}")]
    Refused {
        /// The program.
        program: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The program is of a version that cannot be used.
    #[error("{program} is version {found}, and {needed} is needed")]
    Version {
        /// The program.
        program: String,
        /// Its version.
        found: String,
        /// What would do.
        needed: String,
    },
    /// The program ended with an error.
    #[error("{program} ended with {status}{tail}")]
    Failed {
        /// The program.
        program: String,
        /// Its exit status in words.
        status: String,
        /// Its last lines.
        tail: String,
    },
    /// The program did not end in time.
    #[error("{program} was still running after {seconds} s and was ended (deadline= allows more){tail}")]
    TooLong {
        /// The program.
        program: String,
        /// The deadline.
        seconds: u64,
        /// Its last lines.
        tail: String,
    },
    /// What it printed is not what its version prints.
    #[error("{program} printed no {missing}{tail}")]
    Unreadable {
        /// The program.
        program: String,
        /// What was looked for.
        missing: String,
        /// Its last lines.
        tail: String,
    },
    /// The file system has no room for what the program will write.
    #[error("{what} needs about {needed_mib} MiB and the file system has {free_mib} MiB left; {remedy}")]
    NoRoom {
        /// Which program, and what it writes.
        what: String,
        /// About how much it will write.
        needed_mib: u64,
        /// How much there is.
        free_mib: u64,
        /// What to do.
        remedy: String,
    },
    /// The device became full.
    #[error("the file system on the device is full: {line}; {remedy}")]
    Full {
        /// What the program said.
        line: String,
        /// What to do.
        remedy: String,
    },
    /// The user that the program runs as cannot be had.
    #[error("user {name} {problem}; name another, e.g. user=postgres")]
    NoUser {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The program did something else than what it was asked for, or found something else than it needs.
    #[error("{program}: {problem}{tail}")]
    Wrong {
        /// The program.
        program: String,
        /// What was wrong, and what would be right.
        problem: String,
        /// Its last lines; empty where they say nothing.
        tail: String,
    },
    /// The experiment was interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl RunnerError {
    /// Makes an error of a file of the system's answer.
    pub(crate) fn file(doing: &str, path: &Path) -> impl FnOnce(std::io::Error) -> RunnerError + use<> {
        let doing = format!("{doing} {}", path.display());
        move |cause| RunnerError::File { doing, cause }
    }
}

/// The last lines of what a program complained or, if it did not, printed, as the end of a message.
pub(crate) fn tail(ended: &Ended) -> String {
    tail_of(&ended.stderr, &ended.stdout)
}

/// The last lines of the first of these that is not empty.
pub(crate) fn tail_of(first: &str, second: &str) -> String {
    let last = |text: &str| -> Vec<String> {
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let shown =
            |line: &&str| line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(shown).collect()
    };
    let said = Some(last(first)).filter(|lines| !lines.is_empty()).unwrap_or_else(|| last(second));
    if said.is_empty() {
        "; it printed nothing".to_string()
    } else {
        format!("; its last lines:\n  {}", said.join("\n  "))
    }
}
