//! Opening the arena of a plan, and putting everything back afterwards, whatever happened in it.

use std::path::PathBuf;

use anyhow::Result;
use experiment::plan::{ArenaKind, Plan};
use host::Root;

use super::Arena;
use super::cpu::CpuArena;
use super::host::HostArena;
use super::kernel::KernelArena;
use super::sim::SimArena;
use crate::failure::usage;
use crate::progress::Progress;
use crate::signals::Stop;
use crate::trace_file::Format;

/// What the user decides about an arena beside the plan.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    /// The device whose data may be destroyed.
    pub destroy_data: Option<String>,
    /// The directory of the file behind a temporary loop device.
    pub loop_dir: PathBuf,
    /// The cache of built kernels; None: the user's own.
    pub cache_dir: Option<PathBuf>,
    /// Write the events of trials in this format.
    pub trace: Option<Format>,
}

/// Does `work` in the arena of a checked plan. On the host, what an earlier schedlab left behind is put right first; whatever happens,
/// the machine is put back before anything else is said.
///
/// # Errors
/// Those of opening, of the work, and of putting back; of the last two both are told.
pub fn within<T>(
    root: &Root,
    plan: &Plan,
    options: &OpenOptions,
    stop: &Stop,
    progress: &dyn Progress,
    work: impl FnOnce(&mut dyn Arena) -> Result<T>,
) -> Result<T> {
    if plan.arena.is_virtual() && options.destroy_data.is_some() {
        return Err(usage("--destroy-data: a modelled device holds nobody's data; leave it out".to_owned()));
    }
    if plan.arena.is_cpu() && options.destroy_data.is_some() {
        return Err(usage("--destroy-data: CPUs hold no data; leave it out".to_owned()));
    }
    if plan.arena != ArenaKind::Sim && options.trace.is_some() {
        return Err(usage(
            "--trace: events are traced in the simulator only; use blktrace on a real device".to_owned(),
        ));
    }
    let mut arena: Box<dyn Arena + '_> = match plan.arena {
        ArenaKind::Disk | ArenaKind::Cpu => {
            if !plan.arena.is_cpu() {
                HostArena::require_root()?;
            }
            // What belongs to a running experiment is no unclean end.
            for outcome in host::restore_all(root, &[cpu::UNDO])?.iter().filter(|outcome| outcome.owner_is_dead()) {
                progress.say(&format!("an earlier schedlab ended uncleanly: {outcome}"));
            }
            if plan.arena.is_cpu() {
                Box::new(CpuArena::open(root, plan, stop, progress)?)
            } else {
                Box::new(HostArena::open(root, plan, options, stop, progress)?)
            }
        }
        ArenaKind::Sim => Box::new(SimArena::open(plan, &stop)?),
        ArenaKind::Kernel => Box::new(KernelArena::open(plan, options.cache_dir.as_deref(), stop, progress)?),
    };
    let result = arena.rehearse(plan).and_then(|()| work(arena.as_mut()));
    progress.clear();
    let put_back = arena.finish();
    match (result, put_back) {
        (Ok(done), Ok(words)) => {
            words.iter().for_each(|word| progress.say(word));
            Ok(done)
        }
        (Ok(_), Err(error)) | (Err(error), Ok(_)) => Err(error),
        (Err(error), Err(also)) => Err(error.context(format!("and the settings could not be put back: {also:#}"))),
    }
}
