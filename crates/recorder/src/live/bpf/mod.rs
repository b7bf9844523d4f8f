//! Traces by BPF: loads kernel/bpf/record.bpf.c, attaches it to the block layer's events, and polls
//! its ring buffer.
//!
//! Loading needs CAP_BPF and CAP_PERFMON; afterwards the descriptors suffice.

mod record;

use anyhow::{Context, Result, anyhow, bail};
use aya::maps::{Array, MapData, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader, VerifierLogLevel};
use machine::{Root, capability};
use trace::Io;

use super::clock::Began;
use super::events::Events;
use super::options::{MAX_DEVICES, MAX_FILTERS};
use super::tables::Tables;
use super::target::{Filter, Target};

static OBJECT: &[u8] = aya::include_bytes_aligned!(concat!(env!("OUT_DIR"), "/record.bpf.o"));

/// Program, event, and whether request-based and bio-based disks need it. In order of attaching, so
/// that a tracked request is seen to its end.
const PROGRAMS: [(&str, &str, [bool; 2]); 7] = [
    ("on_complete", "block_rq_complete", [true, false]),
    ("on_bio_complete", "block_bio_complete", [false, true]),
    ("on_requeue", "block_rq_requeue", [true, false]),
    ("on_merge", "block_rq_merge", [true, false]),
    ("on_issue", "block_rq_issue", [true, false]),
    ("on_insert", "block_rq_insert", [true, false]),
    ("on_bio_queue", "block_bio_queue", [true, true]),
];

/// Those that start tracking a request.
const FIRST: [&str; 3] = ["on_bio_queue", "on_insert", "on_issue"];

/// Words of the C structures, keys first.
const TARGET_WORDS: usize = 4;
const OPEN_WORDS: usize = 8;
const OPEN_WAYS: usize = 4;

/// Per poll, so that a fast source does not block the reader.
const MAX_AT_ONCE: usize = 1 << 20;

pub(super) fn start(
    root: &Root,
    targets: &[Target],
    filter: &Filter,
) -> Result<(Box<dyn Events>, Began)> {
    check(root)?;
    let btf = Btf::from_sys_fs().context(
        "BPF: the kernel's type information cannot be read from /sys/kernel/btf/vmlinux",
    )?;
    let mut ebpf = load(&btf, targets, filter, Began::now())?;
    let calls_for = [
        targets.iter().any(|target| !target.bio_based),
        targets.iter().any(|target| target.bio_based),
    ];
    for (name, event, of) in PROGRAMS {
        if !of.iter().zip(calls_for).any(|(of, calls)| *of && calls) {
            continue;
        }
        let program = program(&mut ebpf, name)?;
        program
            .load(event, &btf)
            .with_context(|| format!("BPF: the kernel refuses the program for {event}"))?;
        program.attach().with_context(|| format!("BPF: cannot attach to the event {event}"))?;
    }
    let began = Began::now();
    let since = ebpf.map_mut("trace_since").context("BPF: the program has no beginning")?;
    Array::<&mut MapData, u64>::try_from(since)?
        .set(0, began.monotonic, 0)
        .context("BPF: cannot begin the trace")?;
    let ring = ebpf.take_map("ring").context("BPF: the program has no ring")?;
    let ring = RingBuf::try_from(ring).context("BPF: the ring cannot be mapped")?;
    let attached = calls_for;
    Ok((Box::new(Source { ebpf, ring, attached, schedulers: None, broken: 0 }), began))
}

/// Names missing capabilities, unlike EPERM.
fn check(root: &Root) -> Result<()> {
    if !root.sys("kernel/btf/vmlinux").exists() {
        bail!(
            "BPF: this kernel has no type information (/sys/kernel/btf/vmlinux is missing); boot one with \
             CONFIG_DEBUG_INFO_BTF=y, or record with --source tracefs"
        );
    }
    // Older kernels require CAP_SYS_ADMIN instead.
    if capability::missing(root, &[capability::SYS_ADMIN]).is_empty() {
        return Ok(());
    }
    let missing = capability::missing(root, &[capability::BPF, capability::PERFMON]);
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "BPF: this process does not have {}; run schedlab as root, or give it these: sudo setcap cap_bpf,cap_perfmon+ep \
         $(which schedlab)",
        missing.join(" and ")
    )
}

fn load(btf: &Btf, targets: &[Target], filter: &Filter, now: Began) -> Result<Ebpf> {
    let mut words = [0u64; MAX_DEVICES * TARGET_WORDS];
    for (target, words) in targets.iter().zip(words.chunks_exact_mut(TARGET_WORDS)) {
        let number = u64::from(target.device.major) << 32 | u64::from(target.device.minor);
        words.copy_from_slice(&[
            number,
            target.sectors.start,
            target.sectors.end,
            u64::from(target.bio_based),
        ]);
    }
    let (mut pids, mut cgroups) = ([0u32; MAX_FILTERS], [0u64; MAX_FILTERS]);
    pids.iter_mut().zip(&filter.pids).for_each(|(to, pid)| *to = *pid);
    cgroups.iter_mut().zip(&filter.cgroups).for_each(|(to, (number, _))| *to = *number);
    let count = |length: usize| u32::try_from(length).context("BPF: too many filters");
    EbpfLoader::new()
        .btf(Some(btf))
        .verifier_log_level(VerifierLogLevel::empty())
        .override_global("nr_targets", &count(targets.len())?, true)
        .override_global("targets", &words, true)
        .override_global("nr_pids", &count(filter.pids.len())?, true)
        .override_global("pids", &pids, true)
        .override_global("pids_began_until", &now.boot, true)
        .override_global("nr_cgroups", &count(filter.cgroups.len())?, true)
        .override_global("cgroups", &cgroups, true)
        .load(OBJECT)
        .context("BPF: the kernel refuses the program's maps")
}

fn program<'a>(ebpf: &'a mut Ebpf, name: &str) -> Result<&'a mut BtfTracePoint> {
    let program = ebpf.program_mut(name).with_context(|| format!("BPF: no program {name}"))?;
    program.try_into().map_err(|error| anyhow!("BPF: {name}: {error}"))
}

struct Source {
    ebpf: Ebpf,
    ring: RingBuf<MapData>,
    attached: [bool; 2],
    /// By the program's numbers, the first of which is `none`.
    schedulers: Option<[u8; record::MAX_SCHEDULERS + 1]>,
    /// Number of invalid records.
    broken: u64,
}

impl Events for Source {
    fn drain(&mut self, tables: &mut Tables, each: &mut dyn FnMut(&Io)) -> Result<()> {
        let schedulers = self.schedulers.get_or_insert_with(|| {
            tables.source("bpf");
            [tables.scheduler("none"); record::MAX_SCHEDULERS + 1]
        });
        for _ in 0..MAX_AT_ONCE {
            let Some(item) = self.ring.next() else { break };
            match record::take(&item, tables, schedulers) {
                Ok(Some(io)) => each(&io),
                Ok(None) => {}
                Err(_) => self.broken += 1,
            }
        }
        Ok(())
    }

    fn lost(&self) -> u64 {
        self.counted().saturating_add(self.broken)
    }

    fn stop(&mut self) -> Result<u64> {
        for name in FIRST {
            // A detached program has no links.
            program(&mut self.ebpf, name)?.unload().ok();
        }
        self.unfinished()
    }

    /// False before Linux 6.0 if unprivileged BPF is disabled: a map's descriptor then needs
    /// privileges.
    fn works_unprivileged(&self, root: &Root) -> bool {
        let release = root.read_optional(root.proc("sys/kernel/osrelease")).unwrap_or_default();
        release
            .split('.')
            .next()
            .and_then(|major| major.parse::<u32>().ok())
            .is_some_and(|major| major >= 6)
    }
}

impl Source {
    /// Number of lost events.
    fn counted(&self) -> u64 {
        let Some(Ok(counts)) = self.ebpf.map("lost").map(Array::<&MapData, u64>::try_from) else {
            return 0;
        };
        counts.iter().map(|count| count.unwrap_or(0)).sum()
    }

    /// Number of requests still tracked.
    fn unfinished(&self) -> Result<u64> {
        if self.attached == [false; 2] {
            return Ok(0);
        }
        let map =
            self.ebpf.map("open_requests").context("BPF: the program has no table of requests")?;
        let sets = Array::<&MapData, [u64; OPEN_WORDS * OPEN_WAYS]>::try_from(map)?;
        let mut open = 0;
        for set in sets.iter() {
            open += set?[..OPEN_WAYS].iter().filter(|key| **key != 0).count() as u64;
        }
        Ok(open)
    }
}
