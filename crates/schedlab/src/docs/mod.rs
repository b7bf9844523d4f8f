//! The book against the program: its commands are parsed by the real command line, and its
//! reference pages are rendered from the program's own tables. `make docs` (or `UPDATE_DOCS=1 cargo
//! test -p schedlab docs`) updates the pages.

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

fn check(name: &str, sheet: Sheet) {
    docs::check(&format!("docs/src/reference/{name}.md"), &sheet.finish());
}
