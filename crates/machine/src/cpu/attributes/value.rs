//! Values in the kernel files' formats.

use std::io;
use std::path::Path;

use super::item::{Item, Write};

#[derive(Debug, Default)]
pub(super) struct Resolved {
    pub(super) writes: Vec<Write>,
    /// Values that the kernel changes as a side effect, to be restored too.
    pub(super) moved: Vec<Item>,
}

/// `on` or `off`.
pub(super) fn switch(value: &str) -> Result<bool, String> {
    match value {
        "on" | "1" | "yes" | "true" => Ok(true),
        "off" | "0" | "no" | "false" => Ok(false),
        _ => Err(format!("{value:?} is neither on nor off")),
    }
}

/// The same number of numbers, or Y or N.
pub(super) fn fits(present: &str, value: &str) -> Result<String, String> {
    let words: Vec<&str> = present.split_whitespace().collect();
    let is_number = |word: &&str| word.parse::<i64>().is_ok();
    if words.iter().all(|word| ["Y", "N"].contains(word)) && words.len() == 1 {
        let on = match value {
            "Y" | "y" => true,
            "N" | "n" => false,
            _ => switch(value)?,
        };
        return Ok(if on { "Y" } else { "N" }.to_string());
    }
    let wanted: Vec<&str> = value.split_whitespace().collect();
    if words.iter().all(is_number) && !(wanted.len() == words.len() && wanted.iter().all(is_number))
    {
        let of = if words.len() == 1 {
            "a whole number".to_string()
        } else {
            format!("{} whole numbers", words.len())
        };
        return Err(format!("{value:?} is not {of} (the file now contains {present})"));
    }
    Ok(value.to_string())
}

pub(super) fn denied(path: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            format!("only root may access {}: run as root (sudo schedlab ...)", path.display())
        }
        _ => format!("cannot access {}: {error}", path.display()),
    }
}
