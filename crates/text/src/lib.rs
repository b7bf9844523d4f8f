//! Sizes, durations and misspelt names, read and written in one way everywhere.
//!
//! A leaf crate: every other crate may depend on it, and it depends on `strsim` alone. Parsers return `None` or an enum;
//! the caller names the flag or key in its own error.
#![forbid(unsafe_code)]

mod names;
mod quantities;

pub use names::{did_you_mean, nearest, suggestion};
pub use quantities::{
    DURATION_FORM, DurationError, SIZE_FORM, format_bytes, format_bytes_decimal, format_duration, format_size,
    format_span, parse_duration, parse_duration_ns, parse_size, parse_switch,
};
