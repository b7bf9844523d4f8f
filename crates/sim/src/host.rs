//! The host's CPUs and their time per request under each scheduler, which decides on flash.
//!
//! Source: the ICPE 2024 study of Linux schedulers on NVMe (stonet-research artifact: 4 KiB random
//! reads, io_uring, 128 open requests, Linux 6.3, 10 cores; confirmed). One process on one core:
//! 381.1 thousand requests/s under none, 304.0 kyber, 309.7 mq-deadline, 241.2 bfq; the inverses
//! give the costs (derived). kyber's locks are per CPU or hardware queue and count as uncontended;
//! unlisted schedulers count as mq-deadline (proposed); write-back costs nothing.

use elevator::Topology;

/// CPU time per request without a scheduler, in program and kernel. [D]
const STACK_NS: u64 = 2624;
/// The share of it spent on completion. [P]
const COMPLETION_PERCENT: u64 = 40;
/// Cost when the lock's and the lists' cache lines are on another CPU. Derived from bfq with two
/// processes: 293.8 thousand requests/s. [D]
pub const HANDOVER_NS: u64 = 470;

struct Row {
    name: &'static str,
    ns: u64,
    /// Before and after the device. mq-deadline and bfq lock per device to merge, insert and
    /// dispatch, bfq also on completion (Linux 6.1; confirmed). The scheduler's part is spent under
    /// it (proposed).
    locks: [u64; 2],
}

/// Schedulers of known cost; the first one represents all others.
const ROWS: &[Row] = &[
    Row { name: "mq-deadline", ns: 605, locks: [3, 0] },
    Row { name: "none", ns: 0, locks: [0, 0] },
    Row { name: "kyber", ns: 665, locks: [0, 0] },
    Row { name: "bfq", ns: 1522, locks: [3, 1] },
];

/// A trial's host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Host {
    /// Number of CPUs, over which clients are spread in turn; 0: one per client.
    pub cpus: u32,
    /// CPU time in percent of the measured CPU's; 0: none.
    pub cpu_percent: u32,
}

impl Host {
    /// Returns the CPUs and hardware queues for a device that offers `offered` queues.
    pub fn topology(&self, offered: u32) -> Topology {
        Topology::new(self.cpus, offered)
    }

    /// The CPU time of a request under this scheduler.
    pub fn cost(&self, scheduler: &str) -> CpuCost {
        let row = ROWS.iter().find(|row| row.name == scheduler).unwrap_or(&ROWS[0]);
        let scaled = |ns: u64| ns * u64::from(self.cpu_percent) / 100;
        let all: u64 = row.locks.iter().sum();
        let part = |phase: usize, stack_ns: u64| {
            let locks = row.locks[phase];
            let (free, held) = match (row.ns * locks).checked_div(all) {
                Some(held) => (stack_ns, held),
                None => (stack_ns + if phase == 0 { row.ns } else { 0 }, 0),
            };
            PhaseCost {
                free_ns: scaled(free),
                held_ns: scaled(held),
                handover_ns: scaled(locks * HANDOVER_NS),
            }
        };
        let completion = STACK_NS * COMPLETION_PERCENT / 100;
        CpuCost { submission: part(0, STACK_NS - completion), completion: part(1, completion) }
    }
}

/// CPU time of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuCost {
    /// CPU time until the request reaches the device.
    pub submission: PhaseCost,
    /// CPU time after the device has completed it.
    pub completion: PhaseCost,
}

/// CPU time of one phase of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PhaseCost {
    /// Time without the scheduler's lock.
    pub free_ns: u64,
    /// Time under the lock.
    pub held_ns: u64,
    /// Additional time, if another CPU had the lock before.
    pub handover_ns: u64,
}

impl PhaseCost {
    /// Whether the lock is taken at all.
    pub fn locks(&self) -> bool {
        self.held_ns + self.handover_ns > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(scheduler: &str, cpu_percent: u32) -> u64 {
        let cost = Host { cpus: 1, cpu_percent }.cost(scheduler);
        [cost.submission, cost.completion].iter().map(|part| part.free_ns + part.held_ns).sum()
    }

    #[test]
    fn the_costs_add_up_to_the_published_rates_of_one_core() {
        for (scheduler, published) in
            [("none", 381.1), ("kyber", 304.0), ("mq-deadline", 309.7), ("bfq", 241.2)]
        {
            let kiops = 1e6 / total(scheduler, 100) as f64;
            assert!((kiops / published - 1.0).abs() < 0.002, "{scheduler}: {kiops}");
        }
        assert_eq!(total("k2", 100), total("mq-deadline", 100));
    }

    #[test]
    fn a_host_without_a_cost_has_none_and_half_a_cost_is_half() {
        assert_eq!(Host::default().cost("bfq"), CpuCost::default());
        assert!(total("bfq", 50).abs_diff(total("bfq", 100) / 2) < 4);
    }

    #[test]
    fn only_schedulers_with_one_lock_take_it() {
        let locks = |scheduler| {
            let cost = Host { cpus: 4, cpu_percent: 100 }.cost(scheduler);
            [cost.submission, cost.completion].map(|part| part.handover_ns / HANDOVER_NS)
        };
        assert_eq!(
            ["none", "kyber", "mq-deadline", "bfq"].map(locks),
            [[0, 0], [0, 0], [3, 0], [3, 1]]
        );
    }
}
