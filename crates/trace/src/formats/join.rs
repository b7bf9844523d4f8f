//! Joins block layer events to requests, for blktrace, its text and other tracers.
//!
//! Events have no identifier, bios are merged, and requests are issued or completed in parts. So
//! each Q event makes an [`Io`], open until completed, and a later event walks the open ones of its
//! disk and direction over its sectors (as in btt) [P]. Merged bios get their request's times
//! ([`Flags::MERGED`]); a partly completed bio stays open with the rest; equal bios differ by age
//! only.

use std::collections::BTreeMap;

use super::builder::{Builder, Extent, request_from_bytes};
use crate::io::{At, Flags, Io, Kind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Q: submitted by a process.
    Queue,
    /// G: got a tag.
    Tag,
    /// M, F: merged into an open request.
    Merge,
    /// I: entered the scheduler.
    Insert,
    /// D: given to the driver.
    Issue,
    /// R: returned by the driver.
    Requeue,
    /// C: completed.
    Complete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub at: u64,
    pub action: Action,
    pub kind: Kind,
    pub flags: Flags,
    pub extent: Extent,
    pub process: u32,
    pub device: u16,
}

/// Limits the search in traces without completions.
const MAX_ALIKE: usize = 1024;

/// Disk, direction, sector; and its number, which orders by age.
type OpenBio = (u16, Kind, u64, u32);

#[derive(Debug, Default)]
pub struct Joiner {
    open: BTreeMap<OpenBio, u64>,
}

impl Joiner {
    pub fn event(&mut self, event: &Event, to: &mut Builder) {
        let Event { at, action, kind, flags, extent, process, device } = *event;
        if action == Action::Queue {
            let io = request_from_bytes(at, 0, kind, extent, process, device);
            let number = to.push(Io { flags, ..io });
            self.open.insert(
                (device, kind, extent.sector, number),
                extent.sector + u64::from(extent.sectors),
            );
            return;
        }
        let end = extent.sector + u64::from(extent.sectors);
        let mut next = extent.sector;
        loop {
            let wanted = |number: u32, to: &mut Builder| is_wanted(action, to.io(number));
            let from = (device, kind, next, 0);
            let until = (device, kind, end.max(next + 1), 0);
            let found = self
                .open
                .range(from..until)
                .take(MAX_ALIKE)
                .find(|((.., number), _)| wanted(*number, to));
            let Some((&place, &bio_end)) = found else { return };
            self.stage(event, place, bio_end, end, to);
            next = bio_end;
            // A flush has no sectors: each event concerns one.
            if next >= end {
                return;
            }
        }
    }

    fn stage(&mut self, event: &Event, place: OpenBio, bio_end: u64, end: u64, to: &mut Builder) {
        let number = place.3;
        let io = to.io(number);
        let known =
            [io.entered, io.tagged, io.inserted, io.issued].into_iter().filter_map(At::get).max();
        let at = At::ns(event.at.max(io.queued).max(known.unwrap_or(0)));
        match event.action {
            Action::Queue => {}
            Action::Tag => io.tagged = at,
            Action::Insert => io.inserted = at,
            Action::Merge => io.flags = io.flags.with(Flags::MERGED),
            Action::Requeue => io.flags = io.flags.with(Flags::REQUEUED),
            Action::Issue => io.issued = at,
            Action::Complete => {
                io.flags = io.flags.with(Flags(event.flags.0 & Flags::FAILED.0));
                self.open.remove(&place);
                if bio_end <= end {
                    io.completed = at;
                } else {
                    self.open.insert((place.0, place.1, end, number), bio_end);
                }
            }
        }
    }
}

/// An action after a later stage belongs to another bio, or the trace is damaged.
fn is_wanted(action: Action, io: &Io) -> bool {
    match action {
        Action::Issue => io.issued == At::UNKNOWN || io.flags.has(Flags::REQUEUED),
        Action::Requeue | Action::Complete => true,
        Action::Tag => [io.tagged, io.inserted, io.issued] == [At::UNKNOWN; 3],
        Action::Insert => [io.inserted, io.issued] == [At::UNKNOWN; 2],
        Action::Merge => !io.flags.has(Flags::MERGED),
        Action::Queue => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::format::Format;

    fn joined(events: &[(u64, Action, Kind, u64, u32)]) -> Vec<(u64, Option<u64>, Option<u64>)> {
        let (mut joiner, mut to) = (Joiner::default(), Builder::new());
        let (process, device) = (to.process(1, "a"), to.device("8,0"));
        for &(at, action, kind, sector, sectors) in events {
            let extent = Extent { sector, sectors };
            joiner.event(
                &Event { at, action, kind, flags: Flags::default(), extent, process, device },
                &mut to,
            );
        }
        let trace = to.finish(Format::Blkparse);
        assert_eq!(trace.check(), Ok(()));
        trace.ios.iter().map(|io| (io.queued, io.issued.get(), io.completed.get())).collect()
    }

    use Action::{Complete, Insert, Issue, Merge, Queue, Tag};
    use Kind::{Flush, Read, Write};

    #[test]
    fn merged_bios_have_the_times_of_the_request_that_carried_them() {
        let events = [
            (0, Queue, Read, 8, 8),
            (1, Queue, Read, 16, 8),
            (2, Merge, Read, 16, 8),
            (3, Issue, Read, 8, 16),
            (9, Complete, Read, 8, 16),
        ];
        assert_eq!(joined(&events), [(0, Some(3), Some(9)), (1, Some(3), Some(9))]);
    }

    #[test]
    fn a_bio_that_is_completed_in_parts_is_done_with_the_last_one() {
        let events = [
            (0, Queue, Write, 0, 32),
            (2, Issue, Write, 0, 16),
            (3, Issue, Write, 16, 16),
            (5, Complete, Write, 0, 16),
            (8, Complete, Write, 16, 16),
        ];
        assert_eq!(joined(&events), [(0, Some(2), Some(8))]);
    }

    #[test]
    fn two_at_the_same_place_are_served_in_the_order_of_their_age_and_a_flush_is_one_each() {
        let events = [
            (0, Queue, Read, 8, 8),
            (1, Queue, Read, 8, 8),
            (2, Queue, Write, 8, 8),
            (3, Issue, Read, 8, 8),
            (4, Issue, Read, 8, 8),
            (5, Complete, Read, 8, 8),
            (6, Queue, Flush, 0, 0),
            (7, Queue, Flush, 0, 0),
            (8, Complete, Flush, 0, 0),
            (9, Complete, Read, 8, 8),
        ];
        let none = (None, None);
        let expected = [
            (0, Some(3), Some(5)),
            (1, Some(4), Some(9)),
            (2, none.0, none.1),
            (6, None, Some(8)),
            (7, None, None),
        ];
        assert_eq!(joined(&events), expected);
    }

    #[test]
    fn a_stage_after_a_later_one_is_left_out() {
        let events = [
            (0, Queue, Read, 0, 8),
            (5, Issue, Read, 0, 8),
            (7, Insert, Read, 0, 8),
            (8, Tag, Read, 0, 8),
            (9, Complete, Read, 0, 8),
        ];
        assert_eq!(joined(&events), [(0, Some(5), Some(9))]);
    }

    #[test]
    fn an_event_before_the_stage_that_precedes_it_gets_that_one_s_time() {
        assert_eq!(
            joined(&[(5, Queue, Read, 0, 8), (9, Issue, Read, 0, 8), (7, Complete, Read, 0, 8)]),
            [(0, Some(4), Some(4))]
        );
    }
}
