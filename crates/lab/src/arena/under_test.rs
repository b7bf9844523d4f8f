//! Device and variants of a plan, parsed for its arena.

use std::path::Path;

use anyhow::Result;
use elevator::Named;
use experiment::plan::{ArenaFacts, ArenaKind, CPU_DEVICE, Plan, Variant};
use guest::Source;

use super::model::Model;
use super::{Variants, cpu, disk, kernel, kernel_cpu, sim};
use crate::controllers::Control;
use crate::failure::usage;

#[derive(Debug, Clone)]
pub enum UnderTest {
    Disk {
        target: disk::Target,
        variants: Variants<disk::VariantSetting>,
    },
    Cpu {
        variants: Variants<machine::cpu::Setting>,
        loads: cpu::background::BackgroundLoads,
    },
    Sim {
        model: Model,
        variants: Variants<sim::Setting>,
    },
    Kernel {
        model: Model,
        source: Source,
        variants: Variants<kernel::Setting>,
    },
    KernelCpu {
        source: Source,
        variants: Variants<kernel_cpu::Setting>,
        loads: cpu::background::BackgroundLoads,
        /// Of the disk; None: nothing does I/O.
        model: Option<Model>,
    },
}

pub(crate) struct Controls<'a> {
    pub(crate) variant: &'a str,
    pub(crate) scheduler: &'a str,
    pub(crate) all: &'a [Control],
}

impl UnderTest {
    /// Parses the plan and completes it: current scheduler names, options of loads.
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
            ArenaKind::KernelCpu => UnderTest::KernelCpu {
                variants: Variants::read(variants, kernel_cpu_setting)?,
                source: kernel::usual_source(kernel.as_deref())?,
                loads: cpu::background::BackgroundLoads::read(&mut plan.workloads)?,
                model: (device != CPU_DEVICE).then(|| Model::read(device)).transpose()?,
            },
        })
    }

    pub(crate) fn model(&self) -> Option<&Model> {
        match self {
            UnderTest::Sim { model, .. } | UnderTest::Kernel { model, .. } => Some(model),
            UnderTest::Disk { .. } | UnderTest::Cpu { .. } | UnderTest::KernelCpu { .. } => None,
        }
    }

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
            UnderTest::Cpu { .. } | UnderTest::Sim { .. } | UnderTest::KernelCpu { .. } => {
                Vec::new()
            }
        }
    }

    /// By variant name.
    pub(crate) fn commands(&self) -> Vec<(&str, &str)> {
        match self {
            UnderTest::Cpu { variants, .. } => variants
                .iter()
                .filter_map(|(_, variant, of)| Some((variant, of.run.as_deref()?)))
                .collect(),
            UnderTest::Disk { .. }
            | UnderTest::Sim { .. }
            | UnderTest::Kernel { .. }
            | UnderTest::KernelCpu { .. } => Vec::new(),
        }
    }

    /// What a variant loads or builds as root: its name, the verb, and what.
    pub(crate) fn made(&self) -> Vec<(&str, &'static str, String)> {
        match self {
            UnderTest::Cpu { variants, .. } => {
                let program = |setting: &machine::cpu::Setting| {
                    Some(format!("{:?}", setting.sched_ext.as_ref()?.display().to_string()))
                };
                variants
                    .iter()
                    .filter_map(|(_, variant, of)| Some((variant, "loads", program(of)?)))
                    .collect()
            }
            UnderTest::Kernel { variants, .. } => variants
                .iter()
                .filter_map(|(_, variant, of)| Some((variant, "builds", of.kernel.built()?)))
                .collect(),
            UnderTest::KernelCpu { variants, .. } => variants
                .iter()
                .filter_map(|(_, variant, of)| Some((variant, "builds", of.kernel.built()?)))
                .collect(),
            UnderTest::Disk { .. } | UnderTest::Sim { .. } => Vec::new(),
        }
    }

    pub(crate) fn kernel_tree(&self) -> Option<&Path> {
        match self {
            UnderTest::Kernel { source: Source::Directory(tree), .. }
            | UnderTest::KernelCpu { source: Source::Directory(tree), .. } => Some(tree),
            _ => None,
        }
    }
}

/// Checks a variant without the device. In the disk arena, updates old scheduler names.
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
        ArenaKind::KernelCpu => kernel_cpu_setting(variant).map(drop),
    }
}

/// Updates old scheduler names and rejects removed ones. In the simulator, old names select the old
/// scheduler.
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

fn cpu_setting(variant: &mut Variant) -> Result<machine::cpu::Setting> {
    let setting = cpu::setting_of(variant)?;
    if variant.scheduler.is_empty() {
        "default".clone_into(&mut variant.scheduler);
    }
    Ok(setting)
}

/// The scheduler is written out.
fn kernel_cpu_setting(variant: &mut Variant) -> Result<kernel_cpu::Setting> {
    let setting = kernel_cpu::Setting::of(variant)?;
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
