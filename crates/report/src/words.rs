//! Names and texts from outside, made fit to print: cleaned, shortened, listed, counted.

use std::borrow::Cow;

pub(crate) use ::text::counted;
use ::text::{escaped, steers};

/// A text in one line and without characters that steer a terminal or the direction of writing.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || steers(c) { ' ' } else { c }).collect()
}

/// The same, line breaks kept: for column heads.
pub(crate) fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// The text of a file as it may be shown in a terminal: whatever a renderer has passed on steers
/// nothing. In JSON it means the same.
pub(crate) fn escape_file(text: String) -> String {
    match escaped(&text) {
        Cow::Owned(escaped) => escaped,
        Cow::Borrowed(_) => text,
    }
}

/// At most `most` characters, the middle left out.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.into();
    }
    let head = most.saturating_sub(1).div_ceil(2);
    let tail = most.saturating_sub(1) - head;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(length - tail)).collect()
}

/// A value of the environment, `none` for an empty one.
pub(crate) fn or_none(value: &str) -> String {
    if value.trim().is_empty() { "none".into() } else { clean(value) }
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A workload's name; `None` for the one that a table without such a column has.
pub(crate) fn name_of(workload: &str) -> Option<String> {
    (workload != "all").then(|| clean(workload))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_lose_their_middle_and_control_characters_their_power() {
        assert_eq!(shortened("mq-deadline-with-everything", 11), "mq-de…thing");
        assert_eq!(shortened("bfq", 11), "bfq");
        assert_eq!(clean("a\x1b[31mb\n"), "a [31mb ");
    }
}
