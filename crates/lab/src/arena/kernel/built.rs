//! The kernel of a variant: found in the cache or built, with our modules.

use std::path::Path;

use anyhow::Result;
use guest::{Cache, Image, Kernel, ModuleSet, Request};

use crate::failure::usage;
use crate::progress::{BuildProgress, Progress};
use crate::signals::Stop;

/// A kernel with our modules.
#[derive(Debug, Clone)]
pub(in crate::arena) struct Built {
    pub(in crate::arena) kernel: Kernel,
    pub(in crate::arena) image: Image,
    pub(in crate::arena) modules: ModuleSet,
}

impl Built {
    /// Finds or builds a kernel and its modules.
    pub(in crate::arena) fn of(
        cache: &Cache,
        request: &Request,
        stop: &Stop,
        progress: &dyn Progress,
    ) -> Result<Built> {
        let mut shown = BuildProgress::new(progress);
        let kernel = cache.build(request, &mut shown, &stop.flag())?;
        let modules = kernel.modules(&mut shown, &stop.flag())?;
        Ok(Built { image: kernel.load()?, kernel, modules })
    }
}

/// Finds or builds a kernel and its modules: its key in the cache, and whether it was built now.
///
/// # Errors
/// As [`Cache::build`], with [`guest::Error`] as the cause.
pub fn build(
    cache: &Cache,
    request: &Request,
    stop: &Stop,
    progress: &dyn Progress,
) -> Result<(String, bool)> {
    let there = cache.find(request)?.is_some();
    let built = Built::of(cache, request, stop, progress)?;
    Ok((built.kernel.key, !there))
}

/// The cache of kernels: where the user says, or at its usual place.
pub fn cache(dir: Option<&Path>) -> Result<Cache> {
    let dir = dir.map(Path::to_owned).or_else(Cache::default_dir).ok_or_else(|| {
        usage("kernel cache: no directory for built kernels; set HOME or SCHEDLAB_CACHE_DIR, or give --cache-dir")
    })?;
    Ok(Cache::open(&dir)?)
}
