//! Persistent settings: `schedlab persist` and `schedlab unpersist`.
//!
//! A udev rule that matches the device's identity restores the setting at boot. A boot service
//! would come after the device is in use, and tuned may not be installed. A manifest records the
//! full text of all files, so that `unpersist` removes exactly these, unless edited.
//!
//! See `udev` (matching and checking), `checked` (the setting), `texts` (files), `transaction`
//! (atomic changes), `manifest`, `units` (a watch's units), and `docs/decisions/0008-persist.md`.

mod checked;
mod manifest;
mod texts;
mod transaction;
mod udev;
mod units;

#[cfg(test)]
pub(crate) mod bench;
#[cfg(test)]
pub(crate) mod crash_tests;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use crate::error::Refusal;
pub use checked::current;
pub use manifest::{Persisted, PersistedFile, list};
pub use texts::Note;
use transaction::FileChange;
pub use transaction::{Bytes, Content, KIND, Restored};
pub use udev::{Address, By, When, address};
pub use units::{install_files, remove_files};

use checked::CheckedSetting;
use texts::Subject;

use crate::device::Device;
use crate::error::Error;
use crate::journal::{self, Abandoned, Lock};
use crate::root::Root;
use crate::settings::{Setting, Snapshot, attribute};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A udev rule, and modules-load.d for a scheduler's module.
    Udev,
    Tuned,
}

#[derive(Debug)]
pub struct Request<'a> {
    pub device: &'a Device,
    pub setting: &'a Setting,
    /// See [`address`].
    pub address: Address,
    /// Added to the files.
    pub note: Note,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The files and the manifest's facts.
    pub persisted: Persisted,
    pub cautions: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub persisted: Persisted,
    /// E.g. that udevd is not running.
    pub cautions: Vec<String>,
}

/// Returns the files to be written; changes nothing.
///
/// # Errors
/// [`Refusal::OutOfRange`], [`Refusal::NoSuchScheduler`], [`Error::UnknownTunable`] … for an
/// impossible setting.
pub fn propose(root: &Root, request: &Request<'_>, form: Form) -> Result<Proposal, Error> {
    let checked = checked::check(root, request.device, request.setting)?;
    let key = match form {
        Form::Udev => request.address.key.clone(),
        Form::Tuned => format!("{}.tuned", request.address.key),
    };
    let paths = paths(root, &request.address.key, form, &checked);
    let subject = subject(root, request, key.clone(), &paths);
    let texts: Vec<String> = match form {
        Form::Udev => {
            [Some(texts::rule(&subject, &checked)), texts::module_list(&subject, &checked)]
                .into_iter()
                .flatten()
                .collect()
        }
        Form::Tuned => {
            let active = root.read_optional(root.path("/etc/tuned/active_profile"));
            let active = active.filter(|name| !name.contains("schedlab-"));
            vec![texts::tuned(&subject, &checked, active.as_deref())]
        }
    };
    let file = |(path, text): (&PathBuf, String)| PersistedFile {
        path: path.clone(),
        content: Content::text(text),
        replaced: None,
    };
    let persisted = Persisted {
        schema: manifest::SCHEMA,
        key,
        identity: request.device.identity.clone(),
        device: request.device.path.display().to_string(),
        model: subject.what.clone(),
        scheduler: checked.scheduler.clone(),
        tunables: checked.queue.iter().chain(&checked.tunables).cloned().collect(),
        because: request.note.because.clone(),
        command: request.note.command.clone(),
        date: request.note.date.clone(),
        kernel: root.kernel_release(),
        files: paths.iter().zip(texts).map(file).collect(),
        directories: Vec::new(),
        address: request.address.clone(),
    };
    let cautions = texts::caution(&request.address).map(str::to_string).into_iter().collect();
    Ok(Proposal { persisted, cautions })
}

/// The setting for udev's hardware database.
pub fn as_hwdb(root: &Root, request: &Request<'_>) -> Result<String, Error> {
    let checked = checked::check(root, request.device, request.setting)?;
    Ok(texts::hwdb(&subject(root, request, String::new(), &[]), &checked))
}

/// The inner error says why no parameter exists.
pub fn as_boot_parameter(
    root: &Root,
    device: &Device,
    setting: &Setting,
) -> Result<Result<String, String>, Error> {
    let checked = checked::check(root, device, setting)?;
    Ok(texts::boot(&root.kernel_release(), checked.scheduler.as_deref()))
}

/// The parameter for a kernel before 5.0, regardless of the running one, or why none exists.
pub fn as_boot_parameter_of_an_older_kernel(setting: &Setting) -> Result<String, String> {
    texts::old_boot(setting.scheduler.as_deref())
}

/// All or nothing; replaces an earlier setting of the device.
///
/// # Errors
/// [`Refusal::Edited`] and [`Refusal::NotOurs`] without `force`; [`Refusal::BadRule`] if udev does
/// not understand it; [`Error::Busy`]; [`Refusal::CannotWrite`]. Everything is then as before.
pub fn persist(root: &Root, proposal: &Proposal, force: bool) -> Result<Done, Error> {
    let mut persisted = proposal.persisted.clone();
    let claim = Claim::take(root, &persisted.key, &persisted.device)?;
    let former = manifest::read(root, &persisted.key)?;
    let mut changes = Vec::new();
    for file in &mut persisted.files {
        let before = transaction::read_plain(&file.path)?;
        let ours =
            former.iter().flat_map(|former| &former.files).find(|former| former.path == file.path);
        match ours {
            Some(former) => {
                check_intact(former, force)?;
                file.replaced.clone_from(&former.replaced);
            }
            None => {
                if let Some(found) =
                    before.as_ref().filter(|found| found.bytes() != file.content.bytes() && !force)
                {
                    let difference =
                        manifest::difference(&file.content.shown(), Some(&found.shown()));
                    return Err(Refusal::NotOurs { path: file.path.clone(), difference }.into());
                }
                file.replaced.clone_from(&before);
            }
        }
        changes.push(FileChange {
            path: file.path.clone(),
            before,
            after: Some(file.content.clone()),
        });
    }
    let dropped = former
        .iter()
        .flat_map(|former| &former.files)
        .filter(|f| !persisted.files.iter().any(|k| k.path == f.path));
    for file in dropped {
        check_intact(file, force)?;
        changes.push(FileChange {
            path: file.path.clone(),
            before: transaction::read_plain(&file.path)?,
            after: file.replaced.clone(),
        });
    }
    let manifest = manifest::path(root, &persisted.key);
    persisted.directories = former.map(|former| former.directories).unwrap_or_default();
    let new = transaction::missing_directories(
        persisted.files.iter().map(|file| &file.path).chain([&manifest]),
    );
    persisted.directories.extend(new);
    let before = transaction::read_plain(&manifest)?;
    changes.push(FileChange { path: manifest, before, after: Some(manifest::content(&persisted)) });
    let rules: Vec<&Path> = persisted
        .files
        .iter()
        .map(|f| f.path.as_path())
        .filter(|p| p.extension().is_some_and(|e| e == "rules"))
        .collect();
    let check = || {
        rules.iter().try_for_each(|rule| {
            let complaints = udev::complaints(root, rule)?;
            if complaints.is_empty() {
                Ok(())
            } else {
                Err(Refusal::BadRule { path: rule.to_path_buf(), complaints }.into())
            }
        })
    };
    let result = transaction::commit(root, &claim.key, &persisted.device, changes, &[], check);
    // Also after a failure: udevd may have read files that are gone.
    let caution = if rules.is_empty() { None } else { udev::reload_rules(root) };
    result?;
    Ok(Done { persisted, cautions: caution.into_iter().collect() })
}

/// Restores the files that an entry replaced.
///
/// # Errors
/// [`Refusal::NothingPersisted`]; [`Refusal::Edited`] without `force`; [`Error::Busy`];
/// [`Refusal::CannotWrite`]. Everything is then as before.
pub fn unpersist(root: &Root, key: &str, force: bool) -> Result<Done, Error> {
    let claim = Claim::take(root, key, key)?;
    let Some(persisted) = manifest::read(root, key)? else {
        return Err(
            Refusal::NothingPersisted { word: key.into(), known: manifest::keys(root)? }.into()
        );
    };
    let mut changes = Vec::new();
    for file in &persisted.files {
        check_intact(file, force)?;
        let (before, after) = (transaction::read_plain(&file.path)?, file.replaced.clone());
        changes.push(FileChange { path: file.path.clone(), before, after });
    }
    let manifest = manifest::path(root, key);
    let before = transaction::read_plain(&manifest)?;
    changes.push(FileChange { path: manifest, before, after: None });
    let emptied: Vec<PathBuf> = persisted.directories.iter().rev().cloned().collect();
    let result =
        transaction::commit(root, &claim.key, &persisted.device, changes, &emptied, || Ok(()));
    let has_rule =
        persisted.files.iter().any(|file| file.path.extension().is_some_and(|e| e == "rules"));
    let caution = if has_rule { udev::reload_rules(root) } else { None };
    result?;
    Ok(Done { persisted, cautions: caution.into_iter().collect() })
}

/// Keys that match the device's identity or current address.
pub fn keys_of(root: &Root, device: &Device) -> Result<Vec<String>, Error> {
    let properties = udev::properties(root, &device.name).unwrap_or_default();
    let by_name_only = |persisted: &Persisted| persisted.address.by == By::Name;
    let is_meant = |persisted: &Persisted| {
        persisted.address.matches(&device.name, &properties)
            || (persisted.address.by == By::Identity
                && !by_name_only(persisted)
                && persisted.identity == device.identity)
    };
    Ok(list(root)?.into_iter().filter(is_meant).map(|persisted| persisted.key).collect())
}

/// Persisted values that are not in effect, as `name=value`.
pub fn not_in_effect(root: &Root, device: &Device, persisted: &Persisted) -> Vec<String> {
    let now = Snapshot::take(root, &device.name);
    let scheduler = persisted.scheduler.iter().filter(|name| now.scheduler.as_ref() != Some(name));
    let found = |name: &String| now.tunables.get(name).or_else(|| now.queue.get(name));
    let differs = |(name, value): &(&String, &String)| {
        !found(name).is_some_and(|found| attribute::same_as_kernel_keeps(name, value, found))
    };
    let others =
        persisted.tunables.iter().filter(differs).map(|(name, value)| format!("{name}={value}"));
    scheduler.map(|name| format!("scheduler={name}")).chain(others).collect()
}

/// [`Error::Io`] if the state directory cannot be read.
pub fn keys(root: &Root) -> Result<Vec<String>, Error> {
    manifest::keys(root)
}

/// A dead owner's changes are undone.
#[derive(Debug)]
struct Claim {
    key: String,
    lock: Lock,
}

impl Claim {
    fn take(root: &Root, key: &str, what: &str) -> Result<Claim, Error> {
        let key = format!("{}{key}", transaction::KEYS);
        let lock = Lock::take(root, &key, what)?;
        let claim = Claim { key, lock };
        if let Some(entry) = journal::read(root, &claim.key)? {
            transaction::undo_entry(
                root,
                &Abandoned { key: &claim.key, entry: &entry, lock: &claim.lock },
            )?;
        }
        Ok(claim)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.lock.retire();
    }
}

fn check_intact(file: &PersistedFile, force: bool) -> Result<(), Error> {
    if force || file.is_intact()? {
        return Ok(());
    }
    let difference = manifest::difference_of(&file.path, &file.content)?;
    Err(Refusal::Edited { path: file.path.clone(), difference }.into())
}

fn paths(root: &Root, key: &str, form: Form, checked: &CheckedSetting) -> Vec<PathBuf> {
    match form {
        Form::Udev => {
            let rule = root.path(format!("/etc/udev/rules.d/{}", rule_name(key)));
            let modules = root.path(format!("/etc/modules-load.d/schedlab-{key}.conf"));
            [Some(rule), checked.module.is_some().then_some(modules)]
                .into_iter()
                .flatten()
                .collect()
        }
        Form::Tuned => {
            // A separate directory since 2.23.
            let dirs = ["/etc/tuned/profiles", "/etc/tuned"];
            let dir = dirs.into_iter().find(|dir| root.path(dir).is_dir()).unwrap_or("/etc/tuned");
            vec![root.path(format!("{dir}/schedlab-{key}/tuned.conf"))]
        }
    }
}

/// Determines the rule's order among others.
pub fn rule_name(key: &str) -> String {
    format!("{}-schedlab-{key}.rules", texts::ORDER)
}

fn subject<'a>(
    root: &Root,
    request: &'a Request<'_>,
    key: String,
    paths: &[PathBuf],
) -> Subject<'a> {
    let device = request.device;
    let serial = device.serial.as_ref().map(|serial| format!("serial {serial}"));
    let what: Vec<String> = [device.model.clone(), serial].into_iter().flatten().collect();
    Subject {
        address: &request.address,
        key,
        name: &device.name,
        what: if what.is_empty() {
            format!("a {} device", device.kind.name())
        } else {
            what.join(", ")
        },
        kernel: root.kernel_release(),
        note: &request.note,
        files: paths.iter().map(|path| path.display().to_string()).collect(),
    }
}
