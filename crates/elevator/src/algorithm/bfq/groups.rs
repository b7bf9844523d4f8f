//! Groups: flows share the device by their weights, and the processes of a flow share what the flow
//! gets.
//!
//! Problem: a tenant with many processes should not get more of the disk than one with few.
//!
//! Approach: each declared flow is a group in the root, as a control group with a weight for bfq is
//! (io.bfq.weight, 1 to 1000, 100 by default); the queues of its processes, asynchronous ones too,
//! are in the group's own trees (`wf2q`). Processes that were not declared are in the root, beside
//! the groups. Requests are scheduled in the group that their process belongs to when its queue is
//! created; only queues of one group are merged, or make a burst together.
//!
//! Source: Linux 6.1 and 6.12 block/bfq-cgroup.c and bfq-wf2q.c; confirmed. In 6.1 one group with
//! requests is enough for idling for the sake of shares, in 6.12 there must be two, the root being
//! one.
//!
//! Departures: one level.

use super::Bfq;
use crate::flows::DEFAULT_WEIGHT;
use crate::scheduler::FlowSpec;

impl Bfq {
    /// A process belongs to a flow.
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
