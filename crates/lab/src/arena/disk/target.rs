//! Targets of clients: the bare device, or files created on it before the first trial, in a
//! directory per workload and load.

use std::path::Path;

use anyhow::{Context, Result};
use load::ClientFile;
use machine::Device;

use crate::arena::flows;
use crate::failure::usage;
use crate::progress::Progress;
use crate::workloads::{Load, Work, Workloads};

/// By workload index.
#[derive(Debug, Default)]
pub(super) struct Targets(Vec<OfWorkload>);

#[derive(Debug, Default)]
struct OfWorkload {
    /// One list per flow, or a single list.
    clients: Vec<Vec<ClientFile>>,
    loads: Vec<Vec<ClientFile>>,
}

impl Targets {
    /// Assigns targets, creating files if there is a directory.
    pub(super) fn prepare(
        workloads: &Workloads,
        device: &Device,
        directory: Option<&Path>,
        progress: &dyn Progress,
    ) -> Result<Targets> {
        let mut made = 0;
        let mut place = |work: &Work| -> Result<Vec<Vec<ClientFile>>> {
            let Some(directory) = directory else { return on_device(work, device) };
            let own = directory.join(format!("clients-{made}"));
            made += 1;
            progress.phase(&format!("filling the files of {}", work.kind.name));
            std::fs::create_dir(&own)
                .with_context(|| format!("{}: cannot create", own.display()))?;
            flows::place_in_directory(work, &own, block_of(device))
                .map_err(|e| usage(format!("{}: {e:#}", work.kind.name)))
        };
        let mut all = Vec::new();
        for workload in workloads.iter() {
            let clients = workload.work().map(&mut place).transpose()?.unwrap_or_default();
            let place_load = |load: &Load| Ok(place(&load.work)?.concat());
            let loads = workload.loads.iter().map(place_load).collect::<Result<_>>()?;
            all.push(OfWorkload { clients, loads });
        }
        Ok(Targets(all))
    }

    pub(super) fn clients(&self, workload: usize) -> Vec<ClientFile> {
        self.0[workload].clients.concat()
    }

    /// Targets per flow.
    pub(super) fn flows(&self, workload: usize) -> &[Vec<ClientFile>] {
        &self.0[workload].clients
    }

    /// Targets per background load.
    pub(super) fn loads(&self, workload: usize) -> &[Vec<ClientFile>] {
        &self.0[workload].loads
    }
}

fn on_device(work: &Work, device: &Device) -> Result<Vec<Vec<ClientFile>>> {
    flows::place_on_device(work, &device.path, device.size_bytes, block_of(device))
        .map_err(|e| usage(format!("{e:#}")))
}

fn block_of(device: &Device) -> u32 {
    u32::try_from(device.logical_block_size.unwrap_or(512)).unwrap_or(512)
}
