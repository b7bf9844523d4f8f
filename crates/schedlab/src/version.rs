//! Version and build identity.

use std::env;

use anyhow::Result;
use serde_json::json;

use crate::out;

/// With the source revision, as `--version` prints it.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("SCHEDLAB_SOURCE"), ")");

pub(crate) fn register() {
    text::build::register(|| lab::build::identity(env!("SCHEDLAB_SOURCE")));
}

/// clap cannot nest an option below `--version`.
pub(crate) fn print_json() -> Option<Result<()>> {
    let words: Vec<_> = env::args_os().skip(1).collect();
    let is_asked =
        words.len() == 2 && words[1] == "--json" && (words[0] == "--version" || words[0] == "-V");
    is_asked.then(|| {
        out::line(json!({
            "version": env!("CARGO_PKG_VERSION"),
            "build": text::build::identity(),
            "source": env!("SCHEDLAB_SOURCE"),
            "tables": lab::build::tables(),
        }))
    })
}
