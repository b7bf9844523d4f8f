//! Reads block events from a Perfetto trace, as a stream.
//!
//! Packets with bundles of ftrace events, process names, or compressed packets are parsed. The file
//! is untrusted: one packet at a time is in memory, and its size, its uncompressed size and the
//! number of events are limited.

use std::io::{ErrorKind, Read};

use anyhow::{Context, Result, bail};
use text::limits::PERFETTO_PACKET;
use trace::Trace;

use super::events::Events;
use super::wire::{Field, fields};

/// Field 1, length-delimited.
const PACKET: u8 = 0x0a;
/// Fields of a packet.
const FTRACE: u32 = 1;
const PROCESS_TREE: u32 = 2;
const COMPRESSED: u32 = 50;

/// `begin` has at least 32 bytes, unless the file is shorter. Text may start with the same byte, a
/// newline, but contains no other control characters.
pub(crate) fn is_perfetto(begin: &[u8]) -> bool {
    let begin = &begin[..begin.len().min(32)];
    let is_binary = |byte: &u8| (*byte < b' ' && !b"\n\r\t".contains(byte)) || *byte >= 0x80;
    let Some((&PACKET, mut rest)) = begin.split_first() else { return false };
    let is_long_enough = matches!(length(&mut rest), Ok(Some((2.., _))));
    // A field number, and one of four wire types.
    let is_field = rest.first().is_some_and(|key| key >> 3 > 0 && matches!(key & 7, 0 | 1 | 2 | 5));
    is_long_enough && is_field && begin.iter().any(is_binary)
}

/// A truncated last packet counts as lost.
pub(crate) fn read(mut trace: impl Read) -> Result<Trace> {
    let mut events = Events::default();
    packets(&mut trace, &mut events, true)?;
    events.trace()
}

pub fn check_packet(bytes: u64) -> Result<()> {
    Ok(PERFETTO_PACKET.check(usize::try_from(bytes).unwrap_or(usize::MAX))?)
}

fn packets(trace: &mut dyn Read, events: &mut Events, may_be_compressed: bool) -> Result<()> {
    let (mut at, mut packet) = (0u64, Vec::new());
    loop {
        let Some(key) = byte(trace)? else { return Ok(()) };
        if key != PACKET {
            bail!(
                "byte {at}: no packet of Perfetto begins there (found {key:#04x}, expected {PACKET:#04x})"
            );
        }
        let Some((length, taken)) = length(trace)? else {
            events.lost();
            return Ok(());
        };
        check_packet(length)?;
        if !may_be_compressed {
            events.unpacked(length)?;
        }
        packet.clear();
        trace.take(length).read_to_end(&mut packet)?;
        if (packet.len() as u64) < length {
            events.lost();
            return Ok(());
        }
        look(&packet, events, may_be_compressed).with_context(|| format!("packet at byte {at}"))?;
        at += 1 + taken + length;
    }
}

fn byte(trace: &mut dyn Read) -> Result<Option<u8>> {
    let mut one = [0];
    loop {
        match trace.read(&mut one) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(Some(one[0])),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A length and its encoded size; `None` at the end of the file.
fn length(trace: &mut dyn Read) -> Result<Option<(u64, u64)>> {
    let mut whole = 0;
    for taken in 0..10 {
        let Some(next) = byte(trace)? else { return Ok(None) };
        whole |= u64::from(next & 0x7f) << (7 * taken).min(63);
        if next < 0x80 {
            return Ok(Some((whole, taken + 1)));
        }
    }
    bail!("length: a packet's has more than 64 bits; the file is no trace of Perfetto, or damaged")
}

fn look(packet: &[u8], events: &mut Events, may_be_compressed: bool) -> Result<()> {
    fields(packet, &mut |field| match field {
        Field::Bytes(FTRACE, bundle) => fields(bundle, &mut |field| match field {
            Field::Bytes(2, event) => events.event(event),
            Field::Number(3, lost) => {
                (lost != 0).then(|| events.lost());
                Ok(())
            }
            _ => Ok(()),
        }),
        Field::Bytes(PROCESS_TREE, tree) => processes(tree, events),
        Field::Bytes(COMPRESSED, bytes) if may_be_compressed => unpacked(bytes, events),
        Field::Bytes(COMPRESSED, _) => bail!("packets: compressed twice; expected once"),
        _ => Ok(()),
    })
}

/// Parses threads and their processes.
fn processes(tree: &[u8], events: &mut Events) -> Result<()> {
    fields(tree, &mut |field| {
        let Field::Bytes(2, thread) = field else { return Ok(()) };
        let (mut tid, mut tgid) = (0, 0);
        fields(thread, &mut |field| {
            match field {
                Field::Number(1, number) => tid = number,
                Field::Number(3, number) => tgid = number,
                _ => {}
            }
            Ok(())
        })?;
        match (u32::try_from(tid), u32::try_from(tgid)) {
            (Ok(tid), Ok(tgid)) if tgid > 0 => events.thread(tid, tgid),
            _ => Ok(()),
        }
    })
}

fn unpacked(bytes: &[u8], events: &mut Events) -> Result<()> {
    let mut inner = std::io::BufReader::new(flate2::bufread::ZlibDecoder::new(bytes));
    packets(&mut inner, events, false).context("packets: compressed")
}
