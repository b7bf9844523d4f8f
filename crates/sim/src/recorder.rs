//! Records a simulated trial as a trace, like `schedlab trace record` on a real disk.
//!
//! Issue and completion events are joined to the submitted bios by sector; see
//! [`::trace::formats::Joiner`]. Clients are processes, named like the load engine's threads.

use ::trace::formats::{Action, Builder, Event as Joined, Extent, Format, Joiner};
use ::trace::{Flags, Kind, Trace};
use elevator::Op;

use crate::trace::{Event, EventKind, Observer};

/// An observer that builds a trace.
#[derive(Debug, Default)]
pub struct Recorder {
    joiner: Joiner,
    to: Builder,
}

impl Recorder {
    /// The finished trace.
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
        // Clients wait for what they submit, except buffered writes, which no event distinguishes.
        let flags = Flags::SYNC;
        self.joiner.event(
            &Joined { at: event.at.as_ns(), action, kind, flags, extent, process, device },
            &mut self.to,
        );
    }
}
