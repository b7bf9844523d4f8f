//! Lists of names in messages.

/// Names with commas between them.
pub fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_string() } else { names.join(", ") }
}

/// `; did you mean "x"?` for the name that is most like `word`, or nothing.
pub fn did_you_mean(word: &str, known: &[String]) -> String {
    text::did_you_mean(word, known.iter().map(String::as_str))
}
