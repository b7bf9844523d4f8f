//! Sizes, durations, switches and counts as people write them.
//!
//! Sizes are binary (`4k` is 4096 bytes) because records, sectors and pages are; a bare number is bytes. Durations always
//! carry a unit, because a bare `10` has been read as seconds by one and milliseconds by another in every tool that allowed
//! it. Whole numbers only: `1.5M` is refused rather than rounded.

/// What a size looks like, for messages.
pub(crate) const SIZE_FORM: &str = "a size like 512, 4k, 512M, 2G (binary multiples; a bare number is bytes)";
/// What a duration looks like, for messages.
pub(crate) const DURATION_FORM: &str = "a duration with its unit, like 50us, 10ms, 2s (or 0)";

/// Reads a size in bytes: `4096`, `4k`, `4KiB`, `512M`, `2G`, `1T`; upper or lower case, always powers of 1024.
/// None if the text is no size or does not fit into 64 bits.
pub fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let shift = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// Reads a duration in nanoseconds: `0`, `100ns`, `50us`, `50µs`, `10ms`, `2s`, `1min`. None if the text is no duration, lacks
/// its unit, or does not fit into 64 bits.
pub fn parse_duration_ns(text: &str) -> Option<u64> {
    let (number, unit) = split(text)?;
    let scale = match unit {
        "" if number == 0 => 1,
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        _ => return None,
    };
    number.checked_mul(scale)
}

/// Writes a size so that [`parse_size`] reads it back: the largest unit that divides it.
pub fn show_size(bytes: u64) -> String {
    for (shift, unit) in [(40, "T"), (30, "G"), (20, "M"), (10, "k")] {
        if bytes != 0 && bytes.is_multiple_of(1 << shift) {
            return format!("{}{unit}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// Writes a duration so that [`parse_duration_ns`] reads it back: the largest unit that divides it.
pub fn show_duration(ns: u64) -> String {
    if ns == 0 {
        return "0".into();
    }
    for (scale, unit) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
        if ns.is_multiple_of(scale) {
            return format!("{}{unit}", ns / scale);
        }
    }
    format!("{ns}ns")
}

/// Reads a switch.
pub(crate) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// Digits and the rest, blanks around both left out.
fn split(text: &str) -> Option<(u64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_binary_and_a_bare_number_is_bytes() {
        let read = ["512", "4k", "4K", "4KiB", "512M", "2G", "1 T"].map(|t| parse_size(t).unwrap());
        assert_eq!(read, [512, 4096, 4096, 4096, 512 << 20, 2 << 30, 1 << 40]);
    }

    #[test]
    fn what_is_no_size_is_refused_instead_of_guessed() {
        for text in ["", "k", "1.5M", "-1", "4kk", "4 bananas", "99999999999999999999", "16777216T"] {
            assert_eq!(parse_size(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_duration_without_its_unit_is_refused_unless_it_is_nothing() {
        assert_eq!(parse_duration_ns("0"), Some(0));
        assert_eq!(parse_duration_ns("10"), None);
        assert_eq!(parse_duration_ns("10 ms"), Some(10_000_000));
        assert_eq!(parse_duration_ns("50us"), parse_duration_ns("50µs"));
        assert_eq!(parse_duration_ns("99999999999999min"), None);
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(value: u64) {
            prop_assert_eq!(parse_size(&show_size(value)), Some(value));
            prop_assert_eq!(parse_duration_ns(&show_duration(value)), Some(value));
        }

        #[test]
        fn round_values_are_read_back_from_their_short_form(value in 0u64..1 << 20, shift in 0u32..41) {
            prop_assert_eq!(parse_size(&show_size(value << shift)), Some(value << shift));
        }

        #[test]
        fn any_text_is_read_or_refused_without_a_panic(text: String) {
            let _ = (parse_size(&text), parse_duration_ns(&text), parse_bool(&text));
        }
    }
}
