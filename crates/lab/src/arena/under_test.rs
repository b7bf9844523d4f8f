//! What a plan compares, and on what, as its arena understands the words: device and variants, each
//! word read once.

use std::path::Path;

use anyhow::Result;
use elevator::Named;
use experiment::plan::{ArenaFacts, ArenaKind, Plan, Variant};
use guest::Source;

use super::model::Model;
use super::{Variants, cpu, disk, kernel, sim};
use crate::controllers::Control;
use crate::failure::usage;

/// The device and the variants of a plan, by arena.
#[derive(Debug, Clone)]
pub enum UnderTest {
    Disk { target: disk::Target, variants: Variants<disk::VariantSetting> },
    Cpu { variants: Variants<machine::cpu::Setting>, loads: cpu::background::BackgroundLoads },
    Sim { model: Model, variants: Variants<sim::Setting> },
    Kernel { model: Model, source: Source, variants: Variants<kernel::Setting> },
}

/// The settings of a variant that Linux keeps beside the scheduler.
pub(crate) struct Controls<'a> {
    pub(crate) variant: &'a str,
    pub(crate) scheduler: &'a str,
    pub(crate) all: &'a [Control],
}

impl UnderTest {
    /// Reads the words of a plan, and writes out what they leave open: the present name of a
    /// scheduler, the options of a load.
    ///
    /// # Errors
    /// Wrong usage: a word that the arena does not know, a file that cannot be read.
    pub(crate) fn read(plan: &mut Plan, say: &mut dyn FnMut(&str)) -> Result<UnderTest> {
        let Plan { device, kernel, variants, .. } = plan;
        Ok(match plan.arena.kind {
            ArenaKind::Disk => UnderTest::Disk {
                variants: Variants::read(variants, |variant| disk_setting(variant, say))?,
                target: disk::Target::parse(device)?,
            },
            ArenaKind::Cpu => UnderTest::Cpu {
                variants: Variants::read(variants, cpu_setting)?,
                loads: cpu::background::BackgroundLoads::read(&mut plan.workloads)?,
            },
            ArenaKind::Sim => UnderTest::Sim {
                variants: Variants::read(variants, |variant| sim::Setting::of(variant))?,
                model: Model::read(device)?,
            },
            ArenaKind::Kernel => UnderTest::Kernel {
                variants: Variants::read(variants, |variant| {
                    kernel_setting(kernel.as_deref(), variant, say)
                })?,
                model: Model::read(device)?,
                source: kernel::usual_source(kernel.as_deref())?,
            },
        })
    }

    /// The modelled device.
    pub(crate) fn model(&self) -> Option<&Model> {
        match self {
            UnderTest::Sim { model, .. } | UnderTest::Kernel { model, .. } => Some(model),
            UnderTest::Disk { .. } | UnderTest::Cpu { .. } => None,
        }
    }

    /// The settings beside the scheduler, of variants that can have some.
    pub(crate) fn controls(&self) -> Vec<Controls<'_>> {
        match self {
            UnderTest::Disk { variants, .. } => variants
                .iter()
                .map(|(_, variant, setting)| Controls {
                    variant,
                    scheduler: setting.device.scheduler.as_deref().unwrap_or_default(),
                    all: &setting.controls,
                })
                .collect(),
            UnderTest::Kernel { variants, .. } => variants
                .iter()
                .map(|(_, variant, setting)| Controls {
                    variant,
                    scheduler: &setting.scheduler,
                    all: &setting.controls,
                })
                .collect(),
            UnderTest::Cpu { .. } | UnderTest::Sim { .. } => Vec::new(),
        }
    }

    /// The command lines of variants that have one of their own, by name.
    pub(crate) fn commands(&self) -> Vec<(&str, &str)> {
        match self {
            UnderTest::Cpu { variants, .. } => variants
                .iter()
                .filter_map(|(_, variant, of)| Some((variant, of.run.as_deref()?)))
                .collect(),
            UnderTest::Disk { .. } | UnderTest::Sim { .. } | UnderTest::Kernel { .. } => Vec::new(),
        }
    }

    /// What a variant loads or builds with root's rights: its name, and what in words.
    pub(crate) fn built(&self) -> Vec<(&str, String)> {
        match self {
            UnderTest::Cpu { variants, .. } => {
                let program = |setting: &machine::cpu::Setting| {
                    Some(format!("loads {:?}", setting.sched_ext.as_ref()?.display().to_string()))
                };
                variants
                    .iter()
                    .filter_map(|(_, variant, of)| Some((variant, program(of)?)))
                    .collect()
            }
            UnderTest::Kernel { variants, .. } => variants
                .iter()
                .filter_map(|(_, variant, of)| Some((variant, of.kernel.built()?)))
                .collect(),
            UnderTest::Disk { .. } | UnderTest::Sim { .. } => Vec::new(),
        }
    }

    /// The tree that the plan's own kernel is built from.
    pub(crate) fn kernel_tree(&self) -> Option<&Path> {
        match self {
            UnderTest::Kernel { source: Source::Directory(tree), .. } => Some(tree),
            _ => None,
        }
    }
}

/// Checks a variant as far as is possible without the device. A scheduler of this machine's kernel
/// gets its present name.
///
/// # Errors
/// Wrong usage: a scheduler, tunable or setting that the arena does not have.
pub fn check_variant(
    arena: &ArenaFacts,
    kernel: Option<&str>,
    variant: &mut Variant,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    match arena.kind {
        ArenaKind::Disk => disk_setting(variant, say).map(drop),
        ArenaKind::Cpu => cpu_setting(variant).map(drop),
        ArenaKind::Sim => sim::Setting::of(variant).map(drop),
        ArenaKind::Kernel => kernel_setting(kernel, variant, say).map(drop),
    }
}

/// Replaces an old name of a scheduler by today's, aloud; refuses one that is gone. In the
/// simulator an old name means the old scheduler.
fn disk_setting(variant: &mut Variant, say: &mut dyn FnMut(&str)) -> Result<disk::VariantSetting> {
    match elevator::resolve(&variant.scheduler) {
        Named::Current(_) | Named::Unknown => {}
        Named::Renamed { now, why } => {
            say(&format!("note: {} is measured as {}: {why}", variant.scheduler, now.name));
            now.name.clone_into(&mut variant.scheduler);
        }
        Named::Gone { fate, nearest } => {
            return Err(usage(format!(
                "scheduler {}: cannot be measured on this kernel: {fate}; take {} ({})",
                variant.scheduler, nearest.name, nearest.help
            )));
        }
    }
    disk::setting_of(variant)
}

/// The scheduler is written out.
fn cpu_setting(variant: &mut Variant) -> Result<machine::cpu::Setting> {
    let setting = cpu::setting_of(variant)?;
    if variant.scheduler.is_empty() {
        "default".clone_into(&mut variant.scheduler);
    }
    Ok(setting)
}

/// `kernel` is the plan's.
fn kernel_setting(
    kernel: Option<&str>,
    variant: &Variant,
    say: &mut dyn FnMut(&str),
) -> Result<kernel::Setting> {
    let setting = kernel::Setting::of(variant)?;
    setting.renamed.iter().for_each(|note| say(note));
    setting.check_known(kernel)?;
    Ok(setting)
}
