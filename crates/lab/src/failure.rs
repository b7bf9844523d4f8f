//! Two kinds of errors: wrong usage, and operations that failed.
//!
//! Wrong usage is an error like any other until the caller asks with [`is_usage`], so that `?`
//! works everywhere.

/// The user's words ask for something that cannot be done; the message says what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(String);

/// An error in the user's request.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Usage(message.into()))
}

/// Whether the cause of an error is the user's request.
pub fn is_usage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<Usage>())
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
    }
}
