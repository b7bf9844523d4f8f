//! The cache of built kernels.
//!
//! `kernels/KEY` is a built kernel, `kernels/.tmp-KEY` one that is being built: it gets its name when it is complete, so that what is
//! there is whole. `sources` has fetched archives, `logs` what the last build of each key said, `locks` who builds what.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use sha2::{Digest, Sha256};

use crate::build::Build;
use crate::child::Run;
use crate::lock::Lock;
use crate::patch::Text;
use crate::tree::{self, hex};
use crate::{Error, Kernel, Patch, Progress, Source, config};

/// Before what is not a kernel yet, or not any more.
pub(crate) const UNFINISHED: &str = ".tmp-";
/// Part of every key: changed when kernels of an earlier schedlab must not be used.
const FORMAT: &str = "1";

/// Which kernel is wanted.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// Where its source comes from.
    pub source: Source,
    /// Patches for it, in the order in which they are applied (`patch -p1`, every context line as it is).
    pub patches: Vec<PathBuf>,
    /// With the checks for kernel tests: KASAN, lockdep, sleep-in-atomic and more. Slower by a factor of several.
    pub debug: bool,
}

/// What a kernel is made of besides its source.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub(crate) debug: bool,
    pub(crate) texts: Vec<Text>,
    pub(crate) patches: Vec<Patch>,
    pub(crate) hash: String,
    compiler: String,
}

impl Recipe {
    fn new(debug: bool, texts: Vec<Text>, compiler: String) -> Recipe {
        let name = |path: &Path| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let sha256 = |text: &Text| hex(&Sha256::digest(text.text.as_bytes()));
        let patches: Vec<Patch> =
            texts.iter().map(|text| Patch { name: name(&text.path), sha256: sha256(text) }).collect();
        let mut hash = Sha256::new();
        hash.update(format!("{FORMAT}\n{compiler}\n{debug}\n{}\n", config::fragment(debug)));
        patches.iter().for_each(|patch| hash.update(format!("{}\n", patch.sha256)));
        Recipe { debug, texts, patches, hash: hex(&hash.finalize()), compiler }
    }

    /// The same without patches.
    pub(crate) fn unpatched(&self) -> Recipe {
        Recipe::new(self.debug, Vec::new(), self.compiler.clone())
    }

    /// The name in the cache of a kernel made of source `version` by this recipe: for the eye first, unique by its last part.
    pub(crate) fn key(&self, series: &str, version: &str) -> String {
        let hash = hex(&Sha256::digest(format!("{version}\n{}", self.hash)));
        let debug = if self.debug { "-debug" } else { "" };
        let patched = if self.patches.is_empty() { "" } else { "-patched" };
        format!("{series}{debug}{patched}-{}", &hash[..12])
    }
}

/// The directory of built kernels. Many processes may use one at the same time.
#[derive(Debug, Clone)]
pub struct Cache {
    dir: PathBuf,
}

impl Cache {
    /// Where the cache is if nobody says otherwise: `$SCHEDLAB_CACHE_DIR`, `$XDG_CACHE_HOME/schedlab`, `~/.cache/schedlab`, whichever
    /// is set first.
    #[must_use]
    pub fn default_dir() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        set("SCHEDLAB_CACHE_DIR")
            .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("schedlab")))
            .or_else(|| set("HOME").map(|dir| dir.join(".cache/schedlab")))
    }

    /// Opens the cache in `dir`, which need not exist yet: the first build makes it.
    ///
    /// # Errors
    /// When the working directory, which a relative path starts from, is gone.
    pub fn open(dir: &Path) -> Result<Cache, Error> {
        let dir = std::path::absolute(dir).map_err(|cause| Error::io("find", dir, cause))?;
        Ok(Cache { dir })
    }

    /// Its directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The kernel that was asked for, if it is built already. A few milliseconds; for a directory as source, as long as it takes to look
    /// at each file. `debian:6.1` means the version that was built first; remove it to get a newer one.
    ///
    /// # Errors
    /// When a patch cannot be read, or the compiler is missing (another compiler's kernel is another kernel).
    pub fn find(&self, request: &Request) -> Result<Option<Kernel>, Error> {
        let recipe = self.recipe(request)?;
        self.find_made(&request.source, &recipe)
    }

    /// Finds or builds a kernel: minutes the first time. Setting `stop` ends it within a second with [`Error::Interrupted`].
    ///
    /// # Errors
    /// When source, tools, space or network are missing, a patch does not apply, something does not compile, or the kernel does not boot.
    pub fn build(&self, request: &Request, progress: &mut dyn Progress, stop: &AtomicBool) -> Result<Kernel, Error> {
        let recipe = self.recipe(request)?;
        if let Some(kernel) = self.find_made(&request.source, &recipe)? {
            return Ok(kernel);
        }
        crate::requirements::check(!recipe.patches.is_empty())?;
        self.sweep()?;
        Build { cache: self, progress, stop }.kernel(&request.source, &recipe)
    }

    /// Every built kernel, newest first.
    ///
    /// # Errors
    /// When the cache is there and cannot be read.
    pub fn list(&self) -> Result<Vec<Kernel>, Error> {
        let names = self.names()?;
        let whole = names.iter().filter(|name| !name.starts_with(UNFINISHED));
        let mut kernels: Vec<Kernel> = whole.filter_map(|name| Kernel::read(&self.kernels().join(name))).collect();
        kernels.sort_by(|a, b| b.built.cmp(&a.built).then_with(|| a.key.cmp(&b.key)));
        Ok(kernels)
    }

    /// Removes the kernel `key`; gives the bytes that are free now.
    ///
    /// # Errors
    /// When there is no such kernel, or it is being built or used for building.
    pub fn remove(&self, key: &str) -> Result<u64, Error> {
        let path = self.kernels().join(key);
        if key.is_empty() || key.starts_with('.') || key.contains('/') || !path.is_dir() {
            return Err(Error::NoKernel { key: key.to_owned() });
        }
        let Some(_lock) = Lock::try_take(&self.locks(), key)? else { return Err(Error::Busy { key: key.to_owned() }) };
        let bytes = size(&path);
        // Renamed first: whoever looks sees it whole or not at all.
        let going = self.unfinished(key);
        remove(&going)?;
        fs::rename(&path, &going).map_err(|cause| Error::io("remove", &path, cause))?;
        remove(&going)?;
        Ok(bytes)
    }

    /// Removes every kernel, and what was fetched; gives the bytes that are free now.
    ///
    /// # Errors
    /// When one is being built; the others are gone then.
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

    /// Removes what builds that were killed have left; gives its size in bytes. Every build does so when it begins.
    ///
    /// # Errors
    /// When something cannot be removed.
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
            for name in names_in(&self.sources())?.iter().filter(|name| name.starts_with(UNFINISHED)) {
                bytes += size(&self.sources().join(name));
                remove(&self.sources().join(name))?;
            }
        }
        Ok(bytes)
    }

    fn recipe(&self, request: &Request) -> Result<Recipe, Error> {
        let texts = request.patches.iter().map(|path| Text::read(path)).collect::<Result<_, _>>()?;
        Ok(Recipe::new(request.debug, texts, compiler()?))
    }

    pub(crate) fn find_made(&self, source: &Source, recipe: &Recipe) -> Result<Option<Kernel>, Error> {
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

/// The word by which a kernel of this source is found again.
pub(crate) fn word(source: &Source) -> Result<String, Error> {
    match source {
        Source::Directory(dir) => {
            let whole = fs::canonicalize(dir).map_err(|cause| Error::io("read", dir, cause))?;
            Ok(whole.display().to_string())
        }
        other => Ok(other.to_string()),
    }
}

/// Removes a directory; that it is gone already is as well.
pub(crate) fn remove(dir: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(dir) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", dir, cause)),
        _ => Ok(()),
    }
}

/// Room that a directory takes on the disk, in bytes.
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
        Ok(entries) => Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()),
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(cause) => Err(Error::io("read", dir, cause)),
    }
}

/// The compiler that the kernel's makefiles use, with its version.
fn compiler() -> Result<String, Error> {
    let mut gcc = Command::new("gcc");
    gcc.arg("--version").env("LC_ALL", "C");
    match Run::new(&AtomicBool::new(false)).quiet(gcc) {
        Ok(said) => Ok(said.text.lines().next().unwrap_or("gcc").to_owned()),
        Err(Error::Command { .. }) => Err(Error::Tools { packages: vec!["gcc"] }),
        Err(other) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(dir: &Path, name: &str, text: &str) -> Text {
        let path = dir.join(name);
        fs::write(&path, text).unwrap();
        Text::read(&path).unwrap()
    }

    fn recipe(debug: bool, texts: &[Text], compiler: &str) -> Recipe {
        Recipe::new(debug, texts.to_vec(), compiler.to_owned())
    }

    #[test]
    fn whatever_changes_the_kernel_changes_its_key_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (patch(dir.path(), "a.patch", "a"), patch(dir.path(), "b.patch", "b"));
        let same = patch(dir.path(), "renamed.patch", "a");
        let key = |recipe: Recipe, version: &str| recipe.key("6.1", version);
        let keys = [
            key(recipe(false, &[], "gcc 12"), "6.1.1"),
            key(recipe(false, &[], "gcc 12"), "6.1.2"),
            key(recipe(false, &[], "gcc 13"), "6.1.1"),
            key(recipe(true, &[], "gcc 12"), "6.1.1"),
            key(recipe(false, std::slice::from_ref(&a), "gcc 12"), "6.1.1"),
            key(recipe(false, &[a.clone(), b.clone()], "gcc 12"), "6.1.1"),
            key(recipe(false, &[b, a.clone()], "gcc 12"), "6.1.1"),
        ];
        let different: std::collections::BTreeSet<&String> = keys.iter().collect();
        assert_eq!(different.len(), keys.len(), "{keys:?}");
        assert_eq!(key(recipe(false, &[same], "gcc 12"), "6.1.1"), keys[4], "a patch is its bytes, not its name");
        assert_eq!(key(recipe(false, &[a], "gcc 12").unpatched(), "6.1.1"), keys[0]);
        assert!(keys[3].starts_with("6.1-debug-") && keys[5].starts_with("6.1-patched-"));
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
            built: 1,
            bytes: 2,
            objects: 3,
            asked: vec![asked.to_owned()],
            recipe: recipe.hash.clone(),
        };
        kernel.write(&dir).unwrap();
    }

    #[test]
    fn a_kernel_is_found_by_the_word_and_the_recipe_wherever_the_cache_lies_now() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        let plain = recipe(false, &[], "gcc 12");
        assert!(cache.list().unwrap().is_empty(), "a cache that is not there yet is empty");
        kernel(&cache, "6.1-x", "debian:6.1", &plain);
        let found = cache.find_made(&Source::default(), &plain).unwrap().unwrap();
        assert_eq!(found.linux, dir.path().join("kernels/6.1-x/tree/linux"));
        assert_eq!(cache.find_made(&Source::Newest, &plain).unwrap(), None);
        assert_eq!(cache.find_made(&Source::default(), &recipe(true, &[], "gcc 12")).unwrap(), None);
        fs::remove_file(&found.linux).unwrap();
        assert_eq!(cache.find_made(&Source::default(), &plain).unwrap(), None, "what lost its program is no kernel");
    }

    #[test]
    fn only_the_leftovers_of_the_dead_are_swept() {
        let dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(dir.path()).unwrap();
        for path in [cache.unfinished("dead"), cache.unfinished("alive"), cache.sources().join(".tmp-x")] {
            fs::create_dir_all(&path).unwrap();
        }
        kernel(&cache, "6.1-x", "debian:6.1", &recipe(false, &[], "gcc"));
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
        kernel(&cache, "6.1-x", "debian:6.1", &recipe(false, &[], "gcc"));
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
