//! mbac: reserves bandwidth for flows as far as measured use leaves room, with a dual queue.
//!
//! A flow with a rate is admitted if the last `window`'s use by admitted flows plus its rate is at
//! most (1 − `margin`) of the capacity; a flow without a full window counts by its rate. Others are
//! demoted to the remaining capacity and reconsidered after each window. Dual queue: admitted
//! requests go by sector, or by deadline once the earliest deadline is nearer than the time to
//! serve them all; others by sector when no admitted flow has requests.
//!
//! Source: Peng, Chiueh and others: measurement-based admission control (ICDCS 2008) and the dual
//! queue of Stonehenge; partly second-hand. Parameters (proposed): `capacity` (KiB/s, default 0:
//! measured while busy, initially 65536), `margin` (percent, 10), `window` (ms, 1000),
//! `default_latency` (ms, 100).
//!
//! Departures: everything beyond the inequality is proposed. A flow without a rate gets the
//! remaining capacity.

use crate::algorithm::flow_elevator::FlowElevator;
use crate::algorithm::flow_queues::FlowQueues;
use crate::algorithm::flow_rule::{FlowRule, Tags};
use crate::kind::{Build, ElevatorKind, Evidence, Guarantee, Origin, Tunable};
use crate::request::{BlockRequest, Finished};
use crate::scheduler::{Disk, Elevator};
use crate::sorted::{Sorted, by_sector};
use crate::vocabulary::Time;

mod admission;

use admission::Admission;

const MS: u64 = 1_000_000;

pub(crate) const ROW: ElevatorKind = ElevatorKind {
    name: "mbac",
    origin: Origin::Literature,
    help: "admits flows by measured use; deadlines for admitted ones, the remaining capacity for others",
    source: "Peng, Chiueh: measurement-based admission control, ICDCS 2008; Stonehenge",
    evidence: Evidence::SecondHand,
    guarantees: &[Guarantee::WorkConserving],
    tunables: &[
        Tunable::proposed("capacity", "KiB/s", 0, 1 << 32, "device throughput; 0: measured"),
        Tunable::proposed("margin", "percent", 0, 99, "share of the capacity left unreserved"),
        Tunable::proposed("window", "ms", 1, 60_000, "time over which use is measured"),
        Tunable::proposed(
            "default_latency",
            "ms",
            1,
            1 << 20,
            "latency bound of an admitted flow that declares none",
        ),
    ],
    build,
};

fn build(build: &Build) -> Box<dyn Elevator> {
    FlowElevator::boxed(build, Mbac::default())
}

#[derive(Debug)]
struct Mbac {
    admission: Admission,
    default_latency_ms: u64,
    deadlines: Tags,
    reserved: Sorted,
    left_over: Sorted,
    /// Mean device time per request.
    service_ns: u64,
    at: u64,
}

impl Default for Mbac {
    fn default() -> Mbac {
        Mbac {
            admission: Admission::default(),
            default_latency_ms: 100,
            deadlines: Tags::default(),
            reserved: Sorted::default(),
            left_over: Sorted::default(),
            service_ns: MS,
            at: 0,
        }
    }
}

impl Mbac {
    fn scan_of(&mut self, tag: u32) -> &mut Sorted {
        if self.deadlines.value(tag).is_some() { &mut self.reserved } else { &mut self.left_over }
    }
}

fn sweep(sorted: &Sorted, at: u64) -> Option<u32> {
    sorted.at_or_above(at).or_else(|| sorted.first()).map(|(_, tag)| tag)
}

impl FlowRule for Mbac {
    fn arrived(&mut self, now: Time, queues: &FlowQueues, tag: u32) {
        let (flow, request) = (queues.flow_of(tag), queues.request(tag));
        self.admission.roll(now, queues.flows());
        if self.admission.is_admitted(queues.flows(), flow) {
            let latency =
                queues.flows().spec(flow).latency_ns.unwrap_or(self.default_latency_ms * MS);
            self.deadlines.set(tag, now.as_ns().saturating_add(latency));
        }
        self.scan_of(tag).insert(by_sector(request), tag);
    }

    fn choose(&mut self, now: Time, _queues: &mut FlowQueues, _disk: &dyn Disk) -> Option<u32> {
        let Some((deadline, urgent)) = self.deadlines.first() else {
            return sweep(&self.left_over, self.at);
        };
        let needed = self.service_ns.saturating_mul(self.reserved.len() as u64);
        if deadline <= now.as_ns().saturating_add(needed) {
            Some(urgent)
        } else {
            sweep(&self.reserved, self.at)
        }
    }

    fn sent(&mut self, now: Time, queues: &FlowQueues, tag: u32) {
        let request = queues.request(tag);
        self.scan_of(tag).remove(by_sector(request));
        self.deadlines.remove(tag);
        self.at = request.end();
        self.admission.device(now, queues.all_in_flight());
    }

    fn sent_again(&mut self, now: Time, queues: &FlowQueues, _tag: u32) {
        self.admission.device(now, queues.all_in_flight());
    }

    fn returned(&mut self, now: Time, queues: &FlowQueues, _tag: u32) {
        self.admission.device(now, queues.all_in_flight());
    }

    fn completed(&mut self, now: Time, queues: &FlowQueues, flow: usize, done: &Finished) {
        self.admission.device(now, queues.all_in_flight());
        self.admission.served(flow, done.request.bytes());
        self.admission.roll(now, queues.flows());
        self.service_ns =
            (7 * self.service_ns + (now - done.issued) / u64::from(queues.all_in_flight() + 1)) / 8;
    }

    fn grown(
        &mut self,
        _now: Time,
        _queues: &FlowQueues,
        before: &BlockRequest,
        after: &BlockRequest,
    ) {
        let sorted = self.scan_of(after.tag);
        sorted.remove(by_sector(before));
        sorted.insert(by_sector(after), after.tag);
    }

    fn absorbed(
        &mut self,
        _: Time,
        _: &FlowQueues,
        _: usize,
        survivor: &BlockRequest,
        gone: &BlockRequest,
    ) {
        self.scan_of(gone.tag).remove(by_sector(gone));
        match (self.deadlines.value(survivor.tag), self.deadlines.remove(gone.tag)) {
            (Some(kept), Some(lost)) if lost < kept => self.deadlines.set(survivor.tag, lost),
            (None, Some(lost)) => {
                // The flow was admitted in between.
                self.left_over.remove(by_sector(survivor));
                self.deadlines.set(survivor.tag, lost);
                self.reserved.insert(by_sector(survivor), survivor.tag);
            }
            _ => {}
        }
    }

    fn declared(&mut self, _queues: &FlowQueues, flow: usize) {
        self.admission.reconsider(flow);
    }

    fn get(&self, tunable: &str) -> u64 {
        match tunable {
            "default_latency" => self.default_latency_ms,
            _ => self.admission.get(tunable),
        }
    }

    fn set(&mut self, tunable: &str, value: u64) {
        match tunable {
            "default_latency" => self.default_latency_ms = value,
            _ => self.admission.set(tunable, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::flow_testing::{Drive, of};
    use crate::scheduler::FlowSpec;

    fn asks(kib_a_second: u64, latency_ms: u64) -> FlowSpec {
        FlowSpec {
            weight: None,
            rate: Some(kib_a_second * 1024),
            burst: 0,
            latency_ns: Some(latency_ms * MS),
        }
    }

    #[test]
    fn a_flow_that_is_not_admitted_has_what_is_left() {
        let mut drive = Drive::guaranteeing(
            &ROW,
            &[asks(600, 100), asks(500, 100), asks(300, 100)],
            &[("capacity", 1000)],
        );
        [of(0, 0, 900), of(1, 1, 100), of(2, 2, 500)]
            .into_iter()
            .for_each(|request| drive.insert(request));
        assert_eq!(drive.processes(3), [2, 0, 1], "600 + 500 is more than nine tenths of 1000");
    }

    #[test]
    fn admitted_requests_go_by_sector_until_the_earliest_deadline_is_near() {
        let mut drive = Drive::guaranteeing(&ROW, &[asks(10, 50), asks(10, 500)], &[]);
        drive.insert(of(0, 0, 9000));
        (1..4).for_each(|tag| drive.insert(of(1, tag, u64::from(tag) * 100)));
        assert_eq!(drive.sectors(1), [100]);
        drive.now = drive.now + 46 * MS;
        assert_eq!(drive.sectors(3), [9000, 200, 300], "3 ms for three requests, and 3 are left");
    }

    #[test]
    fn what_admitted_flows_do_not_use_lets_another_in_after_a_window() {
        let mut drive =
            Drive::guaranteeing(&ROW, &[asks(600, 100), asks(500, 100)], &[("capacity", 1000)]);
        [of(0, 0, 900), of(1, 1, 100)].into_iter().for_each(|request| drive.insert(request));
        assert_eq!(drive.processes(2), [0, 1], "the second flow has what the first leaves");
        for second in 1..4 {
            drive.now = Time::from_ns(second * 1000 * MS);
            drive.insert(of(1, 1, 100));
            drive.serve();
        }
        [of(0, 0, 900), of(1, 1, 300)].into_iter().for_each(|request| drive.insert(request));
        assert_eq!(drive.processes(2), [1, 0], "flow 0 has used 4 KiB of its 600 in the window");
    }
}
