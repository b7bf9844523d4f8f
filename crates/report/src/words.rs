//! Prepares external texts for printing.

use std::borrow::Cow;

pub(crate) use ::text::counted;
use ::text::{controls_terminal, escaped};

/// Also replaces characters that change the direction of writing.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || controls_terminal(c) { ' ' } else { c }).collect()
}

/// Line breaks are significant in column heads.
pub(crate) fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// Escapes terminal control characters without changing the meaning of JSON.
pub(crate) fn escape_file(text: String) -> String {
    match escaped(&text) {
        Cow::Owned(escaped) => escaped,
        Cow::Borrowed(_) => text,
    }
}

/// Omits the middle.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.into();
    }
    let head = most.saturating_sub(1).div_ceil(2);
    let tail = most.saturating_sub(1) - head;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(length - tail)).collect()
}

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

/// `None` for `all`, the name in tables without a workload column.
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
