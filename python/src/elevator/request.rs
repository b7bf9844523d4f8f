//! The arguments of a scheduler's methods: requests, and the disk's positioning times.

use std::collections::BTreeMap;

use elevator::{BlockRequest, Op};
use pyo3::prelude::*;

use crate::error::ElevatorError;

/// A request as seen by a scheduler.
#[pyclass(frozen, eq, hash, module = "schedlab._schedlab")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request(pub(crate) BlockRequest);

impl std::hash::Hash for Request {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.seq.hash(state);
    }
}

#[pymethods]
impl Request {
    /// Unique among existing requests, reused afterwards.
    #[getter]
    fn tag(&self) -> u32 {
        self.0.tag
    }

    /// Number of requests created before it.
    #[getter]
    fn seq(&self) -> u64 {
        self.0.seq
    }

    /// The client that issued it, from 0.
    #[getter]
    fn process(&self) -> u32 {
        self.0.process
    }

    /// `read` or `write`.
    #[getter]
    fn op(&self) -> &'static str {
        match self.0.op {
            Op::Read => "read",
            Op::Write => "write",
        }
    }

    /// First sector, in units of 512 bytes.
    #[getter]
    fn sector(&self) -> u64 {
        self.0.sector
    }

    /// Length in sectors.
    #[getter]
    fn nr_sectors(&self) -> u32 {
        self.0.nr_sectors
    }

    /// The sector after the last one.
    #[getter]
    fn end(&self) -> u64 {
        self.0.end()
    }

    /// Whether a program waits for it.
    #[getter]
    fn sync(&self) -> bool {
        self.0.sync
    }

    /// When it entered the queue, in nanoseconds.
    #[getter]
    fn allocated_ns(&self) -> u64 {
        self.0.allocated.as_ns()
    }

    /// Completion deadline in nanoseconds, or None.
    #[getter]
    fn deadline_ns(&self) -> Option<u64> {
        self.0.deadline.map(elevator::Time::as_ns)
    }

    /// I/O priority: `idle`, `best-effort:LEVEL` or `realtime:LEVEL`.
    #[getter]
    fn priority(&self) -> String {
        self.0.priority.to_string()
    }

    fn __repr__(&self) -> String {
        let BlockRequest { tag, process, sector, nr_sectors, .. } = self.0;
        format!(
            "<Request {tag}: {} of {nr_sectors} sectors at {sector} by client {process}>",
            self.op()
        )
    }
}

/// The disk at the moment of a decision.
#[pyclass(frozen, module = "schedlab._schedlab")]
pub(crate) struct Disk(pub(crate) Option<BTreeMap<u32, u64>>);

#[pymethods]
impl Disk {
    /// Nanoseconds until the first sector of a held request is under the head; 0 without a head.
    fn positioning_ns(&self, request: PyRef<'_, Request>) -> PyResult<u64> {
        let Some(times) = &self.0 else {
            return Err(ElevatorError::new_err(
                "positioning_ns: not available; set uses_disk = True in the class",
            ));
        };
        times.get(&request.0.tag).copied().ok_or_else(|| {
            ElevatorError::new_err(format!(
                "positioning_ns: request {} is not held; use one of self.held",
                request.0.tag
            ))
        })
    }
}
