//! `schedlab package-files`: generates manual pages and completions at package build time.

use std::fs;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_complete::{Shell, generate_to};

use crate::cli::{Cli, PackageFilesArgs};
use crate::failure::REACHED;

pub(crate) fn run(args: &PackageFilesArgs) -> Result<u8> {
    let completions = args.dir.join("completions");
    fs::create_dir_all(&completions)
        .with_context(|| format!("{}: cannot create", completions.display()))?;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let written = generate_to(shell, &mut Cli::command(), "schedlab", &completions);
        written.with_context(|| {
            format!("{1}: cannot write the completions of {0}", shell, completions.display())
        })?;
    }
    let man = args.dir.join("man");
    fs::create_dir_all(&man).with_context(|| format!("{}: cannot create", man.display()))?;
    clap_mangen::generate_to(Cli::command(), &man)
        .with_context(|| format!("{}: cannot write the manual pages", man.display()))?;
    Ok(REACHED)
}
