//! Values written to the machine: scheduler sysctls and debugfs files, governors, boost.
//!
//! To inherit nothing from the previous variant, each apply writes a complete target: all
//! originals, overridden by this variant's values. Originals and new values are journaled before
//! the first write, so that recovery can tell our values from other programs'.
//!
//! Some values bound each other (`sched_rt_runtime_us` ≤ `sched_rt_period_us`) or move others
//! (`tunable_scaling` recomputes slices). Instead of a table of orders, values that do not hold are
//! rewritten as long as that helps.

mod check;
mod debugfs;
mod frequency;
mod gone;
mod item;
mod original;
mod resolve;
mod sysctl;
mod value;
mod watch;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
pub(crate) mod fake_machine;
#[cfg(test)]
mod refusal_tests;
#[cfg(test)]
mod tests;

pub(super) use check::check;
pub(super) use debugfs::{dir as debug_dir, features, files as debug_files};
pub(super) use frequency::{boost_file, policies};
pub(super) use item::Write;
use item::{Item, equal_values};
pub(crate) use original::Original;
use resolve::{refused, resolve};
pub(super) use sysctl::{names as sysctls, path as sysctl_path};
pub(super) use watch::Watch;

use super::ledger::Ledger;
use super::setting::Attribute;
use crate::Error;
use crate::Root;
use crate::settings::Problem;

const ROUNDS: usize = 4;

pub(super) fn admit(root: &Root, wanted: &[Attribute]) -> Result<(), Error> {
    let mut seen: Vec<(&str, Item)> = Vec::new();
    for attribute in wanted {
        let resolved = resolve(root, attribute)?;
        for write in resolved.writes {
            if let Some((other, _)) = seen.iter().find(|(_, item)| item.same_setting(&write.item)) {
                return Err(refused(
                    &attribute.key,
                    format!("it is the same setting as {other}; remove one of them"),
                ));
            }
            seen.push((&attribute.key, write.item));
        }
    }
    Ok(())
}

/// Returns the complete target, and the values that do not hold.
///
/// # Errors
/// [`Error::Io`] if the journal cannot be written; nothing else was written then.
pub(super) fn apply(
    root: &Root,
    wanted: &[Attribute],
    ledger: &Ledger,
) -> Result<(Vec<Write>, Vec<Problem>), Error> {
    let mut problems = Vec::new();
    let (mut writes, mut moved) = (Vec::new(), Vec::new());
    for attribute in wanted {
        match resolve(root, attribute) {
            Ok(resolved) => {
                writes.extend(resolved.writes);
                moved.extend(resolved.moved);
            }
            Err(error) => problems.push(Problem::WriteFailed {
                attribute: attribute.key.clone(),
                wanted: attribute.value.clone(),
                error: error.to_string(),
            }),
        }
    }
    note(root, ledger, &mut writes, &moved, &mut problems)?;
    let named = |item: &Item| {
        writes.iter().any(|write| write.item.same_setting(item))
            || moved.iter().any(|other| other.same_setting(item))
    };
    let made = ledger.made();
    let others =
        made.attributes.iter().rev().filter(|original| !named(&original.item)).map(Original::write);
    let mut targets: Vec<Write> = others.collect();
    targets.extend(writes);
    let found = settle(root, &targets);
    remember(ledger, &found)?;
    problems.extend(found);
    Ok((targets, problems))
}

/// Journals originals and new values. Unreadable values, which could not be restored, are skipped.
fn note(
    root: &Root,
    ledger: &Ledger,
    writes: &mut Vec<Write>,
    moved: &[Item],
    problems: &mut Vec<Problem>,
) -> Result<(), Error> {
    let made = ledger.made();
    let mut attributes = made.attributes.clone();
    for item in moved {
        if !attributes.iter().any(|original| original.item.same_setting(item))
            && let Some(value) = item.read(root)
        {
            attributes.push(Original { item: item.clone(), value, written: Vec::new() });
        }
    }
    writes.retain(|write| {
        if let Some(original) =
            attributes.iter_mut().find(|original| original.item.same_setting(&write.item))
        {
            original.will_be(&write.value);
            return true;
        }
        let Some(value) = write.item.read(root) else {
            problems.push(Problem::WriteFailed {
                attribute: write.item.name.clone(),
                wanted: write.value.clone(),
                error: "its present value cannot be read, so it could not be restored".to_string(),
            });
            return false;
        };
        let mut original = Original { item: write.item.clone(), value, written: Vec::new() };
        original.will_be(&write.value);
        attributes.push(original);
        true
    });
    if attributes == made.attributes {
        Ok(())
    } else {
        ledger.note(|made| made.attributes = attributes)
    }
}

/// A value into which the kernel changed ours counts as ours.
fn remember(ledger: &Ledger, found: &[Problem]) -> Result<(), Error> {
    let mut attributes = ledger.made().attributes;
    for problem in found {
        if let Problem::NotInEffect { attribute, found, .. } = problem {
            let of = attributes.iter_mut().filter(|original| original.item.name == *attribute);
            of.for_each(|original| original.will_be(found));
        }
    }
    if attributes == ledger.made().attributes {
        Ok(())
    } else {
        ledger.note(|made| made.attributes = attributes)
    }
}

/// Returns values that still do not hold.
fn settle(root: &Root, targets: &[Write]) -> Vec<Problem> {
    let mut refused: Vec<(&Item, std::io::Error)> = Vec::new();
    for _ in 0..ROUNDS {
        let open: Vec<&Write> = targets.iter().filter(|write| !write.holds(root)).collect();
        if open.is_empty() {
            return Vec::new();
        }
        refused.clear();
        for write in open {
            let written = write.item.write(root, &write.value);
            refused.extend(written.err().map(|error| (&write.item, error)));
        }
    }
    let problem = |write: &Write| {
        let (attribute, wanted) = (write.item.name.clone(), write.value.clone());
        match refused.iter().find(|(item, _)| item.same_setting(&write.item)) {
            Some((_, error)) => Problem::WriteFailed { attribute, wanted, error: explain(error) },
            None => Problem::NotInEffect { attribute, wanted, found: write.found(root) },
        }
    };
    targets.iter().filter(|write| !write.holds(root)).map(problem).collect()
}

fn explain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::InvalidInput => format!("the kernel refused the value ({error})"),
        std::io::ErrorKind::PermissionDenied => {
            format!("the kernel takes no writes to it, or not from this user ({error})")
        }
        std::io::ErrorKind::NotFound => {
            format!("the file is gone; is debugfs still mounted? ({error})")
        }
        _ => error.to_string(),
    }
}

/// Restores values in reverse order; returns these and failures.
pub(super) fn put_back(root: &Root, originals: &[Original]) -> (Vec<String>, Vec<Problem>) {
    let mut done = Vec::new();
    let mut targets = Vec::new();
    for original in originals.iter().rev() {
        let (name, value) = (&original.item.name, &original.value);
        if is_gone(root, &original.item) {
            done.push(format!("{name} is gone, together with its driver"));
            continue;
        }
        let found = original.item.read(root);
        match &found {
            Some(found) if equal_values(found, value) => {}
            Some(found) if original.written.iter().any(|ours| equal_values(ours, found)) => {
                done.push(format!("{name} {found} -> {value}"));
            }
            Some(found) if original.written.is_empty() => {
                done.push(format!("{name} {found} -> {value}"))
            }
            Some(found) => {
                done.push(format!(
                    "{name} {found} -> {value} (another program had set it to {found})"
                ));
            }
            None => {}
        }
        targets.push(original.write());
    }
    let problems = settle(root, &targets);
    (done, problems)
}

/// Whether a driver removed its files, which return with its own values.
fn is_gone(root: &Root, item: &Item) -> bool {
    item.path.starts_with(root.sys("devices/system/cpu")) && !item.path.exists()
}
