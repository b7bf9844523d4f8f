//! Which trials of virtual time are traced, and into which files: the first trial of each workload
//! and variant.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use trace::Trace;

use super::VariantIndex;
use crate::trace_file::{TraceFile, Writer};

/// The traces of an experiment; none are written by default.
#[derive(Debug, Default)]
pub(super) struct Traces {
    file: Option<Arc<TraceFile>>,
    /// Workload and variant of trials that have a trace.
    traced: BTreeSet<(usize, VariantIndex)>,
    names: Vec<String>,
}

/// Where the trace of one trial goes.
#[derive(Debug, Clone)]
pub(super) struct TraceTo {
    file: Arc<TraceFile>,
    name: String,
}

impl Traces {
    pub(super) fn into(files: TraceFile) -> Traces {
        Traces { file: Some(Arc::new(files)), ..Traces::default() }
    }

    /// The trace of the next trial of a workload and variant, each with its name; None where an
    /// earlier trial has one, or had one in an earlier session.
    pub(super) fn next(
        &mut self,
        workload: (usize, &str),
        variant: (VariantIndex, &str),
    ) -> Option<TraceTo> {
        let file = self.file.clone()?;
        if !self.traced.insert((workload.0, variant.0)) {
            return None;
        }
        let name = file.name(workload.1, variant.1, &self.names);
        self.names.push(name.clone());
        if file.keeps(&name, workload.1, variant.1) {
            return None;
        }
        Some(TraceTo { file, name })
    }
}

impl TraceTo {
    /// A writer of events.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(super) fn writer(&self) -> Result<Writer> {
        self.file.writer(&self.name)
    }

    /// Writes whole requests.
    ///
    /// # Errors
    /// The file cannot be written, or its format has events only.
    pub(super) fn trace(&self, trace: &Trace) -> Result<()> {
        self.file.trace(&self.name, trace)
    }
}
