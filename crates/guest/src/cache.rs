//! The cache of built kernels.
//!
//! `kernels/KEY` is a built kernel, `kernels/.tmp-KEY` a build in progress, renamed at its end.
//! `sources` contains fetched archives, `logs` the output of the last build per key, `locks` a lock
//! file per key.
//!
//! Its contents are executed, so a cache that another user owns or can write to is refused, and new
//! files are closed to others, regardless of the umask.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::lock::Lock;
use crate::recipe::Recipe;
use crate::source::check_several_cpus;
use crate::tree;
use crate::{Error, Kernel, Source};

/// Of directories being built or removed.
pub(crate) const UNFINISHED: &str = ".tmp-";

const PARTS: [&str; 5] = ["kernels", "sources", "logs", "locks", "run"];

#[derive(Debug, Clone, Default)]
pub struct Request {
    pub source: Source,
    /// In order of application (`patch -p1` without fuzz).
    pub patches: Vec<PathBuf>,
    /// Adds KASAN, lockdep, sleep-in-atomic and more. Several times slower.
    pub debug: bool,
    /// For CPU experiments: virtual time as the scheduler's clock, control groups of CPUs, and this
    /// number of ticks a second. `None`: for I/O.
    pub hz: Option<u32>,
    /// For CPU experiments with up to [`crate::MAX_CPUS`] CPUs instead of one.
    pub smp: bool,
}

impl Request {
    /// Refuses what the source's release cannot have.
    pub fn check(&self) -> Result<(), Error> {
        if self.smp { check_several_cpus(&self.source) } else { Ok(()) }
    }
}

/// Tick rates of kernels for CPU experiments; the first is the default.
pub const TICK_RATES: [u32; 4] = [1000, 100, 250, 300];

/// Several processes can use it concurrently.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// The first of `$SCHEDLAB_CACHE_DIR`, `$XDG_CACHE_HOME/schedlab` and `~/.cache/schedlab` whose
    /// variable is set. Root ignores another user's home, left by sudo, and uses
    /// `/root/.cache/schedlab`.
    #[must_use]
    pub fn default_dir() -> Option<PathBuf> {
        let set = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let root = rustix::process::geteuid().is_root();
        let foreign = |dir: &PathBuf| fs::metadata(dir).is_ok_and(|found| found.uid() != 0);
        let own = |name: &str| set(name).filter(|dir| !(root && foreign(dir)));
        set("SCHEDLAB_CACHE_DIR")
            .or_else(|| own("XDG_CACHE_HOME").map(|dir| dir.join("schedlab")))
            .or_else(|| own("HOME").map(|dir| dir.join(".cache/schedlab")))
            .or_else(|| {
                (root && set("HOME").is_some()).then(|| PathBuf::from("/root/.cache/schedlab"))
            })
    }

    /// The first build creates `dir`. A directory that others can read is closed to them.
    ///
    /// # Errors
    /// If it, or a parent, belongs to another user or can be written by others.
    pub fn open(dir: &Path) -> Result<Cache, Error> {
        let dir = std::path::absolute(dir).map_err(|cause| Error::io("find", dir, cause))?;
        if let Some(top) = machine::files::Dir::private_if_exists(&dir)? {
            for part in PARTS {
                top.subdir_if_exists(part)?;
            }
        }
        Ok(Cache { dir })
    }

    pub(crate) fn create(&self) -> Result<machine::files::Dir, Error> {
        Ok(machine::files::Dir::private(&self.dir)?)
    }

    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Takes milliseconds; for a directory as source, the time to stat its files. `debian:6.1` is
    /// the version built first; remove it to get a newer one.
    ///
    /// # Errors
    /// If a patch cannot be read or the compiler, which is part of the key, is missing.
    pub fn find(&self, request: &Request) -> Result<Option<Kernel>, Error> {
        let recipe = Recipe::of(request)?;
        self.find_made(&request.source, &recipe)
    }

    /// All kernels, newest first.
    pub fn list(&self) -> Result<Vec<Kernel>, Error> {
        let names = self.names()?;
        let whole = names.iter().filter(|name| !name.starts_with(UNFINISHED));
        let mut kernels: Vec<Kernel> =
            whole.filter_map(|name| Kernel::read(&self.kernels().join(name))).collect();
        kernels.sort_by(|a, b| b.built.cmp(&a.built).then_with(|| a.key.cmp(&b.key)));
        Ok(kernels)
    }

    /// Returns the number of bytes freed.
    ///
    /// # Errors
    /// If the kernel does not exist, is being built, or is the base of a build.
    pub fn remove(&self, key: &str) -> Result<u64, Error> {
        let path = self.kernels().join(key);
        if key.is_empty() || key.starts_with('.') || key.contains('/') || !path.is_dir() {
            return Err(Error::NoKernel { key: key.to_owned() });
        }
        let Some(_lock) = Lock::try_take(&self.locks(), key)? else {
            return Err(Error::Busy { key: key.to_owned() });
        };
        let bytes = size(&path);
        // Renamed first, so that other processes find it complete or not at all.
        let going = self.unfinished(key);
        remove(&going)?;
        fs::rename(&path, &going).map_err(|cause| Error::io("remove", &path, cause))?;
        remove(&going)?;
        Ok(bytes)
    }

    /// Removes all kernels and fetched sources. Kernels being built remain and are an error.
    /// Returns the number of bytes freed.
    pub fn remove_all(&self) -> Result<u64, Error> {
        let mut busy = None;
        let mut bytes = self.sweep()?;
        for key in self.names()?.into_iter().filter(|name| !name.starts_with(UNFINISHED)) {
            match self.remove(&key) {
                Err(error @ Error::Busy { .. }) => busy = Some(error),
                other => bytes += other?,
            }
        }
        if busy.is_none() && self.sources().is_dir() {
            let Some(_lock) = Lock::try_take(&self.locks(), "sources")? else {
                return Err(Error::Busy { key: "sources".to_owned() });
            };
            bytes += size(&self.sources());
            remove(&self.sources())?;
            remove(&self.dir.join("logs"))?;
        }
        busy.map_or(Ok(bytes), Err)
    }

    /// Removes remains of killed builds, as every build does first. Returns their size.
    pub fn sweep(&self) -> Result<u64, Error> {
        let mut bytes = 0;
        for name in self.names()? {
            let Some(key) = name.strip_prefix(UNFINISHED) else { continue };
            if let Some(_lock) = Lock::try_take(&self.locks(), key)? {
                bytes += size(&self.unfinished(key));
                remove(&self.unfinished(key))?;
            }
        }
        if names_in(&self.sources())?.iter().any(|name| name.starts_with(UNFINISHED))
            && let Some(_lock) = Lock::try_take(&self.locks(), "sources")?
        {
            for name in
                names_in(&self.sources())?.iter().filter(|name| name.starts_with(UNFINISHED))
            {
                bytes += size(&self.sources().join(name));
                remove(&self.sources().join(name))?;
            }
        }
        Ok(bytes)
    }

    pub(crate) fn find_made(
        &self,
        source: &Source,
        recipe: &Recipe,
    ) -> Result<Option<Kernel>, Error> {
        let state = match source {
            Source::Directory(dir) => Some(tree::state(dir)?),
            Source::Debian(_) | Source::Newest => None,
        };
        let word = word(source)?;
        let fits = |kernel: &Kernel| {
            kernel.recipe == recipe.hash
                && kernel.asked.contains(&word)
                && state.as_ref().is_none_or(|state| kernel.version == *state)
        };
        Ok(self.list()?.into_iter().find(fits))
    }

    fn names(&self) -> Result<Vec<String>, Error> {
        names_in(&self.kernels())
    }

    pub(crate) fn kernels(&self) -> PathBuf {
        self.dir.join("kernels")
    }

    pub(crate) fn unfinished(&self, key: &str) -> PathBuf {
        self.kernels().join(format!("{UNFINISHED}{key}"))
    }

    pub(crate) fn sources(&self) -> PathBuf {
        self.dir.join("sources")
    }

    pub(crate) fn locks(&self) -> PathBuf {
        self.dir.join("locks")
    }

    pub(crate) fn log(&self, key: &str) -> PathBuf {
        self.dir.join("logs").join(format!("{key}.log"))
    }
}

/// Finds a kernel of this source again.
pub(crate) fn word(source: &Source) -> Result<String, Error> {
    match source {
        Source::Directory(dir) => {
            let whole = fs::canonicalize(dir).map_err(|cause| Error::io("read", dir, cause))?;
            Ok(whole.display().to_string())
        }
        other => Ok(other.to_string()),
    }
}

pub(crate) fn remove(dir: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(dir) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", dir, cause))
        }
        _ => Ok(()),
    }
}

/// Disk space in bytes.
pub(crate) fn size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(about) if about.is_dir() => size(&entry.path()) + about.blocks() * 512,
        Ok(about) => about.blocks() * 512 / about.nlink().max(1),
        Err(_) => 0,
    };
    entries.map(of).sum()
}

fn names_in(dir: &Path) -> Result<Vec<String>, Error> {
    match fs::read_dir(dir) {
        Ok(entries) => {
            Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
        }
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(Error::io("read", dir, cause)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Purpose;

    fn recipe(debug: bool, compiler: &str) -> Recipe {
        Recipe::new(Purpose { debug, hz: None, smp: false }, Vec::new(), compiler.to_owned())
    }

    fn kernel(cache: &Cache, key: &str, asked: &str, recipe: &Recipe) {
        let dir = cache.kernels().join(key);
        fs::create_dir_all(dir.join("tree")).unwrap();
        fs::write(dir.join("tree/linux"), "x".repeat(10_000)).unwrap();
        let kernel = Kernel {
            key: key.to_owned(),
            linux: PathBuf::from("/elsewhere"),
            tree: PathBuf::from("/elsewhere"),
            release: "6.1".to_owned(),
            source: asked.to_owned(),
            version: "1".to_owned(),
            patches: Vec::new(),
            debug: false,
            hz: None,
            smp: false,
            built: 1,
            bytes: 2,
            objects: 3,
            asked: vec![asked.to_owned()],
            recipe: recipe.hash.clone(),
            modules_of: None,
            sha256: "none".to_owned(),
        };
        kernel.write(&dir).unwrap();
    }

    #[test]
    fn a_kernel_is_found_by_the_word_and_the_recipe_wherever_the_cache_lies_now() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let plain = recipe(false, "gcc 12");
        assert!(cache.list().unwrap().is_empty(), "a cache that is not there yet is empty");
        kernel(&cache, "6.1-x", &Source::default().to_string(), &plain);
        let found = cache.find_made(&Source::default(), &plain).unwrap().unwrap();
        assert_eq!(found.linux, dir.path().join("kernels/6.1-x/tree/linux"));
        assert_eq!(cache.find_made(&Source::Newest, &plain).unwrap(), None);
        assert_eq!(cache.find_made(&Source::default(), &recipe(true, "gcc 12")).unwrap(), None);
        fs::remove_file(&found.linux).unwrap();
        assert_eq!(
            cache.find_made(&Source::default(), &plain).unwrap(),
            None,
            "what lost its program is no kernel"
        );
    }

    #[test]
    fn only_the_leftovers_of_the_dead_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        for path in
            [cache.unfinished("dead"), cache.unfinished("alive"), cache.sources().join(".tmp-x")]
        {
            fs::create_dir_all(&path).unwrap();
        }
        kernel(&cache, "6.1-x", "debian:6.1", &recipe(false, "gcc"));
        let _builder = Lock::try_take(&cache.locks(), "alive").unwrap();
        cache.sweep().unwrap();
        let mut names = cache.names().unwrap();
        names.sort();
        assert_eq!(names, [".tmp-alive", "6.1-x"]);
        assert!(names_in(&cache.sources()).unwrap().is_empty());
    }

    #[test]
    fn a_kernel_is_removed_unless_it_is_being_built_and_nothing_outside_ever() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&dir.path().join("cache")).unwrap();
        fs::create_dir(dir.path().join("precious")).unwrap();
        kernel(&cache, "6.1-x", "debian:6.1", &recipe(false, "gcc"));
        for word in ["", "..", ".", "../../precious", "nothing", "/tmp"] {
            assert!(matches!(cache.remove(word), Err(Error::NoKernel { .. })), "{word}");
        }
        let held = Lock::try_take(&cache.locks(), "6.1-x").unwrap();
        assert!(matches!(cache.remove("6.1-x"), Err(Error::Busy { .. })));
        drop(held);
        assert!(cache.remove("6.1-x").unwrap() >= 10_000);
        assert!(cache.names().unwrap().is_empty() && dir.path().join("precious").is_dir());
    }
}
