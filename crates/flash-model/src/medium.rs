//! The path of pages to and from the dies, in order of arrival or with reads first.

use core::mem::take;

use crate::Flash;
use crate::dies::{End, Read, Work, Write};
use crate::ftl::Collected;
use crate::types::{Event, Program, SECTOR_BYTES, UNIT_SECTORS};

impl Flash {
    pub(crate) fn begin_read(&mut self, now: u64, slot: u32) {
        let inside = self.inside[slot as usize];
        let (mut page, mut bytes) = (None, 0);
        let end = inside.sector + inside.nr;
        self.inside[slot as usize].left = 1;
        for unit in inside.units() {
            let wanted =
                end.min((unit + 1) * UNIT_SECTORS) - inside.sector.max(unit * UNIT_SECTORS);
            let unit = unit as u32;
            if self.packing.iter().any(|(packed, _)| *packed == unit) {
                self.inside[slot as usize].left += 1;
                self.schedule(now, Event::Carried { slot, bytes: wanted * SECTOR_BYTES });
                continue;
            }
            let here = self.ftl.page_of(unit);
            if page.is_some_and(|page| page != here) {
                self.sense(now, slot, page, bytes);
                bytes = 0;
            }
            page = Some(here);
            bytes += wanted * SECTOR_BYTES;
        }
        self.sense(now, slot, page, bytes);
        // The command holds an extra part, so that it cannot complete before all its pages were
        // issued.
        self.part_done(now, slot);
    }

    fn sense(&mut self, now: u64, slot: u32, page: Option<(u32, u32)>, bytes: u64) {
        let Some((plane, page)) = page.filter(|_| bytes > 0) else { return };
        self.inside[slot as usize].left += 1;
        let ns = if page.is_multiple_of(2) {
            self.servers.times.read_ns
        } else {
            self.servers.times.read_msb_ns
        };
        let die = self.ftl.shape.die(plane);
        if let Some(dies) = &mut self.dies {
            let end = dies.read(now, die, Read { slot, plane, bytes, ns });
            return self.ends(die, end);
        }
        let sensed = self.servers.die(now, plane, false, ns);
        let channel = self.ftl.shape.channel(die);
        self.schedule(sensed, Event::Sensed { slot, channel, bytes });
    }

    fn ends(&mut self, die: u32, end: Option<End>) {
        if let Some((at, number)) = end {
            self.schedule(at, Event::Die { die, number });
        }
    }

    pub(crate) fn at_die(&mut self, now: u64, program: u32) {
        let Program { plane, collected, .. } = self.programs[program as usize];
        self.counters.moved_pages += collected.programs;
        self.counters.erases += collected.erases;
        self.counters.programs += 1;
        let Some(dies) = &mut self.dies else {
            self.servers.collect(now, plane, collected);
            let programmed = self.servers.die(now, plane, true, self.servers.times.program_ns);
            return self.schedule(programmed, Event::Programmed { program });
        };
        let times = &self.servers.times;
        let die = self.ftl.shape.die(plane);
        let Collected { reads, programs, erases } = collected;
        let moves = [
            (Work::MoveRead, times.read_ns, reads),
            (Work::MoveProgram, times.program_ns, programs),
        ];
        let all = moves.into_iter().chain([(Work::Erase, times.erase_ns, erases)]);
        let mut end = None;
        for (work, ns, times) in all.chain([(Work::Program(program), times.program_ns, 1)]) {
            for _ in 0..times {
                end = end.or(dies.write(now, die, Write { work, plane, ns }));
            }
        }
        self.ends(die, end);
    }

    pub(crate) fn die_ends(&mut self, now: u64, die: u32, number: u64) {
        let mut done = take(&mut self.finished);
        let dies = self.dies.as_mut().expect("only dies that prefer reads have ends of their own");
        let end = dies.end(now, die, number, &mut done);
        self.counters.suspends = dies.suspends;
        self.ends(die, end);
        for Read { slot, plane, bytes, .. } in done.reads.drain(..) {
            let channel = self.ftl.shape.channel(self.ftl.shape.die(plane));
            self.finish_sense(now, slot, channel, bytes);
        }
        for program in done.programs.drain(..) {
            self.finish_program(now, program);
        }
        self.finished = done;
    }

    pub(crate) fn finish_sense(&mut self, now: u64, slot: u32, channel: u32, bytes: u64) {
        let carried = self.servers.channel(now, channel, bytes);
        self.schedule(carried, Event::Carried { slot, bytes });
    }
}
