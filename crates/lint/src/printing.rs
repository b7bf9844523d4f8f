//! One file prints: `crates/schedlab/src/out.rs`, where text from outside is escaped, and the progress bar beside it.
//!
//! Looked for are the printing macros, `stdout()`, `stderr()` and progress bars, in what ships and outside of tests.

use anyhow::Result;

use crate::finding::Finding;
use crate::lexer::{Kind, Piece, pieces};
use crate::workspace::{Workspace, files, is_rust, is_test_file, read};

const MACROS: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
const STREAMS: [&str; 2] = ["stdout", "stderr"];
const BARS: [&str; 2] = ["ProgressBar", "MultiProgress"];

/// Files that may: the one place, and those whose reader is no terminal but the process that started them.
const ALLOWED: [&str; 8] = [
    "crates/schedlab/src/out.rs",
    "crates/schedlab/src/progress.rs",
    // JSON for the command that has started the keeper of a setting.
    "crates/schedlab/src/command/settings/keeper.rs",
    // Lines for the process that has started a role.
    "crates/lab/src/role.rs",
    "crates/lab/src/inside.rs",
    "crates/guest/src/warden.rs",
    "crates/machine/src/confine/process.rs",
    // Constant texts between fork and exec, into a file in memory.
    "crates/machine/src/sys/before_exec.rs",
];

/// Crates for schedlab's developers, who read their own terminal.
pub(crate) const NOT_SHIPPED: [&str; 4] = ["lint", "docs", "selfbench", "testbed"];

pub fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for krate in workspace.crates()?.iter().filter(|krate| !NOT_SHIPPED.contains(&krate.name.as_str())) {
        for path in files(&krate.dir.join("src"), &is_rust)? {
            let relative = workspace.relative(&path);
            if ALLOWED.iter().any(|allowed| relative.ends_with(allowed)) || is_test_file(&path) {
                continue;
            }
            let text = read(&path)?;
            let code = text.split("#[cfg(test)]").next().expect("split gives at least one part");
            for piece in pieces(code).iter().filter(|piece| prints(code, piece)) {
                let text =
                    format!("{} prints: give the text to crates/schedlab/src/out.rs, which escapes it", piece.text);
                found.push(Finding { path: relative.clone(), line: piece.line, text });
            }
        }
    }
    Ok(found)
}

fn prints(code: &str, piece: &Piece<'_>) -> bool {
    // `command.stdout(…)` gives a program its output.
    let is_method = || code[..code.len() - piece.after.len() - piece.text.len()].trim_end().ends_with('.');
    piece.kind == Kind::Name
        && (MACROS.contains(&piece.text) && piece.after.starts_with('!')
            || STREAMS.contains(&piece.text) && piece.after.starts_with('(') && !is_method()
            || BARS.contains(&piece.text))
}
