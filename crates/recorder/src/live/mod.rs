//! Traces of live disks.
//!
//! [`Live`] passes on requests as they complete, from BPF, with one record per request, or from
//! tracefs events, which cost more and contain less, but need neither BPF nor the kernel's type
//! information.

#[cfg(feature = "full")]
mod bpf;
mod cgroups;
mod clock;
mod events;
mod options;
mod tables;
mod target;
mod tracefs;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use machine::Root;
use trace::{About, Io, Trace};

#[cfg(feature = "full")]
pub(crate) use tracefs::letters;

pub use options::{MAX_DEVICES, MAX_FILTERS, Options, Source};

use events::Events;
use tables::Tables;
use target::{Filter, Target};

#[cfg(not(feature = "full"))]
mod bpf {
    use super::*;

    pub(super) fn start(
        _root: &Root,
        _targets: &[Target],
        _filter: &Filter,
    ) -> Result<(Box<dyn Events>, clock::Began)> {
        bail!(text::absent("BPF", "it", ""))
    }
}

pub struct Live {
    root: Root,
    targets: Vec<Target>,
    tables: Tables,
    source: Box<dyn Events>,
    fallback: Option<String>,
}

impl Live {
    /// Resources that outlive this process are journaled.
    ///
    /// # Errors
    /// An unknown device, process or control group; an unavailable source, with the missing
    /// requirement.
    pub fn start(root: &Root, options: &Options) -> Result<Live> {
        let targets = Target::all(root, &options.devices)?;
        let filter = Filter::new(root, options)?;
        let mut fallback = None;
        let (source, began): (Box<dyn Events>, clock::Began) = match options.source {
            Source::Tracefs => tracefs::start(root, &targets, &filter)?,
            Source::Bpf => bpf::start(root, &targets, &filter)?,
            Source::Auto => match bpf::start(root, &targets, &filter) {
                Ok(source) => source,
                Err(why) => match tracefs::start(root, &targets, &filter) {
                    Ok(source) => {
                        fallback = Some(format!("{why:#}"));
                        source
                    }
                    Err(neither) => bail!("{why:#}; {neither:#}"),
                },
            },
        };
        let tables = Tables::new(root, &targets, &filter, began);
        Ok(Live { root: root.clone(), targets, tables, source, fallback })
    }

    /// Why BPF is not used, if it was preferred.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// Passes on requests in order of completion; times are relative to the start.
    pub fn drain(&mut self, each: &mut dyn FnMut(&Io)) -> Result<()> {
        self.source.drain(&mut self.tables, each)?;
        self.tables.set_lost(self.source.lost());
        self.tables.tick();
        Ok(())
    }

    /// The trace's facts so far, without requests.
    pub fn tables(&self) -> &Trace {
        self.tables.trace()
    }

    /// Events lost so far.
    pub fn lost(&self) -> u64 {
        self.source.lost()
    }

    /// A disk that was removed or replaced.
    pub fn removed(&self) -> Option<String> {
        self.targets
            .iter()
            .find(|target| !target.is_there(&self.root))
            .map(|target| target.device.name.clone())
    }

    /// Recorded in addition to the disks below them.
    pub fn above_requests(&self) -> impl Iterator<Item = &trace::Device> {
        self.targets.iter().filter(|target| target.bio_based).map(|target| &target.device)
    }

    /// Recording includes writes to `file`.
    pub fn contains_file(&self, file: &Path) -> Option<&str> {
        let parent =
            file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let number = fs::metadata(parent).ok()?.dev();
        let link = format!("dev/block/{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        let place = fs::canonicalize(self.root.sys(link)).ok()?;
        let is_of = |name: &str| place.components().any(|part| part.as_os_str() == name);
        self.targets.iter().map(|target| target.device.name.as_str()).find(|name| is_of(name))
    }

    /// Whether recording works without privileges, including the count of losses.
    pub fn works_unprivileged(&self) -> bool {
        self.source.works_unprivileged(&self.root)
    }

    /// The end of the trace removes a name in these.
    pub fn removes_in(&self) -> Vec<PathBuf> {
        self.source.removes_in()
    }

    /// Stops, and passes on remaining requests.
    pub fn finish(&mut self, each: &mut dyn FnMut(&Io)) -> Result<About> {
        self.tables.tick();
        self.source.stop()?;
        self.source.drain(&mut self.tables, each)?;
        let unfinished = self.source.stop()?;
        self.tables.set_lost(self.source.lost());
        Ok(self.tables.end(unfinished))
    }
}
