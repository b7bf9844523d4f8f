//! Suggests a known name for a misspelt one, by Jaro-Winkler similarity: most typos follow a
//! correct beginning, and truncated names (`slice` for `slice_idle`) still score high, unlike with
//! edit distance.

/// 0 to 1.
const MIN_SIMILARITY: f64 = 0.75;

/// The most similar of the `known` names, if similar enough; the first one on a tie. Ignores case,
/// and `-` equals `_`.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = normalised(word);
    let mut best = None;
    for name in known {
        let similarity = strsim::jaro_winkler(&word, &normalised(name));
        if similarity > best.map_or(MIN_SIMILARITY, |(most, _)| most) {
            best = Some((similarity, name));
        }
    }
    best.map(|(_, name)| name)
}

/// The end of an error about an unknown name: `; did you mean "x"?` with the [`nearest`] name, or
/// nothing.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    suggestion(nearest(word, known))
}

/// [`did_you_mean`] for a name already looked up.
pub fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |name| format!("; did you mean {name:?}?"))
}

fn normalised(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_intended_one_and_an_unrelated_word_finds_none() {
        let schedulers = ["none", "mq-deadline", "bfq", "kyber"];
        assert_eq!(nearest("kyver", schedulers), Some("kyber"));
        assert_eq!(nearest("KYBR", schedulers), Some("kyber"));
        assert_eq!(nearest("mq_deadlne", schedulers), Some("mq-deadline"));
        assert_eq!(nearest("postgres", schedulers), None);
        assert_eq!(nearest("", schedulers), None);
        assert_eq!(did_you_mean("kyver", schedulers), "; did you mean \"kyber\"?");
        assert_eq!(did_you_mean("xyzzy", schedulers), "");
    }

    #[test]
    fn a_shortened_name_is_recognised() {
        assert_eq!(nearest("slice", ["fifo_batch", "slice_idle"]), Some("slice_idle"));
    }

    #[test]
    fn of_equally_similar_names_the_first_is_suggested() {
        assert_eq!(nearest("sdx", ["sda", "sdb"]), Some("sda"));
    }
}
