//! schedlab's kernel modules, built against a kernel of the cache.
//!
//! Their sources are embedded, so that an installed schedlab needs no checkout, and the flash model
//! as an object, so that it needs no Rust compiler. A hash of the
//! sources names their directory: each version of schedlab builds its own modules, and never
//! rebuilds a kernel for them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use machine::files::Bounded;
use sha2::{Digest, Sha256};
use text::limits::MANIFEST_BYTES;

use crate::build::ClosedToOthers;
use crate::cache::{UNFINISHED, remove};
use crate::compile::{Tree, missing_symbol};
use crate::config::Purpose;
use crate::image::{check, sha256};
use crate::lock::Lock;
use crate::{Error, Kernel, Progress};
use text::hex;

// `FILES`: path below kernel/ and contents of each source, and of the flash model as an object.
include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Modules of the kernel's own tree.
const OF_THE_KERNEL: [&str; 1] = ["drivers/block/null_blk/null_blk.ko"];

/// The file with each module's SHA-256.
const SUMS: &str = "sums.json";

fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "ko")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleSet {
    dir: PathBuf,
    files: BTreeMap<String, PathBuf>,
}

impl ModuleSet {
    /// Reads the modules in `dir` and verifies each.
    fn read(dir: &Path) -> Result<Option<ModuleSet>, Error> {
        let Ok(entries) = fs::read_dir(dir) else { return Ok(None) };
        let modules = entries.flatten().map(|entry| entry.path()).filter(|path| is_module(path));
        let named = modules.filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)));
        let files: BTreeMap<String, PathBuf> = named.collect();
        let sums = fs::File::open(dir.join(SUMS)).and_then(|file| MANIFEST_BYTES.read(file)).ok();
        let sums: BTreeMap<String, String> =
            sums.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        for (name, path) in &files {
            let bytes = fs::read(path).map_err(|cause| Error::io("read", path, cause))?;
            // A module without a sum was added later.
            check(path, &bytes, sums.get(name).map_or("none", String::as_str))?;
        }
        Ok(Some(ModuleSet { dir: dir.to_owned(), files }))
    }

    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// E.g. `modeldisk`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<PathBuf> {
        self.files.get(name).cloned()
    }

    /// Names in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

impl Kernel {
    /// Builds schedlab's modules and `null_blk` within seconds, or finds them in milliseconds. The
    /// error contains the compiler's first error.
    pub fn modules(
        &self,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<ModuleSet, Error> {
        self.modules_of(FILES, progress, stop)
    }

    /// Like [`Kernel::modules`], for pairs of name and text, including `Kbuild`.
    pub(crate) fn modules_of(
        &self,
        sources: &[(&str, &[u8])],
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<ModuleSet, Error> {
        let name = format!("modules-{}", &hash(sources)[..12]);
        let dir = self.dir().join(&name);
        if let Some(set) = ModuleSet::read(&dir)? {
            return Ok(set);
        }
        let cache = self
            .dir()
            .ancestors()
            .nth(2)
            .expect("a kernel lies in the cache's directory of kernels");
        let _closed = ClosedToOthers::new();
        let waiting = &mut || {
            progress.say("another schedlab is building the modules of this kernel; waiting for it")
        };
        let _lock = Lock::take(&cache.join("locks"), &self.key, stop, waiting)?;
        if let Some(set) = ModuleSet::read(&dir)? {
            return Ok(set);
        }
        let work = self.dir().join(format!("{UNFINISHED}modules"));
        remove(&work)?;
        let log = cache.join("logs").join(format!("{}.{name}.log", self.key));
        let base =
            self.modules_of.as_ref().and_then(|key| Kernel::read(&cache.join("kernels").join(key)));
        let made = match base {
            Some(base) => base
                .modules_of(sources, progress, stop)
                .and_then(|set| self.take_modules(&set, &work)),
            None => self.make_modules(sources, &work, &log, progress, stop),
        };
        let made = made.and_then(|()| {
            fs::rename(work.join("out"), &dir).map_err(|cause| Error::io("write", &dir, cause))
        });
        remove(&work)?;
        made?;
        ModuleSet::read(&dir)?
            .ok_or_else(|| Error::io("read", &dir, std::io::ErrorKind::NotFound.into()))
    }

    /// Uses the unpatched kernel's modules, with the same sources; the kernel's own modules are
    /// from this tree.
    fn take_modules(&self, base: &ModuleSet, work: &Path) -> Result<(), Error> {
        let out = work.join("out");
        fs::create_dir_all(&out).map_err(|cause| Error::io("create", &out, cause))?;
        let theirs: Vec<PathBuf> = OF_THE_KERNEL.iter().map(|path| self.tree.join(path)).collect();
        let is_theirs =
            |path: &&PathBuf| theirs.iter().any(|their| their.file_name() == path.file_name());
        let own = base.files.values().filter(|path| !is_theirs(path)).cloned();
        put(own.chain(theirs.iter().cloned()), &out)
    }

    fn make_modules(
        &self,
        sources: &[(&str, &[u8])],
        work: &Path,
        log: &Path,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<(), Error> {
        let (from, out) = (work.join("src"), work.join("out"));
        for (name, text) in sources {
            write(&from.join(name), text)?;
        }
        write(log, b"")?;
        fs::create_dir_all(&out).map_err(|cause| Error::io("create", &out, cause))?;
        if sources.iter().any(|(name, _)| *name == "Kbuild") {
            progress.phase("compiling modules");
            let m = format!("M={}", from.display());
            Tree {
                dir: &self.tree,
                log,
                stop,
                purpose: Purpose { debug: self.debug, hz: self.hz, smp: self.smp },
            }
            .compile(&[&m, "modules"], 0, progress)
            .map_err(|error| unfit(error, &self.release))?;
        }
        let own = fs::read_dir(&from).into_iter().flatten().flatten().map(|entry| entry.path());
        let theirs = OF_THE_KERNEL.iter().map(|path| self.tree.join(path));
        put(own.chain(theirs), &out)
    }
}

/// Names the first symbol that a kernel is missing, and the releases that work.
fn unfit(error: Error, release: &str) -> Error {
    match error {
        Error::Compile { message, log } => Error::Modules {
            release: release.to_owned(),
            symbol: missing_symbol(&message),
            message,
            log,
        },
        other => other,
    }
}

/// Copies modules and writes their sums.
fn put(modules: impl Iterator<Item = PathBuf>, out: &Path) -> Result<(), Error> {
    let mut sums = BTreeMap::new();
    for path in modules.filter(|path| is_module(path) && path.is_file()) {
        let to = out.join(path.file_name().expect("a module has a name"));
        let bytes = fs::read(&path).map_err(|cause| Error::io("read", &path, cause))?;
        fs::write(&to, &bytes).map_err(|cause| Error::io("write", &to, cause))?;
        sums.insert(
            path.file_stem().expect("a module has a name").to_string_lossy().into_owned(),
            sha256(&bytes),
        );
    }
    write(
        &out.join(SUMS),
        &serde_json::to_vec_pretty(&sums).expect("a table of text can be written as JSON"),
    )
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let dir = path.parent().expect("a file lies in a directory");
    fs::create_dir_all(dir).map_err(|cause| Error::io("create", dir, cause))?;
    fs::write(path, bytes).map_err(|cause| Error::io("write", path, cause))
}

fn hash(sources: &[(&str, &[u8])]) -> String {
    let mut hash = Sha256::new();
    for (name, bytes) in sources {
        hash.update(format!("{name}\0{}\0", bytes.len()));
        hash.update(bytes);
    }
    hex(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile::first_error;

    #[test]
    fn the_sources_are_part_of_the_program() {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        assert!(names.contains(&"core/types.h"), "{names:?}");
        for (name, bytes) in FILES.iter().filter(|(name, _)| !name.ends_with("_shipped")) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel").join(name);
            assert_eq!(fs::read(&path).unwrap(), *bytes, "{name}");
        }
    }

    #[test]
    fn a_module_that_is_not_the_one_that_was_built_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let module = dir.path().join("wpcas-iosched.ko");
        fs::write(&module, "built").unwrap();
        assert!(
            matches!(ModuleSet::read(dir.path()), Err(Error::Changed { .. })),
            "it has no sums"
        );
        let sums = BTreeMap::from([("wpcas-iosched", sha256(b"built"))]);
        fs::write(dir.path().join(SUMS), serde_json::to_string(&sums).unwrap()).unwrap();
        assert_eq!(
            ModuleSet::read(dir.path()).unwrap().unwrap().get("wpcas-iosched"),
            Some(module.clone())
        );
        fs::write(dir.path().join("added.ko"), "later").unwrap();
        assert!(matches!(ModuleSet::read(dir.path()), Err(Error::Changed { .. })));
        fs::remove_file(dir.path().join("added.ko")).unwrap();
        fs::write(&module, "other").unwrap();
        assert!(matches!(ModuleSet::read(dir.path()), Err(Error::Changed { .. })));
    }

    #[test]
    fn a_kernel_without_a_symbol_is_refused_with_the_newest_known() {
        let message = first_error(include_str!("../tests/logs/newer.log")).unwrap();
        let log = PathBuf::from("/cache/logs/x.log");
        let said = unfit(Error::Compile { message, log }, "9.1.0-schedlab").to_string();
        assert!(
            said.starts_with(
                "modules: do not compile for Linux 9.1.0-schedlab, which has no bio_prio; \
                 Linux 6.1 to 7.3 is known to work; the whole log is /cache/logs/x.log:\n"
            ),
            "{said}"
        );
        assert!(said.contains("iosched-merge.c:27:19: error: implicit"), "{said}");
    }

    #[test]
    fn another_text_or_another_division_into_files_is_another_set() {
        let sets: [&[(&str, &[u8])]; 4] =
            [&[("a", b"b")], &[("a", b"c")], &[("a", b""), ("b", b"")], &[("ab", b"")]];
        let hashes: std::collections::BTreeSet<String> = sets.iter().map(|set| hash(set)).collect();
        assert_eq!(hashes.len(), sets.len());
    }
}
