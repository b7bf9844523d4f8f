//! A guest's modelled disk: created in configfs, configured in sysfs, counters in debugfs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use guest::inside::Inside;
use sim::device::DeviceStats;

use super::order::{self, Disk, DiskRequest, Scheduler};
use super::setting::DEPTH;

const CONFIG: &str = "/sys/kernel/config/modeldisk";
const NAME: &str = "disk0";

#[derive(Debug)]
pub(in crate::arena) struct Modelled {
    path: PathBuf,
    queue: PathBuf,
    counters: PathBuf,
}

impl Modelled {
    /// Makes the disk of a CPU experiment.
    pub(in crate::arena) fn of(inside: &Inside, request: &DiskRequest) -> Result<Modelled> {
        for (module, parameters) in &request.modules {
            inside.load(module, parameters)?;
        }
        let disk = Modelled::make(&request.disk, &inside.workdir().join(order::TABLES))?;
        disk.apply(&request.scheduler)?;
        Ok(disk)
    }

    pub(super) fn make(disk: &Disk, tables: &Path) -> Result<Modelled> {
        let config = Path::new(CONFIG).join(NAME);
        fs::create_dir(&config).context("modelled disk: cannot create")?;
        let blob = fs::read(tables).context("tables of the modelled disk: cannot read")?;
        put(&config.join("tables"), &blob)?;
        for (name, value) in [
            ("nr_requests", disk.tags.to_string()),
            ("queue_depth", disk.queue_depth.to_string()),
            ("memory_backed", u8::from(disk.memory_backed).to_string()),
            ("log", disk.log.to_string()),
            ("submit_ns", disk.cpu_ns[0].to_string()),
            ("complete_ns", disk.cpu_ns[1].to_string()),
            ("charge_all", u8::from(disk.is_charged_all).to_string()),
            ("power", "1".to_owned()),
        ] {
            put(&config.join(name), value.as_bytes())?;
        }
        Ok(Modelled {
            path: Path::new("/dev").join(NAME),
            queue: Path::new("/sys/block").join(NAME).join("queue"),
            counters: Path::new("/sys/kernel/debug/modeldisk").join(NAME),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn name(&self) -> &'static str {
        NAME
    }

    pub(super) fn directory(&self) -> &Path {
        self.queue.parent().expect("the queue is in the disk's directory")
    }

    pub(super) fn number(&self) -> Result<String> {
        get(&self.directory().join("dev"))
    }

    pub(super) fn bytes(&self) -> Result<u64> {
        let path = self.queue.with_file_name("size");
        let sectors: u64 = get(&path)?
            .parse()
            .with_context(|| format!("{} does not hold a number", path.display()))?;
        Ok(sectors * elevator::SECTOR_BYTES)
    }

    /// Restarts the disk at guest time `ns`, possibly in the future: rotational position, counters,
    /// log.
    pub(super) fn begin_at(&self, ns: u64) -> Result<()> {
        put(&Path::new(CONFIG).join(NAME).join("epoch"), ns.to_string().as_bytes())
    }

    pub(super) fn log(&self) -> PathBuf {
        self.counters.join("log")
    }

    /// Sets and verifies scheduler and attributes. Returns the values in effect.
    pub(super) fn apply(&self, scheduler: &Scheduler) -> Result<BTreeMap<String, String>> {
        let Scheduler { name: chosen, after, renews_depth, attributes } = scheduler;
        after.iter().try_for_each(|before| self.switch(before))?;
        self.switch(chosen)?;
        let depth = self.queue.join(DEPTH);
        if *renews_depth && depth.exists() {
            put(&depth, get(&depth)?.as_bytes())?;
        }
        let mut applied = BTreeMap::from([("scheduler".to_owned(), chosen.clone())]);
        for (name, value) in attributes {
            let path = if name == DEPTH { self.depth(chosen)? } else { self.queue.join(name) };
            put(&path, value.as_bytes())?;
            let found = get(&path)?;
            if found != *value {
                bail!("{}: not set (found {found}, expected {value})", path.display());
            }
        }
        for dir in [self.queue.clone(), self.queue.join("iosched")] {
            let Ok(entries) = fs::read_dir(&dir) else { continue };
            for entry in
                entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            {
                let name = entry.file_name().to_string_lossy().into_owned();
                let shown = dir != self.queue
                    || ["nr_requests", "max_sectors_kb", "rotational"].contains(&name.as_str());
                if let Some(value) =
                    get(&entry.path()).ok().filter(|text| shown && !text.contains('\n'))
                {
                    applied.insert(name, value);
                }
            }
        }
        Ok(applied)
    }

    fn switch(&self, scheduler: &str) -> Result<()> {
        let chosen = self.queue.join("scheduler");
        put(&chosen, scheduler.as_bytes())?;
        let offered = get(&chosen)?;
        if !offered.contains(&format!("[{scheduler}]")) && offered != scheduler {
            bail!(
                "scheduler {scheduler}: refused by the guest's kernel (expected one of {offered})"
            );
        }
        Ok(())
    }

    /// The file of `async_depth`: mq-deadline's tunable before Linux 7.0.
    fn depth(&self, scheduler: &str) -> Result<PathBuf> {
        let places = [self.queue.join(DEPTH), self.queue.join("iosched").join(DEPTH)];
        places.into_iter().find(|path| path.exists()).with_context(|| {
            format!("{DEPTH}: {scheduler} has none before Linux 7.0; leave it out")
        })
    }

    /// Counters since `begin_at`.
    pub(in crate::arena) fn stats(&self) -> Result<DeviceStats> {
        let of = self.numbers(&self.counters.join("stats"))?;
        let at = |name: &str| of.get(name).copied().unwrap_or(0);
        Ok(DeviceStats {
            transfers: at("transfers"),
            bytes: at("bytes"),
            busy_ns: at("busy_ns"),
            seeks: at("seeks"),
            seek_cylinders: at("seek_cylinders"),
            seek_ns: at("seek_ns"),
            rotation_ns: at("rotation_ns"),
            transfer_ns: at("transfer_ns"),
            cache_hits: at("cache_hits"),
            cached_writes: at("cached_writes"),
            moved_pages: at("moved_pages"),
            erases: at("erases"),
            programs: at("programs"),
            suspends: at("suspends"),
        })
    }

    /// None if the scheduler has no such statistics.
    pub(super) fn anticipation(&self) -> Result<Option<elevator::Anticipation>> {
        let path = self.queue.join("iosched/antic_stats");
        if !path.exists() {
            return Ok(None);
        }
        let text = get(&path)?;
        let told = anticipation(&text);
        Ok(Some(told.with_context(|| format!("{}: invalid value: {text}", path.display()))?))
    }

    /// Merges according to the kernel.
    pub(super) fn merges(&self) -> Result<u64> {
        let text = get(&self.queue.with_file_name("stat"))?;
        let fields: Vec<u64> =
            text.split_whitespace().filter_map(|field| field.parse().ok()).collect();
        Ok(fields.get(1).copied().unwrap_or(0) + fields.get(5).copied().unwrap_or(0))
    }

    fn numbers(&self, path: &Path) -> Result<BTreeMap<String, u64>> {
        let text = get(path)?;
        let pairs = text.split_whitespace().collect::<Vec<_>>();
        let of =
            pairs.chunks_exact(2).map(|pair| Some((pair[0].to_owned(), pair[1].parse().ok()?)));
        of.collect::<Option<_>>()
            .with_context(|| format!("{}: names and numbers do not alternate", path.display()))
    }
}

/// Alternating names and numbers on one line.
fn anticipation(text: &str) -> Option<elevator::Anticipation> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = |name: &str| {
        let pair = words.chunks_exact(2).find(|pair| pair[0] == name)?;
        pair[1].parse().ok()
    };
    Some(elevator::Anticipation {
        started: at("started")?,
        successes: at("successes")?,
        failures: at("failures")?,
        success_wait_ns: at("success_wait_ns")?,
        failure_wait_ns: at("failure_wait_ns")?,
    })
}

fn put(path: &Path, value: &[u8]) -> Result<()> {
    fs::write(path, value).with_context(|| {
        format!(
            "{}: the guest's kernel refused {}",
            path.display(),
            String::from_utf8_lossy(&value[..value.len().min(40)])
        )
    })
}

fn get(path: &Path) -> Result<String> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("{}: cannot read in the guest", path.display()))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_of_waiting_stand_on_one_line() {
        let text = "started 5 successes 3 failures 1 success_wait_ns 700 failure_wait_ns 6000000";
        let told = anticipation(text).unwrap();
        assert_eq!((told.started, told.successes, told.failures), (5, 3, 1));
        assert_eq!((told.success_wait_ns, told.failure_wait_ns), (700, 6_000_000));
        assert!(
            anticipation("started 5").is_none() && anticipation("").is_none(),
            "what is missing is not 0"
        );
    }
}
