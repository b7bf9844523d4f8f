//! Validates entries.
//!
//! Root acts on entries. The state directory keeps other users from writing one; these checks
//! restrict entries to what schedlab changes: queue attributes, CPU settings, and files and units
//! with its own names.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::root::Root;

pub trait Payload: Serialize + DeserializeOwned {
    /// Called before an undo. The error has found and expected values, as the second half of a
    /// sentence.
    fn check(&self, root: &Root, key: &str) -> Result<(), String>;
}

/// Fails with found and expected values.
pub fn expect(
    holds: bool,
    what: &str,
    found: impl std::fmt::Debug,
    expected: &str,
) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("its {what} is not schedlab's (found {found:?}, expected {expected})"))
    }
}

/// A safe path component: letters, digits and a few signs, without a leading dot.
pub fn is_name(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-+!:,@%".contains(c);
    !word.is_empty() && word.len() <= 255 && !word.starts_with('.') && word.chars().all(plain)
}

/// A single line.
pub fn is_value(text: &str) -> bool {
    text.len() <= 4096 && !text.chars().any(|c| c.is_control() && c != '\t')
}

/// `None` unless it is directly in `dir`.
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
