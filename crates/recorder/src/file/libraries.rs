//! Formats that need a library. The minimal build has `minimal.rs` instead.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use anyhow::Result;
use machine::files::open_input;
use trace::Trace;
use trace::formats::Format;

use super::columnar;
use super::packed::Packing;
use crate::perfetto;

/// Checks the columns of a Parquet file.
pub fn is_trace(path: &Path) -> bool {
    open_input(path).is_ok_and(columnar::is_trace)
}

pub fn read_bytes(bytes: Vec<u8>) -> Result<Trace> {
    columnar::read(bytes::Bytes::from(bytes))
}

pub(super) fn read_parquet(file: File) -> Result<Trace> {
    columnar::read(file)
}

pub(super) fn is_perfetto(begin: &[u8]) -> bool {
    perfetto::is_perfetto(begin)
}

pub(super) fn read_perfetto(trace: impl Read) -> Result<Trace> {
    perfetto::read(trace)
}

/// This build writes all formats.
pub(super) fn check_written(_path: &Path, _format: Format) -> Result<()> {
    Ok(())
}

pub(super) fn write_parquet(file: &mut (impl Write + Send), trace: &Trace) -> Result<()> {
    let mut writer = columnar::Writer::new(file)?;
    trace.ios.iter().try_for_each(|io| writer.push(io))?;
    let Trace { about, devices, processes, schedulers, ios: _ } = trace;
    let tables = Trace {
        about: about.clone(),
        devices: devices.clone(),
        processes: processes.clone(),
        schedulers: schedulers.clone(),
        ios: Vec::new(),
    };
    writer.finish(tables)?;
    Ok(())
}

pub(super) fn write_perfetto(file: &mut impl Write, trace: &Trace) -> Result<()> {
    perfetto::write(file, trace).map(drop)
}

/// `log` is that of a guest's scheduler (`kernel/modelcpu.h`).
pub fn write_run_queue(file: &File, log: &[u8]) -> Result<()> {
    perfetto::write_run_queue(std::io::BufWriter::new(file), log)
}

pub(super) fn unpack(packing: Packing, file: File) -> Result<Box<dyn Read>> {
    Ok(match packing {
        Packing::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(BufReader::new(file))),
        Packing::Zstd => Box::new(Frames { source: Some(BufReader::new(file)), frame: None }),
    })
}

type Frame = ruzstd::decoding::StreamingDecoder<BufReader<File>, ruzstd::decoding::FrameDecoder>;

/// A sequence of zstd frames.
struct Frames {
    source: Option<BufReader<File>>,
    frame: Option<Box<Frame>>,
}

impl Read for Frames {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
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
