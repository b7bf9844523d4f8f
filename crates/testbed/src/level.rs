//! The two levels of the suite: `make test` and `make soak`.

/// Whether tests do their long variant: more cases of what the short one tries too.
#[must_use]
pub fn is_soak() -> bool {
    std::env::var_os("SCHEDLAB_SOAK").is_some()
}
