//! Where the clients of the load engine work: on the bare device, or on files of the file system that was made on it.
//!
//! Files are made once, before the first trial, a directory for each workload and each load, and stay until the file system goes.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use host::Device;
use loadgen::ClientFile;

use crate::failure::usage;
use crate::progress::Progress;
use crate::work::{Work, Works};

/// The places of all clients of a plan.
#[derive(Debug, Default)]
pub(super) struct Ground {
    of_work: BTreeMap<String, Vec<ClientFile>>,
    of_loads: BTreeMap<String, Vec<Vec<ClientFile>>>,
}

impl Ground {
    /// Places every client, and makes the files where there is a directory.
    pub(super) fn lay_out(
        works: &Works,
        device: &Device,
        directory: Option<&Path>,
        progress: &dyn Progress,
    ) -> Result<Ground> {
        let mut ground = Ground::default();
        let mut made = 0;
        let mut place = |work: &Work| -> Result<Vec<ClientFile>> {
            let Some(directory) = directory else { return on_device(work, device) };
            let own = directory.join(format!("clients-{made}"));
            made += 1;
            progress.phase(&format!("filling the files of {}", work.kind.name));
            std::fs::create_dir(&own).with_context(|| format!("{}: cannot create", own.display()))?;
            loadgen::place_in_directory(work.kind, &work.params, &own, block_of(device))
                .map_err(|e| usage(format!("{}: {e}", work.kind.name)))
        };
        for (label, work) in works.engine() {
            ground.of_work.insert(label.to_owned(), place(work)?);
        }
        for label in works.engine().map(|(label, _)| label).chain(works.programs().map(|(label, _)| label)) {
            let loads = works.loads(label).iter().map(|load| place(&load.work)).collect::<Result<_>>()?;
            ground.of_loads.insert(label.to_owned(), loads);
        }
        Ok(ground)
    }

    /// The places of a workload's clients.
    pub(super) fn of_work(&self, label: &str) -> &[ClientFile] {
        self.of_work.get(label).map(Vec::as_slice).unwrap_or_default()
    }

    /// The places of the clients of each load beside a workload.
    pub(super) fn of_loads(&self, label: &str) -> &[Vec<ClientFile>] {
        self.of_loads.get(label).map(Vec::as_slice).unwrap_or_default()
    }
}

fn on_device(work: &Work, device: &Device) -> Result<Vec<ClientFile>> {
    loadgen::place_on_device(work.kind, &work.params, &device.path, device.size_bytes, block_of(device))
        .map_err(|e| usage(e.to_string()))
}

fn block_of(device: &Device) -> u32 {
    u32::try_from(device.logical_block_size.unwrap_or(512)).unwrap_or(512)
}
