//! The host's CPUs: how many there are, and their time for a request under each scheduler.
//!
//! Problem: a flash drive serves a request in less time than the kernel needs for it, so the CPU
//! decides which scheduler is fast.
//!
//! Source: the ICPE 2024 study of Linux's schedulers on NVMe (artifact of stonet-research: 4 KiB
//! random reads, io_uring, 128 requests open, Linux 6.3, 10 cores; confirmed). One process on one
//! core is limited by that core alone: 381.1 thousand requests a second without a scheduler, 304.0
//! under kyber, 309.7 under mq-deadline, 241.2 under bfq. The inverse is the CPU time of a request,
//! and the difference from `none` the scheduler's part (derived). The kernel's documentation of BFQ
//! has 0.7 µs for mq-deadline and 1.9 µs for BFQ on an older CPU.
//!
//! mq-deadline and bfq have one lock for the device, which is taken when a bio looks for a
//! request to join, when a request is inserted, when it is dispatched, and by bfq once more when it
//! has completed (Linux 6.1; confirmed). The scheduler's part is spent under it (proposed). A CPU
//! that takes the lock after another one needs [`HANDOVER_NS`] more each time, until the lock's and
//! the lists' cache lines have come: derived from bfq with two processes, 293.8 thousand requests a
//! second. All cells with more processes are predictions.
//!
//! Departures: kyber's locks belong to a CPU or to a hardware queue, and count as free of
//! contention. The lock is given in order of arrival, as the kernel's. Where a source says nothing
//! about a scheduler it counts as mq-deadline (proposed). Write-back of buffered writes costs
//! nothing here.

use elevator::Topology;

/// CPU time of a request without a scheduler: submission and completion, of the program and of the
/// kernel. [D]
const STACK_NS: u64 = 2624;
/// The part of it that comes with the completion. [P]
const COMPLETION_PERCENT: u64 = 40;
/// What it takes a CPU to get the lock and what it protects from another one. [D]
pub const HANDOVER_NS: u64 = 470;

/// The CPU time of a scheduler.
struct Row {
    name: &'static str,
    /// CPU time of a request. [D]
    ns: u64,
    /// How often its lock is taken for a request until that is at the device, and after that.
    locks: [u64; 2],
}

/// The schedulers whose cost is known; the first one stands for the others.
const ROWS: &[Row] = &[
    Row { name: "mq-deadline", ns: 605, locks: [3, 0] },
    Row { name: "none", ns: 0, locks: [0, 0] },
    Row { name: "kyber", ns: 665, locks: [0, 0] },
    Row { name: "bfq", ns: 1522, locks: [3, 1] },
];

/// The host of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Host {
    /// CPUs, over which the clients are spread in turn; 0: each client has one of its own.
    pub cpus: u32,
    /// CPU time of a request, in percent of the measured CPU's; 0: requests cost no CPU time.
    pub cpu_percent: u32,
}

impl Host {
    /// CPUs and hardware queues in front of a device that offers so many.
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
    /// Until it is at the device.
    pub submission: PhaseCost,
    /// After the device has completed it.
    pub completion: PhaseCost,
}

/// CPU time of a part of a request's way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PhaseCost {
    /// Without the scheduler's lock.
    pub free_ns: u64,
    /// With it.
    pub held_ns: u64,
    /// More with it if another CPU had it before.
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
