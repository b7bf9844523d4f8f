//! Recording of live disks.
//!
//! [`Live`] hands over requests as they complete. Where they come from is a source: BPF, with one record a request, or the events of
//! tracefs, which cost more and say less, but need neither BPF nor the kernel's type information.

#[cfg(feature = "bpf")]
mod bpf;
#[cfg(not(feature = "bpf"))]
#[path = "bpf_absent.rs"]
mod bpf;
mod cgroups;
mod clock;
mod events;
mod options;
mod tables;
mod target;
mod tracefs;

use anyhow::{Result, bail};
use host::Root;
use trace::{About, Io, Recording};

pub use options::{MOST_DEVICES, MOST_FILTERS, Options, Source};

use events::Events;
use tables::Tables;
use target::{Filter, Target};

/// A recording that grows.
pub struct Live {
    root: Root,
    targets: Vec<Target>,
    tables: Tables,
    source: Box<dyn Events>,
    fallback: Option<String>,
}

impl Live {
    /// Begins to record on this machine.
    ///
    /// # Errors
    /// An unknown device, process or control group; a source that cannot be had, with what it lacks.
    pub fn start(options: &Options) -> Result<Live> {
        Live::start_at(&Root::real(), options)
    }

    /// The same, with another view of the machine.
    ///
    /// # Errors
    /// As [`Live::start`].
    pub fn start_at(root: &Root, options: &Options) -> Result<Live> {
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

    /// Why tracefs is used where BPF is preferred.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    /// Hands over the requests that have completed since the last call, in the order of completion; their times count from the beginning.
    ///
    /// # Errors
    /// The source fails.
    pub fn drain(&mut self, each: &mut dyn FnMut(&Io)) -> Result<()> {
        self.source.drain(&mut self.tables, each)?;
        let lost = self.source.lost();
        self.tables.tick(lost);
        Ok(())
    }

    /// The tables that the numbers of requests point into, and what is known of the recording so far; without requests. It grows.
    pub fn tables(&self) -> &Recording {
        self.tables.recording()
    }

    /// Events that were lost so far.
    pub fn lost(&self) -> u64 {
        self.source.lost()
    }

    /// The disk that is there no more, or is another one now.
    pub fn removed(&self) -> Option<String> {
        self.targets.iter().find(|target| !target.is_there(&self.root)).map(|target| target.device.name.clone())
    }

    /// Disks without requests of their own, which are recorded by what they are asked for, above the disks below them.
    pub fn above_requests(&self) -> impl Iterator<Item = &trace::Device> {
        self.targets.iter().filter(|target| target.bio_based).map(|target| &target.device)
    }

    /// Ends the recording, hands over what has completed until then, and says how it was.
    ///
    /// # Errors
    /// As [`Live::drain`].
    pub fn finish(&mut self, each: &mut dyn FnMut(&Io)) -> Result<About> {
        self.source.stop()?;
        self.source.drain(&mut self.tables, each)?;
        let unfinished = self.source.stop()?;
        let lost = self.source.lost();
        self.tables.tick(lost);
        Ok(self.tables.end(unfinished))
    }
}
