//! Debian's package `linux-source-X.Y`: installed, or fetched by apt without root.
//!
//! apt verifies signatures and hashes as usual. Packages missing in the configured suites are
//! fetched from newer suites of the same mirror, by an apt configuration in the cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use machine::files::programs;

use crate::child::Run;
use crate::image::sha256_of;
use crate::{Error, Progress};

/// Suites to search if the system's do not have a package.
const NEWER: &str = "stable trixie-backports sid";
/// Its age is that of the newer suites' package lists.
const STAMP: &str = "fetched";
/// Validity of these lists.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// An archive in /usr/src that no package has installed.
const LOCAL: &str = ".local";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Archive {
    /// `X.Y`.
    pub(crate) series: String,
    pub(crate) version: String,
    /// The `.tar.xz`.
    pub(crate) path: PathBuf,
}

/// `dir` is a directory of the cache, used by one process at a time.
pub(crate) struct Debian<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) progress: &'a mut dyn Progress,
    pub(crate) stop: &'a AtomicBool,
}

impl Debian<'_> {
    /// Returns the installed archive, one fetched before, or fetches it. An existing one is
    /// verified: by dpkg against MD5 sums (dpkg has no others), or against the sum recorded after
    /// apt's verification.
    ///
    /// # Errors
    /// [`Error::ForeignArchive`], and those of fetching.
    pub(crate) fn archive(&mut self, series: &str) -> Result<Archive, Error> {
        if let Some(archive) = self.installed(series)? {
            self.verify_installed(&archive)?;
            return Ok(archive);
        }
        if let Some(archive) = fetched(self.dir, series) {
            self.progress.phase("checking the source that was fetched before");
            verify_fetched(&archive)?;
            return Ok(archive);
        }
        let package = format!("linux-source-{series}");
        self.progress.phase(&format!("looking for the package {package}"));
        let (apt, version) = match self.candidate(&Apt::System, &package)? {
            Some(version) => (Apt::System, version),
            None => {
                let apt = self.newer_suites()?;
                let found = self.candidate(&apt, &package)?;
                (apt, found.ok_or_else(|| Error::NoPackage { package: package.clone() })?)
            }
        };
        self.fetch(&apt, series, &version)
    }

    /// The newest series in any suite.
    pub(crate) fn newest(&mut self) -> Result<String, Error> {
        self.progress.phase("looking for the newest packaged kernel");
        let apt = self.newer_suites()?;
        let mut search = apt.command("apt-cache");
        search.args(["search", "--names-only", "^linux-source-[0-9]+\\.[0-9]+$"]);
        let said = Run::new(self.stop).quiet(search)?;
        newest_of(&said.text)
            .ok_or_else(|| Error::NoPackage { package: "linux-source-X.Y".to_owned() })
    }

    fn installed(&self, series: &str) -> Result<Option<Archive>, Error> {
        let path = PathBuf::from(format!("/usr/src/linux-source-{series}.tar.xz"));
        if !path.is_file() {
            return Ok(None);
        }
        let mut query = programs::helper("dpkg-query");
        query.args(["-W", "-f", "${Version}"]).arg(format!("linux-source-{series}"));
        let said = Run::new(self.stop).quiet(query)?;
        let version = if said.status.success() { said.text } else { format!("{series}{LOCAL}") };
        Ok(Some(Archive { series: series.to_owned(), version, path }))
    }

    fn verify_installed(&mut self, archive: &Archive) -> Result<(), Error> {
        self.progress.phase("checking the installed source against its package");
        let package = format!("linux-source-{}", archive.series);
        let foreign = |why| {
            Err(Error::ForeignArchive { path: archive.path.clone(), why, package: package.clone() })
        };
        if archive.version.ends_with(LOCAL) {
            return foreign(
                "belongs to no installed package, so nothing says what it contains".to_owned(),
            );
        }
        let mut verify = programs::helper("dpkg");
        verify.args(["--verify", &package]);
        let said = Run::new(self.stop).quiet(verify)?;
        let path = archive.path.to_string_lossy();
        match said.text.lines().any(|line| line.ends_with(&*path)) {
            true => foreign("differs from what its package installed".to_owned()),
            false if said.status.success() => Ok(()),
            false => foreign(format!("dpkg --verify failed: {}", said.last_line())),
        }
    }

    fn candidate(&self, apt: &Apt, package: &str) -> Result<Option<String>, Error> {
        let mut show = apt.command("apt-cache");
        show.args(["show", "--no-all-versions", package]);
        match Run::new(self.stop).quiet(show) {
            Ok(said) => Ok(said
                .text
                .lines()
                .find_map(|line| line.strip_prefix("Version: "))
                .map(|version| version.trim().to_owned())),
            Err(Error::Command { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {
                Err(Error::NoApt { package: package.to_owned() })
            }
            Err(other) => Err(other),
        }
    }

    fn fetch(&mut self, apt: &Apt, series: &str, version: &str) -> Result<Archive, Error> {
        let package = format!("linux-source-{series}");
        self.progress.phase(&format!("fetching {package} {version} (about 150 MB)"));
        let within = tempfile::Builder::new()
            .prefix(".tmp-")
            .tempdir_in(self.dir)
            .map_err(|cause| Error::io("create", self.dir, cause))?;
        let mut download = apt.command("apt-get");
        download
            .args(["download", "-q", &format!("{package}={version}")])
            .current_dir(within.path());
        let said = Run::new(self.stop).quiet(download)?;
        let deb = file_ending(within.path(), ".deb");
        let Some(deb) = deb.filter(|_| said.status.success()) else {
            return Err(Error::Fetch { package, said: errors_of_apt(&said.text) });
        };
        let mut unpack = programs::helper("dpkg-deb");
        unpack.arg("-x").arg(&deb).arg(within.path().join("x"));
        let said = Run::new(self.stop).quiet(unpack)?;
        let tar = within.path().join(format!("x/usr/src/{package}.tar.xz"));
        if !said.status.success() || !tar.is_file() {
            return Err(Error::Archive { path: deb });
        }
        let path = self.dir.join(archive_name(series, version));
        let sum = sha256_of(&tar)?;
        let beside = sum_file(&path);
        fs::write(&beside, sum).map_err(|cause| Error::io("write", &beside, cause))?;
        fs::rename(&tar, &path).map_err(|cause| Error::io("write", &path, cause))?;
        Ok(Archive { series: series.to_owned(), version: version.to_owned(), path })
    }

    /// Fetches package lists if missing or old.
    fn newer_suites(&mut self) -> Result<Apt, Error> {
        let apt = Apt::prepare(&self.dir.join("apt"))?;
        let Apt::Private { dir } = &apt else { unreachable!("prepare makes a private one") };
        let stamp = dir.join(STAMP);
        let age = fs::metadata(&stamp)
            .and_then(|about| about.modified())
            .ok()
            .and_then(|at| at.elapsed().ok());
        if age.is_none_or(|age| age > FRESH) {
            self.progress.phase("fetching the lists of packages of newer suites");
            let mut update = apt.command("apt-get");
            update.args(["update", "-q"]);
            let said = Run::new(self.stop).quiet(update)?;
            if !said.status.success() || said.text.lines().any(|line| line.starts_with("Err:")) {
                return Err(Error::Fetch {
                    package: "the lists of packages".to_owned(),
                    said: errors_of_apt(&said.text),
                });
            }
            File::create(&stamp).map_err(|cause| Error::io("create", &stamp, cause))?;
        }
        Ok(apt)
    }
}

const PROXIES: [&str; 6] =
    ["http_proxy", "https_proxy", "ftp_proxy", "no_proxy", "all_proxy", "ALL_PROXY"];

enum Apt {
    System,
    Private { dir: PathBuf },
}

impl Apt {
    fn prepare(dir: &Path) -> Result<Apt, Error> {
        for part in ["lists/partial", "archives/partial", "parts"] {
            let path = dir.join(part);
            fs::create_dir_all(&path).map_err(|cause| Error::io("create", &path, cause))?;
        }
        let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let codename =
            release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME=")).unwrap_or("");
        let sources = system_sources()
            .iter()
            .find_map(|text| with_suites(text, codename.trim_matches('"'), NEWER));
        let sources = sources.ok_or(Error::NoMirror)?;
        let conf = format!(
            "Dir::Etc::SourceList \"/dev/null\";\nDir::Etc::SourceParts \"{0}/parts\";\nDir::State::Lists \"{0}/lists\";\n\
             Dir::Cache \"{0}\";\nAcquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\nAcquire::Languages \"none\";\n",
            dir.display()
        );
        for (name, text) in [("parts/newer.sources", &sources), ("apt.conf", &conf)] {
            let path = dir.join(name);
            if fs::read_to_string(&path).is_ok_and(|written| written == *text) {
                continue;
            }
            forget_lists(dir)?;
            fs::write(&path, text).map_err(|cause| Error::io("write", &path, cause))?;
        }
        Ok(Apt::Private { dir: dir.to_owned() })
    }

    fn command(&self, name: &str) -> Command {
        let mut command = programs::helper(name);
        programs::pass_env(&mut command, &PROXIES);
        if rustix::process::geteuid().is_root() {
            // Otherwise apt would fetch as its own user, who cannot write here, and print a
            // warning.
            command.args(["-o", "APT::Sandbox::User=root"]);
        }
        if let Apt::Private { dir } = self {
            command.env("APT_CONFIG", dir.join("apt.conf"));
        }
        command
    }
}

/// Package lists of other suites are fetched again.
fn forget_lists(dir: &Path) -> Result<(), Error> {
    let stamp = dir.join(STAMP);
    match fs::remove_file(&stamp) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", &stamp, cause))
        }
        _ => Ok(()),
    }
}

fn system_sources() -> Vec<String> {
    let parts = fs::read_dir("/etc/apt/sources.list.d")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut paths: Vec<PathBuf> =
        parts.filter(|path| ends(path, ".sources") || ends(path, ".list")).collect();
    paths.push(PathBuf::from("/etc/apt/sources.list"));
    paths.sort();
    paths.iter().filter_map(|path| fs::read_to_string(path).ok()).collect()
}

fn ends(path: &Path, with: &str) -> bool {
    path.to_str().is_some_and(|path| path.ends_with(with))
}

/// Replaces the suites of the entry for `codename`. Supports both of apt's formats.
fn with_suites(text: &str, codename: &str, suites: &str) -> Option<String> {
    let stanza = text.split("\n\n").find(|stanza| {
        let field = |name: &str| stanza.lines().find_map(|line| line.strip_prefix(name));
        field("Types:").is_some_and(|types| types.split_whitespace().any(|word| word == "deb"))
            && field("Enabled:").is_none_or(|enabled| enabled.trim() != "no")
            && field("Suites:")
                .is_some_and(|suites| suites.split_whitespace().any(|word| word == codename))
    });
    if let Some(stanza) = stanza {
        let lines = stanza.lines().filter(|line| !line.starts_with('#'));
        let lines = lines.map(|line| match line.split_once(':').map(|(field, _)| field) {
            Some("Suites") => format!("Suites: {suites}\n"),
            Some("Types") => "Types: deb\n".to_owned(),
            Some("Components") => "Components: main\n".to_owned(),
            _ => format!("{line}\n"),
        });
        return Some(lines.collect());
    }
    text.lines().find_map(|line| one_line(line.strip_prefix("deb ")?.trim(), codename, suites))
}

/// Like [`with_suites`], for `[options] address suite components`.
fn one_line(entry: &str, codename: &str, suites: &str) -> Option<String> {
    let (options, rest) = match entry.strip_prefix('[') {
        Some(entry) => entry.split_once(']')?,
        None => ("", entry),
    };
    let mut words = rest.split_whitespace();
    let (address, suite) = (words.next()?, words.next()?);
    let signed = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    let signed = signed.map_or_else(String::new, |key| format!("Signed-By: {key}\n"));
    (suite == codename).then(|| {
        format!("Types: deb\nURIs: {address}\nSuites: {suites}\nComponents: main\n{signed}")
    })
}

fn archive_name(series: &str, version: &str) -> String {
    format!("linux-source-{series}_{}.tar.xz", version.replace([':', '/'], "%"))
}

/// An archive fetched before, also for debug and patched kernels.
pub(crate) fn fetched(dir: &Path, series: &str) -> Option<Archive> {
    let prefix = format!("linux-source-{series}_");
    let names =
        fs::read_dir(dir).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let version = names
        .filter_map(|name| Some(name.strip_prefix(&prefix)?.strip_suffix(".tar.xz")?.to_owned()))
        .max()?;
    let path = dir.join(archive_name(series, &version));
    Some(Archive { series: series.to_owned(), version, path })
}

fn sum_file(archive: &Path) -> PathBuf {
    archive.with_added_extension("sha256")
}

/// Compares with the sum recorded when it was fetched.
fn verify_fetched(archive: &Archive) -> Result<(), Error> {
    let beside = sum_file(&archive.path);
    let sum = sha256_of(&archive.path)?;
    match fs::read_to_string(&beside) {
        Ok(written) if written.trim() == sum => Ok(()),
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("read", &beside, cause))
        }
        _ => Err(Error::Archive { path: archive.path.clone() }),
    }
}

fn file_ending(dir: &Path, with: &str) -> Option<PathBuf> {
    fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).find(|path| ends(path, with))
}

/// Parses lines `linux-source-X.Y - description`.
fn newest_of(found: &str) -> Option<String> {
    let series = found
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.strip_prefix("linux-source-"));
    let number = |series: &str| -> Option<(u32, u32)> {
        let (major, minor) = series.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    series.filter_map(number).max().map(|(major, minor)| format!("{major}.{minor}"))
}

/// Joins apt's messages in one line.
fn errors_of_apt(text: &str) -> String {
    let complaints: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| {
            line.starts_with("E: ") || line.starts_with("W: ") || line.contains("NO_PUBKEY")
        })
        .map(|line| line.trim_start_matches("E: ").trim_start_matches("W: "))
        .collect();
    match complaints.is_empty() {
        true => text.lines().last().unwrap_or("apt said nothing").trim().to_owned(),
        false => complaints.into_iter().take(3).collect::<Vec<_>>().join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_series_is_found_by_number_not_by_spelling() {
        let found = "linux-source-6.1 - source\nlinux-source-6.12 - source\nlinux-source-6.9 - source\nlinux-source - meta\n";
        assert_eq!(newest_of(found).as_deref(), Some("6.12"));
        assert_eq!(newest_of("linux-source - meta\n"), None);
    }

    #[test]
    fn an_entry_for_newer_suites_keeps_mirror_and_key() {
        let new_format = "Types: deb\n# was: elsewhere\nURIs: mirror://m/debian\nSuites: bookworm bookworm-updates\nComponents: main contrib\n\
             Signed-By: /k.gpg\n\nTypes: deb\nURIs: mirror://m/security\nSuites: bookworm-security\n";
        let expected = "Types: deb\nURIs: mirror://m/debian\nSuites: sid\nComponents: main\nSigned-By: /k.gpg\n";
        assert_eq!(with_suites(new_format, "bookworm", "sid").as_deref(), Some(expected));
        let old_format = "# deb mirror://x/debian bookworm main\ndeb-src mirror://m/debian bookworm main\n\
             deb mirror://m/security bookworm-security main\ndeb [arch=amd64 signed-by=/k.gpg] mirror://m/debian bookworm main contrib\n";
        assert_eq!(with_suites(old_format, "bookworm", "sid").as_deref(), Some(expected));
        assert_eq!(with_suites(old_format, "trixie", "sid"), None);
    }

    #[test]
    fn lists_of_other_suites_are_fetched_again() {
        let dir = tempfile::tempdir().unwrap();
        let Ok(Apt::Private { .. }) = Apt::prepare(dir.path()) else {
            return; // not Debian
        };
        let stamp = dir.path().join(STAMP);
        File::create(&stamp).unwrap();
        Apt::prepare(dir.path()).unwrap();
        assert!(stamp.exists(), "the same suites");
        fs::write(dir.path().join("parts/newer.sources"), "Suites: stable sid\n").unwrap();
        Apt::prepare(dir.path()).unwrap();
        assert!(!stamp.exists());
    }

    #[test]
    fn the_archive_that_was_fetched_is_found_again_by_its_series() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(fetched(dir.path(), "6.1"), None);
        for name in [
            "linux-source-6.12_6.12.9-1.tar.xz",
            "linux-source-6.1_6.1.192-2.tar.xz",
            "linux-source-6.1_6.1.192-2.deb",
        ] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(
            fetched(dir.path(), "6.1").map(|archive| archive.version).as_deref(),
            Some("6.1.192-2")
        );
    }

    #[test]
    fn an_archive_that_changed_since_it_was_fetched_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("linux-source-6.1_1.tar.xz"), "fetched").unwrap();
        let archive = fetched(dir.path(), "6.1").unwrap();
        assert!(matches!(verify_fetched(&archive), Err(Error::Archive { .. })), "it has no sum");
        fs::write(sum_file(&archive.path), sha256_of(&archive.path).unwrap()).unwrap();
        verify_fetched(&archive).expect("the same");
        fs::write(&archive.path, "changed").unwrap();
        assert!(matches!(verify_fetched(&archive), Err(Error::Archive { .. })));
    }

    #[test]
    fn the_complaint_of_apt_is_told_and_a_missing_key_too() {
        let text = "Get:1 x\nErr:1 sid InRelease\n  The following signatures couldn't be verified: NO_PUBKEY 0E98404D386FA1D9\nE: not signed.\n";
        let errors = errors_of_apt(text);
        assert!(errors.contains("NO_PUBKEY 0E98") && errors.ends_with("not signed."), "{errors}");
    }
}
