//! The kernel of a variant with our modules, cached or built.

use std::path::Path;

use anyhow::Result;
use guest::{Cache, Image, Kernel, ModuleSet, Request, Source};

use super::Setting;
use crate::failure::usage;
use crate::progress::{BuildProgress, Progress};
use crate::signals::Stop;

#[derive(Debug, Clone)]
pub(super) struct Built {
    pub(super) kernel: Kernel,
    pub(super) image: Image,
    pub(super) modules: ModuleSet,
}

impl Built {
    pub(super) fn of(
        cache: &Cache,
        source: &Source,
        debug: bool,
        setting: &Setting,
        stop: &Stop,
        progress: &dyn Progress,
    ) -> Result<Built> {
        let source = setting.kernel.source.as_ref().unwrap_or(source);
        let request =
            Request { source: source.clone(), patches: setting.kernel.patches.clone(), debug };
        let mut shown = BuildProgress::new(progress);
        let kernel = cache.build(&request, &mut shown, &stop.flag())?;
        let modules = kernel.modules(&mut shown, &stop.flag())?;
        Ok(Built { image: kernel.load()?, kernel, modules })
    }
}

/// Builds a variant's kernel and modules unless cached. Returns the key, and whether it was built
/// now. `source` is the plan's.
///
/// # Errors
/// As for [`Cache::build`], with [`guest::Error`] as the cause.
pub fn build(
    cache: &Cache,
    source: &Source,
    setting: &Setting,
    stop: &Stop,
    progress: &dyn Progress,
) -> Result<(String, bool)> {
    let request = Request {
        source: setting.kernel.source.clone().unwrap_or_else(|| source.clone()),
        patches: setting.kernel.patches.clone(),
        debug: false,
    };
    let there = cache.find(&request)?.is_some();
    let built = Built::of(cache, source, false, setting, stop, progress)?;
    Ok((built.kernel.key, !there))
}

pub fn cache(dir: Option<&Path>) -> Result<Cache> {
    let dir = dir.map(Path::to_owned).or_else(Cache::default_dir).ok_or_else(|| {
        usage("kernel cache: no directory for built kernels; set HOME or SCHEDLAB_CACHE_DIR, or give --cache-dir")
    })?;
    Ok(Cache::open(&dir)?)
}
