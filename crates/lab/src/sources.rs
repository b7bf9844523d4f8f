//! Reads tables, output files of benchmark programs, directories of those, and standard input.
//!
//! Inputs are bounded before they are read. Only regular files are opened, because reading a FIFO
//! without a writer would block forever.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use import::Importer;
use machine::files::{Bounded, NotAFile, exceeded, not_a_file, open_input};
use text::limits::{IMPORT_BYTES, IMPORT_FILES, Limit, TABLE_BYTES};

use crate::failure::usage;
use crate::store::RESULTS;

pub const STDIN: &str = "-";
/// Maximum depth of the file search below a directory.
const DEPTH: usize = 12;

#[derive(Debug, Clone)]
pub enum Source {
    Results,
    Table,
    /// Output of another program, or a directory with such files.
    Foreign(&'static Importer),
    /// Unrecognized: the formats tried, and what each did not find at the beginning.
    Unknown(Vec<(&'static str, &'static str)>),
}

/// Recognizes a path by its name, else by its beginning. `columns` are the table columns chosen by
/// the user; None if the options rule out a table.
pub fn kind(path: &Path, columns: Option<&[&str]>) -> Result<Source> {
    let extension =
        path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if path == Path::new(STDIN) {
        return Ok(Source::Table);
    }
    if path.is_dir() {
        return Ok(format_within(path)?.map_or(Source::Results, Source::Foreign));
    }
    if extension == "jsonl" || !path.exists() {
        return Ok(Source::Results);
    }
    let text = beginning(path)?;
    if text.starts_with("{\"kind\":\"header\"") {
        return Ok(Source::Results);
    }
    let known = import::table::columns_of(&text).unwrap_or_default();
    let are_there =
        |columns: &[&str]| columns.iter().all(|name| known.iter().any(|own| own == name));
    if columns.is_some_and(are_there) {
        return Ok(Source::Table);
    }
    let mut tried = match import::recognise(&text) {
        Ok(row) => return Ok(Source::Foreign(row)),
        Err(tried) => tried,
    };
    if columns.is_some() || ["csv", "tsv"].contains(&extension.as_str()) {
        return Ok(Source::Table);
    }
    let Err(missing) = import::is_table(&text) else { return Ok(Source::Table) };
    tried.push(("table", missing));
    Ok(Source::Unknown(tried))
}

/// The part of a file that identifies its format.
fn beginning(path: &Path) -> Result<String> {
    let mut begin = Vec::new();
    open(path)?
        .take(1 << 16)
        .read_to_end(&mut begin)
        .with_context(|| format!("{}: cannot read", path.display()))?;
    Ok(String::from_utf8_lossy(&begin).into_owned())
}

/// The format of the files in a directory without results: the first that matches the first file.
fn format_within(dir: &Path) -> Result<Option<&'static Importer>> {
    if dir.join(RESULTS).exists() {
        return Ok(None);
    }
    for row in import::IMPORTERS {
        let mut found = Vec::new();
        if let Some(within) = row.within {
            below(dir, within, DEPTH, &mut found)?;
        }
        if let Some(first) = found.first()
            && row.is_like(&beginning(first)?)
        {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

pub fn table(path: &Path) -> Result<String> {
    let text = text_of(path, &TABLE_BYTES)?;
    if text.trim().is_empty() {
        return Err(usage(format!(
            "{}: empty; a table begins with a line of column names",
            name(path)
        )));
    }
    Ok(text)
}

/// Reads the named files, and those below named directories, sorted by name.
pub fn files(row: &Importer, paths: &[PathBuf]) -> Result<Vec<import::File>> {
    let mut found = Vec::new();
    for path in paths {
        if !path.is_dir() {
            found.push(path.clone());
            continue;
        }
        let Some(within) = row.within else {
            return Err(usage(format!(
                "{}: a directory; name the files of {} in it",
                path.display(),
                row.name
            )));
        };
        let before = found.len();
        below(path, within, DEPTH, &mut found)?;
        if found.len() == before {
            let reads = row.reads;
            return Err(usage(format!(
                "{}: no file of {} in this directory; name {reads}",
                path.display(),
                row.name
            )));
        }
    }
    check(&IMPORT_FILES, found.len())?;
    let mut bytes = 0;
    let mut files = Vec::new();
    for path in &found {
        let text = text_of(path, &IMPORT_BYTES)?;
        bytes += text.len();
        check(&IMPORT_BYTES, bytes)?;
        files.push(import::File { path: name(path), text });
    }
    Ok(files)
}

fn check(limit: &'static Limit, found: usize) -> Result<()> {
    limit.check(found).map_err(|exceeded| usage(exceeded.to_string()))
}

/// Files below a directory; links are not followed.
fn below(
    dir: &Path,
    within: fn(&str) -> bool,
    depth: usize,
    found: &mut Vec<PathBuf>,
) -> Result<()> {
    let cannot = || format!("{}: cannot list", dir.display());
    let mut entries: Vec<fs::DirEntry> =
        fs::read_dir(dir).with_context(cannot)?.collect::<Result<_, _>>().with_context(cannot)?;
    check(&IMPORT_FILES, entries.len().saturating_add(found.len()))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, kind) = (entry.path(), entry.file_type().with_context(cannot)?);
        if kind.is_dir() && depth > 0 {
            below(&path, within, depth - 1, found)?;
        } else if kind.is_file() && within(&path.to_string_lossy()) {
            found.push(path);
        }
    }
    Ok(())
}

fn name(path: &Path) -> String {
    if path == Path::new(STDIN) {
        "standard input".to_owned()
    } else {
        path.to_string_lossy().into_owned()
    }
}

/// Opens a regular file, or a descriptor passed by a shell.
fn open(path: &Path) -> Result<File> {
    let shown = path.display();
    open_input(path).map_err(|error| match not_a_file(&error) {
        Some(NotAFile { found: "a directory" }) => usage(format!("{shown}: a directory; name a file in it")),
        Some(NotAFile { found }) => usage(format!(
            "{shown}: not a regular file (found {found}, expected a file that ends); give it as standard input: schedlab analyze - < {shown}"
        )),
        None => anyhow::Error::from(error).context(format!("{shown}: cannot read")),
    })
}

fn text_of(path: &Path, limit: &'static Limit) -> Result<String> {
    let text = if path == Path::new(STDIN) {
        limit.read_text(io::stdin().lock())
    } else {
        limit.read_text(open(path)?)
    };
    text.map_err(|error| match (exceeded(&error), error.kind()) {
        (Some(exceeded), _) => usage(format!("{}: {exceeded}", name(path))),
        (None, io::ErrorKind::InvalidData) => usage(format!(
            "{}: not text in UTF-8 ({error}); convert it, e.g. with iconv -f LATIN1 -t UTF-8",
            name(path)
        )),
        (None, _) => anyhow::Error::from(error).context(format!("{}: cannot read", name(path))),
    })
}
