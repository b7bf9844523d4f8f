//! The device under test: a real one, or a temporary loop device.

use anyhow::Result;

use crate::failure::usage;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Size in bytes.
    Temporary(u64),
    /// As named by the user.
    Device(String),
}

impl Target {
    /// # Errors
    /// Wrong usage: `loop:` with an invalid size or one below 1 MiB.
    pub fn parse(word: &str) -> Result<Target> {
        let Some(size) = word.strip_prefix("loop:") else {
            return Ok(Target::Device(word.to_owned()));
        };
        match text::parse_size(size) {
            Some(bytes) if bytes >= 1 << 20 => Ok(Target::Temporary(bytes.next_multiple_of(4096))),
            Some(_) => Err(usage(format!(
                "--device {word}: loop device too small (expected at least 1M); try loop:512M"
            ))),
            None => Err(usage(format!(
                "--device {word}: {size:?} is not a size; write e.g. loop:512M or loop:2G"
            ))),
        }
    }

    pub fn is_temporary(word: &str) -> Result<bool> {
        Ok(matches!(Target::parse(word)?, Target::Temporary(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_none_is_named_with_an_example() {
        for word in ["loop:12Q", "loop:", "loop:4k"] {
            let error = Target::is_temporary(word).unwrap_err().to_string();
            assert!(error.contains("loop:512M"), "{error}");
        }
        assert!(Target::is_temporary("loop:64M").unwrap());
        assert!(!Target::is_temporary("/dev/loop0").unwrap());
    }
}
