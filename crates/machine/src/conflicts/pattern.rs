//! Udev's patterns.

/// Alternatives separated by `|`, and shell patterns.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    pattern.split('|').any(|one| glob(&one.chars().collect::<Vec<char>>(), &text))
}

fn glob(pattern: &[char], text: &[char]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return text.is_empty() };
    let one = |holds: bool, rest: &[char]| holds && !text.is_empty() && glob(rest, &text[1..]);
    match first {
        '*' => (0..=text.len()).any(|skipped| glob(rest, &text[skipped..])),
        '?' => one(true, rest),
        '\\' if !rest.is_empty() => one(text.first() == rest.first(), &rest[1..]),
        '[' => match rest.iter().skip(1).position(|c| *c == ']') {
            Some(end) => {
                one(text.first().is_some_and(|c| is_in(&rest[..=end], *c)), &rest[end + 2..])
            }
            None => one(text.first() == Some(first), rest),
        },
        c => one(text.first() == Some(c), rest),
    }
}

fn is_in(class: &[char], c: char) -> bool {
    let (negated, class) = match class.split_first() {
        Some(('!' | '^', rest)) => (true, rest),
        _ => (false, class),
    };
    let mut at = 0;
    let mut found = false;
    while at < class.len() {
        if at + 2 < class.len() && class[at + 1] == '-' {
            found |= (class[at]..=class[at + 2]).contains(&c);
            at += 3;
        } else {
            found |= class[at] == c;
            at += 1;
        }
    }
    found != negated
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_udev_matches_them() {
        for (pattern, text, expected) in [
            ("sd[a-z]*", "sda", true),
            ("sd[!a]", "sda", false),
            ("nvme*|sd?", "sdb", true),
            ("sd[ab]", "sdc", false),
            ("[[]x]", "[x]", true),
            ("a\\*b", "a*b", true),
            ("a\\*b", "axb", false),
            ("", "", true),
            ("*", "", true),
            ("?*", "", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} against {text}");
        }
    }
}
