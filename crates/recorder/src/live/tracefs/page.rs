//! Pages of the kernel's trace buffers, and layouts of events.
//!
//! A page has a timestamp, a length with flags for lost events, and entries with 5 bits for type or
//! length and a 27-bit time delta. Layouts are in the `format` files.

use anyhow::{Context, Result, bail};

/// Flags in a page's length.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const LENGTH: u64 = (1 << 20) - 1;

const TYPE_BITS: u32 = 5;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Passes time and bytes to `each`. Returns the number of events lost before the page: at least one
/// if the kernel does not count.
pub(super) fn events(page: &[u8], each: &mut dyn FnMut(u64, &[u8])) -> u64 {
    let (Some(mut time), Some(commit)) = (number::<8>(page, 0), number::<8>(page, 8)) else {
        return 0;
    };
    let end = 16 + usize::try_from(commit & LENGTH).unwrap_or(0);
    let entries = page.get(16..end.min(page.len())).unwrap_or(&[]);
    let mut at = 0;
    while let Some(head) = number::<4>(entries, at) {
        let (kind, delta) = (head as u32 & ((1 << TYPE_BITS) - 1), head >> TYPE_BITS);
        let word = number::<4>(entries, at + 4).unwrap_or(0);
        let (data, next) = match kind {
            PADDING if delta == 0 => break,
            PADDING => (0..0, at + 4 + word as usize),
            TIME_EXTEND | TIME_STAMP => {
                let whole = delta | word << 27;
                // A timestamp has 59 bits; the page's time supplies the others.
                time = if kind == TIME_EXTEND {
                    time.wrapping_add(whole)
                } else {
                    time & !((1 << 59) - 1) | whole
                };
                at += 8;
                continue;
            }
            0 => (at + 8..at + 4 + word as usize, at + 4 + (word as usize).next_multiple_of(4)),
            length => (at + 4..at + 4 + length as usize * 4, at + 4 + length as usize * 4),
        };
        time = time.wrapping_add(delta);
        if kind != PADDING {
            match entries.get(data) {
                Some(event) => each(time, event),
                None => break,
            }
        }
        if next <= at {
            break;
        }
        at = next;
    }
    match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
        (false, _) => 0,
        (true, true) => number::<8>(page, end).unwrap_or(1).max(1),
        (true, false) => 1,
    }
}

/// Reads 1 to 8 bytes in native order.
pub(super) fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let mut whole = [0; 8];
    let found = bytes.get(at..at.checked_add(N)?)?;
    if cfg!(target_endian = "big") {
        whole[8 - N..].copy_from_slice(found)
    } else {
        whole[..N].copy_from_slice(found)
    }
    Some(u64::from_ne_bytes(whole))
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) id: u64,
    fields: Vec<(String, usize, usize)>,
}

impl Layout {
    /// Parses a `format` file.
    pub(super) fn parse(text: &str) -> Result<Layout> {
        let mut layout = Layout::default();
        for line in text.lines() {
            if let Some(id) = line.strip_prefix("ID:") {
                layout.id = id.trim().parse().context("tracefs: an event without a number")?;
            }
            let Some(line) = line.trim().strip_prefix("field:") else { continue };
            let mut parts = line.split(';').map(str::trim);
            let declared = parts.next().unwrap_or("");
            let name = declared.rsplit([' ', '*']).next().unwrap_or("");
            let name = name.split('[').next().unwrap_or("").to_owned();
            let of = |parts: &mut dyn Iterator<Item = &str>, key: &str| -> Option<usize> {
                parts.next()?.strip_prefix(key)?.trim().parse().ok()
            };
            let (Some(offset), Some(size)) = (of(&mut parts, "offset:"), of(&mut parts, "size:"))
            else {
                continue;
            };
            layout.fields.push((name, offset, size));
        }
        if layout.id == 0 {
            bail!("tracefs: the layout of an event has no number");
        }
        Ok(layout)
    }

    fn field(&self, name: &str) -> Option<(usize, usize)> {
        self.fields
            .iter()
            .find(|(field, ..)| field == name)
            .map(|(_, offset, size)| (*offset, *size))
    }

    pub(super) fn number(&self, event: &[u8], name: &str) -> Option<u64> {
        match self.field(name)? {
            (at, 1) => number::<1>(event, at),
            (at, 2) => number::<2>(event, at),
            (at, 4) => number::<4>(event, at),
            (at, 8) => number::<8>(event, at),
            _ => None,
        }
    }

    pub(super) fn text<'a>(&self, event: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let (at, size) = self.field(name)?;
        let bytes = event.get(at..at.checked_add(size)?)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(&bytes[..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";

    #[test]
    fn fields_are_where_the_kernel_says() {
        let layout = Layout::parse(FORMAT).expect("a layout");
        let mut event = vec![0; 44];
        event[16] = 7;
        event[34..36].copy_from_slice(b"WS");
        assert_eq!((layout.id, layout.number(&event, "sector")), (2104, Some(7)));
        assert_eq!(
            (layout.text(&event, "rwbs"), layout.number(&event[..20], "sector")),
            (Some(&b"WS"[..]), None)
        );
        assert!(Layout::parse("nothing").is_err());
    }

    #[test]
    fn events_have_their_times_and_what_was_lost_is_counted() {
        let mut page = Vec::new();
        page.extend(1000u64.to_ne_bytes());
        let entry = |length: u32, delta: u32| (length | delta << 5).to_ne_bytes();
        let mut entries = Vec::new();
        entries.extend(entry(1, 5));
        entries.extend(11u32.to_ne_bytes());
        entries.extend(entry(TIME_EXTEND, 3));
        entries.extend(2u32.to_ne_bytes());
        entries.extend(entry(0, 1));
        entries.extend(8u32.to_ne_bytes());
        entries.extend(12u32.to_ne_bytes());
        page.extend((entries.len() as u64 | MISSED | MISSED_STORED).to_ne_bytes());
        page.extend(entries);
        page.extend(42u64.to_ne_bytes());
        let mut found = Vec::new();
        let lost = events(&page, &mut |time, event| found.push((time, number::<4>(event, 0))));
        assert_eq!(
            (lost, found),
            (42, vec![(1005, Some(11)), (1005 + 3 + (2 << 27) + 1, Some(12))])
        );
    }

    #[test]
    fn any_bytes_are_events_or_nothing() {
        for seed in 0..2000u64 {
            let bytes: Vec<u8> = (0..200u64)
                .map(|at| (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (at % 57)) as u8 ^ at as u8)
                .collect();
            events(&bytes[..(seed % 200) as usize], &mut |_, _| {});
        }
    }
}
