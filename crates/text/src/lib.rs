//! Sizes, durations, suggestions for names, external text, input limits and build identity, for all
//! crates.
//!
//! A leaf crate that depends on `strsim` alone. Parsers return `None` or an enum; the caller names
//! the flag or key in its error.
#![forbid(unsafe_code)]

mod absent;
pub mod build;
mod counts;
mod fields;
pub mod limits;
mod names;
mod numbers;
mod outward;
mod quantities;

pub use absent::absent;
pub use counts::{counted, grouped};
pub use fields::{Field, Form, expected_one_of, field, hundredths};
pub use names::{did_you_mean, nearest, suggestion};
pub use numbers::{hex, percent};
pub use outward::{
    controls_terminal, escaped, escaped_but_colours, for_spreadsheet, from_spreadsheet,
};
pub use quantities::{
    DURATION_FORM, DurationError, SIZE_FORM, format_bytes, format_bytes_decimal, format_duration,
    format_size, format_span, parse_duration, parse_duration_ns, parse_size, parse_switch,
};
