//! CSV of three cloud trace collections.
//!
//! Alibaba [C, github.com/alibaba/block-traces]: `device_id,opcode,offset,length,timestamp`, R or
//! W, bytes, µs since 1970. Tencent [C, README of the CBS traces, SNIA IOTTA]:
//! `Timestamp,Offset,Size,IOType,VolumeID`, seconds since 1970, sectors of 512 bytes, 0 read, 1
//! write. CloudPhysics: `ts,lba,op,size` [C, as Cydonia reads it], µs, sectors, r or w, bytes; or
//! `version,time,op,size,lbn` [C, libCacheSim's sample], seconds (inferred [P]), hexadecimal SCSI
//! command, bytes, sectors. Each volume counts as a process [P]. A header is skipped; lines may be
//! out of order.

use super::builder::{Builder, Extent, SECOND_NS, request_from_bytes};
use super::lines::{Next, Reader, cells, excerpt, number, times};
use crate::io::Kind;

const ALIBABA: &str = "device_id,opcode,offset,length,timestamp";
const TENCENT: &str = "Timestamp,Offset,Size,IOType,VolumeID";
const CLOUDPHYSICS: &str = "ts,lba,op,size";
const VSCSI: &str = "version,time,op,size,lbn";

/// A header is accepted only before the first valid line, here and below.
#[derive(Debug, Default)]
pub(super) struct Alibaba {
    begun: bool,
}

#[derive(Debug, Default)]
pub(super) struct Tencent {
    begun: bool,
}

#[derive(Debug, Default)]
pub(super) struct CloudPhysics {
    begun: bool,
}

fn is_header(line: &str, names: &str) -> bool {
    line.trim().eq_ignore_ascii_case(names)
}

fn has_cells<const N: usize>(line: &str, holds: impl Fn([&str; N]) -> bool) -> bool {
    cells::<N>(line, "").is_ok_and(holds)
}

fn is_number(text: &str) -> bool {
    number(text, "").is_ok()
}

pub(super) fn is_alibaba(line: &str) -> bool {
    is_header(line, ALIBABA)
        || has_cells::<5>(line, |cells| is_number(cells[0]) && letter(cells[1]).is_some())
}

pub(super) fn is_tencent(line: &str) -> bool {
    let fits =
        |cells: [&str; 5]| cells.into_iter().all(is_number) && ["0", "1"].contains(&cells[3]);
    is_header(line, TENCENT) || has_cells(line, fits)
}

pub(super) fn is_cloudphysics(line: &str) -> bool {
    let vscsi = |cells: [&str; 5]| {
        [0, 1, 3, 4].into_iter().all(|cell| is_number(cells[cell]))
            && ["1", "2"].contains(&cells[0])
            && command(cells[2]).is_some()
            && cells[3].len() > 1
    };
    is_header(line, CLOUDPHYSICS)
        || is_header(line, VSCSI)
        || has_cells::<4>(line, |cells| is_number(cells[0]) && letter(cells[2]).is_some())
        || has_cells::<5>(line, vscsi)
}

fn letter(word: &str) -> Option<Kind> {
    match word {
        "R" | "r" => Some(Kind::Read),
        "W" | "w" => Some(Kind::Write),
        _ => None,
    }
}

/// Knows READ and WRITE of 6, 10, 12 and 16 bytes.
fn command(word: &str) -> Option<Kind> {
    match u8::from_str_radix(word, 16).ok()? {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Kind::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Some(Kind::Write),
        _ => None,
    }
}

fn no_kind(expected: &str, word: &str) -> String {
    format!("expected {expected}, found {:?}", excerpt(word))
}

impl Reader for Alibaba {
    fn line(&mut self, line: &str, to: &mut Builder) -> Result<Next, String> {
        if !self.begun && is_header(line, ALIBABA) {
            return Ok(Next::Line);
        }
        let [volume, word, offset, len, time] = cells(line, ALIBABA)?;
        number(volume, "the number of a volume")?;
        let kind = letter(word).ok_or_else(|| no_kind("R or W", word))?;
        let extent = Extent::of_bytes(
            number(offset, "an offset in bytes")?,
            number(len, "a length in bytes")?,
        )?;
        let at = times(time, 1000, "a time in microseconds")?;
        push(to, at, true, kind, extent, &format!("volume {volume}"));
        self.begun = true;
        Ok(Next::Line)
    }
}

impl Reader for Tencent {
    fn line(&mut self, line: &str, to: &mut Builder) -> Result<Next, String> {
        if !self.begun && is_header(line, TENCENT) {
            return Ok(Next::Line);
        }
        let [time, sector, sectors, word, volume] = cells(line, TENCENT)?;
        number(volume, "the number of a volume")?;
        let kind = match word {
            "0" => Kind::Read,
            "1" => Kind::Write,
            _ => return Err(no_kind("0 (read) or 1 (write)", word)),
        };
        let extent = sectors_of(sector, number(sectors, "a number of sectors")?)?;
        push(
            to,
            times(time, SECOND_NS, "a time in seconds")?,
            true,
            kind,
            extent,
            &format!("volume {volume}"),
        );
        self.begun = true;
        Ok(Next::Line)
    }
}

impl Reader for CloudPhysics {
    fn line(&mut self, line: &str, to: &mut Builder) -> Result<Next, String> {
        if !self.begun && (is_header(line, CLOUDPHYSICS) || is_header(line, VSCSI)) {
            return Ok(Next::Line);
        }
        let (at, kind, sector, size) = if line.split(',').count() == 5 {
            let [version, time, word, size, sector] = cells(line, VSCSI)?;
            number(version, "a version")?;
            let kind = command(word).ok_or_else(|| {
                no_kind("a SCSI command that reads or writes, like 28 or 2a", word)
            })?;
            (times(time, SECOND_NS, "a time in seconds")?, kind, sector, size)
        } else {
            let [time, sector, word, size] =
                cells(line, &format!("{CLOUDPHYSICS} (or the 5 fields {VSCSI})"))?;
            let kind = letter(word).ok_or_else(|| no_kind("r or w", word))?;
            (times(time, 1000, "a time in microseconds")?, kind, sector, size)
        };
        let size = number(size, "a size in bytes")?;
        let extent = sectors_of(sector, size.div_ceil(512))?;
        push(to, at, false, kind, extent, "virtual machine");
        self.begun = true;
        Ok(Next::Line)
    }
}

fn sectors_of(sector: &str, sectors: u64) -> Result<Extent, String> {
    let sector = number(sector, "a sector")?;
    if sectors == 0 {
        return Err("expected at least one sector, found 0".into());
    }
    Extent::of_sectors(sector, sectors)
}

/// With `since_1970`, `at` is wall-clock time.
fn push(to: &mut Builder, at: u64, since_1970: bool, kind: Kind, extent: Extent, volume: &str) {
    let (process, device) = (to.process(0, volume), to.device(volume));
    to.push(request_from_bytes(at, 0, kind, extent, process, device));
    if since_1970 {
        to.wall(at, at);
    }
}
