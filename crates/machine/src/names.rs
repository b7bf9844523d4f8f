//! Lists of names in messages.

pub fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_string() } else { names.join(", ") }
}

/// `; did you mean "x"?`, or an empty string.
pub fn did_you_mean(word: &str, known: &[String]) -> String {
    text::did_you_mean(word, known.iter().map(String::as_str))
}
