//! `lint [--count] [cycles|layers|words|all-words|errors|unsafe|printing|starting]... [--crate NAME]`: prints what it finds and fails if that is anything.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Result, bail};
use lint::{Finding, Workspace, cycles, errors, layers, printing, starting, unsafe_code, words};

type Check = fn(&Workspace) -> Result<Vec<Finding>>;

const CHECKS: [(&str, Check); 8] = [
    ("cycles", cycles::check),
    ("layers", layers::check),
    ("words", words::check),
    ("all-words", words::all),
    ("errors", errors::check),
    ("unsafe", unsafe_code::check),
    ("printing", printing::check),
    ("starting", starting::check),
];

const USAGE: &str =
    "usage: lint [--count] [cycles|layers|words|all-words|errors|unsafe|printing|starting]... [--crate NAME]";

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("lint: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The number of findings that were printed.
fn run(mut arguments: impl Iterator<Item = String>) -> Result<usize> {
    let workspace = Workspace::of_current_directory();
    let mut chosen = Vec::new();
    let mut only = None;
    let mut counts = false;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--crate" => only = Some(arguments.next().unwrap_or_default()),
            "--count" => counts = true,
            name => match CHECKS.iter().find(|(other, _)| *other == name) {
                Some(check) => chosen.push(*check),
                None => bail!("{name}: no such check\n{USAGE}"),
            },
        }
    }
    if chosen.is_empty() {
        chosen = CHECKS.iter().filter(|(name, _)| *name != "all-words").copied().collect();
    }
    let mut total = 0;
    for (name, check) in chosen {
        let mut found = match &only {
            // Also a crate that may still have cycles.
            Some(krate) if name == "cycles" => cycles::of_one(&workspace, krate)?,
            _ => check(&workspace)?,
        };
        if let Some(krate) = &only {
            found.retain(|finding| finding.path.starts_with(format!("crates/{krate}")));
        }
        total += found.len();
        if counts {
            for (place, number) in by_place(&found) {
                println!("{name}: {number:5} {place}");
            }
        } else {
            found.iter().for_each(|finding| println!("{name}: {finding}"));
        }
    }
    Ok(total)
}

/// How many findings there are in each crate and top directory.
fn by_place(found: &[Finding]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for finding in found {
        let path = finding.path.to_string_lossy();
        let depth = if path.starts_with("crates/") { 2 } else { 1 };
        *counts.entry(path.split('/').take(depth).collect::<Vec<_>>().join("/")).or_default() += 1;
    }
    counts
}
