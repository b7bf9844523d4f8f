//! Which file defines what a path names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::tree::{ROOT, Tree};

/// How many `pub use` a name may pass; beyond that it is an external crate's name that equals its own import.
const MAX_HOPS: usize = 16;

/// From file, to file: the items that it names, with the first line.
pub(super) type Arrows = BTreeMap<(PathBuf, PathBuf), (usize, BTreeSet<String>)>;

pub(super) fn arrows(tree: &Tree) -> Arrows {
    let mut found = Arrows::new();
    for (id, module) in tree.modules.iter().enumerate() {
        let imports =
            module.imports.iter().filter(|import| !import.is_reexport).map(|import| (&import.path, import.line));
        for (path, line) in imports.chain(module.paths.iter().map(|mention| (&mention.path, mention.line))) {
            let Some((home, item)) = resolve(tree, id, path, 0).or_else(|| inherited_macro(tree, id, path)) else {
                continue;
            };
            let to = &tree.modules[home].file;
            if *to != module.file {
                let arrow = found.entry((module.file.clone(), to.clone())).or_insert((line, BTreeSet::new()));
                arrow.0 = arrow.0.min(line);
                arrow.1.insert(item);
            }
        }
    }
    found
}

/// The module that defines what `path`, written in module `from`, names; None for modules themselves and for what other crates define.
fn resolve(tree: &Tree, from: usize, path: &[String], hops: usize) -> Option<(usize, String)> {
    if hops > MAX_HOPS {
        return None;
    }
    let (mut here, rest) = start(tree, from, path)?;
    for (at, name) in rest.iter().enumerate() {
        let module = &tree.modules[here];
        let is_last = at + 1 == rest.len();
        if !is_last && let Some(child) = module.children.get(name) {
            here = *child;
            continue;
        }
        if module.items.contains(name) || module.macros.contains(name) {
            return Some((here, name.clone()));
        }
        return through_imports(tree, here, name, &rest[at + 1..], hops);
    }
    None
}

/// Follows `crate`, `self` and `super` at the beginning of a path.
fn start<'a>(tree: &Tree, from: usize, path: &'a [String]) -> Option<(usize, &'a [String])> {
    let mut here = from;
    let mut rest = path;
    while let Some((first, others)) = rest.split_first() {
        match first.as_str() {
            "crate" => here = ROOT,
            "self" => {}
            "super" => here = tree.modules[here].parent?,
            _ => break,
        }
        rest = others;
    }
    Some((here, rest))
}

fn through_imports(tree: &Tree, here: usize, name: &str, rest: &[String], hops: usize) -> Option<(usize, String)> {
    let imports = &tree.modules[here].imports;
    let named = imports.iter().filter(|import| import.name.as_deref() == Some(name));
    let by_name = named.filter_map(|import| {
        let path: Vec<String> = import.path.iter().chain(rest).cloned().collect();
        resolve(tree, here, &path, hops + 1)
    });
    let by_glob = imports.iter().filter(|import| import.name.is_none()).filter_map(|import| {
        let path: Vec<String> =
            import.path.iter().cloned().chain([name.to_string()]).chain(rest.iter().cloned()).collect();
        resolve(tree, here, &path, hops + 1)
    });
    by_name.chain(by_glob).next()
}

/// A `macro_rules!` of an ancestor, which is in scope without an import.
fn inherited_macro(tree: &Tree, from: usize, path: &[String]) -> Option<(usize, String)> {
    let [name] = path else { return None };
    let ancestors = std::iter::successors(tree.modules[from].parent, |id| tree.modules[*id].parent);
    ancestors.into_iter().find(|id| tree.modules[*id].macros.contains(name)).map(|id| (id, name.clone()))
}
