//! CPUs, their software queues, and the hardware queues below them.
//!
//! blk-mq has a software queue per CPU; a driver has hardware queues with their own tags, to which
//! the software queues are mapped. There are at most as many hardware queues as CPUs (Linux 6.1
//! block/blk-mq.c, nvme's `nvme_max_io_queues`; confirmed).
//!
//! Departures: CPUs are mapped to hardware queues in turn (the kernel groups neighbours); processes
//! stay on their CPU.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Topology {
    cpus: u32,
    hw_queues: u32,
}

impl Default for Topology {
    /// A CPU per process and one hardware queue.
    fn default() -> Topology {
        Topology { cpus: 0, hw_queues: 1 }
    }
}

impl Topology {
    /// With 0 CPUs, each process has its own, and all share one hardware queue.
    pub fn new(cpus: u32, offered: u32) -> Topology {
        Topology { cpus, hw_queues: offered.min(cpus).max(1) }
    }

    /// 0: one per process.
    pub fn cpus(&self) -> u32 {
        self.cpus
    }

    pub fn hw_queues(&self) -> u32 {
        self.hw_queues
    }

    /// Also selects the software queue.
    #[inline]
    pub fn cpu(&self, process: u32) -> u32 {
        if self.cpus == 0 { process } else { process % self.cpus }
    }

    #[inline]
    pub fn hw_queue(&self, process: u32) -> u32 {
        if self.hw_queues == 1 { 0 } else { self.cpu(process) % self.hw_queues }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_with_more_queues_than_cpus_is_used_with_one_for_each_cpu() {
        for (cpus, offered, used) in
            [(10, 128, 10), (10, 4, 4), (1, 65_535, 1), (0, 8, 1), (4, 0, 1)]
        {
            assert_eq!(
                Topology::new(cpus, offered).hw_queues(),
                used,
                "{cpus} CPUs, {offered} queues"
            );
        }
    }

    #[test]
    fn processes_are_spread_over_cpus_and_cpus_over_hardware_queues_in_turn() {
        let few = Topology::new(4, 2);
        let of = |process| (few.cpu(process), few.hw_queue(process));
        assert_eq!([0, 1, 2, 3, 4, 7].map(of), [(0, 0), (1, 1), (2, 0), (3, 1), (0, 0), (3, 1)]);
        assert_eq!((Topology::default().cpu(70), Topology::default().hw_queue(70)), (70, 0));
    }
}
