//! Groups: flows share the device by weight, regardless of their number of processes.
//!
//! Each declared flow is a group below the root, like a control group with io.bfq.weight (1 to
//! 1000, default 100); its processes' queues, asynchronous ones included, are in the group's trees
//! (`wf2q`). Undeclared processes are in the root. A queue stays in the group its process had when
//! the queue was created; only queues of one group merge or form a burst. Departure: one level.
//! Source: Linux 6.1 and 6.12 block/bfq-cgroup.c, bfq-wf2q.c; confirmed. In 6.1 one group with
//! requests suffices for idling, in 6.12 two are needed, counting the root.

use super::Bfq;
use crate::flows::DEFAULT_WEIGHT;
use crate::scheduler::FlowSpec;

impl Bfq {
    pub(super) fn declare(&mut self, process: u32, flow: u32, spec: &FlowSpec) {
        if !self.variant.is_linux() {
            self.flows.declare(process, flow, spec);
            return;
        }
        let weight = u64::from(spec.weight.unwrap_or(DEFAULT_WEIGHT).clamp(1, 1000));
        let group = match self.groups.get(&flow) {
            Some(group) => {
                self.tree.reweigh_group(*group, weight);
                *group
            }
            None => {
                let group = self.tree.add_group(weight);
                self.groups.insert(flow, group);
                group
            }
        };
        self.process(process).group = group;
    }
}
