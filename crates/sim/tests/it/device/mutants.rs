//! Mutation test of the device properties: each faulty device must break its designated property.
//!
//! A mutant is a correct device in a wrapper with one fault. The test also fails if the device
//! without a fault breaks a property.

use std::sync::atomic::{AtomicU64, Ordering};

use elevator::{BlockRequest, Disk, Geometry, Time};
use sim::device::{Command, DeviceStats, device};
use sim::{DeviceModel, stream};

use super::watch::{Broken, PROPERTIES, most_suspends, watch_twice};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    LosesACommand,
    LosesAFlush,
    CompletesTwice,
    CompletesAnother,
    NamesThePast,
    CompletesEarly,
    NeverGetsOn,
    IsBusyTooLong,
    CountsFlushes,
    CountsTheWholeBlock,
    ForgetsItsFigures,
    RemembersTheOneBefore,
    OffersNoQueue,
    SuspendsTooOften,
    ServesOneQueueOnly,
}

const PLANTED: &[(Fault, &str)] = &[
    (Fault::LosesACommand, "something_will_happen_while_commands_are_inside"),
    (Fault::LosesAFlush, "something_will_happen_while_commands_are_inside"),
    (Fault::CompletesTwice, "commands_complete_once"),
    (Fault::CompletesAnother, "only_what_was_sent_completes"),
    (Fault::NamesThePast, "events_lie_ahead"),
    (Fault::CompletesEarly, "nothing_happens_before_its_time"),
    (Fault::NeverGetsOn, "events_come_to_an_end"),
    (Fault::IsBusyTooLong, "busy_time_is_no_more_than_time"),
    (Fault::CountsFlushes, "transfers_are_counted"),
    (Fault::CountsTheWholeBlock, "transfers_are_counted"),
    (Fault::ForgetsItsFigures, "figures_only_grow"),
    (Fault::RemembersTheOneBefore, "same_seed_same_history"),
    (Fault::OffersNoQueue, "it_offers_a_queue_and_no_more_than_nvme_has"),
    (Fault::SuspendsTooOften, "nothing_is_suspended_more_often_than_allowed"),
    (Fault::ServesOneQueueOnly, "something_will_happen_while_commands_are_inside"),
];

/// Base devices: one of each model, and one with several queues.
const BASES: [&str; 4] = [
    "hp97560:queue_depth=8:write_cache=64:immediate_reporting=1",
    "sata-ssd:capacity_mib=16",
    "null:service_ns=500000:queue_depth=4",
    "nvme:capacity_mib=16:queues=3:queue_depth=4:command_slots=5:buffer_kib=64:read_priority=2:program_suspends=2:erase_suspends=1",
];

/// State that makes a mutant nondeterministic.
static OUTSIDE: AtomicU64 = AtomicU64::new(0);

/// A correct device with a fault.
#[derive(Debug)]
struct Mutant {
    inner: Box<dyn DeviceModel>,
    fault: Fault,
    sent: u64,
    completed: u64,
    flushes: u64,
    open: Vec<u32>,
    /// Tags whose completion is withheld.
    lost: Vec<u32>,
    now: Time,
    /// Number of devices made before.
    before: u64,
}

impl Disk for Mutant {
    fn positioning_ns(&self, now: Time, request: &BlockRequest) -> u64 {
        self.inner.positioning_ns(now, request)
    }
}

impl DeviceModel for Mutant {
    fn queue_depth(&self) -> u32 {
        self.inner.queue_depth()
    }

    fn queues(&self) -> u32 {
        if self.fault == Fault::OffersNoQueue { 0 } else { self.inner.queues() }
    }

    fn use_queues(&mut self, nr: u32) {
        self.inner.use_queues(nr);
    }

    fn suspend_limits(&self) -> [u64; 2] {
        self.inner.suspend_limits()
    }

    fn sectors(&self) -> u64 {
        self.inner.sectors()
    }

    fn geometry(&self) -> Geometry {
        self.inner.geometry()
    }

    fn submit(&mut self, now: Time, command: Command) {
        self.submit_on(now, 0, command);
    }

    fn submit_on(&mut self, now: Time, queue: u32, command: Command) {
        self.now = now;
        self.sent += 1;
        let (Command::Transfer { tag, .. } | Command::Flush { tag }) = command;
        self.open.push(tag);
        match command {
            Command::Flush { tag } => {
                self.flushes += 1;
                if self.fault == Fault::LosesAFlush {
                    self.lost.push(tag);
                }
            }
            Command::Transfer { tag, .. }
                if self.fault == Fault::LosesACommand && self.sent == 9 =>
            {
                self.lost.push(tag)
            }
            Command::Transfer { tag, .. }
                if self.fault == Fault::ServesOneQueueOnly && queue > 0 =>
            {
                self.lost.push(tag)
            }
            Command::Transfer { .. } => {}
        }
        self.inner.submit_on(now, queue, command);
    }

    fn next_event(&self) -> Option<Time> {
        let due = self.inner.next_event();
        match self.fault {
            Fault::NamesThePast if self.completed == 5 => {
                due.map(|_| Time::from_ns(self.now.as_ns().saturating_sub(1)))
            }
            Fault::NeverGetsOn if self.completed == 5 => Some(self.now),
            _ => due,
        }
    }

    fn advance(&mut self, now: Time, done: &mut Vec<u32>) {
        self.now = now;
        let before = done.len();
        match (self.fault, self.inner.next_event()) {
            (Fault::CompletesEarly, Some(due)) if due > now && !self.open.is_empty() => {
                self.lost.push(self.open[0]);
                return done.push(self.open[0]);
            }
            (Fault::NeverGetsOn, _) if self.completed == 5 => {}
            _ => self.inner.advance(now, done),
        }
        self.completed += (done.len() - before) as u64;
        self.open.retain(|tag| !done[before..].contains(tag));
        let last = if done.len() > before { done.last().copied() } else { None };
        match (self.fault, last) {
            (
                Fault::LosesACommand
                | Fault::LosesAFlush
                | Fault::CompletesEarly
                | Fault::ServesOneQueueOnly,
                Some(_),
            ) => {
                done.retain(|tag| !self.lost.contains(tag));
            }
            (Fault::CompletesTwice, Some(tag)) if self.completed >= 7 => done.push(tag),
            (Fault::CompletesAnother, Some(tag)) if self.completed >= 7 => {
                done.pop();
                done.push(tag + 1000);
            }
            _ => {}
        }
    }

    fn stats(&self) -> DeviceStats {
        let stats = self.inner.stats();
        match self.fault {
            Fault::IsBusyTooLong => {
                DeviceStats { busy_ns: stats.busy_ns.max(self.now.as_ns() + 1), ..stats }
            }
            Fault::CountsFlushes => {
                DeviceStats { transfers: stats.transfers + self.flushes, ..stats }
            }
            Fault::CountsTheWholeBlock => {
                DeviceStats { bytes: stats.bytes.next_multiple_of(4096) + 4096, ..stats }
            }
            Fault::ForgetsItsFigures if self.completed.is_multiple_of(8) => DeviceStats::default(),
            Fault::SuspendsTooOften => {
                DeviceStats { suspends: most_suspends(self.inner.as_ref(), &stats) + 1, ..stats }
            }
            Fault::RemembersTheOneBefore => {
                DeviceStats { seeks: stats.seeks + self.before, ..stats }
            }
            _ => stats,
        }
    }
}

fn assess(base: &str, fault: Fault, seed: u64) -> Result<(), Broken> {
    let make = || -> Box<dyn DeviceModel> {
        let inner = device(base, seed).expect("the bases can be made");
        let before = OUTSIDE.fetch_add(1, Ordering::Relaxed);
        Box::new(Mutant {
            inner,
            fault,
            sent: 0,
            completed: 0,
            flushes: 0,
            open: Vec::new(),
            lost: Vec::new(),
            now: Time::ZERO,
            before,
        })
    };
    let draws = || -> Box<dyn FnMut(u64) -> u64> {
        let mut numbers = stream(seed, "commands");
        Box::new(move |bound| numbers.below(bound))
    };
    watch_twice(make, 60, draws).map(|_| ())
}

#[test]
fn every_mutant_is_killed_by_its_property_and_the_device_without_a_fault_by_none() {
    for base in BASES {
        for seed in 0..10 {
            assert_eq!(assess(base, Fault::None, seed), Ok(()), "{base} without a fault");
        }
    }
    for (fault, property) in PLANTED {
        for base in BASES
            .iter()
            .filter(|base| *fault != Fault::ServesOneQueueOnly || base.contains("queues"))
        {
            // Several seeds: not every run has a command or a moment at which the fault shows.
            let broken = (0..10).filter_map(|seed| assess(base, *fault, seed).err());
            let properties: Vec<&str> = broken.map(|broken| broken.property).collect();
            println!(
                "{:<22} in {:<8} {property}",
                format!("{fault:?}"),
                base.split(':').next().unwrap_or_default()
            );
            assert!(
                properties.contains(property),
                "{fault:?} in {base} survives {property}; broken are {properties:?}"
            );
        }
    }
}

#[test]
fn every_property_kills_a_mutant() {
    for property in PROPERTIES {
        assert!(
            PLANTED.iter().any(|(_, by)| by == property),
            "no mutant is planted for {property}"
        );
    }
    assert!(PLANTED.iter().all(|(_, property)| PROPERTIES.contains(property)));
}
