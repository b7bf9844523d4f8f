//! The two levels of the suite: `make test` and `make soak`.

/// Whether tests run their long variant, with more cases of the same checks.
#[must_use]
pub fn is_soak() -> bool {
    std::env::var_os("SCHEDLAB_SOAK").is_some()
}
