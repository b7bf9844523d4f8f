//! Small help with words: the nearest name to a mistyped one.

/// `; did you mean "x"?` for the name nearest to `word`, or nothing when none is near.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&word.to_lowercase(), &name.to_lowercase()), name))
        .min()
        .filter(|(distance, name)| *distance <= 1 + name.len() / 3)
        .map(|(_, name)| format!("; did you mean {name:?}?"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_different_word_is_not() {
        assert_eq!(nearest("kyver", ["bfq", "kyber"]), "; did you mean \"kyber\"?");
        assert_eq!(nearest("postgres", ["bfq", "kyber"]), "");
    }
}
