//! Reads any supported format, detected by contents: text, CSV, blktrace, Parquet, Perfetto; with
//! gzip or zstd.
//!
//! Files are streamed. Limits apply to the uncompressed size.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use anyhow::{Context, Result, bail};
use machine::files::open_input;
use trace::Trace;
use trace::formats::{Format, Options, Parser, blktrace};

use super::metered::Metered;
use super::{libraries, packed, per_cpu};

const PIECE: usize = 1 << 18;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadOptions {
    pub format: Format,
    /// Skip and count broken lines.
    pub skip_bad: bool,
}

impl Default for ReadOptions {
    /// Fails at a broken line.
    fn default() -> ReadOptions {
        ReadOptions { format: Format::Auto, skip_bad: false }
    }
}

/// Errors begin with the file's name.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Trace> {
    let shown = path.display();
    let mut file = open_input(path).with_context(|| format!("{shown}: cannot read the trace"))?;
    let begin = begin(&mut file).with_context(|| format!("{shown}: cannot read the trace"))?;
    if begin.starts_with(b"PAR1") && matches!(options.format, Format::Auto | Format::Parquet) {
        return libraries::read_parquet(file)
            .with_context(|| format!("{shown}: cannot read the trace"));
    }
    let trace = match packed::Packing::of(&begin) {
        Some(packing) => {
            libraries::unpack(packing, file).and_then(|reader| stream(reader, options))
        }
        None if blktrace::is_blktrace(&begin) => per_cpu::read(path),
        None => stream(file, options),
    };
    trace.map_err(|error| error.context(format!("{shown}: cannot read the trace")))
}

fn begin(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    file.take(8).read_to_end(&mut begin)?;
    file.rewind()?;
    Ok(begin)
}

/// Reads text, or one blktrace file.
fn stream(reader: impl Read, options: &ReadOptions) -> Result<Trace> {
    let mut reader = Metered::new(BufReader::with_capacity(PIECE, reader));
    let mut piece = vec![0; PIECE];
    let mut read = fill(&mut reader, &mut piece)?;
    let is_named = options.format == Format::Perfetto;
    if is_named || (options.format == Format::Auto && libraries::is_perfetto(&piece[..read])) {
        return libraries::read_perfetto(
            std::io::Cursor::new(piece[..read].to_vec()).chain(reader),
        );
    }
    if blktrace::is_blktrace(&piece[..read]) {
        return per_cpu::of_one(std::io::Cursor::new(piece[..read].to_vec()).chain(reader));
    }
    if piece[..read].starts_with(b"PAR1") {
        bail!("trace: Parquet inside another packing; unpack it first");
    }
    if packed::Packing::of(&piece[..read]).is_some() {
        bail!("packing: packed twice; unpack it once");
    }
    if !matches!(options.format, Format::Auto) && !options.format.is_text() {
        bail!("format: not {} (the file is text); remove format", options.format.name());
    }
    let mut parser = Parser::new(options.format, Options { skip_bad: options.skip_bad });
    while read > 0 && !parser.ended() {
        parser.feed(&piece[..read])?;
        read = fill(&mut reader, &mut piece)?;
    }
    Ok(parser.finish()?)
}

fn fill(reader: &mut impl Read, piece: &mut [u8]) -> std::io::Result<usize> {
    let mut read = 0;
    while read < piece.len() {
        match reader.read(&mut piece[read..]) {
            Ok(0) => break,
            Ok(n) => read += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
