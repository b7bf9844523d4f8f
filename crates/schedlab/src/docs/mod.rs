//! The book against the program: its commands are parsed by the real command line, and its
//! reference pages are rendered from the tables that the program itself reads. `make docs` (or
//! `UPDATE_DOCS=1 cargo test -p schedlab docs`) writes the reference pages anew.

mod cli;
mod commands;
mod cpu;
mod formats;
mod limits;
mod plan;
mod schedulers;
mod sheet;
mod work;

use sheet::Sheet;

/// Compares a reference page with the tables.
fn check(name: &str, sheet: Sheet) {
    docs::check(&format!("docs/src/reference/{name}.md"), &sheet.finish());
}
