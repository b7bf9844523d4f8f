//! What the minimal build says where the full one does something.

/// That this build was made without support for `what`; `instead` is another way out, and ends in
/// ", or ".
pub fn absent(subject: &str, what: &str, instead: &str) -> String {
    format!(
        "{subject}: this build of schedlab does not support {what} (the one of `make demo` is without it); {instead}install schedlab \
         with `make install`, the .deb or `cargo install`"
    )
}
