//! Unsafe code is in one module of a crate: `src/sys.rs`, or files below `src/sys/`.
//!
//! A crate with that module begins with `#![deny(unsafe_code)]` and allows it there; all others begin with `#![forbid(unsafe_code)]`. So
//! the compiler holds the rule, and this check holds that no other module is allowed what is denied. Tests and benches beside `src` are
//! left out: they do not ship.

use anyhow::Result;

use crate::finding::Finding;
use crate::lexer::{Kind, pieces};
use crate::workspace::{Krate, Workspace, files, is_rust, read};

const FORBID: &str = "#![forbid(unsafe_code)]";
const DENY: &str = "#![deny(unsafe_code)]";

pub fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for krate in workspace.crates()? {
        found.extend(heads(workspace, &krate)?);
        found.extend(blocks(workspace, &krate)?);
    }
    Ok(found)
}

/// Heads of crates that neither forbid nor deny.
fn heads(workspace: &Workspace, krate: &Krate) -> Result<Vec<Finding>> {
    let src = krate.dir.join("src");
    let has_sys = src.join("sys.rs").exists() || src.join("sys/mod.rs").exists();
    let (expected, reason) =
        if has_sys { (DENY, "a crate with a module sys") } else { (FORBID, "a crate without a module sys") };
    let mut found = Vec::new();
    for head in ["lib.rs", "main.rs"].map(|name| src.join(name)).into_iter().filter(|head| head.exists()) {
        if !read(&head)?.lines().any(|line| line == expected) {
            let text = format!("{reason} begins with {expected}");
            found.push(Finding { path: workspace.relative(&head), line: 1, text });
        }
    }
    Ok(found)
}

/// `unsafe` outside of the module.
fn blocks(workspace: &Workspace, krate: &Krate) -> Result<Vec<Finding>> {
    let src = krate.dir.join("src");
    let mut found = Vec::new();
    for path in files(&src, &is_rust)? {
        if path == src.join("sys.rs") || path.starts_with(src.join("sys")) {
            continue;
        }
        for piece in pieces(&read(&path)?) {
            if piece.kind == Kind::Name && piece.text == "unsafe" {
                let text =
                    "unsafe code outside of the module sys: move it to src/sys.rs behind a safe function".to_string();
                found.push(Finding { path: workspace.relative(&path), line: piece.line, text });
            }
        }
    }
    Ok(found)
}
