//! Builds a kernel from source, up to its first boot.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use machine::files::programs;

use crate::cache::{Cache, Request, remove, size, word};
use crate::child::Run;
use crate::compile::Tree;
use crate::config::Purpose;
use crate::debian::{Archive, Debian};
use crate::image::sha256_of;
use crate::lock::Lock;
use crate::patch::Text;
use crate::recipe::Recipe;
use crate::{Error, Kernel, Progress, Source, host_side, tree, verify};

/// Objects of a kernel, until an earlier build has counted them.
const OBJECTS: u64 = 620;
/// Bytes of a built tree, plain and with debugging checks: one third more than measured.
const TREE: [u64; 2] = [400 << 20, 700 << 20];
/// Minutes that building takes one CPU, plain and with debugging checks.
const CPU_MINUTES: [usize; 2] = [8, 20];
/// Bytes of an archive while it is fetched and unpacked.
const ARCHIVE: u64 = 350 << 20;

pub(crate) struct Build<'a> {
    pub(crate) cache: &'a Cache,
    pub(crate) progress: &'a mut dyn Progress,
    pub(crate) stop: &'a AtomicBool,
}

enum Found {
    Archive(Archive),
    Directory { dir: PathBuf, state: String },
}

impl Found {
    fn version(&self) -> &str {
        match self {
            Found::Archive(archive) => &archive.version,
            Found::Directory { state, .. } => state,
        }
    }

    fn series(&self) -> &str {
        match self {
            Found::Archive(archive) => &archive.series,
            Found::Directory { .. } => "dir",
        }
    }

    fn source(&self) -> Source {
        match self {
            Found::Archive(archive) => Source::Debian(archive.series.clone()),
            Found::Directory { dir, .. } => Source::Directory(dir.clone()),
        }
    }
}

/// While it lives, files created by this process and its children are closed to others.
pub(crate) struct ClosedToOthers(rustix::fs::Mode);

impl ClosedToOthers {
    pub(crate) fn new() -> ClosedToOthers {
        ClosedToOthers(rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO))
    }
}

impl Drop for ClosedToOthers {
    fn drop(&mut self) {
        rustix::process::umask(self.0);
    }
}

/// The notice before a first build: output into a pipe shows no progress.
fn notice(source: &str, debug: bool, cpus: usize, kept: &str) -> String {
    let minutes = CPU_MINUTES[usize::from(debug)].div_ceil(cpus.max(1)) as u64;
    format!(
        "building {source} for the kernel arena: about {} on {}, this once; it is kept in {kept}",
        text::counted(minutes, "minute"),
        text::counted(cpus as u64, "CPU")
    )
}

/// A directory that is removed on drop unless it is completed.
struct Unfinished(Option<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = remove(&path);
        }
    }
}

impl Cache {
    /// Finds or builds a kernel; a build takes minutes. `stop` ends it within a second with
    /// [`Error::Interrupted`].
    pub fn build(
        &self,
        request: &Request,
        progress: &mut dyn Progress,
        stop: &AtomicBool,
    ) -> Result<Kernel, Error> {
        request.check()?;
        let recipe = Recipe::of(request)?;
        if let Some(kernel) = self.find_made(&request.source, &recipe)? {
            return Ok(kernel);
        }
        crate::requirements::check(recipe.purpose.smp || !recipe.patches.is_empty())?;
        self.create()?;
        let _closed = ClosedToOthers::new();
        self.sweep()?;
        Build { cache: self, progress, stop }.kernel(&request.source, &recipe)
    }
}

impl Build<'_> {
    pub(crate) fn kernel(&mut self, asked: &Source, recipe: &Recipe) -> Result<Kernel, Error> {
        let asked = word(asked)?;
        let found = self.find_source(&asked)?;
        self.of_source(&found, &asked, recipe)
    }

    fn of_source(&mut self, found: &Found, asked: &str, recipe: &Recipe) -> Result<Kernel, Error> {
        let key = recipe.key(found.series(), found.version());
        let _lock = self.lock(
            &key,
            &format!("kernel {key} is being built by another schedlab; waiting for it"),
        )?;
        let place = self.cache.kernels().join(&key);
        if let Some(mut kernel) = Kernel::read(&place) {
            if !kernel.asked.iter().any(|word| word == asked) {
                kernel.asked.push(asked.to_owned());
                kernel.write(&place)?;
            }
            return Ok(kernel);
        }
        self.make(found, asked, recipe, &key)?;
        Kernel::read(&place)
            .ok_or_else(|| Error::io("read", &place, std::io::ErrorKind::NotFound.into()))
    }

    fn make(
        &mut self,
        found: &Found,
        asked: &str,
        recipe: &Recipe,
        key: &str,
    ) -> Result<(), Error> {
        let base = match recipe.patches.is_empty() {
            true => None,
            false => Some(self.of_source(found, &word(&found.source())?, &recipe.unpatched())?),
        };
        let Purpose { debug, hz, smp } = recipe.purpose;
        self.check_space(TREE[usize::from(debug)])?;
        let (work, log) = (self.cache.unfinished(key), self.cache.log(key));
        remove(&work)?;
        let mut unfinished = Unfinished(Some(work.clone()));
        let top = work.join("tree");
        for dir in [&work, &log.parent().expect("a log lies in a directory").to_owned()] {
            fs::create_dir_all(dir).map_err(|cause| Error::io("create", dir, cause))?;
        }
        fs::write(&log, "").map_err(|cause| Error::io("write", &log, cause))?;
        let makes = Tree { dir: &top, log: &log, stop: self.stop, purpose: recipe.purpose };
        let objects = match &base {
            Some(base) => self.patched(found, recipe, base, &makes)?,
            None => self.plain(found, recipe, &makes)?,
        };
        self.progress.phase("booting it once");
        let scratch = work.join("verify");
        fs::create_dir_all(&scratch).map_err(|cause| Error::io("create", &scratch, cause))?;
        let release = verify::boot(&top.join("linux"), &scratch, self.stop)?;
        remove(&scratch)?;
        let source = word(&found.source())?;
        let mut asked = vec![asked.to_owned(), source.clone()];
        asked.dedup();
        let kernel = Kernel {
            key: key.to_owned(),
            linux: self.cache.kernels().join(key).join("tree/linux"),
            tree: self.cache.kernels().join(key).join("tree"),
            release,
            source,
            version: found.version().to_owned(),
            patches: recipe.patches.clone(),
            debug,
            hz,
            smp,
            built: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            bytes: size(&work),
            objects,
            asked,
            recipe: recipe.hash.clone(),
            modules_of: base
                .filter(|_| recipe.texts.iter().all(Text::is_code_alone))
                .map(|base| base.key),
            sha256: sha256_of(&top.join("linux"))?,
        };
        kernel.write(&work)?;
        let place = self.cache.kernels().join(key);
        remove(&place)?; // an incomplete kernel, if anything
        fs::rename(&work, &place).map_err(|cause| Error::io("write", &place, cause))?;
        unfinished.0 = None;
        Ok(())
    }

    fn plain(&mut self, found: &Found, recipe: &Recipe, makes: &Tree) -> Result<u64, Error> {
        let cpus = crate::compile::cpus();
        let kept = self.cache.dir().display().to_string();
        self.progress.say(&notice(&found.source().to_string(), recipe.purpose.debug, cpus, &kept));
        match found {
            Found::Archive(archive) => {
                self.progress.phase(&format!(
                    "unpacking linux-source-{} {}",
                    archive.series, archive.version
                ));
                tree::unpack(&archive.path, makes.dir, &tree::wanted, self.progress, self.stop)?;
            }
            Found::Directory { dir, .. } => {
                self.progress.phase(&format!("copying {}", dir.display()));
                tree::copy(dir, makes.dir, self.stop)?;
            }
        }
        self.progress.phase("configuring");
        host_side::adjust(makes.dir)?;
        if recipe.purpose.hz.is_some() {
            host_side::adjust_clock(makes.dir)?;
        }
        if recipe.purpose.smp {
            host_side::add_cpus(makes.dir, self.stop)?;
        }
        makes.configure(self.progress)?;
        self.progress.phase("compiling");
        let series = found.source().to_string();
        let earlier = self.cache.list()?.into_iter().filter(|kernel| kernel.patches.is_empty());
        let like = earlier
            .map(|kernel| {
                (kernel.source == series, kernel.debug == recipe.purpose.debug, kernel.objects)
            })
            .max();
        makes.compile(&["all"], like.map_or(OBJECTS, |(_, _, objects)| objects), self.progress)
    }

    /// Patches a copy of the unpatched kernel. Modification times are preserved, so only patched
    /// files are compiled.
    fn patched(
        &mut self,
        found: &Found,
        recipe: &Recipe,
        base: &Kernel,
        makes: &Tree,
    ) -> Result<u64, Error> {
        self.progress.phase("copying the unpatched kernel");
        let mut copy = programs::helper("cp");
        copy.args(["-a", "--reflink=auto", "--"]).arg(&base.tree).arg(makes.dir);
        let said = Run::new(self.stop).quiet(copy)?;
        if !said.status.success() {
            return Err(Error::io(
                "copy",
                &base.tree,
                std::io::Error::other(said.last_line().to_owned()),
            ));
        }
        for (text, patch) in recipe.texts.iter().zip(&recipe.patches) {
            self.progress.phase(&format!("applying {}", patch.name));
            self.fetch_left_out(found, text.changes(), makes.dir)?;
            text.apply(makes.dir, self.stop)?;
        }
        if recipe.texts.iter().any(|text| text.configures()) {
            let options = recipe.texts.iter().flat_map(|text| text.options());
            let lines: String = options.map(|option| format!("CONFIG_{option}=y\n")).collect();
            makes.set(&lines, self.progress)?;
        }
        self.progress.phase("compiling what the patches touch");
        makes.compile(&["all"], 0, self.progress)
    }

    /// Adds patched files that [`tree::wanted`] omits.
    fn fetch_left_out(
        &mut self,
        found: &Found,
        changes: Vec<PathBuf>,
        top: &Path,
    ) -> Result<(), Error> {
        let absent = |path: &PathBuf| !tree::wanted(path) && !top.join(path).exists();
        let absent: Vec<PathBuf> = changes.into_iter().filter(absent).collect();
        match found {
            _ if absent.is_empty() => Ok(()),
            Found::Archive(archive) => {
                let names = |path: &Path| absent.iter().any(|absent| absent == path);
                tree::unpack(&archive.path, top, &names, self.progress, self.stop).map(drop)
            }
            Found::Directory { dir, .. } => {
                let there = absent.iter().filter(|path| dir.join(path).is_file());
                there.into_iter().try_for_each(|path| tree::copy_file(dir, top, path))
            }
        }
    }

    fn find_source(&mut self, asked: &str) -> Result<Found, Error> {
        let source: Source = asked.parse()?;
        if let Source::Directory(dir) = source {
            let state = tree::state(&dir)?;
            return Ok(Found::Directory { dir, state });
        }
        let dir = self.cache.sources();
        fs::create_dir_all(&dir).map_err(|cause| Error::io("create", &dir, cause))?;
        let _lock = self.lock("sources", "another schedlab is fetching source; waiting for it")?;
        let mut debian = Debian { dir: &dir, progress: &mut *self.progress, stop: self.stop };
        let series = match source {
            Source::Debian(series) => series,
            Source::Newest | Source::Directory(_) => debian.newest()?,
        };
        if crate::debian::fetched(&dir, &series).is_none() {
            crate::build::space(&dir, ARCHIVE)?;
        }
        debian.archive(&series).map(Found::Archive)
    }

    fn lock(&mut self, name: &str, waiting: &str) -> Result<Lock, Error> {
        let progress = &mut *self.progress;
        Lock::take(&self.cache.locks(), name, self.stop, &mut || progress.say(waiting))
    }

    fn check_space(&self, needed: u64) -> Result<(), Error> {
        let dir = self.cache.kernels();
        fs::create_dir_all(&dir).map_err(|cause| Error::io("create", &dir, cause))?;
        space(&dir, needed)
    }
}

fn space(dir: &Path, needed: u64) -> Result<(), Error> {
    let about = rustix::fs::statvfs(dir).map_err(|errno| Error::io("read", dir, errno.into()))?;
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    if free < needed { Err(Error::Space { dir: dir.to_owned(), free, needed }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_is_told_before_anything_is_done() {
        let dir = tempfile::tempdir().unwrap();
        space(dir.path(), 1).unwrap();
        let Err(error @ Error::Space { .. }) = space(dir.path(), u64::MAX) else {
            panic!("no disk is that large")
        };
        assert!(error.to_string().contains("not enough space"), "{error}");
    }

    #[test]
    fn the_first_build_is_announced_with_its_length() {
        let words = |debug, cpus| notice("debian:6.1", debug, cpus, "/cache");
        assert_eq!(
            words(false, 2),
            "building debian:6.1 for the kernel arena: about 4 minutes on 2 CPUs, this once; it is kept in /cache"
        );
        assert!(words(true, 64).contains("about 1 minute on 64 CPUs"));
    }

    #[test]
    fn what_is_not_kept_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        for keep in [false, true] {
            let path = dir.path().join("x");
            fs::create_dir(&path).unwrap();
            let mut unfinished = Unfinished(Some(path.clone()));
            if keep {
                unfinished.0 = None;
            }
            drop(unfinished);
            assert_eq!(path.exists(), keep);
        }
    }
}
