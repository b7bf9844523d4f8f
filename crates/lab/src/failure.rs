//! Two kinds of errors: wrong usage and failed operations, distinguished by [`is_usage`].

use machine::files;

/// A request that cannot be satisfied; the message includes a remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

pub fn usage(message: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Usage(message.into()))
}

/// Whether the user's request caused the error: it makes no sense, or names a missing input.
pub fn is_usage(error: &anyhow::Error) -> bool {
    let is_missing = |cause: &(dyn std::error::Error + 'static)| {
        let tree = |error: &guest::Error| match error {
            guest::Error::NoTree { dir, .. } => !dir.exists(),
            guest::Error::Old { .. } => true,
            _ => false,
        };
        cause.downcast_ref().is_some_and(files::is_missing_input)
            || cause.downcast_ref().is_some_and(tree)
    };
    error.chain().any(|cause| cause.is::<Usage>() || is_missing(cause))
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn wrong_usage_stays_recognisable_under_any_context() {
        let wrapped = Err::<(), _>(usage("no such workload")).context("in plan.toml").unwrap_err();
        assert!(is_usage(&wrapped));
        assert!(!is_usage(&anyhow::anyhow!("disk full")));
        let found = files::open_input(std::path::Path::new("/no/such/file"));
        assert!(is_usage(&found.context("a.csv: cannot read").unwrap_err()), "a missing input");
        let tree = guest::Error::NoTree { dir: "/no/such/tree".into(), missing: "Kconfig" };
        assert!(is_usage(&tree.into()));
        let old = guest::Error::Old { what: "debian:5.10".to_owned(), found: (5, 10) };
        assert!(is_usage(&old.into()));
    }
}
