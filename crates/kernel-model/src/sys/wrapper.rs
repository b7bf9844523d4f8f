//! A core as an elevator, with the memory that kernel/iosched-*.c provides in a kernel: the core's
//! state, and a record per process (part of an io_cq). A record is allocated, zeroed, at a
//! process's first request and freed at its exit; a reused number gets a new one. Freed memory is
//! overwritten, so that its use fails at once.
//!
//! The queue finds merges, as for Rust elevators; [`CElevator::front_merge`] is the kernel's
//! lookup.

use std::ffi::c_void;
use std::fmt;

use elevator::{
    Anticipation, BlockRequest, Build, DepthLimit, Disk, Elevator, Finished, InsertAt, Merge, Op,
    PrioClass, Time,
};

use super::ffi::{Config, Counts, Curve, How, NEVER, NONE, Ops, Process, Request};
use super::memory::Memory;

pub struct CElevator {
    ops: &'static Ops,
    state: Memory,
    tags: u32,
    nr_tags: u32,
    names: Vec<&'static str>,
    /// The process of each request inserted and not completed, by tag.
    owners: Vec<Option<*mut Process>>,
    processes: Vec<Option<Memory>>,
    /// Exited, with remaining requests, if the core learns of an exit after the last of them.
    leaving: Vec<Memory>,
    /// The core refers to this list.
    _first: Vec<u64>,
}

// SAFETY: the core has no state outside this value's memory and is called only through it; its
// table is constant.
unsafe impl Send for CElevator {}

impl CElevator {
    /// Allocates a queue's extra tags, too: half of the pool, or one per pool of two.
    pub fn new(ops: &'static Ops, build: &Build) -> CElevator {
        let tags = build.nr_tags + (build.nr_tags / 2).max(2);
        let first = build.geometry.seek.first.clone();
        let curve = Curve { first: first.as_ptr(), ..Curve::new(&build.geometry.seek) };
        let config = Config {
            tags,
            hz: build.hz,
            sectors: build.geometry.cylinders * build.geometry.sectors_per_cylinder,
            cylinders: build.geometry.cylinders,
            sectors_per_cylinder: build.geometry.sectors_per_cylinder,
            seek: (&raw const curve).cast(),
        };
        // SAFETY: the core only computes a size.
        let state = Memory::new(unsafe { (ops.state_size)(tags) });
        // SAFETY: the memory is zeroed, aligned and of the required size; the curve is copied, and
        // its list outlives the core.
        unsafe { (ops.init)(state.start(), &raw const config) };
        let names = ops.tunables().map(|row| row.name).collect();
        let owners = vec![None; tags as usize];
        let (processes, leaving) = (Vec::new(), Vec::new());
        CElevator {
            ops,
            state,
            tags,
            nr_tags: build.nr_tags,
            names,
            owners,
            processes,
            leaving,
            _first: first,
        }
    }

    /// The held request that a bio can front-merge into.
    pub fn front_merge(&mut self, bio: &BlockRequest, max_sectors: u32) -> Option<u32> {
        let bio = self.core_request(bio, std::ptr::null_mut());
        // SAFETY: the state is the core's own; the bio's process is not used.
        let tag = unsafe { (self.ops.front_merge)(self.core(), &raw const bio, max_sectors) };
        (tag != NONE).then_some(tag)
    }

    fn core(&self) -> *mut c_void {
        self.state.start()
    }

    fn record(&self, process: u32) -> Option<*mut Process> {
        self.processes.get(process as usize)?.as_ref().map(Memory::start)
    }

    fn record_or_new(&mut self, process: u32) -> *mut Process {
        let at = process as usize;
        if at >= self.processes.len() {
            self.processes.resize_with(at + 1, || None);
        }
        self.processes[at].get_or_insert_with(|| Memory::new(self.ops.process_size)).start()
    }

    fn core_request(&self, request: &BlockRequest, process: *mut Process) -> Request {
        Request {
            sector: request.sector,
            seq: request.seq,
            allocated_ns: request.allocated.as_ns(),
            process,
            tag: request.tag,
            nr_sectors: request.nr_sectors,
            write: request.op == Op::Write,
            sync: request.sync,
            prio_class: match request.priority.class {
                PrioClass::RealTime => 0,
                PrioClass::BestEffort => 1,
                PrioClass::Idle => 2,
            },
            prio_level: request.priority.level,
        }
    }

    /// Tells the core before freeing the record.
    fn exit(&mut self, now: Time, record: &Memory) {
        // SAFETY: the state is the core's own; the record is freed only afterwards.
        unsafe { (self.ops.exited)(self.core(), now.as_ns(), record.start()) };
    }

    fn has_requests(&self, record: &Memory) -> bool {
        self.owners.contains(&Some(record.start()))
    }

    /// After an exited process's last request.
    fn release_exited(&mut self, now: Time) {
        let gone = (0..self.leaving.len()).rev().find(|at| !self.has_requests(&self.leaving[*at]));
        if let Some(at) = gone {
            let record = self.leaving.swap_remove(at);
            self.exit(now, &record);
        }
    }

    fn tunable(&self, name: &str) -> u32 {
        let at = self.names.iter().position(|known| *known == name);
        at.unwrap_or_else(|| unreachable!("there is no tunable {name}")) as u32
    }

    fn owner(&mut self, tag: u32) -> &mut Option<*mut Process> {
        assert!(tag < self.tags, "tag {tag} is below the number of tags");
        &mut self.owners[tag as usize]
    }
}

impl Elevator for CElevator {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        // A requeued request retains its record, possibly of an exited process.
        let known = *self.owner(request.tag);
        let process = known.unwrap_or_else(|| self.record_or_new(request.process));
        *self.owner(request.tag) = Some(process);
        let request = self.core_request(request, process);
        // SAFETY: state and record were zeroed or written by the core and do not move; the tag is
        // in range.
        unsafe {
            (self.ops.insert)(self.core(), now.as_ns(), &raw const request, at == InsertAt::Head)
        };
    }

    fn dispatch(&mut self, now: Time, _disk: &dyn Disk) -> Option<u32> {
        // SAFETY: the state is the core's own.
        let tag = unsafe { (self.ops.dispatch)(self.core(), now.as_ns()) };
        (tag != NONE).then_some(tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        let known = self.owner(done.request.tag).take();
        assert!(known.is_some(), "only requests that exist complete");
        // SAFETY: the state is the core's own, and it has a request with this tag.
        unsafe { (self.ops.complete)(self.core(), now.as_ns(), done.request.tag) };
        self.release_exited(now);
    }

    fn len(&self) -> usize {
        // SAFETY: the state is the core's own.
        unsafe { (self.ops.held)(self.core()) as usize }
    }

    fn next_timer(&self) -> Option<Time> {
        // SAFETY: the state is the core's own.
        let at = unsafe { (self.ops.next_timer)(self.core()) };
        (at != NEVER).then_some(Time::from_ns(at))
    }

    fn on_timer(&mut self, now: Time) {
        // SAFETY: the state is the core's own.
        unsafe { (self.ops.on_timer)(self.core(), now.as_ns()) };
    }

    fn limit_depth(&self, request: &BlockRequest, _word: u32) -> DepthLimit {
        // SAFETY: the state is the core's own, and the record is alive.
        let may_exceed =
            |record: *mut Process| unsafe { (self.ops.may_exceed)(self.core(), record) };
        if self.ops.shares() {
            let of_writes = DepthLimit::OfKind(self.nr_tags - self.nr_tags / 4);
            let is_free = request.op == Op::Read || may_exceed(std::ptr::null_mut());
            return if is_free { DepthLimit::None } else { of_writes };
        }
        match self.record(request.process).is_some_and(may_exceed) {
            true => DepthLimit::Exceed,
            false => DepthLimit::None,
        }
    }

    fn allow_merge(&self, request: &BlockRequest, bio: &BlockRequest, how: Merge) -> bool {
        assert!(request.tag < self.tags, "tag {} is below the number of tags", request.tag);
        let record = self.record(bio.process).unwrap_or(std::ptr::null_mut());
        let bio = self.core_request(bio, record);
        let how = match how {
            Merge::Back => How::Back,
            Merge::Front => How::Front,
        };
        // SAFETY: the state is the core's own; it compares the bio's process.
        unsafe { (self.ops.allow_merge)(self.core(), request.tag, &raw const bio, how) }
    }

    fn merged(&mut self, now: Time, before: &BlockRequest, after: &BlockRequest) {
        assert!(self.owner(before.tag).is_some(), "only held requests grow");
        let request = self.core_request(after, std::ptr::null_mut());
        // SAFETY: the state is the core's own; the request retains its process.
        unsafe { (self.ops.merged)(self.core(), now.as_ns(), &raw const request) };
    }

    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let both = [survivor.tag, gone.tag].map(|tag| self.owner(tag).is_some());
        assert_eq!(both, [true, true], "only held requests are merged");
        *self.owner(gone.tag) = None;
        // SAFETY: the state is the core's own, and it holds both tags.
        unsafe { (self.ops.coalesced)(self.core(), now.as_ns(), survivor.tag, gone.tag) };
        self.release_exited(now);
    }

    fn exited(&mut self, now: Time, process: u32) {
        let Some(record) = self.processes.get_mut(process as usize).and_then(Option::take) else {
            return;
        };
        if self.ops.shares() && self.has_requests(&record) {
            self.leaving.push(record);
        } else {
            self.exit(now, &record);
        }
    }

    fn get(&self, tunable: &str) -> u64 {
        // SAFETY: the state is the core's own, the number a tunable's.
        unsafe { (self.ops.get)(self.core(), self.tunable(tunable)) }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        // SAFETY: the state is the core's own, the number a tunable's.
        unsafe { (self.ops.set)(self.core(), self.tunable(tunable), value) };
    }

    fn anticipation(&self) -> Option<Anticipation> {
        let mut counts = Counts::default();
        // SAFETY: the state is the core's own.
        unsafe { (self.ops.anticipation)(self.core(), &raw mut counts) };
        let Counts { started, successes, failures, success_wait_ns, failure_wait_ns } = counts;
        Some(Anticipation { started, successes, failures, success_wait_ns, failure_wait_ns })
    }
}

impl fmt::Debug for CElevator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CElevator { ops, tags, .. } = self;
        f.debug_struct("CElevator")
            .field("ops", ops)
            .field("tags", tags)
            .field("held", &self.len())
            .finish()
    }
}
