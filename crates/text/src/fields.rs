//! Tables of `KEY=VALUE` grammars: a row defines parser, error, help and reference.
//!
//! For numbers, sizes, times, switches and words. A grammar with other types has its own rows, and
//! uses [`expected_one_of`] for misspelt keys.

use crate::{format_duration, format_size, nearest, parse_duration_ns, parse_size};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    pub name: &'static str,
    pub form: Form,
    /// Empty for none.
    pub default: &'static str,
    pub help: &'static str,
}

/// The form of a value. Bounds are inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Text,
    /// A path; a relative one that does not exist is resolved next to the plan.
    File,
    Whole(u64, u64),
    /// At most two decimals; value and bounds in hundredths.
    Hundredths(u64, u64),
    /// Bytes, e.g. `64k`.
    Size(u64, u64),
    /// A time, e.g. `10s`; value and bounds in nanoseconds.
    Time(u64, u64),
    Flag,
    Words(&'static [&'static str]),
}

pub const fn field(
    name: &'static str,
    default: &'static str,
    form: Form,
    help: &'static str,
) -> Field {
    Field { name, form, default, help }
}

impl Form {
    pub const NUMBER: Form = Form::Whole(0, u64::MAX);
    pub const SIZE: Form = Form::Size(0, u64::MAX);
    pub const TIME: Form = Form::Time(0, u64::MAX);

    pub fn words(self) -> String {
        match self {
            Form::Text => "text".to_owned(),
            Form::File => "a file's path".to_owned(),
            Form::NUMBER => "a whole number, e.g. 8".to_owned(),
            Form::SIZE => "a size, e.g. 64k or 1G".to_owned(),
            Form::TIME => "a time, e.g. 500ms, 10s or 5min".to_owned(),
            Form::Whole(min, u64::MAX) => format!("a whole number, at least {min}"),
            Form::Whole(min, max) => format!("a whole number from {min} to {max}"),
            Form::Hundredths(min, max) => {
                format!("a number from {} to {} with at most two decimals", min / 100, max / 100)
            }
            Form::Size(min, u64::MAX) => {
                format!("a size, at least {}, e.g. 64k or 1G", format_size(min))
            }
            Form::Size(min, max) => {
                format!("a size from {} to {}", format_size(min), format_size(max))
            }
            Form::Time(min, max) => {
                format!("a time from {} to {}", format_duration(min), format_duration(max))
            }
            Form::Flag => "true or false".to_owned(),
            Form::Words([one, other]) => format!("{one} or {other}"),
            Form::Words(words) => words.join(", "),
        }
    }

    /// The bounds of [`Form::read`].
    pub fn bounds(self) -> (u64, u64) {
        match self {
            Form::Text | Form::File => (0, 0),
            Form::Flag => (0, 1),
            Form::Words(words) => (0, words.len() as u64 - 1),
            Form::Whole(min, max)
            | Form::Hundredths(min, max)
            | Form::Size(min, max)
            | Form::Time(min, max) => (min, max),
        }
    }

    /// The value as a number: a word's index, 0 for text. `None` if the form or range is wrong.
    pub fn read(self, text: &str) -> Option<u64> {
        let value = match self {
            Form::Text | Form::File => Some(0),
            Form::Flag => text.parse::<bool>().ok().map(u64::from),
            Form::Words(words) => words.iter().position(|word| *word == text).map(|i| i as u64),
            Form::Whole(..) => digits(text),
            Form::Hundredths(..) => hundredths(text),
            Form::Size(..) => parse_size(text),
            Form::Time(..) => parse_duration_ns(text),
        };
        let (min, max) = self.bounds();
        value.filter(|value| (min..=max).contains(value))
    }

    pub fn accepts(self, text: &str) -> bool {
        self.read(text).is_some()
    }
}

/// The end of an error about an unknown key or name: a suggestion, and all known ones.
pub fn expected_one_of<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let list = known.join(", ");
    match nearest(word, known) {
        Some(name) => format!("(did you mean {name:?}? expected one of {list})"),
        None => format!("(expected one of {list})"),
    }
}

/// Digits only: values are written to the kernel verbatim.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

pub fn hundredths(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 2 {
        return None;
    }
    digits(whole)?.checked_mul(100)?.checked_add(digits(&format!("{part:0<2}"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_reads_values_in_its_range_only() {
        for (form, right, wrong) in [
            (Form::Whole(1, 64), ["1", "64"], ["0", "65", "+8", "1_0", "8k", ""]),
            (
                Form::Hundredths(100, 10_000),
                ["1", "99.5"],
                ["0.99", "100.01", "1.005", "+1", ".5", ""],
            ),
            (Form::Size(512, 1 << 20), ["512", "1M"], ["511", "2M", "-1", "1x", "1.5k", ""]),
            (Form::Time(0, 50_000_000), ["0", "50ms"], ["51ms", "50", "1s", "-1ms", "soon", ""]),
            (Form::Flag, ["true", "false"], ["1", "0", "yes", "on", "True", ""]),
            (Form::Words(&["auto", "user"]), ["auto", "user"], ["Auto", "aut", "a", "1", " ", ""]),
        ] {
            assert!(right.iter().all(|text| form.accepts(text)), "{form:?}");
            for text in wrong {
                assert!(!form.accepts(text), "{form:?} {text:?}");
            }
        }
        assert!(Form::Text.accepts("") && Form::File.accepts("a b"));
    }

    #[test]
    fn form_reads_numbers_in_its_unit() {
        assert_eq!(Form::SIZE.read("64k"), Some(65_536));
        assert_eq!(Form::TIME.read("1.5ms"), Some(1_500_000));
        assert_eq!(Form::Hundredths(0, 1_000).read("9.5"), Some(950));
        assert_eq!(Form::Words(&["auto", "user"]).read("user"), Some(1));
        assert_eq!(hundredths("9.50"), Some(950));
    }

    #[test]
    fn form_words_state_the_range() {
        for (form, words) in [
            (Form::Whole(1, 100), "a whole number from 1 to 100"),
            (Form::Size(64 << 10, 64 << 30), "a size from 64k to 64G"),
            (Form::Time(20_000, 100_000_000), "a time from 20us to 100ms"),
            (Form::Words(&["none", "ext4"]), "none or ext4"),
            (Form::Words(&["auto", "kernel", "syscalls"]), "auto, kernel, syscalls"),
            (Form::NUMBER, "a whole number, e.g. 8"),
            (Form::Whole(1, u64::MAX), "a whole number, at least 1"),
        ] {
            assert_eq!(form.words(), words);
        }
    }

    #[test]
    fn misspelt_key_is_answered_with_all_and_the_nearest() {
        let answer = expected_one_of("fifo_bach", ["fifo_batch", "hz"]);
        assert_eq!(answer, "(did you mean \"fifo_batch\"? expected one of fifo_batch, hz)");
    }
}
