//! An atlas as a page to browse, as tables for the terminal and the book, and as data.
//!
//! All tables are made once, in `rows`; the renderers turn them into text. The page has no script:
//! sections fold by themselves, and every name of a cell leads to its section.

mod data;
mod html;
mod rows;

use std::fmt::Write;

use experiment::atlas::Atlas;

use super::terminal::{Options, continued, parts};
use super::{grid, markdown, words};

/// The name and the text of each file: atlas.html, atlas.json, atlas.csv, atlas.md.
///
/// # Errors
/// When the template fails, which no input should cause.
pub fn files(atlas: &Atlas) -> crate::Result<Vec<(&'static str, String)>> {
    let made = [
        ("atlas.html", html::page(atlas)?),
        ("atlas.json", json(atlas)?),
        ("atlas.csv", data::csv(atlas)?),
        ("atlas.md", markdown(atlas)),
    ];
    Ok(made.map(|(name, text)| (name, crate::words::escape_file(text))).to_vec())
}

/// The atlas as indented JSON with a final newline.
///
/// # Errors
/// When it cannot be written as JSON, which its types exclude.
pub fn json(atlas: &Atlas) -> crate::Result<String> {
    let mut text = serde_json::to_string_pretty(atlas)?;
    text.push('\n');
    Ok(text)
}

/// The tables as Markdown, a blank line between them.
pub fn markdown(atlas: &Atlas) -> String {
    let mut out = String::new();
    for table in rows::all(atlas) {
        let head: Vec<String> = table.head.iter().map(|head| markdown::escaped(head)).collect();
        let _ = writeln!(
            out,
            "{}\n\n| | {} |\n|---{}|",
            markdown::paragraph(&table.title),
            head.join(" | "),
            "|---".repeat(head.len())
        );
        for (name, texts) in &table.rows {
            let texts: Vec<String> = texts.iter().map(|text| markdown::escaped(text)).collect();
            let _ = writeln!(out, "| {} | {} |", markdown::escaped(name), texts.join(" | "));
        }
        out.push('\n');
    }
    out
}

/// The answer and the tables of regret and of disagreement, for a terminal.
pub fn terminal(atlas: &Atlas, options: &Options) -> String {
    let mut out = String::new();
    let paragraph = |text: &str, out: &mut String| {
        for line in grid::wrapped(&words::clean(text), options.width.into()) {
            let _ = writeln!(out, "{line}");
        }
    };
    for line in rows::answer(atlas) {
        paragraph(&line, &mut out);
    }
    for table in rows::all(atlas).iter().filter(|table| !table.detail && !table.rows.is_empty()) {
        for (i, part) in parts(table, options).into_iter().enumerate() {
            out.push('\n');
            let title = if i == 0 { table.title.clone() } else { continued(&table.title) };
            paragraph(&title, &mut out);
            let _ = writeln!(out, "{part}");
        }
    }
    out
}

#[cfg(test)]
mod tests;
