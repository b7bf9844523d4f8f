//! A setting, checked against the device and put into the order in which it must be written.
//!
//! A rule that asks for nonsense fails at the next restart, where nobody looks: names, ranges and characters are checked before anything
//! is written. What is checked is the device as it is now: a scheduler's tunables can be seen in sysfs while it is in effect, and come
//! from the table of elevators otherwise.

use elevator::{Build, ElevatorKind};

use super::Refusal;
use crate::device::Device;
use crate::error::{Error, nearest_of};
use crate::modules;
use crate::root::Root;
use crate::settings::attribute::{order, same_as_kernel_keeps};
use crate::settings::{Setting, Snapshot};

/// A setting whose values have their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    /// The scheduler to be switched to, before anything else.
    pub(super) scheduler: Option<String>,
    /// Attributes of the queue, in order.
    pub(super) queue: Vec<(String, String)>,
    /// Tunables of the scheduler.
    pub(super) tunables: Vec<(String, String)>,
    /// The scheduler's module, where it is one.
    pub(super) module: Option<String>,
}

impl Placed {
    /// Every value under its path below the device's directory in sysfs, in the order in which they are written.
    pub(super) fn writes(&self) -> Vec<(String, &str)> {
        let scheduler = self.scheduler.iter().map(|name| ("queue/scheduler".to_string(), name.as_str()));
        let queue = self.queue.iter().map(|(name, value)| (format!("queue/{name}"), value.as_str()));
        let tunables = self.tunables.iter().map(|(name, value)| (format!("queue/iosched/{name}"), value.as_str()));
        scheduler.chain(queue).chain(tunables).collect()
    }
}

/// Checks a setting and finds where its values belong. Tunables belong to a scheduler: where none is named, that in effect is kept too.
pub(super) fn place(root: &Root, device: &Device, setting: &Setting) -> Result<Placed, Error> {
    let now = Snapshot::take(root, &device.name);
    let scheduler = setting.scheduler.clone();
    if let Some(name) = &scheduler {
        check_scheduler(root, device, name)?;
    }
    let meant = scheduler.clone().or(now.scheduler.clone()).unwrap_or_default();
    let row = elevator::find(&meant);
    let (mut queue, mut tunables) = (Vec::new(), Vec::new());
    for (name, value) in &setting.tunables {
        check_text(name, value)?;
        let in_effect = now.scheduler.as_ref() == Some(&meant);
        let is_tunable = match now.queue.contains_key(name) {
            true => false,
            false if in_effect => now.tunables.contains_key(name),
            false => row.is_some_and(|row| row.tunable(name).is_some()),
        };
        if !is_tunable && !now.queue.contains_key(name) {
            return Err(unknown(device, &now, &meant, row, name));
        }
        if is_tunable {
            check_range(row, name, value)?;
            tunables.push((name.clone(), value.clone()));
        } else {
            queue.push((name.clone(), value.clone()));
        }
    }
    queue.sort_by(|a, b| order(&a.0).cmp(&order(&b.0)));
    let scheduler = if tunables.is_empty() { scheduler } else { Some(meant) };
    if scheduler.is_none() && queue.is_empty() {
        return Err(Refusal::Nothing { device: device.path.display().to_string() }.into());
    }
    // With nothing counted as available, these are all that exist as modules.
    let is_module = |name: &String| modules::unloaded(root, &[]).contains(name);
    let module = scheduler.clone().filter(is_module).map(|name| {
        let row = elevator::LINUX.iter().find(|row| row.name == name);
        row.map_or(format!("{name}-iosched"), |row| row.module.to_string())
    });
    Ok(Placed { scheduler, queue, tunables, module })
}

/// The setting that a device has now, as far as it is not what the kernel would choose anyway: the scheduler, and those of its tunables
/// that differ from the defaults. The second list names what was left out because nobody knows its default.
pub fn current(root: &Root, device: &Device) -> (Setting, Vec<String>) {
    let now = Snapshot::take(root, &device.name);
    let Some(scheduler) = now.scheduler.clone() else { return (Setting::default(), Vec::new()) };
    let mut setting = Setting::of(&scheduler);
    let build = Build {
        nr_tags: device.nr_requests.and_then(|n| u32::try_from(n).ok()).unwrap_or(Build::default().nr_tags),
        rotational: now.queue.get("rotational").is_some_and(|text| text == "1"),
        ..Build::default()
    };
    let knobs = elevator::find(&scheduler).map(|row| row.knobs(&build)).unwrap_or_default();
    let mut left_out = Vec::new();
    for (name, value) in &now.tunables {
        let Some(knob) = knobs.iter().find(|knob| knob.row.name == name) else {
            if !is_finer_twin(name, value, &now) {
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

/// bfq shows its idling twice, in milliseconds and in microseconds; the finer one says something of its own only between two of the
/// former.
fn is_finer_twin(name: &str, value: &str, now: &Snapshot) -> bool {
    let coarse = name.strip_suffix("_us").and_then(|coarse| now.tunables.get(coarse));
    let number = |text: &str| text.parse::<u64>().ok();
    coarse.and_then(|ms| number(ms)?.checked_mul(1000)).is_some_and(|us| number(value) == Some(us))
}

fn check_scheduler(root: &Root, device: &Device, name: &str) -> Result<(), Error> {
    let path = device.path.display().to_string();
    if let Some(why) = &device.no_scheduler {
        return Err(Error::NoScheduler { device: path, why: why.to_string() });
    }
    check_text("scheduler", name)?;
    let mut known = device.available_schedulers.clone();
    known.extend(modules::unloaded(root, &known));
    if known.iter().any(|offered| offered == name) {
        return Ok(());
    }
    let nearest_name = nearest_of(name, &known);
    Err(Refusal::NoSuchScheduler { device: path, scheduler: name.into(), nearest_name, known }.into())
}

fn check_text(name: &str, value: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || " ._+-".contains(c);
    if !value.trim().is_empty() && value.chars().all(plain) {
        return Ok(());
    }
    Err(Refusal::OddValue { name: name.into(), value: value.into() }.into())
}

fn check_range(row: Option<&ElevatorKind>, name: &str, value: &str) -> Result<(), Error> {
    let Some(row) = row.and_then(|row| row.tunable(name)) else { return Ok(()) };
    if value.parse::<u64>().is_ok_and(|number| (row.min..=row.max).contains(&number)) {
        return Ok(());
    }
    let (name, value) = (name.to_string(), value.to_string());
    Err(Refusal::OutOfRange { name, value, min: row.min, max: row.max, unit: row.unit }.into())
}

fn unknown(device: &Device, now: &Snapshot, scheduler: &str, row: Option<&ElevatorKind>, name: &str) -> Error {
    let in_effect = now.scheduler.as_deref() == Some(scheduler);
    let of_table =
        row.filter(|_| !in_effect).into_iter().flat_map(|row| row.tunables.iter().map(|t| t.name.to_string()));
    let of_sysfs = now.tunables.keys().filter(|_| in_effect).chain(now.queue.keys()).cloned();
    let known: Vec<String> = of_table.chain(of_sysfs).collect();
    Error::UnknownTunable {
        device: device.path.display().to_string(),
        scheduler: scheduler.to_string(),
        name: name.to_string(),
        nearest_name: nearest_of(name, &known),
        known,
    }
}
