//! Errors of the minimal build for features that only the full one has.

/// Says that this build does not support `what`; `instead` is an alternative that ends in ", or ".
pub fn absent(subject: &str, what: &str, instead: &str) -> String {
    format!(
        "{subject}: this build of schedlab does not support {what} (the one of `make demo` is without it); {instead}install schedlab \
         with `make install`, the .deb or `cargo install`"
    )
}
