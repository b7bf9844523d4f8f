//! Selects the trials in virtual time to trace, the first of each workload and variant, and their
//! files.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use trace::Trace;

use super::VariantIndex;
use crate::trace_file::{TraceFile, Writer};

/// The traces of an experiment; the default writes none.
#[derive(Debug, Default)]
pub(super) struct Traces {
    file: Option<Arc<TraceFile>>,
    /// Workload and variant of traced trials.
    traced: BTreeSet<(usize, VariantIndex)>,
    names: Vec<String>,
}

/// Destination of one trial's trace.
#[derive(Debug, Clone)]
pub(super) struct TraceTo {
    file: Arc<TraceFile>,
    name: String,
}

impl Traces {
    pub(super) fn into(files: TraceFile) -> Traces {
        Traces { file: Some(Arc::new(files)), ..Traces::default() }
    }

    /// Destination for the next trial of a workload and variant, each with its name; None if an
    /// earlier trial, of this or an earlier session, was traced.
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
    /// # Errors
    /// The file cannot be created.
    pub(super) fn writer(&self) -> Result<Writer> {
        self.file.writer(&self.name)
    }

    /// Writes a complete trace.
    ///
    /// # Errors
    /// The file cannot be written, or its format stores only events.
    pub(super) fn trace(&self, trace: &Trace) -> Result<()> {
        self.file.trace(&self.name, trace)
    }
}
