//! Bounded reads.

use std::io::{self, BufRead, Read};
use std::path::Path;

use text::limits::{Exceeded, Limit};

use crate::files::open_input;

/// A limit in bytes.
pub trait Bounded {
    /// The error contains [`Exceeded`] if there is more than the limit.
    fn read(&'static self, reader: impl Read) -> io::Result<Vec<u8>>;

    fn read_text(&'static self, reader: impl Read) -> io::Result<String> {
        String::from_utf8(self.read(reader)?)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
    }

    /// Reads a file named by the user. Fails as [`open_input`] and [`Bounded::read`].
    fn read_file(&'static self, path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        self.read(open_input(path.as_ref())?)
    }

    fn read_text_file(&'static self, path: impl AsRef<Path>) -> io::Result<String> {
        self.read_text(open_input(path.as_ref())?)
    }

    /// Replaces `line`'s contents; returns the number of bytes, 0 at the end.
    fn read_line(&'static self, reader: impl BufRead, line: &mut Vec<u8>) -> io::Result<usize>;
}

impl Bounded for Limit {
    fn read(&'static self, reader: impl Read) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        reader.take(self.most.saturating_add(1)).read_to_end(&mut bytes)?;
        self.check(bytes.len()).map_err(|_| stopped(self))?;
        Ok(bytes)
    }

    fn read_line(&'static self, mut reader: impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
        line.clear();
        let read = reader.by_ref().take(self.most.saturating_add(1)).read_until(b'\n', line)?;
        self.check(read).map_err(|_| stopped(self))?;
        Ok(read)
    }
}

/// The total size is unknown.
fn stopped(limit: &'static Limit) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, Exceeded { limit, found: None })
}

/// The limit, if that is the error's cause.
pub fn exceeded(error: &io::Error) -> Option<Exceeded> {
    error.get_ref()?.downcast_ref().copied()
}

#[cfg(test)]
mod tests {
    use text::limits::NAME_BYTES;

    use super::*;

    #[test]
    fn what_is_read_is_bounded_by_bytes_and_by_lines() {
        let text = "a".repeat(usize::try_from(NAME_BYTES.most).unwrap());
        assert_eq!(NAME_BYTES.read_text(text.as_bytes()).unwrap(), text);
        let endless = NAME_BYTES.read(io::repeat(b'a')).unwrap_err();
        assert_eq!(exceeded(&endless), Some(Exceeded { limit: &NAME_BYTES, found: None }));
        assert!(endless.to_string().contains("found more, expected at most 500 B"), "{endless}");
        let mut line = Vec::new();
        assert_eq!(NAME_BYTES.read_line(&b"ab\nc"[..], &mut line).unwrap(), 3);
        assert!(NAME_BYTES.read_line(io::BufReader::new(io::repeat(b'a')), &mut line).is_err());
    }
}
