//! The first program of a guest: makes the disk, sets the scheduler, lets the clients work, writes down what they saw, and switches
//! the guest off.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use experiment::record::{Observation, VoidReason};
use guest::inside::Inside;
use host::engine::{self, Drive};
use workload::Measured;

use super::disk::Modelled;
use super::figures;
use super::order::{self, Order, Report};
use super::setting::Clients;

/// A device that has not answered for so long, in virtual time, hangs.
const PATIENCE: Duration = Duration::from_secs(3600);

/// Runs the order in `workdir`; comes back only if this is no guest.
pub(crate) fn run(workdir: &Path) -> Result<u8> {
    let inside = Inside::begin(workdir)?;
    let report =
        trial(&inside).unwrap_or_else(|error| Report { error: Some(format!("{error:#}")), ..Report::default() });
    let report = Report {
        release: rustix::system::uname().release().to_string_lossy().into_owned(),
        virtual_ns: guest::inside::now_ns(),
        ..report
    };
    order::write(inside.workdir(), order::REPORT, &report)?;
    Err(guest::inside::power_off().into())
}

fn trial(inside: &Inside) -> Result<Report> {
    let order: Order = order::read(inside.workdir(), order::ORDER)?;
    std::env::set_current_dir(&order.here).with_context(|| format!("cannot go to {}", order.here.display()))?;
    for (module, parameters) in &order.modules {
        inside.load(module, parameters)?;
    }
    let disk = Modelled::make(&order.disk, &inside.workdir().join(order::TABLES))?;
    let applied = disk.apply(&order.scheduler, &order.attributes)?;
    let measured = work(&order, &disk)?;
    let observation = Observation { voids: voids(&measured), ..figures::observation(&measured, &disk)? };
    if order.disk.log > 0 {
        fs::copy(disk.log(), inside.workdir().join(order::LOG)).context("cannot keep the disk's log")?;
    }
    Ok(Report { observation, applied, ..Report::default() })
}

/// Lets the clients work.
fn work(order: &Order, disk: &Modelled) -> Result<Measured> {
    let kind = workload::find(&order.workload.kind).map_err(|e| anyhow!("{e}"))?;
    let work = crate::work::work_of(&order.workload)?;
    let (duration, warmup) = (Duration::from_nanos(order.duration_ns), Duration::from_nanos(order.warmup_ns));
    let files = engine::place_on_device(kind, &work.params, disk.path(), disk.bytes()?, 512)?;
    let _ = Clients::Auto;
    let drive = Drive { kind, params: work.params, files, seed: order.seed, duration, warmup, patience: PATIENCE };
    Ok(engine::run(&drive, &AtomicBool::new(false))?)
}

/// What the trial itself says against it.
fn voids(measured: &Measured) -> Vec<VoidReason> {
    let mut voids = Vec::new();
    if measured.errors > 0 {
        let first = measured.first_error.clone().unwrap_or_default();
        voids.push(VoidReason::DeviceErrors { count: measured.errors, first });
    }
    voids.extend(measured.vanished.clone().map(|detail| VoidReason::DeviceVanished { detail }));
    voids.extend(crate::arena::seen::too_few(measured));
    voids
}
