//! An atlas as a browsable page, as tables for the terminal and the book, and as data.
//!
//! `rows` builds all tables once; the renderers only format them.

mod data;
mod html;
mod rows;

use std::fmt::Write;

use experiment::atlas::Atlas;

use super::terminal::{Options, continued, parts};
use super::{grid, markdown, words};

/// Name and text of atlas.html, atlas.json, atlas.csv and atlas.md.
pub fn files(atlas: &Atlas) -> crate::Result<Vec<(&'static str, String)>> {
    let made = [
        ("atlas.html", html::page(atlas)?),
        ("atlas.json", json(atlas)?),
        ("atlas.csv", data::csv(atlas)?),
        ("atlas.md", markdown(atlas)),
    ];
    Ok(made.map(|(name, text)| (name, crate::words::escape_file(text))).to_vec())
}

pub fn json(atlas: &Atlas) -> crate::Result<String> {
    let mut text = serde_json::to_string_pretty(atlas)?;
    text.push('\n');
    Ok(text)
}

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
