//! Opens the arena of a resolved plan and always restores the machine.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use experiment::plan::Plan;
use machine::Root;

use super::Arena;
use super::cpu::CpuArena;
use super::disk::{Consent, DiskArena};
use super::kernel::KernelArena;
use super::kernel_cpu::KernelCpuArena;
use super::sim::SimArena;
use super::under_test::UnderTest;
use crate::console::Console;
use crate::failure::usage;
use crate::progress::Progress;
use crate::resolve::Resolved;
use crate::resolve::programs::ProgramOptions;
use crate::trace_file::Format;

/// The user's options beyond the plan.
#[derive(Debug, Clone, Default)]
pub struct OpenOptions {
    pub destroy_data: Option<String>,
    /// For the backing file of a temporary loop device.
    pub loop_dir: PathBuf,
    /// Cache of built kernels; None: the user's.
    pub cache_dir: Option<PathBuf>,
    pub trace: Option<Format>,
    /// Threads for trials in virtual time. None: one per available CPU.
    pub threads: Option<NonZeroUsize>,
    /// The guests' init. None: this executable.
    pub program: Option<PathBuf>,
    /// Whether the plan's programs may run, and as whom.
    pub programs: ProgramOptions,
}

/// Runs `work` in the arena of a plan. On a real machine, first restores what an earlier process
/// left; restores everything before reporting errors.
///
/// # Errors
/// If both `work` and restoring fail, includes both errors.
pub fn within<T>(
    root: &Root,
    resolved: Resolved,
    options: &OpenOptions,
    console: Console<'_>,
    work: impl FnOnce(&Plan, &mut dyn Arena) -> Result<T>,
) -> Result<T> {
    let Console { stop, progress } = console;
    options.check(&resolved.under_test)?;
    options.programs.check(&resolved, progress)?;
    let Resolved { plan, workloads, under_test } = resolved;
    let user = options.programs.user.as_deref();
    let mut arena: Box<dyn Arena + '_> = match under_test {
        UnderTest::Disk { target, variants } => {
            DiskArena::require_root()?;
            restore_leftovers(root, progress)?;
            let destroy_data = options.destroy_data.as_deref();
            let consent = Consent { destroy_data, loop_dir: &options.loop_dir, run_as: user };
            Box::new(DiskArena::open(root, &plan, &target, variants, workloads, &consent, console)?)
        }
        UnderTest::Cpu { variants, loads } => {
            let changes_nothing = variants.iter().all(|(_, _, setting)| setting.is_of_program());
            let own = changes_nothing.then(|| root.clone().with_own_state());
            let root = own.as_ref().unwrap_or(root);
            restore_leftovers(root, progress)?;
            Box::new(CpuArena::open(root, &plan, variants, workloads, loads, user, console)?)
        }
        UnderTest::Sim { model, variants } => {
            let arena = SimArena::open(&plan, model, variants, workloads, stop)?;
            Box::new(match options.threads {
                Some(threads) => arena.with_threads(threads.get()),
                None => arena,
            })
        }
        UnderTest::Kernel { model, source, variants } => {
            let cache = options.cache_dir.as_deref();
            let arena =
                KernelArena::open(&plan, model, source, variants, workloads, cache, console)?;
            let arena = match &options.program {
                Some(program) => arena.started_by(program.clone()),
                None => arena,
            };
            Box::new(match options.threads {
                Some(threads) => arena.with_threads(threads.get()),
                None => arena,
            })
        }
        UnderTest::KernelCpu { source, variants, loads, model } => Box::new(KernelCpuArena::open(
            &source, variants, workloads, loads, model, options, console,
        )?),
    };
    let result = arena.try_out().and_then(|()| work(&plan, arena.as_mut()));
    progress.clear();
    let restored = arena.finish();
    match (result, restored) {
        (Ok(done), Ok(messages)) => {
            messages.iter().for_each(|message| progress.say(message));
            Ok(done)
        }
        (Ok(_), Err(error)) | (Err(error), Ok(_)) => Err(error),
        (Err(error), Err(also)) => {
            Err(error.context(format!("and the settings could not be restored: {also:#}")))
        }
    }
}

impl OpenOptions {
    /// Rejects options that the arena would ignore.
    fn check(&self, under_test: &UnderTest) -> Result<()> {
        let what = match under_test {
            UnderTest::Disk { .. } => None,
            UnderTest::Cpu { .. } | UnderTest::KernelCpu { .. } => Some("CPUs hold no data"),
            UnderTest::Sim { .. } | UnderTest::Kernel { .. } => {
                Some("a modelled device holds no data")
            }
        };
        if let Some(what) = what.filter(|_| self.destroy_data.is_some()) {
            return Err(usage(format!("--destroy-data: {what}; leave it out")));
        }
        match (under_test, self.trace) {
            (
                UnderTest::Kernel { .. } | UnderTest::KernelCpu { .. },
                Some(Format::Parquet | Format::Csv),
            ) => {
                return Err(usage(
                    "--trace: the kernel arena writes traces of Perfetto only; choose --trace perfetto, or --arena sim",
                ));
            }
            (UnderTest::Disk { .. } | UnderTest::Cpu { .. }, Some(_)) => {
                return Err(usage(
                    "--trace: only trials of the simulator and the kernel arena are traced; use schedlab trace record on a real device",
                ));
            }
            _ => {}
        }
        // Fail before creating a results directory.
        self.trace.map_or(Ok(()), |format| format.available().map(drop))
    }
}

/// Reverts the settings of processes that did not exit cleanly, but not of running ones.
pub fn restore_leftovers(root: &Root, progress: &dyn Progress) -> Result<()> {
    for outcome in machine::restore_all(root, &machine::cpu::UNDO)?
        .iter()
        .filter(|outcome| outcome.owner_is_dead())
    {
        progress.say(&format!("an earlier schedlab ended uncleanly: {outcome}"));
    }
    Ok(())
}
