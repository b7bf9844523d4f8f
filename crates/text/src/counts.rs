//! Counts with their nouns: `1 round`, `1,200 rounds`.

/// Inserts thousands separators: `-1,234.5`.
pub fn grouped(number: &str) -> String {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let (integer, fraction) = digits.split_once('.').map_or((digits, None), |(i, f)| (i, Some(f)));
    let mut text = String::from(sign);
    for (i, digit) in integer.chars().enumerate() {
        if i > 0 && (integer.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if let Some(fraction) = fraction {
        text.push('.');
        text.push_str(fraction);
    }
    text
}

/// Formats `1 round`, `1,200 rounds`, `2 more rounds`: `what` is the singular, and its plural ends
/// in s.
pub fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", grouped(&count.to_string()), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_thousands_are_separated() {
        let texts = [0, 1, 2, 1_234_567].map(|count| counted(count, "round"));
        assert_eq!(texts, ["0 rounds", "1 round", "2 rounds", "1,234,567 rounds"]);
        assert_eq!(grouped("-1234.56"), "-1,234.56");
    }
}
