//! The identity of this build, and errors that name two builds. A program registers it at start;
//! libraries query it. Contents and reasons: docs/decisions/0036-builds.md.

use std::fmt::Display;
use std::sync::OnceLock;

/// Computed lazily: most commands never need it.
static REGISTERED: OnceLock<fn() -> String> = OnceLock::new();

static IDENTITY: OnceLock<String> = OnceLock::new();

/// The identity in tests and in programs that join no results.
pub const UNNAMED: &str = "unnamed";

/// The first call counts.
pub fn register(identity: fn() -> String) {
    let _ = REGISTERED.set(identity);
}

pub fn identity() -> &'static str {
    IDENTITY
        .get_or_init(|| REGISTERED.get().map_or_else(|| UNNAMED.to_owned(), |compute| compute()))
}

/// Says why results of two builds are not joined, as the middle of an error; `None` for equal
/// builds.
pub fn difference(found: &str, expected: &str) -> Option<String> {
    (found != expected).then(|| {
        format!(
            "measured by another build of schedlab (found {}, expected {}), and results of different builds cannot be combined",
            name_of(found),
            name_of(expected)
        )
    })
}

/// Says why a file of another format is rejected, as the middle of an error that names the writing
/// build and this one.
pub fn other_format(found: impl Display, expected: u32, writer: Option<&str>) -> String {
    let writer = writer
        .filter(|build| !build.is_empty())
        .map_or("an unknown build".to_owned(), |it| format!("build {it}"));
    format!(
        "another format (found {found}, of {writer}; expected {expected}, of this build {})",
        identity()
    )
}

fn name_of(build: &str) -> &str {
    if build.is_empty() { "an unknown build" } else { build }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_that_differ_are_both_name_of() {
        assert_eq!(difference("a", "a"), None);
        let why = difference("", "b").expect("they differ");
        assert!(why.contains("(found an unknown build, expected b)"), "{why}");
        let why = other_format(1, 2, Some("a"));
        assert_eq!(why, "another format (found 1, of build a; expected 2, of this build unnamed)");
        assert!(other_format(1, 2, None).contains("of an unknown build"));
    }
}
