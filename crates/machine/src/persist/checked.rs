//! A setting checked against the device.
//!
//! An invalid rule fails silently at the next boot. The setting is therefore checked as if it were
//! applied now ([`Change::plan`]), and its values for characters special in a rule.

use elevator::Build;

use super::Refusal;
use crate::device::Device;
use crate::error::Error;
use crate::modules;
use crate::root::Root;
use crate::settings::attribute::{order, same_as_kernel_keeps};
use crate::settings::device_attributes;
use crate::settings::{Change, Setting, Snapshot};

/// Values in write order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CheckedSetting {
    /// Written first.
    pub(super) scheduler: Option<String>,
    pub(super) queue: Vec<(String, String)>,
    pub(super) tunables: Vec<(String, String)>,
    pub(super) module: Option<String>,
}

impl CheckedSetting {
    /// Values by path below the device's sysfs directory.
    pub(super) fn writes(&self) -> Vec<(String, &str)> {
        let scheduler =
            self.scheduler.iter().map(|name| ("queue/scheduler".to_string(), name.as_str()));
        let queue =
            self.queue.iter().map(|(name, value)| (format!("queue/{name}"), value.as_str()));
        let tunables = self
            .tunables
            .iter()
            .map(|(name, value)| (format!("queue/iosched/{name}"), value.as_str()));
        scheduler.chain(queue).chain(tunables).collect()
    }
}

/// Tunables belong to a scheduler: if none is named, the current one is persisted too.
pub(super) fn check(
    root: &Root,
    device: &Device,
    setting: &Setting,
) -> Result<CheckedSetting, Error> {
    let now = Snapshot::take(root, &device.name);
    if let Some(name) = setting.tunables.keys().find(|name| device_attributes::row(name).is_some())
    {
        return Err(Refusal::NotOfTheQueue { name: name.clone() }.into());
    }
    let named = setting.scheduler.iter().map(|value| ("scheduler", value.as_str()));
    let others = setting.tunables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    named.chain(others).try_for_each(|(name, value)| check_text(name, value))?;
    let only_queue = setting.scheduler.is_none()
        && setting.tunables.keys().all(|name| now.queue.contains_key(name));
    let (mut queue, mut tunables) = (Vec::new(), Vec::new());
    if now.scheduler.is_none() && only_queue {
        // No table lists legal values for bio-based devices.
        queue.extend(setting.tunables.clone());
    } else {
        for write in Change::plan(root, device, setting)?.writes() {
            let is_tunable = write.path.parent().is_some_and(|dir| dir.ends_with("iosched"));
            let target = if is_tunable { &mut tunables } else { &mut queue };
            if write.named && write.attribute != "scheduler" {
                target.push((write.attribute, write.value));
            }
        }
    }
    queue.sort_by(|a, b| order(&a.0).cmp(&order(&b.0)));
    let scheduler = setting.scheduler.clone().or(now.scheduler.filter(|_| !tunables.is_empty()));
    if scheduler.is_none() && queue.is_empty() {
        return Err(Refusal::Nothing { device: device.path.display().to_string() }.into());
    }
    // With nothing listed as available, these are all modules.
    let is_module = |name: &String| modules::unloaded(root, &[]).contains(name);
    let module = scheduler.clone().filter(is_module).map(|name| {
        let row = elevator::LINUX.iter().find(|row| row.name == name);
        row.map_or(format!("{name}-iosched"), |row| row.module.to_string())
    });
    Ok(CheckedSetting { scheduler, queue, tunables, module })
}

/// Differences from the kernel's defaults; the second list names tunables with unknown defaults,
/// which are omitted.
pub fn current(root: &Root, device: &Device) -> (Setting, Vec<String>) {
    let now = Snapshot::take(root, &device.name);
    let Some(scheduler) = now.scheduler.clone() else { return (Setting::default(), Vec::new()) };
    let mut setting = Setting::of(&scheduler);
    let build = Build {
        nr_tags: device
            .nr_requests
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(Build::default().nr_tags),
        rotational: now.queue.get("rotational").is_some_and(|text| text == "1"),
        ..Build::default()
    };
    let knobs = elevator::find(&scheduler).map(|row| row.knobs(&build)).unwrap_or_default();
    let mut left_out = Vec::new();
    for (name, value) in &now.tunables {
        let Some(knob) = knobs.iter().find(|knob| knob.row.name == name) else {
            if !is_finer_match(name, value, &now) {
                left_out.push(name.clone());
            }
            continue;
        };
        if !same_as_kernel_keeps(name, &knob.default.to_string(), value) {
            setting.tunables.insert(name.clone(), value.clone());
        }
    }
    (setting, left_out)
}

/// bfq shows idling in milliseconds and in microseconds; the latter adds information only between
/// two milliseconds.
fn is_finer_match(name: &str, value: &str, now: &Snapshot) -> bool {
    let coarse = name.strip_suffix("_us").and_then(|coarse| now.tunables.get(coarse));
    let number = |text: &str| text.parse::<u64>().ok();
    coarse.and_then(|ms| number(ms)?.checked_mul(1000)).is_some_and(|us| number(value) == Some(us))
}

fn check_text(name: &str, value: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._+-".contains(c);
    if !value.trim().is_empty() && value.chars().all(plain) {
        return Ok(());
    }
    Err(Refusal::OddValue { name: name.into(), value: value.into() }.into())
}
