//! Maps processes to flows and flows to their guarantees, for all flow schedulers.
//!
//! Flows are numbered densely in order of appearance, so that a scheduler can index tables by them.
//! A process that was never declared is a flow with the default guarantee, like a process without a
//! control group.

use std::collections::BTreeMap;

use crate::scheduler::FlowSpec;

/// The default for control groups.
pub const DEFAULT_WEIGHT: u32 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Declared(u32),
    Process(u32),
}

#[derive(Debug, Clone, Default)]
pub struct Flows {
    numbers: BTreeMap<Key, usize>,
    /// By process: the flow's number plus one; 0 if unknown.
    by_process: Vec<u32>,
    specs: Vec<FlowSpec>,
}

impl Flows {
    /// Returns the flow's number.
    pub fn declare(&mut self, process: u32, flow: u32, spec: &FlowSpec) -> usize {
        let number = self.number(Key::Declared(flow));
        self.specs[number] = *spec;
        self.assign(process, number);
        number
    }

    /// A process's flow, assigned if necessary.
    #[inline]
    pub fn flow_of(&mut self, process: u32) -> usize {
        match self.by_process.get(process as usize) {
            Some(known @ 1..) => *known as usize - 1,
            _ => {
                let number = self.number(Key::Process(process));
                self.assign(process, number);
                number
            }
        }
    }

    pub fn known_flow(&self, process: u32) -> Option<usize> {
        self.by_process.get(process as usize).and_then(|known| (*known as usize).checked_sub(1))
    }

    pub fn spec(&self, number: usize) -> &FlowSpec {
        &self.specs[number]
    }

    /// At least 1.
    #[inline]
    pub fn weight(&self, number: usize) -> u64 {
        self.specs[number]
            .weight
            .map_or(u64::from(DEFAULT_WEIGHT), |weight| u64::from(weight.max(1)))
    }

    /// Flow numbers are below this.
    pub fn len(&self) -> usize {
        self.specs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.specs.is_empty()
    }

    fn number(&mut self, key: Key) -> usize {
        let next = self.specs.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.specs.push(FlowSpec::default());
        }
        number
    }

    fn assign(&mut self, process: u32, number: usize) {
        let process = process as usize;
        if self.by_process.len() <= process {
            self.by_process.resize(process + 1, 0);
        }
        self.by_process[process] =
            u32::try_from(number + 1).expect("there are fewer flows than processes");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_one_flow_share_its_number_and_its_guarantee() {
        let mut flows = Flows::default();
        let spec = FlowSpec { weight: Some(300), ..FlowSpec::default() };
        assert_eq!((flows.declare(4, 9, &spec), flows.declare(7, 9, &spec)), (0, 0));
        assert_eq!((flows.flow_of(4), flows.flow_of(7), flows.weight(0)), (0, 0, 300));
    }

    #[test]
    fn a_process_without_a_flow_is_one_of_its_own_with_the_default_weight() {
        let mut flows = Flows::default();
        assert_eq!(
            (flows.flow_of(3), flows.flow_of(0), flows.flow_of(3), flows.len()),
            (0, 1, 0, 2)
        );
        assert_eq!(
            (flows.weight(0), flows.known_flow(0), flows.known_flow(5)),
            (100, Some(1), None)
        );
        flows.declare(3, 3, &FlowSpec::default());
        assert_eq!(
            flows.flow_of(3),
            2,
            "a declared flow is another one than that of the undeclared process"
        );
    }
}
