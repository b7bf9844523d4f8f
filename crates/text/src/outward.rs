//! Makes external text safe for its destination: a terminal or a spreadsheet cell.

use std::borrow::Cow;

/// Escapes each character that controls a terminal or the display order, as `\u` and four
/// hexadecimal digits: `\u001b` for ESC. Line ends and tabs stay.
///
/// These are the control characters (C0, DEL, C1), bidirectional marks and overrides, and line and
/// paragraph separators. Backslashes are unchanged, so the result is not reversible; inside a JSON
/// string it has the same meaning as before.
pub fn escaped(text: &str) -> Cow<'_, str> {
    // Most text is plain, which is seen in several bytes at once.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(is_plain) || !text.contains(controls_terminal) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if controls_terminal(c) {
            shown.push_str(&format!("\\u{:04x}", c as u32))
        } else {
            shown.push(c)
        }
    }
    Cow::Owned(shown)
}

/// [`escaped`], except for colours and weights (`ESC [ 1 ; 31 m`): for text whose external parts
/// were escaped before colouring. A forgotten part can only change colours.
pub fn escaped_but_colours(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return escaped(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        shown.push_str(&escaped(&rest[..at]));
        let length = colour_length(&rest[at..]);
        shown.push_str(&if length == 0 {
            escaped("\x1b")
        } else {
            Cow::Borrowed(&rest[at..at + length])
        });
        rest = &rest[at + length.max(1)..];
    }
    shown.push_str(&escaped(rest));
    Cow::Owned(shown)
}

/// Bytes of a leading colour sequence; 0: none.
fn colour_length(text: &str) -> usize {
    let Some(numbers) = text.strip_prefix("\x1b[") else { return 0 };
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(numbers.len());
    if numbers[end..].starts_with('m') { 2 + end + 1 } else { 0 }
}

/// Whether a character controls a terminal or the display order.
pub fn controls_terminal(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        c => c.is_control(),
    }
}

/// A CSV cell that no spreadsheet interprets as a formula: text that begins with `=`, `+`, `-`, `@`
/// or whitespace other than a blank gets a leading apostrophe. Numbers such as -3.2 are unchanged.
/// [`from_spreadsheet`] removes it.
pub fn for_spreadsheet(cell: &str) -> Cow<'_, str> {
    if is_formula(cell.trim_start_matches('\'')) {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

pub fn from_spreadsheet(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if is_formula(rest.trim_start_matches('\'')) => rest,
        _ => cell,
    }
}

fn is_formula(cell: &str) -> bool {
    let is_number = || {
        cell.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b))
            && cell.parse::<f64>().is_ok()
    };
    cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && !is_number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_and_the_rest_stays() {
        let plain = "ü 1\t2\n→ \u{200d}\\";
        assert!(matches!(escaped(plain), Cow::Borrowed(text) if text == plain));
        let hostile = "a\x1b]0;b\x07\r\x7f\u{9b}2J\u{202e}\u{2066}\u{2028}\u{200f}c\0";
        assert_eq!(
            escaped(hostile),
            r"a\u001b]0;b\u0007\u000d\u007f\u009b2J\u202e\u2066\u2028\u200fc\u0000"
        );
    }

    #[test]
    fn json_means_the_same_after_escaping() {
        let value = serde_json::json!({ "a\x1b\u{9b}": ["\x7f\u{2028}\u{202e}\n\"\\"] });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let escaped = escaped(&text);
        assert!(!escaped.contains(controls_terminal) && escaped != text);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }

    #[test]
    fn colours_stay_and_nothing_else_of_escape_sequences() {
        assert_eq!(escaped_but_colours("\x1b[1;31mred\x1b[0m\r"), "\x1b[1;31mred\x1b[0m\\u000d");
        assert_eq!(
            escaped_but_colours("\x1b[2J \x1b[1 \x1b]0;m \x1b"),
            "\\u001b[2J \\u001b[1 \\u001b]0;m \\u001b"
        );
        assert_eq!(escaped_but_colours("\x1b\x1b[m"), "\\u001b\x1b[m");
    }

    #[test]
    fn formulas_get_an_apostrophe_and_numbers_do_not() {
        for cell in
            ["=1+1", "+1-1", "-x", "@SUM(A1)", "\t=1", "\r=1", "-", "'=1", "''@", "-inf", "+nan"]
        {
            let shown = for_spreadsheet(cell);
            assert_eq!(shown, format!("'{cell}"));
            assert_eq!(from_spreadsheet(&shown), cell);
        }
        for cell in ["", "-3.2", "+1e-5", "-.5", "bfq", "a=b", "'quoted'", "1-1", " =1"] {
            assert_eq!(for_spreadsheet(cell), cell);
            assert_eq!(from_spreadsheet(cell), cell);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_cell_can_be_read_back(cell in "['=+@\\-\t\r1.e ]{0,8}") {
            let shown = for_spreadsheet(&cell);
            proptest::prop_assert_eq!(from_spreadsheet(&shown), cell.as_str());
        }

        #[test]
        fn nothing_that_steers_is_left(text in ".*") {
            proptest::prop_assert!(!escaped(&text).contains(controls_terminal));
            let coloured = escaped_but_colours(&text);
            proptest::prop_assert!(!coloured.replace('\x1b', "").contains(controls_terminal));
        }
    }
}
