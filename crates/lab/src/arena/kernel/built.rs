//! The kernel of a variant with our modules, cached or built.

use std::path::Path;

use anyhow::Result;
use guest::{Cache, Image, Kernel, ModuleSet, Request};

use crate::failure::usage;
use crate::progress::{BuildProgress, Progress};
use crate::signals::Stop;

#[derive(Debug, Clone)]
pub(in crate::arena) struct Built {
    pub(in crate::arena) kernel: Kernel,
    pub(in crate::arena) image: Image,
    pub(in crate::arena) modules: ModuleSet,
}

impl Built {
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

/// Builds a kernel and its modules unless cached. Returns the key, and whether it was built now.
///
/// # Errors
/// As for [`Cache::build`], with [`guest::Error`] as the cause.
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

pub fn cache(dir: Option<&Path>) -> Result<Cache> {
    let dir = dir.map(Path::to_owned).or_else(Cache::default_dir).ok_or_else(|| {
        usage("kernel cache: no directory for built kernels; set HOME or SCHEDLAB_CACHE_DIR, or give --cache-dir")
    })?;
    Ok(Cache::open(&dir)?)
}
