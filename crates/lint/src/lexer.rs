//! A Rust file as comments, strings and names, each with its line: the parser would drop the comments.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Comment,
    /// What is between the quotes, escapes as written.
    Text,
    Name,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub kind: Kind,
    /// From 1.
    pub line: usize,
    pub text: &'a str,
    /// What follows a name.
    pub after: &'a str,
}

/// Comments and strings of several lines give one piece a line.
pub(crate) fn pieces(source: &str) -> Vec<Piece<'_>> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while at < bytes.len() {
        let rest = &source[at..];
        let (kind, skip, length) = match bytes[at] {
            b'/' if rest.starts_with("//") => (Some(Kind::Comment), 2, rest.find('\n').unwrap_or(rest.len()) - 2),
            b'/' if rest.starts_with("/*") => (Some(Kind::Comment), 2, rest.find("*/").unwrap_or(rest.len()) - 2),
            b'"' => (Some(Kind::Text), 1, quoted(&rest[1..])),
            b'r' if raw_hashes(rest).is_some() => {
                let hashes = raw_hashes(rest).expect("it was just seen");
                let end = format!("\"{}", "#".repeat(hashes));
                let skip = hashes + 2;
                (Some(Kind::Text), skip, rest[skip..].find(&end).unwrap_or(rest.len() - skip))
            }
            b'\'' => (None, 0, character(rest)),
            byte if byte == b'_' || byte.is_ascii_alphabetic() => {
                let is_name = |c: char| c == '_' || c.is_alphanumeric();
                (Some(Kind::Name), 0, rest.find(|c| !is_name(c)).unwrap_or(rest.len()))
            }
            byte if byte.is_ascii_digit() => {
                (None, 0, rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()))
            }
            _ => (None, 0, rest.chars().next().map_or(1, char::len_utf8)),
        };
        let text = &rest[skip..skip + length];
        let after = &rest[skip + length..];
        if let Some(kind) = kind {
            found.extend(text.split('\n').enumerate().map(|(more, text)| Piece {
                kind,
                line: line + more,
                text,
                after,
            }));
        }
        line += text.matches('\n').count();
        // The closing quote must not open the next string.
        at += skip + length + usize::from(kind == Some(Kind::Text));
    }
    found
}

/// Length of a string up to its closing quote.
fn quoted(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at,
            _ => {}
        }
    }
    rest.len()
}

/// The number of `#` if a raw string begins here.
fn raw_hashes(rest: &str) -> Option<usize> {
    let hashes = rest[1..].bytes().take_while(|byte| *byte == b'#').count();
    (rest.as_bytes().get(1 + hashes) == Some(&b'"')).then_some(hashes)
}

/// Length of a character literal, or of the quote alone where it begins a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(1, |end| end + 4),
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(1, |(end, _)| end + 1),
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_names_are_told_apart() {
        let source = "let a = \"b \\\" // c\"; // d \"e\"\nfn f<'g>(h: char) { i('\"', r#\"j \" k\"#, b'\\'', \"l\nm\"); /* n\no */ }";
        let seen: Vec<_> = pieces(source).into_iter().map(|piece| (piece.kind, piece.line, piece.text)).collect();
        let texts =
            |kind| seen.iter().filter(|(k, ..)| *k == kind).map(|(_, line, text)| (*line, *text)).collect::<Vec<_>>();
        assert_eq!(texts(Kind::Text), [(1, "b \\\" // c"), (2, "j \" k"), (2, "l"), (3, "m")]);
        assert_eq!(texts(Kind::Comment), [(1, " d \"e\""), (3, " n"), (4, "o ")]);
        let names: Vec<&str> = texts(Kind::Name).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["let", "a", "fn", "f", "g", "h", "char", "i", "b"]);
    }
}
