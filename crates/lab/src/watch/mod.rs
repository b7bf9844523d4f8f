//! Watches: recurring tests, because the best setting changes with the workload, the disk's age and
//! the kernel.
//!
//! A watch binds a plan to a device's identity (STATE/watch/NAME.toml). A systemd timer starts a
//! test when its window opens. The test waits for a quiet moment ([`quiet`]), measures like
//! `schedlab run`, and appends to the [`history`]. Missed tests are skipped, not run later by day.

pub mod history;
pub mod quiet;
mod sandbox;
pub mod units;
pub mod window;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use experiment::plan::Plan;
use machine::Root;
use machine::files::{DataLock, Dir};
use serde::{Deserialize, Serialize};

use crate::failure::usage;
use text::did_you_mean as nearest;
use text::limits::WATCH_BYTES;
use window::{Days, Window};

const SCHEMA: u32 = 1;

/// Root-owned: a watch names programs that root starts.
const DIR: &str = "watch";

/// What to do when a test recommends a different setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Apply {
    Never,
    /// Until the next reboot.
    Set,
}

/// Stored in STATE/watch/NAME.toml.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Watch {
    schema: u32,
    pub name: String,
    /// Stable; tests of other devices are refused.
    pub identity: String,
    /// Local time.
    pub between: Window,
    pub every: Days,
    /// Maximum load average per CPU.
    pub max_load: f64,
    /// Maximum share of time that other I/O keeps the device busy.
    pub max_busy: f64,
    pub apply: Apply,
    /// Shell command to run when the verdict changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tell: Option<String>,
    /// File for each test's metrics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub textfile: Option<PathBuf>,
    /// User to run the plan's programs as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<String>,
    #[serde(default)]
    pub destroy_data: bool,
    /// The executable that the service starts.
    pub program: PathBuf,
    pub keep_reports: u32,
    /// `identity`, not its device name, determines the disk.
    pub plan: Plan,
}

impl Watch {
    pub fn new(
        name: &str,
        identity: &str,
        hours: (Window, Days),
        program: PathBuf,
        plan: Plan,
    ) -> Result<Watch> {
        check_name(name)?;
        Ok(Watch {
            schema: SCHEMA,
            name: name.to_owned(),
            identity: identity.to_owned(),
            between: hours.0,
            every: hours.1,
            max_load: 0.3,
            max_busy: 0.05,
            apply: Apply::Never,
            tell: None,
            textfile: None,
            run_as: None,
            destroy_data: false,
            program,
            keep_reports: 52,
            plan,
        })
    }

    /// # Errors
    /// Wrong usage if there is no such watch.
    pub fn load(root: &Root, name: &str) -> Result<Watch> {
        check_name(name)?;
        let path = path(root, name);
        let found = there(root)?.map(|dir| dir.read(&file_name(name))).transpose()?.flatten();
        let bytes = found.ok_or_else(|| {
            let known = names(root);
            if known.is_empty() {
                return usage("watches: none yet; begin with: schedlab watch add --device DEVICE");
            }
            usage(format!(
                "watch {name:?}: unknown (expected one of {}); see schedlab watch list{}",
                known.join(", "),
                nearest(name, known.iter().map(String::as_str))
            ))
        })?;
        WATCH_BYTES.check(bytes.len())?;
        let text = String::from_utf8_lossy(&bytes);
        let watch: Watch = toml::from_str(&text).with_context(|| {
            format!("{}: invalid (fix it, or remove the watch and add it again)", path.display())
        })?;
        if watch.schema != SCHEMA {
            let why = text::build::other_format(watch.schema, SCHEMA, None);
            bail!("{}: {why}; remove it and add it again", path.display());
        }
        if watch.name != name {
            bail!("{}: of another watch; remove it and add it again", path.display());
        }
        Ok(watch)
    }

    pub fn all(root: &Root) -> Vec<(String, Result<Watch>)> {
        let load = |name: String| {
            let watch = Watch::load(root, &name);
            (name, watch)
        };
        names(root).into_iter().map(load).collect()
    }

    pub fn to_toml(&self) -> String {
        toml::to_string_pretty(self)
            .expect("a watch has only texts and numbers, which always make TOML")
    }

    /// Locks this watch's tests; None if another process holds the lock.
    pub fn lock(&self, root: &Root) -> Result<Option<DataLock>> {
        let file = root.state_dir()?.subdir(DIR)?.append_existing(&file_name(&self.name))?;
        Ok(DataLock::attempt(file).ok().flatten())
    }
}

pub fn path(root: &Root, name: &str) -> PathBuf {
    root.state(DIR).join(file_name(name))
}

pub fn names(root: &Root) -> Vec<String> {
    let names = there(root).ok().flatten().and_then(|dir| dir.names().ok()).unwrap_or_default();
    names.iter().filter_map(|name| name.strip_suffix(".toml")).map(str::to_owned).collect()
}

fn file_name(name: &str) -> String {
    format!("{name}.toml")
}

fn there(root: &Root) -> Result<Option<Dir>> {
    let state = root.state_dir_if_exists()?;
    Ok(state.map(|state| state.subdir_if_exists(DIR)).transpose()?.flatten())
}

/// Derives a watch name, without characters not allowed in file and unit names.
pub fn name_for(device: &Path) -> String {
    let name =
        device.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    name.chars().filter(|c| is_plain(*c)).collect()
}

/// Rejects names not valid for files and units.
pub fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.starts_with('.') || name.len() > 100 || !name.chars().all(is_plain) {
        return Err(usage(format!(
            "watch {name:?}: not a name for a watch; use letters, digits, `.`, `_` and `-`, e.g. --name nightly"
        )));
    }
    Ok(())
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "._-".contains(c)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn watch() -> Watch {
        let plan = "device = 'sdb'\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'bfq'\nscheduler = 'bfq'\n\
                    [[workload]]\nname = 'r'\nkind = 'randread'\n";
        let hours = ("02:00-05:00".parse().unwrap(), "weekly".parse().unwrap());
        Watch::new(
            "sdb",
            "wwid naa.5",
            hours,
            "/usr/bin/schedlab".into(),
            Plan::from_toml(plan).unwrap(),
        )
        .unwrap()
    }

    fn save(root: &Root) {
        fs::create_dir_all(root.state("watch")).unwrap();
        fs::write(path(root, "sdb"), watch().to_toml()).unwrap();
    }

    #[test]
    fn a_watch_is_read_as_it_was_written_and_a_wrong_name_gets_the_nearest() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        assert!(Watch::load(&root, "sdb").unwrap_err().to_string().contains("watch add"));
        save(&root);
        assert_eq!(Watch::load(&root, "sdb").unwrap(), watch());
        assert!(
            Watch::load(&root, "sdc").unwrap_err().to_string().contains("did you mean \"sdb\"")
        );
        assert_eq!(names(&root), ["sdb"]);
    }

    #[test]
    fn a_watch_that_was_edited_into_nonsense_is_named_with_its_path() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        save(&root);
        for (from, to) in [
            ("weekly", "now and then"),
            ("02:00-05:00", "night"),
            ("schema = 1", "schema = 2"),
            ("max_load", "load"),
        ] {
            fs::write(path(&root, "sdb"), watch().to_toml().replacen(from, to, 1)).unwrap();
            let error = format!("{:#}", Watch::load(&root, "sdb").unwrap_err());
            assert!(error.contains("sdb.toml"), "{from}: {error}");
        }
    }

    #[test]
    fn a_name_cannot_lead_out_of_the_directory() {
        for name in ["", "../x", "a/b", ".x", "a b", "ä"] {
            assert!(
                Watch::load(&Root::at("/nowhere"), name)
                    .unwrap_err()
                    .to_string()
                    .contains("--name"),
                "{name}"
            );
        }
        assert_eq!(name_for(Path::new("/dev/cciss!c0d0")), "ccissc0d0");
    }

    #[test]
    fn one_test_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::at(dir.path());
        save(&root);
        let first = watch().lock(&root).unwrap();
        assert!(first.is_some() && watch().lock(&root).unwrap().is_none());
        drop(first);
        assert!(watch().lock(&root).unwrap().is_some());
    }
}
