//! Which build this is.

use std::env;

use anyhow::Result;
use serde_json::json;

use crate::out;

/// The version with the source of this build, as `--version` prints it.
pub(crate) const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (", env!("SCHEDLAB_SOURCE"), ")");

/// Registers the identity of this build.
pub(crate) fn register() {
    text::build::register(|| lab::build::identity(env!("SCHEDLAB_SOURCE")));
}

/// Prints the build if the words are `--version --json`; clap has no options of an option.
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
