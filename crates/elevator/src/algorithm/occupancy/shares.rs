//! Virtual time, weights and burst credit.
//!
//! Virtual time V is the least start tag of flows with requests. A flow may be ahead of it by the
//! slack, and while the device seeks or a flow is privileged, of every flow with a request in the
//! device as well. Privileged are flows with a declared share, another weight or credit. Without
//! either, nothing is bounded: a device without seeks takes what it can.
//!
//! A returning flow starts at V, or at its old tag if it was away for less than the slack, so
//! thinking costs nothing.
//!
//! Credit: a process that starts, or returns after a second, while others have kept the device busy
//! for 1 s, gets what is left of 1000 mean random requests, but no more than these halved for each
//! process that started within the last second. An eighth of the time goes back, so a stream of new
//! processes cannot keep the device. Processes on credit together weigh 7 times as much as all
//! others, which keep an eighth. Flows with a declared weight have a share instead.

use std::collections::BTreeMap;

use crate::algorithm::flow_rule::Tags;
use crate::algorithm::occupancy::model::Model;
use crate::algorithm::occupancy::requests::{
    ASYNC, Flow, ON_CREDIT, Process, REAL_TIME, Requests, SYNC, Slot,
};
use crate::algorithm::occupancy::settings::{Key, Settings};
use crate::algorithm::occupancy::{SECOND, USUAL_WEIGHT, VIRTUAL_BITS, WEIGHT_SCALE, plain_class};
use crate::request::{BlockRequest, PrioClass};
use crate::scheduler::FlowSpec;

/// A process away for this long counts as new.
const AWAY: u64 = SECOND;

/// Fractional bits of credit.
const CREDIT_BITS: u32 = 8;

fn in_requests(model: &Model, ns: u64) -> u64 {
    ns.saturating_mul(1 << CREDIT_BITS) / model.random_ns()
}

/// Flows by process.
#[derive(Debug)]
pub(super) struct Shares {
    pub(super) virtual_time: u64,
    /// Active flows, by start tag.
    active: Tags,
    /// By process: its flow plus one; 0: unknown.
    of: Vec<u32>,
    declared: BTreeMap<u32, u32>,
    free: Vec<u32>,
    /// Sums over active flows and those on credit; number of the latter.
    weights: u64,
    credit_weights: u64,
    nr_on_credit: u64,
    /// Active flows that are privileged.
    pub(super) nr_privileged: u32,
    /// Since when the device has not been idle for a second.
    busy_since: u64,
    pub(super) last: u64,
    /// Credit of which the time has not been earned yet.
    granted: u64,
    granted_since: u64,
    /// Process starts, halved every second.
    births: u64,
    births_since: u64,
}

impl Shares {
    pub(super) fn new() -> Shares {
        Shares {
            virtual_time: 0,
            active: Tags::default(),
            of: Vec::new(),
            declared: BTreeMap::new(),
            free: Vec::new(),
            weights: 0,
            credit_weights: 0,
            nr_on_credit: 0,
            nr_privileged: 0,
            busy_since: 0,
            last: 0,
            granted: 0,
            granted_since: 0,
            births: 0,
            births_since: 0,
        }
    }

    pub(super) fn known_flow(&self, process: u32) -> Option<usize> {
        self.of.get(process as usize).and_then(|known| (*known as usize).checked_sub(1))
    }

    fn assign(&mut self, process: u32, flow: u32) {
        let process = process as usize;
        if self.of.len() <= process {
            self.of.resize(process + 1, 0);
        }
        self.of[process] = flow + 1;
    }

    fn new_flow(&mut self, requests: &mut Requests) -> u32 {
        let flow = Flow::new(requests.arrived);
        match self.free.pop() {
            Some(free) => {
                requests.flows[free as usize] = flow;
                free
            }
            None => {
                requests.flows.push(flow);
                requests.flows.len() as u32 - 1
            }
        }
    }

    pub(super) fn flow_of(&mut self, now: u64, requests: &mut Requests, process: u32) -> usize {
        if self.last == 0 || now.saturating_sub(self.last) > SECOND {
            self.busy_since = now;
        }
        if let Some(flow) = self.known_flow(process) {
            return flow;
        }
        let flow = self.new_flow(requests);
        self.assign(process, flow);
        // A former process of this number may have had completions after its exit.
        if let Some(of) = requests.processes.get_mut(process as usize) {
            *of = Process { queued: of.queued, busy: of.busy, ..Process::default() };
        }
        flow as usize
    }

    pub(super) fn declare(
        &mut self,
        requests: &mut Requests,
        process: u32,
        flow: u32,
        spec: &FlowSpec,
    ) {
        let number = match self.declared.get(&flow) {
            Some(number) => *number,
            None => {
                let number = self.new_flow(requests);
                self.declared.insert(flow, number);
                number
            }
        };
        if self.known_flow(process).is_some_and(|known| known != number as usize) {
            self.exited(requests, process);
        }
        self.assign(process, number);
        let of = &mut requests.flows[number as usize];
        of.is_declared = true;
        of.has_share = spec.weight.is_some();
        of.weight =
            spec.weight.map_or(USUAL_WEIGHT, |weight| u64::from(weight.max(1)) * WEIGHT_SCALE);
        if of.counted.is_some() {
            self.count(number as usize, of);
        }
    }

    /// Returns the flow, unless it was declared.
    pub(super) fn exited(&mut self, requests: &mut Requests, process: u32) -> Option<usize> {
        let flow = self.known_flow(process)?;
        self.of[process as usize] = 0;
        if let Some(of) = requests.processes.get_mut(process as usize) {
            *of = Process { queued: of.queued, busy: of.busy, ..Process::default() };
        }
        let of = &mut requests.flows[flow];
        if of.is_declared {
            return None;
        }
        of.has_exited = true;
        self.release(requests, flow);
        Some(flow)
    }

    pub(super) fn release(&mut self, requests: &mut Requests, flow: usize) {
        let of = &mut requests.flows[flow];
        if of.has_exited && !of.is_active() && !of.is_free {
            self.granted = self.granted.saturating_sub(of.credit);
            (of.credit, of.is_free) = (0, true);
            self.count(flow, of);
            self.free.push(flow as u32);
        }
    }

    /// Sets start tag and credit at a flow's first request.
    pub(super) fn activate(
        &mut self,
        now: u64,
        settings: &Settings,
        model: &Model,
        requests: &mut Requests,
        flow: usize,
        slack: u64,
    ) {
        if self.virtual_time > super::REBASE && self.active.first().is_none() {
            self.virtual_time = 0;
            requests.flows.iter_mut().for_each(|of| of.start = 0);
        }
        let of = &requests.flows[flow];
        let (touched, start) = (of.touched, of.start);
        let behind = if touched > 0 && now.saturating_sub(touched) <= slack {
            (slack << VIRTUAL_BITS) / USUAL_WEIGHT
        } else {
            0
        };
        requests.restart(flow, start.max(self.virtual_time.saturating_sub(behind)));
        let of = &mut requests.flows[flow];
        if touched == 0 || now.saturating_sub(touched) > AWAY {
            self.grant(now, settings, model, of);
        }
    }

    /// What was granted is returned at an eighth of the time.
    fn grant(&mut self, now: u64, settings: &Settings, model: &Model, of: &mut Flow) {
        let most = settings.value(Key::CreditCosts) << CREDIT_BITS;
        let earned = in_requests(model, (now - self.granted_since) / 8) + of.credit;
        (self.granted, self.granted_since) = (self.granted.saturating_sub(earned), now);
        let seconds = (now - self.births_since) / SECOND;
        let births = self.births.checked_shr(seconds.min(64) as u32).unwrap_or(0);
        self.births = (births + 1).min(1 << 20);
        if seconds > 0 {
            self.births_since = now;
        }
        let may = settings.on(Key::Credit) && !of.has_share && now - self.busy_since >= SECOND;
        let left = most.saturating_sub(self.granted).min(most >> births.min(63));
        of.credit = if may { left } else { 0 };
        self.granted += of.credit;
    }

    pub(super) fn touched(&mut self, now: u64, of: &mut Flow) {
        of.touched = now.max(1);
        self.last = now.max(1);
    }

    pub(super) fn class_of(&self, settings: &Settings, of: &Flow, request: &BlockRequest) -> usize {
        if !settings.on(Key::Classes) {
            return SYNC;
        }
        match plain_class(request) {
            SYNC if of.credit > 0 => ON_CREDIT,
            class => class,
        }
    }

    pub(super) fn weight_of(&self, settings: &Settings, of: &Flow, slot: &Slot) -> u64 {
        if slot.request.priority.class == PrioClass::Idle {
            return (of.weight / WEIGHT_SCALE).max(1);
        }
        let on_credit = of.credit > 0 && slot.request.sync && usize::from(slot.class) != REAL_TIME;
        if on_credit {
            let others = self.weights - self.credit_weights;
            let together = settings.value(Key::CreditShare) * others;
            return of.weight.max(together / self.nr_on_credit.max(1));
        }
        of.weight
    }

    pub(super) fn spend(
        &mut self,
        model: &Model,
        flow: usize,
        of: &mut Flow,
        class: usize,
        charge: u64,
    ) {
        if of.credit > 0 && class != ASYNC && class != REAL_TIME {
            let spent = in_requests(model, charge).max(1);
            of.credit = of.credit.saturating_sub(spent);
        }
        self.count(flow, of);
    }

    /// The least start tag of flows with a request, be it in the device.
    pub(super) fn least_active(&self) -> Option<u64> {
        self.active.first().map(|(start, _)| start)
    }

    pub(super) fn restarted(&mut self, flow: usize, of: &Flow) {
        if of.counted.is_some() {
            self.active.set(flow as u32, of.start);
        }
    }

    pub(super) fn count(&mut self, flow: usize, of: &mut Flow) {
        let on_credit = of.credit > 0;
        let is_privileged = on_credit || of.has_share || of.weight != USUAL_WEIGHT;
        let now = of.is_active().then_some((of.weight, on_credit, is_privileged));
        if of.counted == now {
            return;
        }
        if let Some((weight, on_credit, is_privileged)) = of.counted {
            self.weights -= weight;
            self.nr_privileged -= u32::from(is_privileged);
            if on_credit {
                self.credit_weights -= weight;
                self.nr_on_credit -= 1;
            }
        }
        if let Some((weight, on_credit, is_privileged)) = now {
            self.weights += weight;
            self.nr_privileged += u32::from(is_privileged);
            if on_credit {
                self.credit_weights += weight;
                self.nr_on_credit += 1;
            }
        }
        match (of.counted.is_some(), now.is_some()) {
            (false, true) => self.active.set(flow as u32, of.start),
            (true, false) => _ = self.active.remove(flow as u32),
            _ => {}
        }
        of.counted = now;
    }

    /// Virtual time follows the least start tag.
    pub(super) fn follow(&mut self, requests: &Requests) {
        let least =
            (0..super::requests::CLASSES).filter_map(|class| requests.least_start(class)).min();
        self.virtual_time = self.virtual_time.max(least.unwrap_or(0));
    }
}
