//! The source of the setting to persist.

use std::path::Path;

use anyhow::{Context, Result, bail};
use experiment::analysis::{Comparison, Verdict};
use experiment::plan::ArenaFacts;
use experiment::results::Results;
use machine::device::Kind;
use machine::files::Bounded;
use machine::{Device, Root, Setting, persist};
use serde::Deserialize;
use text::limits::SEARCH_BYTES;

use crate::cli::PersistArgs;
use crate::command::settings;
use lab::store;
use report::number;

const TUNE: &str = "tune.json";

#[derive(Debug)]
pub(super) struct Source {
    pub(super) setting: Setting,
    pub(super) because: Option<String>,
    pub(super) remarks: Vec<String>,
}

pub(super) fn source(root: &Root, device: &Device, args: &PersistArgs) -> Result<Source> {
    match &args.from {
        Some(dir) if dir.join(TUNE).is_file() => from_tuning(device, dir, args.force),
        Some(dir) => from_results(device, dir, args.force),
        None if args.settings.is_empty() => Ok(current(root, device)),
        None => Ok(Source {
            setting: settings::read(&args.settings)?,
            because: None,
            remarks: Vec::new(),
        }),
    }
}

fn current(root: &Root, device: &Device) -> Source {
    let (setting, left_out) = persist::current(root, device);
    let mut remarks = vec![format!(
        "persisting the current setting of {}: its scheduler, and those of the scheduler's tunables that differ from their defaults; queue attributes are persisted only if named",
        device.path.display()
    )];
    if !left_out.is_empty() {
        remarks.push(format!(
            "omitted, since schedlab does not know their defaults: {}",
            left_out.join(", ")
        ));
    }
    Source { setting, because: None, remarks }
}

fn from_results(device: &Device, dir: &Path, force: bool) -> Result<Source> {
    let results = store::read(dir)?;
    let analysis = experiment::analyze(&results, None);
    let shown = dir.display();
    let Some(variant) = &analysis.recommendation.variant else {
        bail!("{shown} recommends no setting to persist: {}", report::headline(&analysis));
    };
    let deciding: Vec<&Comparison> = analysis
        .comparisons
        .iter()
        .filter(|comparison| comparison.primary && comparison.variant == *variant)
        .collect();
    let Some(first) = deciding.iter().find(|comparison| comparison.verdict == Verdict::Better)
    else {
        bail!(
            "{shown}: recommends {variant}, which is the baseline or not shown to be better: {}",
            report::headline(&analysis)
        );
    };
    if let Some(against) =
        deciding.iter().find(|j| matches!(j.verdict, Verdict::Worse | Verdict::Invalid))
    {
        let what = if against.verdict == Verdict::Invalid { "invalid" } else { "worse" };
        bail!(
            "{shown}: {variant} is better for {} and {what} for {}; to persist it, name its setting",
            first.workload,
            against.workload
        );
    }
    let remarks = meant_for(device, &Measured::of(&results), dir, force)?;
    let plan = &results.header.plan;
    let variant = plan
        .variants
        .iter()
        .find(|planned| planned.name == *variant)
        .context("results file: its plan has no such variant")?;
    let scheduler = settings::current_name(&variant.scheduler)?;
    let better: Vec<String> = deciding
        .iter()
        .filter(|comparison| comparison.verdict == Verdict::Better)
        .map(|j| format!("{} of {} {}", j.metric, j.workload, number::effect(j)))
        .collect();
    let because = format!("better than {}: {}", first.baseline, better.join("; "));
    let setting = Setting { scheduler: Some(scheduler), tunables: variant.tunables.clone() };
    Ok(Source { setting, because: Some(because), remarks })
}

/// Where a result was measured.
struct Measured<'a> {
    arena: &'a ArenaFacts,
    identity: &'a str,
    /// The medium in the device, by the kernel's count.
    diskseq: Option<u64>,
}

impl Measured<'_> {
    fn of(results: &Results) -> Measured<'_> {
        let header = &results.header;
        let facts = header.environment.get("device");
        let fact = |name: &str| facts.and_then(|facts| facts.get(name));
        Measured {
            arena: header.plan.arena,
            identity: fact("identity").map_or("", String::as_str),
            diskseq: fact("diskseq").and_then(|text| text.parse().ok()),
        }
    }

    /// Whether the device was another one. A loop device is identified by its name, which another
    /// file has had.
    fn was_other(&self, device: &Device) -> bool {
        let is_other_file = device.kind == Kind::Loop
            && self.diskseq.zip(device.diskseq).is_some_and(|(then, now)| then != now);
        self.identity != device.identity || is_other_file
    }
}

#[derive(Debug, Deserialize)]
struct Tuning {
    recommended: Option<Recommended>,
}

#[derive(Debug, Deserialize)]
struct Recommended {
    identity: String,
    diskseq: Option<u64>,
    arena: &'static ArenaFacts,
    scheduler: String,
    #[serde(default)]
    tunables: std::collections::BTreeMap<String, String>,
    verdict: serde_json::Value,
    #[serde(default)]
    date: String,
}

fn from_tuning(device: &Device, dir: &Path, force: bool) -> Result<Source> {
    let path = dir.join(TUNE);
    let text = SEARCH_BYTES
        .read_text_file(&path)
        .with_context(|| format!("{}: cannot read", path.display()))?;
    let tuning: Tuning = serde_json::from_str(&text).with_context(|| {
        format!("{} is not a result of this version's `schedlab tune`", path.display())
    })?;
    let Some(found) = tuning.recommended else {
        bail!(
            "{} recommends no setting to persist: no setting was confirmed to be better than the default",
            path.display()
        );
    };
    let word =
        found.verdict.as_str().or_else(|| found.verdict["verdict"].as_str()).unwrap_or_default();
    if word != "better" {
        bail!(
            "{}: recommends a setting whose verdict is {word:?}, not better; to persist it, name its setting",
            path.display()
        );
    }
    let Recommended { arena, ref identity, diskseq, .. } = found;
    let remarks = meant_for(device, &Measured { arena, identity, diskseq }, dir, force)?;
    let details =
        found.verdict.as_object().map(|_| format!(" {}", found.verdict)).unwrap_or_default();
    let because =
        format!("better than the default, confirmed by schedlab tune {}{details}", found.date);
    let setting = Setting { scheduler: Some(found.scheduler), tunables: found.tunables };
    Ok(Source { setting, because: Some(because), remarks })
}

/// `force` turns the error into a caution.
fn meant_for(
    device: &Device,
    measured: &Measured<'_>,
    dir: &Path,
    force: bool,
) -> Result<Vec<String>> {
    let (shown, device_shown) = (dir.display(), device.path.display());
    let named = |identity: &str, diskseq: Option<u64>| match diskseq {
        Some(medium) if device.kind == Kind::Loop => format!("{identity}, medium {medium}"),
        _ => identity.to_owned(),
    };
    let doubt = if !measured.arena.has_disk() {
        format!(
            "{shown} was measured in the {} arena, on a modelled disk, not on {device_shown}",
            measured.arena.name
        )
    } else if measured.was_other(device) {
        format!(
            "{shown} was measured on another device ({}), not on {device_shown} ({})",
            named(measured.identity, measured.diskseq),
            named(&device.identity, device.diskseq)
        )
    } else {
        return Ok(Vec::new());
    };
    if !force {
        bail!("{doubt}: what is best there may be worse here; measure here, or add --force");
    }
    Ok(vec![format!("CAUTION: {doubt}")])
}
