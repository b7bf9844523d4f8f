//! Selects names of a table by patterns in which `*` matches any text.

use anyhow::Result;

use crate::failure::usage;

fn means(word: &str, name: &str) -> bool {
    match word.split_once('*') {
        None => word == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|left| {
            left.char_indices()
                .map(|(at, _)| at)
                .chain([left.len()])
                .any(|at| means(rest, &left[at..]))
        }),
    }
}

/// The names that match a pattern, in table order; all without patterns. A pattern without a match
/// is an error.
pub(super) fn chosen<'a>(
    option: &str,
    words: &[String],
    names: &[&'a str],
) -> Result<Vec<&'a str>> {
    for word in words {
        if word.matches('*').count() > 4 || !names.iter().any(|name| means(word, name)) {
            let nearest = text::did_you_mean(word, names.iter().copied());
            return Err(usage(format!(
                "{option} {word}: names none of {}{nearest}",
                names.join(", ")
            )));
        }
    }
    let is_chosen = |name: &str| words.is_empty() || words.iter().any(|word| means(word, name));
    Ok(names.iter().copied().filter(|name| is_chosen(name)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_and_a_word_for_itself() {
        for (word, name, expected) in [
            ("bfq", "bfq", true),
            ("bfq", "bfq-2010", false),
            ("bfq*", "bfq-2010", true),
            ("*scan*", "c-scan", true),
            ("*", "", true),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXcYb", false),
        ] {
            assert_eq!(means(word, name), expected, "{word} {name}");
        }
    }

    #[test]
    fn a_word_that_means_nothing_is_refused_with_the_nearest_name() {
        let names = ["none", "kyber", "bfq"];
        let chosen = |word: &str| chosen("--schedulers", &[word.to_owned()], &names);
        assert_eq!(chosen("*y*").unwrap(), ["kyber"]);
        let error = chosen("kybr").unwrap_err().to_string();
        assert!(error.contains("--schedulers kybr") && error.contains("kyber"), "{error}");
        assert!(chosen("*a*a*a*a*a*").is_err(), "a word that takes long to compare");
    }
}
