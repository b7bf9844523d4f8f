//! Packed files: gzip and zstd, of any number of members or frames.

use std::fs::File;
use std::io::Read;

use anyhow::Result;

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    /// By the first bytes.
    pub(super) fn of(begin: &[u8]) -> Option<Packing> {
        if begin.starts_with(&[0x1f, 0x8b]) {
            Some(Packing::Gzip)
        } else if begin.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Packing::Zstd)
        } else {
            None
        }
    }
}

/// What a file unpacks to.
#[cfg(feature = "packed")]
pub(super) fn reader(packing: Packing, file: File) -> Result<Box<dyn Read>> {
    Ok(match packing {
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(std::io::BufReader::new(file))),
        Packing::Zstd => Box::new(Frames { source: Some(std::io::BufReader::new(file)), frame: None }),
    })
}

#[cfg(not(feature = "packed"))]
pub(super) fn reader(packing: Packing, _file: File) -> Result<Box<dyn Read>> {
    let (name, program) = match packing {
        Packing::Gzip => ("gzip", "gunzip"),
        Packing::Zstd => ("zstd", "unzstd"),
    };
    anyhow::bail!(
        "packing: this build of schedlab does not unpack {name} (the one of `make demo` is without it); unpack it first ({program})"
    )
}

#[cfg(feature = "packed")]
type Frame = ruzstd::decoding::StreamingDecoder<std::io::BufReader<File>, ruzstd::decoding::FrameDecoder>;

/// zstd's frames, one after another.
#[cfg(feature = "packed")]
struct Frames {
    source: Option<std::io::BufReader<File>>,
    frame: Option<Box<Frame>>,
}

#[cfg(feature = "packed")]
impl Read for Frames {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        use std::io::BufRead;
        let damaged = |error: &dyn std::fmt::Display| {
            std::io::Error::new(std::io::ErrorKind::InvalidData, format!("zstd: {error}"))
        };
        loop {
            if let Some(frame) = &mut self.frame {
                let read = frame.read(to)?;
                if read > 0 || to.is_empty() {
                    return Ok(read);
                }
            }
            if let Some(frame) = self.frame.take() {
                self.source = Some(frame.into_inner());
            }
            let Some(mut source) = self.source.take() else { return Ok(0) };
            if source.fill_buf()?.is_empty() {
                self.source = Some(source);
                return Ok(0);
            }
            self.frame = Some(Box::new(Frame::new(source).map_err(|error| damaged(&error))?));
        }
    }
}
