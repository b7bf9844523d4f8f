//! How schedlab fails: the exit status that scripts rely on.
//!
//! 0: verdicts reached. 1: an operation failed. 2: wrong usage. 3: the evidence is void. 4: `restore` left what is in use. Wrong usage is an error like any
//! other until `main` asks what it was, so that `?` works everywhere.

/// Verdicts were reached (inconclusive is one).
pub(crate) const REACHED: u8 = 0;
/// An operation failed.
pub(crate) const FAILED: u8 = 1;
/// The command or the plan asks for something that makes no sense.
pub(crate) const USAGE: u8 = 2;
/// Something to restore belongs to a process that is running, and was left to it.
pub(crate) const BUSY: u8 = 4;
/// There is evidence that cannot be used.
pub(crate) const VOID: u8 = 3;

use lab::failure::is_usage;
pub(crate) use lab::failure::usage;

/// The exit status of an error.
pub(crate) fn status_of(error: &anyhow::Error) -> u8 {
    if is_usage(error) { USAGE } else { FAILED }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn wrong_usage_keeps_its_status_under_any_context() {
        let wrapped = Err::<(), _>(usage("no such workload")).context("in plan.toml").unwrap_err();
        assert_eq!(status_of(&wrapped), USAGE);
        assert_eq!(status_of(&anyhow::anyhow!("disk full")), FAILED);
    }
}
