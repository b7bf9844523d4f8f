//! Generated pages: compared with what the tables say now, or written anew.

use std::fs;

/// Set in the environment, it makes [`check`] write pages instead of comparing them.
const UPDATE: &str = "UPDATE_DOCS";

/// Compares a generated page with what it should be; writes it with `UPDATE_DOCS=1`.
///
/// # Panics
/// When the page differs, with the first line that does.
pub fn check(path: &str, wanted: &str) {
    let file = crate::root().join(path);
    if std::env::var_os(UPDATE).is_some() {
        fs::write(&file, wanted).unwrap_or_else(|error| panic!("{path}: {error}"));
        return;
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    if found == wanted {
        return;
    }
    let nr =
        found.lines().zip(wanted.lines()).take_while(|(found, wanted)| found == wanted).count();
    panic!(
        "{path}: line {} differs from the tables (found {:?}, expected {:?}); `make docs` writes the page anew",
        nr + 1,
        found.lines().nth(nr).unwrap_or("the end of the page"),
        wanted.lines().nth(nr).unwrap_or("the end of the page"),
    );
}
