//! `schedlab restore`: puts back what a crash left changed.

use anyhow::{Result, bail};
use host::Root;

use crate::cli::RestoreArgs;
use crate::failure::REACHED;

/// Restores every unclean end that the journal knows of.
pub(crate) fn run(root: &Root, args: &RestoreArgs) -> Result<u8> {
    let outcomes = host::restore_all(root)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&outcomes)?);
    } else if outcomes.is_empty() {
        println!("nothing to restore: no unclean end is in {}", root.state("journal").display());
    } else {
        for outcome in &outcomes {
            println!("{outcome}");
        }
    }
    let failed = outcomes.iter().filter(|outcome| outcome.failed()).count();
    if failed > 0 {
        bail!("{failed} of {} could not be put back; the journal keeps the old values, see above", outcomes.len());
    }
    Ok(REACHED)
}
