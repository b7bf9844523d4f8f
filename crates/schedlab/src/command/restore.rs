//! `schedlab restore`: restores settings that a crash left changed.

use anyhow::{Result, bail};
use machine::{Outcome, Root};

use crate::cli::RestoreArgs;
use crate::failure::{BUSY, REACHED};
use crate::out;

pub(crate) fn run(root: &Root, args: &RestoreArgs) -> Result<u8> {
    let outcomes = machine::restore_all(root, &machine::cpu::UNDO)?;
    if args.json {
        let rows: Vec<_> = outcomes
            .iter()
            .map(|o| serde_json::json!({"done": o.owner_is_dead() && !left_undone(o), "text": o.to_string()}))
            .collect();
        out::line(serde_json::to_string_pretty(&rows)?)?;
    } else if outcomes.is_empty() {
        out::line(format_args!(
            "nothing to restore: {} is empty",
            root.state("journal").display()
        ))?;
    } else {
        for outcome in &outcomes {
            out::line(outcome)?;
        }
    }
    let failed = outcomes.iter().filter(|outcome| left_undone(outcome)).count();
    if failed > 0 {
        bail!(
            "settings: {failed} of {} could not be restored; the journal keeps the old values, see above",
            outcomes.len()
        );
    }
    let busy = outcomes.iter().filter(|outcome| !outcome.owner_is_dead()).count();
    if busy > 0 {
        let of = outcomes.len();
        out::note(format_args!(
            "left as found: {busy} of {of} belong to processes that are running; end them, or wait, and repeat"
        ));
        return Ok(BUSY);
    }
    Ok(REACHED)
}

fn left_undone(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed { .. })
}
