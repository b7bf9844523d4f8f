//! From bytes to a trace: lines, format detection, and checks common to all formats.

use text::limits::TRACE_LINE;

use super::builder::Builder;
use super::format::{Format, Options, TraceError};
use super::lines::{Next, Reader, excerpt};
use super::{blkparse, cloud, fio, msr};
use crate::Trace;

/// Parses a text trace.
///
/// # Errors
/// The first malformed line (unless skipped), or a trace without requests.
pub fn parse(format: Format, bytes: &[u8], options: Options) -> Result<Trace, TraceError> {
    let mut parser = Parser::new(format, options);
    parser.feed(bytes)?;
    parser.finish()
}

/// Incremental [`parse`].
pub struct Parser {
    format: Format,
    options: Options,
    /// `None` until the format is known.
    reader: Option<Box<dyn Reader>>,
    to: Builder,
    /// An incomplete last line.
    rest: Vec<u8>,
    line: u64,
    last: u64,
    ended: bool,
}

impl Parser {
    /// [`Format::Auto`] detects it from the first line.
    pub fn new(format: Format, options: Options) -> Parser {
        let (reader, to) = (reader_of(format), Builder::new());
        Parser { format, options, reader, to, rest: Vec::new(), line: 0, last: 0, ended: false }
    }

    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        let mut bytes = bytes;
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            if self.ended {
                return Ok(());
            }
            let line = &bytes[..end];
            bytes = &bytes[end + 1..];
            if self.rest.is_empty() {
                self.feed_line(line)?;
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.feed_line(&whole)?;
                whole.clear();
                self.rest = whole;
            }
        }
        if !self.ended {
            self.fits(self.rest.len() + bytes.len(), self.line + 1)?;
            self.rest.extend_from_slice(bytes);
        }
        Ok(())
    }

    /// Whether nothing of interest follows.
    pub fn ended(&self) -> bool {
        self.ended
    }

    pub fn finish(mut self) -> Result<Trace, TraceError> {
        let rest = std::mem::take(&mut self.rest);
        if !self.ended && !rest.is_empty() {
            self.feed_line(&rest)?;
        }
        if self.reader.is_none() && !self.options.skip_bad {
            return Err(unknown(1, ""));
        }
        if self.to.is_empty() {
            let bad = self.to.nr_bad();
            let skipped = if bad > 0 { format!(" ({bad} broken lines)") } else { String::new() };
            let problem =
                format!("expected at least one request before the end of the file{skipped}");
            return Err(TraceError { line: self.last.max(1), problem });
        }
        Ok(self.to.finish(self.format))
    }

    fn fits(&self, bytes: usize, line: u64) -> Result<(), TraceError> {
        TRACE_LINE
            .check(bytes)
            .map_err(|exceeded| TraceError { line, problem: exceeded.to_string() })
    }

    fn feed_line(&mut self, line: &[u8]) -> Result<(), TraceError> {
        self.line += 1;
        self.fits(line.len(), self.line)?;
        let line = line.trim_ascii_end();
        if line.trim_ascii_start().is_empty() {
            return Ok(());
        }
        self.last = self.line;
        let number = self.line;
        match self.read(line) {
            Ok(Next::End) => self.ended = true,
            Ok(Next::Line) => {}
            Err(error) => {
                if !self.options.skip_bad {
                    return Err(error);
                }
                self.to.bad();
            }
        }
        // Not a malformed line, which could be skipped.
        match self.to.exceeded() {
            None => Ok(()),
            Some(problem) => Err(TraceError { line: number, problem: problem.to_owned() }),
        }
    }

    fn read(&mut self, line: &[u8]) -> Result<Next, TraceError> {
        let number = self.line;
        let text = std::str::from_utf8(line);
        if self.reader.is_none() {
            let text = text.unwrap_or("");
            let format = detect(text).ok_or_else(|| unknown(number, text))?;
            self.format = format;
            self.reader = reader_of(format);
        }
        let reader = self.reader.as_mut().expect("the format was found out");
        text.map_err(|_| {
            format!("expected text, found {:?}", excerpt(&String::from_utf8_lossy(line)))
        })
        .and_then(|text| reader.line(text, &mut self.to))
        .map_err(|problem| TraceError { line: number, problem })
    }
}

fn reader_of(format: Format) -> Option<Box<dyn Reader>> {
    Some(match format {
        Format::Fio => Box::new(fio::Iolog::default()),
        Format::Blkparse => Box::new(blkparse::Events::default()),
        Format::Msr => Box::new(msr::Csv::default()),
        Format::Alibaba => Box::new(cloud::Alibaba::default()),
        Format::Tencent => Box::new(cloud::Tencent::default()),
        Format::CloudPhysics => Box::new(cloud::CloudPhysics::default()),
        Format::Auto | Format::Parquet | Format::Blktrace | Format::Perfetto => return None,
    })
}

fn detect(line: &str) -> Option<Format> {
    let known = [
        (Format::Fio, fio::is_header(line)),
        (Format::Msr, msr::is_msr(line)),
        (Format::Alibaba, cloud::is_alibaba(line)),
        (Format::CloudPhysics, cloud::is_cloudphysics(line)),
        (Format::Tencent, cloud::is_tencent(line)),
        (Format::Blkparse, blkparse::is_event(line)),
    ];
    known.into_iter().find(|(_, fits)| *fits).map(|(format, _)| format)
}

fn unknown(line: u64, text: &str) -> TraceError {
    TraceError {
        line,
        problem: format!(
            "expected the beginning of a fio iolog (\"fio version 2 iolog\"), of blkparse's text (\"8,0 0 1 0.000000000 …\") or of a CSV \
             of MSR Cambridge (\"128166372003061629,hm,0,Read,…\"), Alibaba, Tencent or CloudPhysics, found {:?}; set format",
            excerpt(text)
        ),
    }
}
