//! Traces by tracefs events, for kernels and processes without BPF.
//!
//! They cost an event per stage and contain less: no I/O contexts and tag times, and a process's
//! id, start time and control group only if it still exists when they are read from /proc.

mod follow;
mod instance;
mod page;
mod who;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, bail};
use machine::Root;
use trace::Io;

pub(crate) use self::follow::letters;
use self::follow::{Event, Follow, Step};
use self::instance::Instance;
use self::page::Layout;
use self::who::Who;
use super::clock::{self, Began};
use super::events::Events;
use super::tables::Tables;
use super::target::{Filter, Target};

/// Whether request-based and bio-based disks need the event.
const EVENTS: [(&str, Step, [bool; 2]); 6] = [
    ("block/block_bio_queue", Step::Queue, [true, true]),
    ("block/block_rq_insert", Step::Insert, [true, false]),
    ("block/block_rq_issue", Step::Issue, [true, false]),
    ("block/block_rq_requeue", Step::Requeue, [true, false]),
    ("block/block_rq_complete", Step::Complete, [true, false]),
    ("block/block_bio_complete", Step::BioComplete, [false, true]),
];
/// Process ids are reused.
const EXIT: &str = "sched/sched_process_exit";

pub(super) fn start(
    root: &Root,
    targets: &[Target],
    filter: &Filter,
) -> Result<(Box<dyn Events>, Began)> {
    let mut instance = Instance::new(root)?;
    let mut numbers = Vec::new();
    for (at, target) in targets.iter().enumerate() {
        numbers.extend(target.numbers(root).into_iter().map(|number| (number, at)));
    }
    let condition: Vec<String> =
        numbers.iter().map(|(number, _)| format!("dev == {number}")).collect();
    let calls_for = [
        targets.iter().any(|target| !target.bio_based),
        targets.iter().any(|target| target.bio_based),
    ];
    let mut layouts = BTreeMap::new();
    for (event, step, of) in EVENTS {
        if of.iter().zip(calls_for).any(|(of, calls)| *of && calls) {
            match instance.enable(event, &condition.join(" || "))? {
                Some(layout) => drop(layouts.insert(layout.id, (Some(step), layout))),
                None if step == Step::Requeue => {}
                None => bail!(
                    "tracefs: this kernel has no event {event}; boot one with CONFIG_BLK_DEV_IO_TRACE=y"
                ),
            }
        }
    }
    if let Some(layout) = instance.enable(EXIT, "")? {
        layouts.insert(layout.id, (None, layout));
    }
    let began = Began::now();
    instance.switch(true)?;
    let source = Source {
        root: root.clone(),
        instance,
        layouts,
        numbers,
        targets: targets.to_vec(),
        who: Who::new(root, filter, began),
        follow: Follow::new(filter.is_empty()),
        waiting: Vec::new(),
        missed: 0,
    };
    Ok((Box::new(source), began))
}

struct Source {
    root: Root,
    instance: Instance,
    /// By event id; an exit has no step.
    layouts: BTreeMap<u64, (Option<Step>, Layout)>,
    /// Numbers of disks and partitions, with their targets.
    numbers: Vec<(u64, usize)>,
    targets: Vec<Target>,
    who: Who,
    follow: Follow,
    /// By time, because CPUs' buffers are read in sequence.
    waiting: Vec<(u64, Vec<u8>)>,
    /// Events lost before pages.
    missed: u64,
}

impl Events for Source {
    fn drain(&mut self, tables: &mut Tables, each: &mut dyn FnMut(&Io)) -> Result<()> {
        tables.source("tracefs");
        // Later events wait, because earlier ones of another CPU may not have been read.
        let until = clock::monotonic();
        let (waiting, missed) = (&mut self.waiting, &mut self.missed);
        self.instance.pages(&mut |page| {
            *missed += page::events(page, &mut |at, event| waiting.push((at, event.to_vec())));
        })?;
        self.waiting.sort_by_key(|(at, _)| *at);
        let ready = self.waiting.partition_point(|(at, _)| *at <= until);
        let schedulers: Vec<u8> = self
            .targets
            .iter()
            .map(|target| {
                tables.scheduler(
                    &target.scheduler_now(&self.root).unwrap_or_else(|| "none".to_owned()),
                )
            })
            .collect();
        for (at, event) in self.waiting.drain(..ready).collect::<Vec<_>>() {
            self.take(at, &event, &schedulers, tables, each);
        }
        Ok(())
    }

    fn lost(&self) -> u64 {
        self.instance.dropped().max(self.missed)
    }

    fn stop(&mut self) -> Result<u64> {
        self.instance.switch(false)?;
        Ok(self.follow.unfinished())
    }

    fn works_unprivileged(&self, _root: &Root) -> bool {
        true
    }

    fn removes_in(&self) -> Vec<PathBuf> {
        self.instance.removes_in()
    }
}

impl Source {
    fn take(
        &mut self,
        at: u64,
        event: &[u8],
        schedulers: &[u8],
        tables: &mut Tables,
        each: &mut dyn FnMut(&Io),
    ) {
        let Some((step, layout)) = page::number::<2>(event, 0).and_then(|id| self.layouts.get(&id))
        else {
            return;
        };
        let number = |name: &str| layout.number(event, name);
        let Some(step) = *step else {
            self.who
                .forget_thread(number("pid").and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0));
            return;
        };
        let (Some(dev), Some(sector)) = (number("dev"), number("sector")) else { return };
        let sectors =
            number("nr_sector").and_then(|sectors| u32::try_from(sectors).ok()).unwrap_or(0);
        let has = |(other, at): &&(u64, usize)| {
            *other == dev && (sectors == 0 || self.targets[*at].sectors.contains(&sector))
        };
        let Some((_, target)) = self.numbers.iter().find(has) else { return };
        let (kind, flags) = letters(layout.text(event, "rwbs").unwrap_or(b""), sectors);
        // The block layer's flush on behalf of processes.
        if kind == trace::Kind::Flush && matches!(step, Step::Insert | Step::Issue) {
            return;
        }
        let process = match step {
            Step::Queue | Step::Insert | Step::Issue => {
                let name = layout.text(event, "comm").unwrap_or(b"");
                let tid = number("common_pid").and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
                self.who.process(tid, name, tables)
            }
            _ => None,
        };
        let event = Event {
            step,
            at: tables.since_began(at),
            device: u16::try_from(*target).unwrap_or(0),
            // A passthrough command has no sector.
            sector: if sector == u64::MAX { 0 } else { sector },
            sectors,
            kind,
            flags,
            process,
            scheduler: schedulers.get(*target).copied().unwrap_or(0),
            priority: number("ioprio")
                .and_then(|priority| u16::try_from(priority).ok())
                .unwrap_or(0),
            failed: number("error").is_some_and(|error| error != 0),
        };
        if let Some(io) = self.follow.take(&event) {
            each(&io);
        }
    }
}
