//! Virtual time, weights, and burst credit.
//!
//! A flow that returns starts at V, or where it was if it was away for less than the slack, so that
//! it has lost nothing by thinking.
//!
//! Credit: a process that starts, or returns after a second, while others have kept the device busy
//! for 1 s gets up to 1000 mean random requests of occupancy on credit, half of that for each
//! process that started within the last second. While it lasts, all processes on credit together
//! weigh 7 times as much as all others, so that those keep an eighth. What is granted comes from
//! one account that earns an eighth of the time, so that processes that keep starting do not keep
//! the device. Flows with a declared weight have a share instead.

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

/// A process that was away for this long is as one that starts.
const AWAY: u64 = SECOND;

/// Flows by process, and what they share.
#[derive(Debug)]
pub(super) struct Shares {
    pub(super) virtual_time: u64,
    /// Active flows with a share or credit, by start tag.
    entitled: Tags,
    /// By process: the flow plus one; 0: not known.
    of: Vec<u32>,
    declared: BTreeMap<u32, u32>,
    /// Flows that are free to be used again.
    free: Vec<u32>,
    /// Weights of active flows, of those on credit, and how many these are.
    weights: u64,
    credit_weights: u64,
    nr_on_credit: u64,
    nr_active: u32,
    /// Processes that started, halved every second; since when.
    births: u64,
    births_since: u64,
    /// Since when the device was not idle for a second.
    busy_since: u64,
    pub(super) last: u64,
    /// Credit that can be granted.
    account: u64,
    account_since: u64,
    is_open: bool,
}

impl Shares {
    pub(super) fn new() -> Shares {
        Shares {
            virtual_time: 0,
            entitled: Tags::default(),
            of: Vec::new(),
            declared: BTreeMap::new(),
            free: Vec::new(),
            weights: 0,
            credit_weights: 0,
            nr_on_credit: 0,
            nr_active: 0,
            births: 0,
            births_since: 0,
            busy_since: 0,
            last: 0,
            account: 0,
            account_since: 0,
            is_open: false,
        }
    }

    pub(super) fn known(&self, process: u32) -> Option<usize> {
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
        match self.free.pop() {
            Some(flow) => {
                requests.flows[flow as usize] = Flow::new();
                flow
            }
            None => {
                requests.flows.push(Flow::new());
                requests.flows.len() as u32 - 1
            }
        }
    }

    /// The flow of a process.
    pub(super) fn flow_of(&mut self, now: u64, requests: &mut Requests, process: u32) -> usize {
        if self.last == 0 || now.saturating_sub(self.last) > SECOND {
            self.busy_since = now;
        }
        if let Some(flow) = self.known(process) {
            return flow;
        }
        let flow = self.new_flow(requests);
        self.assign(process, flow);
        // Requests of a former process of this number may have completed since that has exited.
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
        if self.known(process).is_some_and(|known| known != number as usize) {
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

    /// A process has exited; its flow, if it was of its own.
    pub(super) fn exited(&mut self, requests: &mut Requests, process: u32) -> Option<usize> {
        let flow = self.known(process)?;
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

    /// The flow of a process that has exited is free once it has no requests.
    pub(super) fn release(&mut self, requests: &mut Requests, flow: usize) {
        let of = &mut requests.flows[flow];
        if of.has_exited && !of.is_active() && !of.is_free {
            self.account = self.account.saturating_add(of.credit);
            (of.credit, of.is_free) = (0, true);
            self.count(flow, of);
            self.free.push(flow as u32);
        }
    }

    /// A flow without requests gets one: its start tag and its credit.
    pub(super) fn wakes(
        &mut self,
        now: u64,
        settings: &Settings,
        model: &Model,
        requests: &mut Requests,
        flow: usize,
        slack: u64,
    ) {
        if self.virtual_time > super::REBASE && self.nr_active == 0 {
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

    fn grant(&mut self, now: u64, settings: &Settings, model: &Model, of: &mut Flow) {
        let most = settings.of(Key::CreditCosts) * model.random_ns();
        if !self.is_open {
            (self.account, self.is_open) = (most, true);
        } else {
            self.account = self.account.saturating_add((now - self.account_since) / 8).min(most);
        }
        self.account_since = now;
        let seconds = (now - self.births_since) / SECOND;
        self.births = self.births.checked_shr(seconds.min(64) as u32).unwrap_or(0);
        if seconds > 0 {
            self.births_since = now;
        }
        let births = self.births;
        self.births = (births + 1).min(1 << 20);
        self.account = self.account.saturating_add(std::mem::take(&mut of.credit)).min(most);
        if of.has_share || !settings.on(Key::Credit) || now - self.busy_since < SECOND {
            return;
        }
        of.credit = self.account.min(most.checked_shr(births.min(63) as u32).unwrap_or(0));
        self.account -= of.credit;
    }

    pub(super) fn touched(&mut self, now: u64, of: &mut Flow) {
        of.touched = now.max(1);
        self.last = now.max(1);
    }

    /// The class of a request that arrives.
    pub(super) fn class_of(&self, settings: &Settings, of: &Flow, request: &BlockRequest) -> usize {
        if !settings.on(Key::Classes) {
            return SYNC;
        }
        match plain_class(request) {
            SYNC if of.credit > 0 => ON_CREDIT,
            class => class,
        }
    }

    /// The weight that a request is charged by.
    pub(super) fn weight_of(&self, settings: &Settings, of: &Flow, slot: &Slot) -> u64 {
        if slot.request.priority.class == PrioClass::Idle {
            return (of.weight / WEIGHT_SCALE).max(1);
        }
        let on_credit = of.credit > 0 && slot.request.sync && usize::from(slot.class) != REAL_TIME;
        if on_credit {
            let others = self.weights - self.credit_weights;
            let together = settings.of(Key::CreditShare) * others;
            return of.weight.max(together / self.nr_on_credit.max(1));
        }
        of.weight
    }

    /// A request of this charge was dispatched.
    pub(super) fn spend(&mut self, flow: usize, of: &mut Flow, class: usize, charge: u64) {
        if of.credit > 0 && class != ASYNC && class != REAL_TIME {
            of.credit = of.credit.saturating_sub(charge);
        }
        self.count(flow, of);
    }

    /// The least start tag of active flows that have a share or credit: others do not run ahead of
    /// it by more than the slack, even while all its requests are in the device.
    pub(super) fn least_entitled(&self) -> Option<u64> {
        self.entitled.first().map(|(start, _)| start)
    }

    /// The start tag of a flow has changed.
    pub(super) fn restarted(&mut self, flow: usize, of: &Flow) {
        if self.entitled.value(flow as u32).is_some() {
            self.entitled.set(flow as u32, of.start);
        }
    }

    /// Counts a flow among the active ones, as it is now.
    pub(super) fn count(&mut self, flow: usize, of: &mut Flow) {
        let entitled = of.is_active() && (of.has_share || of.credit > 0);
        if entitled != self.entitled.value(flow as u32).is_some() {
            match entitled {
                true => self.entitled.set(flow as u32, of.start),
                false => _ = self.entitled.remove(flow as u32),
            }
        }
        let now = of.is_active().then_some((of.weight, of.credit > 0));
        if of.counted == now {
            return;
        }
        if let Some((weight, on_credit)) = of.counted {
            self.weights -= weight;
            self.nr_active -= 1;
            if on_credit {
                self.credit_weights -= weight;
                self.nr_on_credit -= 1;
            }
        }
        if let Some((weight, on_credit)) = now {
            self.weights += weight;
            self.nr_active += 1;
            if on_credit {
                self.credit_weights += weight;
                self.nr_on_credit += 1;
            }
        }
        of.counted = now;
    }

    /// Virtual time follows the least start tag of flows with requests.
    pub(super) fn follow(&mut self, requests: &Requests) {
        let least =
            (0..super::requests::CLASSES).filter_map(|class| requests.least_start(class)).min();
        self.virtual_time = self.virtual_time.max(least.unwrap_or(0));
    }
}
