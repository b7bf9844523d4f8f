//! Traces the first trial of each workload and variant in virtual time.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use trace::Trace;

use super::VariantIndex;
use crate::trace_file::{TraceFile, Writer};

/// Disabled by default.
#[derive(Debug, Default)]
pub(super) struct Traces {
    file: Option<Arc<TraceFile>>,
    traced: BTreeSet<(usize, VariantIndex)>,
    names: Vec<String>,
}

#[derive(Debug, Clone)]
pub(super) struct TraceTo {
    file: Arc<TraceFile>,
    name: String,
}

impl Traces {
    pub(super) fn into(files: TraceFile) -> Traces {
        Traces { file: Some(Arc::new(files)), ..Traces::default() }
    }

    /// None if an earlier trial was traced, in this session or before.
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
    pub(super) fn writer(&self) -> Result<Writer> {
        self.file.writer(&self.name)
    }

    /// Writes a complete trace. Fails if the format stores only events.
    pub(super) fn trace(&self, trace: &Trace) -> Result<()> {
        self.file.trace(&self.name, trace)
    }

    pub(super) fn run_queue(&self, log: &[u8]) -> Result<()> {
        self.file.run_queue(&self.name, log)
    }
}
