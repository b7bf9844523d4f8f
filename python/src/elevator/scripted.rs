//! A scheduler whose methods are Python's.
//!
//! The requests are held here, and Python sees a dictionary of them in order of arrival. Its choice
//! is checked before dispatch, so that a mistake cannot break the queue's rules or hang the
//! simulation; an exception ends the trial. Requeued requests go first and never reach Python. Each
//! event takes the GIL, so a request costs some microseconds instead of 0.1 µs.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use elevator::{BlockRequest, Disk, Elevator, Finished, FlowSpec, InsertAt, Time};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::calls;
use super::request::{self, Request};
use crate::error::{ElevatorError, end_trial};

pub(super) struct Slot {
    pub(super) name: &'static str,
    pub(super) class: Py<PyAny>,
    /// Methods that the class overrides.
    pub(super) overrides: Vec<String>,
    pub(super) uses_disk: bool,
}

impl Slot {
    pub(super) fn copy(&self, py: Python<'_>) -> Slot {
        let Slot { name, class, overrides, uses_disk } = self;
        Slot {
            name,
            class: class.clone_ref(py),
            overrides: overrides.clone(),
            uses_disk: *uses_disk,
        }
    }
}

pub(super) struct Scripted {
    slot: Slot,
    object: Py<PyAny>,
    /// Its requests by tag, in order of arrival; Python's `held`.
    held: Py<PyDict>,
    requests: BTreeMap<u32, BlockRequest>,
    /// Dispatched first, by tag.
    requeued: VecDeque<u32>,
    timer: Option<Time>,
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted")
            .field("name", &self.slot.name)
            .field("held", &self.requests.len())
            .finish_non_exhaustive()
    }
}

impl Scripted {
    pub(super) fn new(slot: Slot) -> Scripted {
        let made = calls::call(|py| -> PyResult<_> {
            let held = PyDict::new(py);
            let object = slot.class.bind(py).call0()?;
            object.setattr(intern!(py, "held"), &held)?;
            Ok((object.unbind(), held.unbind()))
        });
        let (object, held) = made.unwrap_or_else(|raised| end_trial(slot.name, raised));
        Scripted {
            slot,
            object,
            held,
            requests: BTreeMap::new(),
            requeued: VecDeque::new(),
            timer: None,
        }
    }

    /// Calls into Python; an exception ends the trial.
    fn with<T>(
        &self,
        what: &str,
        call: impl FnOnce(Python<'_>, &Bound<'_, PyAny>, &Bound<'_, PyDict>) -> PyResult<T>,
    ) -> T {
        calls::call(|py| call(py, self.object.bind(py), self.held.bind(py)))
            .unwrap_or_else(|raised| end_trial(&format!("{}.{what}", self.slot.name), raised))
    }

    fn overrides(&self, method: &str) -> bool {
        self.slot.overrides.iter().any(|own| own == method)
    }

    fn drop_held(&self, tag: u32) {
        self.with("held", |_, _, held| held.del_item(tag));
    }

    /// The timer set by Python. A time that is due is valid if it was set earlier, because a call
    /// may occur at that time before `on_timer`.
    fn read_timer(&mut self, what: &str, now: Time) {
        let timer = self.with(what, |py, object, _| {
            object.getattr(intern!(py, "timer"))?.extract::<Option<u64>>()
        });
        if timer.is_some_and(|at| at <= now.as_ns()) && timer.map(Time::from_ns) != self.timer {
            let text = format!(
                "its timer is not in the future (found {timer:?}, expected more than {} ns)",
                now.as_ns()
            );
            end_trial(&format!("{}.{what}", self.slot.name), ElevatorError::new_err(text));
        }
        self.timer = timer.map(Time::from_ns);
    }

    /// The request chosen by Python, or None.
    fn chosen(&self, now: Time, disk: &dyn Disk) -> Option<u32> {
        let times = self.slot.uses_disk.then(|| {
            self.requests
                .iter()
                .map(|(tag, request)| (*tag, disk.positioning_ns(now, request)))
                .collect()
        });
        self.with("dispatch", |py, object, _| {
            let disk = request::Disk(times);
            let chosen = object.call_method1(intern!(py, "dispatch"), (now.as_ns(), disk))?;
            if chosen.is_none() {
                return Ok(None);
            }
            let named = chosen.extract::<PyRef<'_, Request>>().map_err(|_| {
                ElevatorError::new_err(format!(
                    "returned {chosen}; expected a request of self.held, or None to wait"
                ))
            })?;
            match self.requests.get(&named.0.tag) {
                Some(held) if held.seq == named.0.seq => Ok(Some(named.0.tag)),
                _ => Err(ElevatorError::new_err(format!(
                    "returned request {}, which is not held",
                    named.0.tag
                ))),
            }
        })
    }
}

impl Elevator for Scripted {
    fn insert(&mut self, now: Time, request: &BlockRequest, at: InsertAt) {
        self.requests.insert(request.tag, *request);
        if at == InsertAt::Head {
            self.requeued.push_front(request.tag);
            return;
        }
        let own = self.overrides("insert");
        self.with("insert", |py, object, held| {
            held.set_item(request.tag, Request(*request))?;
            if own {
                object.call_method1(intern!(py, "insert"), (now.as_ns(), Request(*request)))?;
            }
            Ok(())
        });
        if own {
            self.read_timer("insert", now);
        }
    }

    fn dispatch(&mut self, now: Time, disk: &dyn Disk) -> Option<u32> {
        if let Some(tag) = self.requeued.pop_front() {
            self.requests.remove(&tag);
            return Some(tag);
        }
        if self.requests.is_empty() {
            return None;
        }
        let chosen = self.chosen(now, disk);
        self.read_timer("dispatch", now);
        let tag = chosen?;
        self.drop_held(tag);
        self.requests.remove(&tag);
        Some(tag)
    }

    fn complete(&mut self, now: Time, done: &Finished) {
        if self.overrides("complete") {
            let (request, issued) = (Request(done.request), done.issued.as_ns());
            self.with("complete", |py, object, _| {
                object
                    .call_method1(intern!(py, "complete"), (now.as_ns(), request, issued))
                    .map(drop)
            });
            self.read_timer("complete", now);
        }
    }

    fn len(&self) -> usize {
        self.requests.len()
    }

    fn next_timer(&self) -> Option<Time> {
        self.timer
    }

    fn on_timer(&mut self, now: Time) {
        self.timer = None;
        let own = self.overrides("on_timer");
        self.with("on_timer", |py, object, _| {
            object.setattr(intern!(py, "timer"), py.None())?;
            if own {
                object.call_method1(intern!(py, "on_timer"), (now.as_ns(),))?;
            }
            Ok(())
        });
        if own {
            self.read_timer("on_timer", now);
        }
    }

    fn merged(&mut self, now: Time, before: &BlockRequest, after: &BlockRequest) {
        self.requests.insert(after.tag, *after);
        if self.requeued.contains(&after.tag) {
            return;
        }
        let own = self.overrides("merged");
        self.with("merged", |py, object, held| {
            held.set_item(after.tag, Request(*after))?;
            if own {
                object.call_method1(
                    intern!(py, "merged"),
                    (now.as_ns(), Request(*before), Request(*after)),
                )?;
            }
            Ok(())
        });
    }

    fn coalesced(&mut self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        self.requests.remove(&gone.tag);
        let place = |tag| self.requeued.iter().position(|known| *known == tag);
        match (place(survivor.tag), place(gone.tag)) {
            (Some(own), Some(other)) => {
                self.requeued[own.min(other)] = survivor.tag;
                self.requeued.remove(own.max(other));
            }
            (Some(_), None) => self.drop_held(gone.tag),
            (None, Some(other)) => {
                self.requeued[other] = survivor.tag;
                self.drop_held(survivor.tag);
            }
            (None, None) => self.coalesced_in_python(now, survivor, gone),
        }
    }

    fn exited(&mut self, now: Time, process: u32) {
        if self.overrides("exited") {
            self.with("exited", |py, object, _| {
                object.call_method1(intern!(py, "exited"), (now.as_ns(), process)).map(drop)
            });
        }
    }

    fn flow(&mut self, process: u32, flow: u32, spec: &FlowSpec) {
        if self.overrides("flow") {
            let guarantee = (process, flow, spec.weight, spec.rate, spec.burst, spec.latency_ns);
            self.with("flow", |py, object, _| {
                object.call_method1(intern!(py, "flow"), guarantee).map(drop)
            });
        }
    }

    fn get(&self, tunable: &str) -> u64 {
        self.with(tunable, |_, object, _| object.getattr(tunable)?.extract())
    }

    fn set(&mut self, tunable: &str, value: u64) {
        self.with(tunable, |_, object, _| object.setattr(tunable, value));
    }
}

impl Scripted {
    /// Merges two requests held by Python; the result takes the place of the older one.
    fn coalesced_in_python(&self, now: Time, survivor: &BlockRequest, gone: &BlockRequest) {
        let own = self.overrides("coalesced");
        self.with("coalesced", |py, object, held| {
            let tags: Vec<u32> =
                held.keys().iter().map(|tag| tag.extract()).collect::<PyResult<_>>()?;
            let first = tags.iter().find(|tag| **tag == survivor.tag || **tag == gone.tag);
            if first == Some(&gone.tag) {
                // A dictionary preserves the place of a key only, so all later requests are
                // reinserted after it.
                let kept: Vec<(u32, Py<PyAny>)> = held
                    .iter()
                    .map(|(tag, one)| Ok((tag.extract()?, one.unbind())))
                    .collect::<PyResult<_>>()?;
                held.clear();
                for (tag, one) in &kept {
                    if *tag == gone.tag {
                        held.set_item(survivor.tag, Request(*survivor))?;
                    } else if *tag != survivor.tag {
                        held.set_item(tag, one)?;
                    }
                }
            } else {
                held.del_item(gone.tag)?;
            }
            if own {
                object.call_method1(
                    intern!(py, "coalesced"),
                    (now.as_ns(), Request(*survivor), Request(*gone)),
                )?;
            }
            Ok(())
        });
    }
}
