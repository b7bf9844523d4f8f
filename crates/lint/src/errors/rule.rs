//! What is wrong with a template.

use super::templates::{Template, Use};

/// What a sentence begins with, and a subject does not.
const NOT_A_SUBJECT: &[&str] = &[
    "a", "all", "an", "another", "by", "cannot", "could", "did", "every", "expected", "failed", "if", "in", "invalid",
    "it", "most", "must", "neither", "no", "none", "not", "nothing", "only", "some", "that", "the", "there", "these",
    "this", "those", "to", "too", "two", "unknown", "without", "while",
];

/// Longest subject, in words.
const MAX_SUBJECT: usize = 6;

/// Nothing to say and nothing to do: the user knows.
const PLAIN: &[&str] = &["interrupted"];

/// What is wrong with a template, each as the end of the sentence "an error …".
pub fn faults(template: &Template) -> Vec<&'static str> {
    let text = without_placeholders(&template.text);
    if PLAIN.contains(&template.text.as_str()) || !text.chars().any(char::is_alphabetic) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let first = text.split([' ', ':', ',']).next().unwrap_or_default();
    if NOT_A_SUBJECT.contains(&first) {
        found.push("begins as a sentence, not with its subject");
    } else if template.used != Use::Context && !has_subject(&text) {
        found.push("has no subject that a colon ends");
    }
    if starts_like_a_sentence(first) {
        found.push("begins with a capital");
    }
    if text.ends_with('.') && !text.ends_with("...") || text.ends_with('!') {
        found.push("ends with a full stop");
    }
    if text.to_lowercase().contains("there are") {
        found.push("lists alternatives with \"there are\" (write: expected one of …)");
    }
    if has_two_sentences(&text) {
        found.push("has a second sentence");
    }
    // A placeholder at the end is another's error, or advice that a function words.
    if template.used == Use::Usage && !text.contains("; ") && !text.ends_with(PLACEHOLDER) {
        found.push("does not say what to do after a semicolon");
    }
    found
}

/// Stands for what is filled in.
const PLACEHOLDER: char = '\u{fffc}';

/// `{device}`, `{:?}` and so on as one [`PLACEHOLDER`] each; `{{` is a brace.
fn without_placeholders(template: &str) -> String {
    let mut text = String::new();
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '{' if chars.peek() == Some(&'{') => {
                chars.next();
                text.push('{');
            }
            '{' => {
                chars.by_ref().find(|c| *c == '}');
                text.push(PLACEHOLDER);
            }
            '}' if chars.peek() == Some(&'}') => {
                chars.next();
                text.push('}');
            }
            c => text.push(c),
        }
    }
    text
}

fn has_subject(text: &str) -> bool {
    // Another's error with advice behind it.
    if text.strip_prefix(PLACEHOLDER).is_some_and(|rest| rest.starts_with("; ")) {
        return true;
    }
    text.find(": ").is_some_and(|end| {
        let subject = &text[..end];
        subject.split_whitespace().count() <= MAX_SUBJECT && !subject.contains(';') && !subject.contains(". ")
    })
}

/// `Cannot`, but not `CPU`, `I/O` or `UnitName`.
fn starts_like_a_sentence(first: &str) -> bool {
    let mut chars = first.chars();
    chars.next().is_some_and(char::is_uppercase) && chars.next().is_some() && chars.all(|c| c.is_lowercase())
}

fn has_two_sentences(text: &str) -> bool {
    text.match_indices(". ").any(|(at, _)| text[at + 2..].starts_with(|c: char| c.is_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::super::templates::of_source;
    use super::*;

    fn nr_faults(text: &str, used: Use) -> usize {
        faults(&Template { text: text.to_string(), line: 1, used }).len()
    }

    #[test]
    fn errors_in_the_form_pass() {
        for text in [
            "{device}: in use by another schedlab (process {pid}); wait for it or stop it",
            "plan, line {line}: no {what} is called {word:?}{}; expected one of {}",
            "--schedulers: unknown scheduler {name:?}; expected one of {}",
            "{}: cannot be read: {cause}",
            "CPU {cpu}: offline; bring it online",
            "{0}",
            "{context}: {cause}",
            "{error}; or name another with --device",
            "mkfs.ext4: not installed; on Debian: apt-get install e2fsprogs",
            "interrupted",
        ] {
            assert_eq!(nr_faults(text, Use::Error), 0, "{text}");
        }
    }

    #[test]
    fn a_planted_fault_of_each_kind_is_found() {
        for (text, used) in [
            ("cannot read {}: {cause}", Use::Error),
            ("{device} is in use by another schedlab", Use::Error),
            ("there is no scheduler {x}: choose another", Use::Error),
            ("{device}: no scheduler {x:?} There are: {known}", Use::Error),
            ("{device}: is in use.", Use::Error),
            ("{device}: is in use. Wait for it", Use::Error),
            ("Device: is in use", Use::Error),
            ("--arena: unknown word", Use::Usage),
            ("cannot write the record", Use::Context),
        ] {
            assert_eq!(nr_faults(text, used), 1, "{text}");
        }
    }

    #[test]
    fn templates_are_found_wherever_an_error_is_made() {
        let source = r#"
            #[derive(Error)] enum E { #[error("one {x}", x = 1)] A, #[error(transparent)] B }
            fn f() -> Result<()> {
                ensure!(ok, "two");
                bail!("three \
                       and more");
                g().context("four").with_context(|| format!("five {x}"))?;
                Err(usage(format!("six {}", y)))
            }
            #[cfg(test)] mod tests { fn t() { bail!("no") } }
        "#;
        let texts: Vec<String> = of_source(source).unwrap().into_iter().map(|template| template.text).collect();
        assert_eq!(texts, ["one {x}", "two", "three and more", "five {x}", "four", "six {}"]);
    }
}
