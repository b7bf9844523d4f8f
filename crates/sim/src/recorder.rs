//! A trace of a simulated trial, made of its events: what `schedlab trace record` makes of a real
//! disk's.
//!
//! An event of a request (issue, completion) is joined to the bios that clients handed over, by
//! its sectors; see [`::trace::formats::Joiner`]. A client is a process, with the name that the
//! load engine's threads have.

use ::trace::formats::{Action, Builder, Event as Joined, Extent, Format, Joiner};
use ::trace::{Flags, Kind, Trace};
use elevator::Op;

use crate::trace::{Event, EventKind, Observer};

/// Listens to a trial.
#[derive(Debug, Default)]
pub struct Recorder {
    joiner: Joiner,
    to: Builder,
}

impl Recorder {
    /// The trace.
    pub fn finish(self) -> Trace {
        let mut trace = self.to.finish(Format::Auto);
        "sim".clone_into(&mut trace.about.source);
        trace
    }
}

impl Observer for Recorder {
    fn event(&mut self, event: &Event) {
        if self.to.exceeded().is_some() {
            return self.to.lost(1);
        }
        let action = match event.kind {
            EventKind::Submit => Action::Queue,
            EventKind::Merge => Action::Merge,
            EventKind::Insert => Action::Insert,
            EventKind::Issue => Action::Issue,
            EventKind::Done => Action::Complete,
            _ => return,
        };
        let Some(op) = event.op else { return };
        let kind = if op == Op::Read { Kind::Read } else { Kind::Write };
        let process = match event.process {
            Some(client) if action == Action::Queue => {
                self.to.process(client + 1, &format!("client-{client}"))
            }
            _ => 0,
        };
        let device = self.to.device("sim");
        let extent = Extent { sector: event.sector, sectors: event.nr_sectors };
        // Clients wait for what they submit, but for buffered writes, which no event distinguishes.
        let flags = Flags::SYNC;
        self.joiner.event(
            &Joined { at: event.at.as_ns(), action, kind, flags, extent, process, device },
            &mut self.to,
        );
    }
}
