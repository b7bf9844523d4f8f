//! Held requests and their flows.
//!
//! Each flow has a FIFO per class. Flows with requests are ordered by start tag per class; those
//! too far ahead of virtual time are throttled. Of the others, the oldest requests of each FIFO are
//! exposed: only they are in the one-way sector order and the overdue list, so that a flow that
//! crosses the slack moves a bounded number of requests. None is on a device without seeks.

use crate::algorithm::flow_rule::Tags;
use crate::algorithm::occupancy::model::Mean;
use crate::algorithm::occupancy::think::Thinks;
use crate::chain::{Chain, Links};
use crate::ordered::Ordered;
use crate::request::BlockRequest;

/// Classes in order of precedence within the slack.
pub(super) const REAL_TIME: usize = 0;
pub(super) const ON_CREDIT: usize = 1;
pub(super) const SYNC: usize = 2;
pub(super) const ASYNC: usize = 3;
pub(super) const CLASSES: usize = 4;
const NONE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    Queued,
    /// Requeued: dispatched first.
    Head,
    InFlight,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    pub(super) request: BlockRequest,
    pub(super) flow: u32,
    pub(super) class: u8,
    pub(super) bucket: u8,
    pub(super) position: Position,
    exposed: bool,
    /// Of a read far from its process's last: how many reads shared the device when it was issued,
    /// and whether writes did. 0: another request.
    pub(super) reads: u32,
    pub(super) with_writes: bool,
    /// Order of arrival.
    rank: u64,
    /// When it was exposed; later, when it was issued.
    pub(super) since: u64,
    /// Predicted occupancy; 0: not charged yet.
    pub(super) predicted: u64,
}

#[derive(Debug, Clone, Copy)]
struct Fifo {
    chain: Chain,
    exposed: u32,
    hidden: u32,
}

const EMPTY: Fifo = Fifo { chain: Chain::EMPTY, exposed: 0, hidden: NONE };

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Process {
    /// Queued, and in the device.
    pub(super) queued: u32,
    pub(super) busy: u32,
    /// End and completion; 0: none yet, or another is outstanding.
    pub(super) last_end: u64,
    pub(super) done: u64,
    pub(super) thinks: Thinks,
    /// Distance part without other requests in between.
    pub(super) own_position: Mean,
}

#[derive(Debug, Clone)]
pub(super) struct Flow {
    born: u64,
    /// Start tag of its next request.
    pub(super) start: u64,
    /// Weight × [`super::WEIGHT_SCALE`].
    pub(super) weight: u64,
    /// Whether its weight was declared.
    pub(super) has_share: bool,
    pub(super) is_declared: bool,
    pub(super) has_exited: bool,
    pub(super) is_free: bool,
    pub(super) queued: u32,
    /// Requests in the device, and requeued ones.
    pub(super) in_flight: u32,
    pub(super) eligible: bool,
    /// Last insertion or completion of a request.
    pub(super) touched: u64,
    /// In mean random requests, with fractional bits.
    pub(super) credit: u64,
    /// Weight, and whether on credit and privileged.
    pub(super) counted: Option<(u64, bool, bool)>,
    fifos: [Fifo; CLASSES],
}

impl Flow {
    /// `born`: how many requests came before.
    pub(super) fn new(born: u64) -> Flow {
        Flow {
            born,
            start: 0,
            weight: 100 * super::WEIGHT_SCALE,
            has_share: false,
            is_declared: false,
            has_exited: false,
            is_free: false,
            queued: 0,
            in_flight: 0,
            eligible: true,
            touched: 0,
            credit: 0,
            counted: None,
            fifos: [EMPTY; CLASSES],
        }
    }

    pub(super) fn is_active(&self) -> bool {
        self.queued > 0 || self.in_flight > 0
    }
}

#[derive(Debug)]
pub(super) struct Requests {
    slots: Vec<Option<Slot>>,
    pub(super) flows: Vec<Flow>,
    /// By number.
    pub(super) processes: Vec<Process>,
    fifo_links: Links,
    age_links: Links,
    sorted: [Ordered<(u64, u64)>; CLASSES],
    ages: [Chain; CLASSES],
    /// Per class in which they have requests.
    starts: [Tags; CLASSES],
    nr_starts: u32,
    throttled: Tags,
    exposes: bool,
    pub(super) queued: usize,
    pub(super) arrived: u64,
}

impl Requests {
    pub(super) fn new(nr_tags: u32) -> Requests {
        Requests {
            slots: vec![None; nr_tags as usize],
            flows: Vec::new(),
            processes: Vec::new(),
            fifo_links: Links::new(nr_tags),
            age_links: Links::new(nr_tags),
            sorted: Default::default(),
            ages: [Chain::EMPTY; CLASSES],
            starts: Default::default(),
            nr_starts: 0,
            throttled: Tags::default(),
            exposes: true,
            queued: 0,
            arrived: 0,
        }
    }

    #[inline]
    pub(super) fn slot(&self, tag: u32) -> &Slot {
        self.slots[tag as usize].as_ref().expect("the tag belongs to a request of the elevator")
    }

    #[inline]
    pub(super) fn slot_mut(&mut self, tag: u32) -> &mut Slot {
        self.slots[tag as usize].as_mut().expect("the tag belongs to a request of the elevator")
    }

    pub(super) fn has(&self, tag: u32) -> bool {
        self.slots.get(tag as usize).is_some_and(Option::is_some)
    }

    /// Allocates a slot, in no order yet.
    pub(super) fn enter(
        &mut self,
        request: BlockRequest,
        flow: u32,
        class: usize,
        position: Position,
        is_random: bool,
    ) {
        let tag = request.tag as usize;
        if self.slots.len() <= tag {
            self.slots.resize(tag + 1, None);
        }
        let rank = self.arrived;
        self.arrived += 1;
        self.slots[tag] = Some(Slot {
            request,
            flow,
            class: class as u8,
            bucket: 0,
            position,
            exposed: false,
            reads: u32::from(is_random),
            with_writes: false,
            rank,
            since: 0,
            predicted: 0,
        });
    }

    pub(super) fn forget(&mut self, tag: u32) -> Slot {
        self.slots[tag as usize].take().expect("the tag belongs to a request of the elevator")
    }

    /// Exposes requests as far as eligible.
    pub(super) fn queue(&mut self, now: u64, tag: u32, most: u32) {
        let Slot { flow, class, .. } = *self.slot(tag);
        let (flow, class) = (flow as usize, usize::from(class));
        let of = &mut self.flows[flow];
        let fifo = &mut of.fifos[class];
        let first = fifo.chain.oldest().is_none();
        self.fifo_links.push_back(&mut fifo.chain, tag);
        if fifo.hidden == NONE {
            fifo.hidden = tag;
        }
        of.queued += 1;
        self.queued += 1;
        if first {
            let (start, throttled) = (of.start, of.queued == 1 && !of.eligible);
            self.starts[class].set(flow as u32, start);
            self.nr_starts += 1;
            if throttled {
                self.throttled.set(flow as u32, start);
            }
        }
        self.expose(now, flow, class, most);
    }

    pub(super) fn unqueue(&mut self, now: u64, tag: u32, most: u32) {
        let Slot { flow, class, exposed, .. } = *self.slot(tag);
        let (flow, class) = (flow as usize, usize::from(class));
        if exposed {
            self.hide(tag);
            self.flows[flow].fifos[class].exposed -= 1;
        }
        let fifo = &mut self.flows[flow].fifos[class];
        if fifo.hidden == tag {
            fifo.hidden = self.fifo_links.after(tag).unwrap_or(NONE);
        }
        self.fifo_links.remove(&mut fifo.chain, tag);
        let empty = fifo.chain.oldest().is_none();
        self.flows[flow].queued -= 1;
        self.queued -= 1;
        if empty {
            self.starts[class].remove(flow as u32);
            self.nr_starts -= 1;
            if self.flows[flow].queued == 0 {
                self.throttled.remove(flow as u32);
            }
        } else {
            self.expose(now, flow, class, most);
        }
    }

    /// Merges `gone` into `survivor` of the same flow and class.
    pub(super) fn absorb(&mut self, now: u64, survivor: u32, gone: u32, most: u32) {
        let (kept, lost) = (*self.slot(survivor), *self.slot(gone));
        if lost.rank < kept.rank && (lost.flow, lost.class) == (kept.flow, kept.class) {
            let fifo = &mut self.flows[kept.flow as usize].fifos[usize::from(kept.class)];
            if fifo.hidden == survivor {
                fifo.hidden = self.fifo_links.after(survivor).unwrap_or(NONE);
            }
            self.fifo_links.remove(&mut fifo.chain, survivor);
            self.fifo_links.insert_before(&mut fifo.chain, survivor, gone);
            if lost.exposed {
                let ages = &mut self.ages[usize::from(kept.class)];
                if kept.exposed {
                    self.age_links.remove(ages, survivor);
                } else {
                    self.sorted[usize::from(kept.class)]
                        .insert((kept.request.sector, kept.request.seq), survivor);
                    fifo.exposed += 1;
                }
                self.age_links.insert_before(ages, survivor, gone);
            } else if fifo.hidden == gone {
                fifo.hidden = survivor;
            }
            let slot = self.slot_mut(survivor);
            (slot.rank, slot.exposed) = (lost.rank, lost.exposed);
            slot.since = lost.since;
        }
        self.unqueue(now, gone, most);
        self.forget(gone);
    }

    pub(super) fn grow(&mut self, after: &BlockRequest) {
        let slot = self.slot_mut(after.tag);
        let (before, exposed, class) = (slot.request, slot.exposed, usize::from(slot.class));
        slot.request = *after;
        if exposed && before.sector != after.sector {
            self.sorted[class].remove((before.sector, before.seq));
            self.sorted[class].insert((after.sector, after.seq), after.tag);
        }
    }

    pub(super) fn restart(&mut self, flow: usize, start: u64) {
        self.flows[flow].start = start;
        for class in 0..CLASSES {
            if self.flows[flow].fifos[class].chain.oldest().is_some() {
                self.starts[class].set(flow as u32, start);
            }
        }
        if !self.flows[flow].eligible && self.flows[flow].queued > 0 {
            self.throttled.set(flow as u32, start);
        }
    }

    pub(super) fn set_eligible(&mut self, now: u64, flow: usize, eligible: bool, most: u32) {
        self.flows[flow].eligible = eligible;
        if eligible {
            self.throttled.remove(flow as u32);
            (0..CLASSES).for_each(|class| self.expose(now, flow, class, most));
            return;
        }
        if self.flows[flow].queued > 0 {
            let start = self.flows[flow].start;
            self.throttled.set(flow as u32, start);
        }
        for class in 0..CLASSES {
            let Fifo { chain, exposed, .. } = self.flows[flow].fifos[class];
            let mut tag = chain.oldest();
            for _ in 0..exposed {
                let hiding = tag.expect("as many are in the queue as are exposed");
                tag = self.fifo_links.after(hiding);
                self.hide(hiding);
            }
            let fifo = &mut self.flows[flow].fifos[class];
            (fifo.exposed, fifo.hidden) = (0, chain.oldest().unwrap_or(NONE));
        }
    }

    fn expose(&mut self, now: u64, flow: usize, class: usize, most: u32) {
        if !self.flows[flow].eligible || !self.exposes {
            return;
        }
        while let fifo = &mut self.flows[flow].fifos[class]
            && fifo.exposed < most
            && fifo.hidden != NONE
        {
            let tag = fifo.hidden;
            fifo.hidden = self.fifo_links.after(tag).unwrap_or(NONE);
            fifo.exposed += 1;
            let slot = self.slot_mut(tag);
            (slot.exposed, slot.since) = (true, now);
            let key = (slot.request.sector, slot.request.seq);
            self.sorted[class].insert(key, tag);
            self.age_links.push_back(&mut self.ages[class], tag);
        }
    }

    /// Whether requests have positions. What is exposed stays so.
    pub(super) fn set_exposes(&mut self, now: u64, exposes: bool, most: u32) {
        if exposes == self.exposes {
            return;
        }
        self.exposes = exposes;
        let mut youngest: Vec<usize> = (0..self.flows.len()).collect();
        youngest.sort_by_key(|flow| std::cmp::Reverse(self.flows[*flow].born));
        for flow in youngest {
            (0..CLASSES).for_each(|class| self.expose(now, flow, class, most));
        }
    }

    fn hide(&mut self, tag: u32) {
        let slot = self.slot_mut(tag);
        slot.exposed = false;
        let (key, class) = ((slot.request.sector, slot.request.seq), usize::from(slot.class));
        self.sorted[class].remove(key);
        self.age_links.remove(&mut self.ages[class], tag);
    }

    #[inline]
    pub(super) fn is_eligible(&self, class: usize) -> bool {
        if self.exposes {
            return !self.sorted[class].is_empty();
        }
        self.starts[class].first().is_some_and(|(_, flow)| self.flows[flow as usize].eligible)
    }

    /// The next in one-way order from `head`.
    pub(super) fn next_up(&self, class: usize, head: u64) -> Option<u32> {
        let sorted = &self.sorted[class];
        sorted.at_or_after((head, 0)).or_else(|| sorted.first()).map(|(_, tag)| tag)
    }

    pub(super) fn first_by_start(&self, class: usize) -> Option<u32> {
        let (_, flow) = self.starts[class].first()?;
        self.flows[flow as usize].fifos[class].chain.oldest()
    }

    pub(super) fn oldest(&self, class: usize) -> Option<u32> {
        self.ages[class].oldest().filter(|_| self.exposes)
    }

    #[inline]
    pub(super) fn least_start(&self, class: usize) -> Option<u64> {
        self.starts[class].first().map(|(start, _)| start)
    }

    #[inline]
    pub(super) fn first_throttled(&self) -> Option<(u64, u32)> {
        self.throttled.first()
    }

    /// The number of non-empty FIFOs.
    pub(super) fn backlogged(&self) -> u32 {
        self.nr_starts
    }
}
