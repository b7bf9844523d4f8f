//! Validates the contents of entries.
//!
//! Root acts on an entry. The state directory keeps other users from writing one; these checks keep
//! an entry from changing anything but what schedlab itself changes: attributes of a device's
//! queue, settings of CPUs, files and units with its own names.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::root::Root;

/// An entry's contents for its kind.
pub trait Payload: Serialize + DeserializeOwned {
    /// Fails if schedlab cannot have written this under this key, with found and expected values as
    /// the second half of a sentence. Called before the entry is undone.
    fn check(&self, root: &Root, key: &str) -> Result<(), String>;
}

/// Fails with what was found and what was expected.
pub fn expect(
    holds: bool,
    what: &str,
    found: impl std::fmt::Debug,
    expected: &str,
) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("its {what} is none of schedlab's (found {found:?}, expected {expected})"))
    }
}

/// Whether a word is a safe path component: letters, digits and a few signs, without a leading dot.
pub fn is_name(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+!:,@%".contains(c);
    !word.is_empty() && word.len() <= 255 && !word.starts_with('.') && word.chars().all(plain)
}

/// Whether a text can be an attribute's value: a single line.
pub fn is_value(text: &str) -> bool {
    text.len() <= 4096 && !text.chars().any(|c| c.is_control() && c != '\t')
}

/// The name of a file directly in `dir`, else `None`.
pub fn name_in<'a>(path: &'a Path, dir: &Path) -> Option<&'a str> {
    let absolute = |path: &Path| std::path::absolute(path).ok();
    let parent = path.parent().and_then(absolute)?;
    let name = path.file_name()?.to_str()?;
    (absolute(dir)? == parent && is_name(name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else_and_a_path_is_directly_in_its_directory() {
        for name in ["", ".", "..", "a/b", "a b", "a\nb", ".hidden"] {
            assert!(!is_name(name), "{name:?}");
        }
        assert!(is_name("cciss!c0d0") && is_name("90-schedlab-x.rules"));
        let dir = Path::new("/etc/udev/rules.d");
        assert_eq!(name_in(Path::new("/etc/udev/rules.d/a.rules"), dir), Some("a.rules"));
        for path in [
            "/etc/udev/rules.d/../a",
            "/etc/udev/rules.d/x/a",
            "/etc/shadow",
            "a",
            "/etc/udev/rules.d/..",
        ] {
            assert_eq!(name_in(Path::new(path), dir), None, "{path}");
        }
    }
}
