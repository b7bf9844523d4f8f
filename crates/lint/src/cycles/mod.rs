//! Files of one crate that use each other in a circle.
//!
//! A file is a node (modules written inline belong to their file), and an arrow goes from the file that names an item to the file that defines
//! it. Names are resolved through `use` and `pub use`, so that a `mod.rs` that only re-exports its children has no arrow to them, while a
//! parent that calls its children, each of which implements a trait of the parent's, is a cycle. Code under `#[cfg(test)]` is left out.
//!
//! What cannot be seen from the sources alone is not an arrow: methods, and the insides of macros that expand to other paths.

mod graph;
mod names;
mod tree;

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::finding::Finding;
use crate::workspace::{Krate, Workspace};

pub use graph::{Arrow, Cycle};
pub(crate) use tree::is_test;

/// Crates whose cycles are being removed: each entry says why it is still here. To be empty.
pub const ALLOWED: &[(&str, &str)] = &[];

/// Directories in which each entry is one algorithm, whose files may use each other as they need.
const ALGORITHMS: &str = "crates/elevator/src/algorithm";

/// The cycles of one crate, largest first.
pub fn of_crate(workspace: &Workspace, krate: &Krate) -> Result<Vec<Cycle>> {
    let mut found = Vec::new();
    for root in roots(&krate.dir) {
        let tree = tree::Tree::read(&root)?;
        let mut cycles = graph::cycles(&names::arrows(&tree));
        cycles.retain(|cycle| !is_one_algorithm(workspace, cycle));
        found.extend(cycles);
    }
    Ok(found)
}

/// The cycles of every crate that is not in [`ALLOWED`].
pub fn check(workspace: &Workspace) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for krate in workspace.crates()? {
        if !ALLOWED.iter().any(|(name, _)| *name == krate.name) {
            found.extend(findings(workspace, &krate)?);
        }
    }
    Ok(found)
}

/// The cycles of one crate, whether it is in [`ALLOWED`] or not.
pub fn of_one(workspace: &Workspace, name: &str) -> Result<Vec<Finding>> {
    match workspace.crates()?.iter().find(|krate| krate.name == name) {
        Some(krate) => findings(workspace, krate),
        None => anyhow::bail!("{name}: no such crate in crates/"),
    }
}

fn findings(workspace: &Workspace, krate: &Krate) -> Result<Vec<Finding>> {
    let cycles = of_crate(workspace, krate)?;
    Ok(cycles
        .iter()
        .map(|cycle| Finding {
            path: workspace.relative(&cycle.files[0]),
            line: 1,
            text: format!("{}: {}", krate.name, describe(workspace, cycle)),
        })
        .collect())
}

/// One line for the cycle, and one for each arrow in it.
pub fn describe(workspace: &Workspace, cycle: &Cycle) -> String {
    let mut text = format!("{} files use each other in a circle", cycle.files.len());
    for arrow in &cycle.arrows {
        let hint = if arrow.is_back { "  <- cut here" } else { "" };
        text.push_str(&format!(
            "\n    {}:{} -> {}: {}{hint}",
            workspace.relative(&arrow.from).display(),
            arrow.line,
            workspace.relative(&arrow.to).display(),
            arrow.items.iter().cloned().collect::<Vec<_>>().join(", ")
        ));
    }
    text
}

/// The files at which rustc starts.
fn roots(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["src/lib.rs", "src/main.rs"].iter().map(|name| dir.join(name)).collect();
    if let Ok(entries) = std::fs::read_dir(dir.join("src/bin")) {
        for entry in entries.flatten() {
            found.extend([entry.path(), entry.path().join("main.rs")]);
        }
    }
    found.retain(|path| path.is_file());
    found
}

fn is_one_algorithm(workspace: &Workspace, cycle: &Cycle) -> bool {
    let algorithm = |file: &PathBuf| {
        let relative = workspace.relative(file);
        let below = relative.strip_prefix(ALGORITHMS).ok()?;
        let first = below.components().next()?.as_os_str().to_string_lossy().into_owned();
        Some(first.trim_end_matches(".rs").to_string()).filter(|name| name != "mod")
    };
    let first = algorithm(&cycle.files[0]);
    first.is_some() && cycle.files.iter().all(|file| algorithm(file) == first)
}
