//! One module starts programs: `crates/machine/src/files/programs/start.rs`, which gives each an
//! environment and a directory.
//!
//! Looked for are `Command::new` and the C library's calls, in what ships and outside of tests.

use anyhow::Result;

use crate::finding::Finding;
use crate::lexer::{Kind, Piece, pieces};
use crate::printing::NOT_SHIPPED;
use crate::workspace::{Workspace, files, is_rust, is_test_file, read};

const ALLOWED: &str = "crates/machine/src/files/programs/start.rs";

const CALLS: [&str; 10] =
    ["execl", "execle", "execlp", "execv", "execve", "execveat", "execvp", "execvpe", "fexecve", "posix_spawn"];

/// Crates of tests.
const FOR_TESTS: [&str; 1] = ["crashpoints"];

pub fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let ships = |name: &str| !NOT_SHIPPED.contains(&name) && !FOR_TESTS.contains(&name);
    for krate in workspace.crates()?.iter().filter(|krate| ships(&krate.name)) {
        for path in files(&krate.dir.join("src"), &is_rust)? {
            let relative = workspace.relative(&path);
            if relative.ends_with(ALLOWED) || is_test_file(&path) {
                continue;
            }
            let text = read(&path)?;
            let code = text.split("#[cfg(test)]").next().expect("split gives at least one part");
            for piece in pieces(code).iter().filter(|piece| starts(piece)) {
                let text =
                    format!("{} starts a program: use files::programs, which gives it its environment", piece.text);
                found.push(Finding { path: relative.clone(), line: piece.line, text });
            }
        }
    }
    Ok(found)
}

fn starts(piece: &Piece<'_>) -> bool {
    piece.kind == Kind::Name
        && (piece.text == "Command" && piece.after.starts_with("::new(")
            || CALLS.contains(&piece.text) && piece.after.starts_with('('))
}
