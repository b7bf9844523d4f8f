//! What a plan compares, and on what, as its arena understands the words: device and variants.

use anyhow::Result;
use elevator::Named;
use experiment::plan::{ArenaFacts, ArenaKind, Plan, Variant};

use super::model::Model;
use super::{Variants, cpu, disk, kernel, sim};
use crate::failure::usage;

/// The device and the variants of a plan, by arena.
#[derive(Debug)]
pub enum UnderTest {
    Disk { target: disk::Target, variants: Variants<disk::VariantSetting> },
    Cpu { variants: Variants<machine::cpu::Setting>, loads: cpu::background::BackgroundLoads },
    Sim { model: Model, variants: Variants<sim::Setting> },
    Kernel { model: Model, source: guest::Source, variants: Variants<kernel::Setting> },
}

impl UnderTest {
    /// # Errors
    /// Wrong usage: a word that the arena does not know, a file that cannot be read.
    pub fn read(plan: &Plan) -> Result<UnderTest> {
        Ok(match plan.arena.kind {
            ArenaKind::Disk => UnderTest::Disk {
                target: disk::Target::parse(&plan.device)?,
                variants: Variants::resolve(&plan.variants, disk::setting_of)?,
            },
            ArenaKind::Cpu => UnderTest::Cpu {
                variants: Variants::resolve(&plan.variants, cpu::setting_of)?,
                loads: cpu::background::BackgroundLoads::of(plan)?,
            },
            ArenaKind::Sim => UnderTest::Sim {
                model: Model::read(&plan.device)?,
                variants: Variants::resolve(&plan.variants, sim::Setting::of)?,
            },
            ArenaKind::Kernel => UnderTest::Kernel {
                model: Model::read(&plan.device)?,
                source: plan
                    .kernel
                    .as_deref()
                    .map_or(Ok(guest::Source::default()), kernel::source)?,
                variants: Variants::resolve(&plan.variants, kernel::Setting::of)?,
            },
        })
    }
}

/// Checks a variant's scheduler and tunables as far as is possible without the device. A scheduler of
/// this machine's kernel gets its present name.
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
        ArenaKind::Cpu => {
            cpu::setting_of(variant)?;
            if variant.scheduler.is_empty() {
                "default".clone_into(&mut variant.scheduler);
            }
            Ok(())
        }
        ArenaKind::Disk => current_name(variant, say),
        // In the simulator an old name means the old scheduler.
        ArenaKind::Sim => sim::Setting::of(variant).map(drop),
        ArenaKind::Kernel => {
            let setting = kernel::Setting::of(variant)?;
            setting.renamed.iter().for_each(|note| say(note));
            setting.check_known(kernel)
        }
    }
}

/// Replaces an old name of a scheduler by today's, aloud; refuses one that is gone.
fn current_name(variant: &mut Variant, say: &mut dyn FnMut(&str)) -> Result<()> {
    match elevator::resolve(&variant.scheduler) {
        Named::Current(_) | Named::Unknown => Ok(()),
        Named::Renamed { now, why } => {
            say(&format!("note: {} is measured as {}: {why}", variant.scheduler, now.name));
            now.name.clone_into(&mut variant.scheduler);
            Ok(())
        }
        Named::Gone { fate, nearest } => Err(usage(format!(
            "scheduler {}: cannot be measured on this kernel: {fate}; take {} ({})",
            variant.scheduler, nearest.name, nearest.help
        ))),
    }
}

/// What a variant starts or builds with root's rights, in words.
pub fn started_by(arena: &ArenaFacts, variant: &Variant) -> Option<String> {
    match arena.kind {
        ArenaKind::Cpu => {
            variant.scheduler.strip_prefix("sched_ext:").map(|binary| format!("loads {binary:?}"))
        }
        ArenaKind::Kernel => {
            let own = variant.tunables.get(kernel::KERNEL).map(String::as_str);
            let patches = variant.scheduler.split_once('@').map(|(_, patches)| patches);
            match (own.filter(|word| kernel::is_directory(word)), patches) {
                (Some(dir), Some(patches)) => {
                    Some(format!("builds the directory {dir:?} with {patches:?}"))
                }
                (Some(dir), None) => Some(format!("builds the directory {dir:?}")),
                (None, patches) => {
                    patches.map(|patches| format!("builds a kernel with {patches:?}"))
                }
            }
        }
        ArenaKind::Disk | ArenaKind::Sim => None,
    }
}
