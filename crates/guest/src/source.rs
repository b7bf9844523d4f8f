//! Sources of kernels: a distribution's source package, or a directory.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::{Error, linux_of};

/// Releases that the modules are tested with. A newer one is tried.
pub(crate) const OLDEST: (u32, u32) = (6, 1);
/// The first whose User-mode Linux can have several CPUs.
pub(crate) const OLDEST_WITH_CPUS: (u32, u32) = (6, 19);
pub(crate) const NEWEST_KNOWN: (u32, u32) = (7, 3);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// `X.Y` of `linux-source-X.Y`.
    Debian(String),
    /// The newest in Debian's suites.
    Newest,
    /// The user's tree, which is not written to.
    Directory(PathBuf),
}

/// Where nothing else is named; the newest that the conformance table covers.
impl Default for Source {
    fn default() -> Source {
        Source::Debian("7.3".to_owned())
    }
}

impl Source {
    /// The source in `$SCHEDLAB_KERNEL`, or the default.
    pub fn usual() -> Result<Source, Error> {
        let word = std::env::var("SCHEDLAB_KERNEL").ok().filter(|word| !word.is_empty());
        word.map_or_else(|| Ok(Source::default()), |word| word.parse())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Debian(version) => write!(f, "debian:{version}"),
            Source::Newest => f.write_str("debian:newest"),
            Source::Directory(path) => write!(f, "{}", path.display()),
        }
    }
}

impl FromStr for Source {
    type Err = Error;

    fn from_str(word: &str) -> Result<Source, Error> {
        match word.strip_prefix("debian:") {
            Some("newest") => Ok(Source::Newest),
            Some(version) if is_version(version) => {
                check_age(word, linux_of(version))?;
                Ok(Source::Debian(version.to_owned()))
            }
            None if is_version(word) => format!("debian:{word}").parse(),
            None if !word.is_empty() && !word.contains(':') => {
                Ok(Source::Directory(PathBuf::from(word)))
            }
            _ => Err(Error::Source { word: word.to_owned() }),
        }
    }
}

pub(crate) fn check_age(what: &str, found: (u32, u32)) -> Result<(), Error> {
    if found < OLDEST { Err(Error::Old { what: what.to_owned(), found }) } else { Ok(()) }
}

/// Refuses a release whose User-mode Linux has one CPU.
pub(crate) fn check_several_cpus(source: &Source) -> Result<(), Error> {
    let found = match source {
        Source::Debian(version) => Some(linux_of(version)),
        Source::Directory(dir) => crate::tree::release_of(dir),
        Source::Newest => None,
    };
    match found.filter(|found| *found < OLDEST_WITH_CPUS) {
        Some(found) => Err(Error::OneCpu { what: source.to_string(), found }),
        None => Ok(()),
    }
}

fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 2
        && parts.iter().all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_package_or_a_directory_and_is_written_back_the_same() {
        for word in ["debian:6.1", "debian:6.12", "debian:newest", "/usr/src/linux", "linux"] {
            assert_eq!(word.parse::<Source>().unwrap().to_string(), word);
        }
        for word in [
            "",
            "debian:",
            "debian:6",
            "debian:6.1.5",
            "debian:six",
            "fedora:40",
            "debian:6.1/../../etc",
        ] {
            assert!(word.parse::<Source>().is_err(), "{word}");
        }
    }

    #[test]
    fn a_release_alone_is_that_of_the_package_and_a_directory_of_its_name_has_a_slash() {
        assert_eq!("6.12".parse::<Source>().unwrap().to_string(), "debian:6.12");
        assert!(matches!("./6.12".parse::<Source>().unwrap(), Source::Directory(_)));
        assert!("5.15".parse::<Source>().unwrap_err().to_string().contains("too old"));
    }

    #[test]
    fn the_default_is_a_release_that_is_known() {
        let Source::Debian(version) = Source::default() else { panic!("a package") };
        assert_eq!(linux_of(&version), NEWEST_KNOWN);
    }

    #[test]
    fn a_package_that_is_too_old_is_refused_with_the_oldest() {
        let error = "debian:5.10".parse::<Source>().unwrap_err().to_string();
        assert_eq!(
            error,
            "debian:5.10: Linux 5.10 is too old (expected 6.1 or later); take another source"
        );
        assert!("debian:6.0".parse::<Source>().is_err() && "debian:9.0".parse::<Source>().is_ok());
    }
}
