//! The groups of a trace, and the properties that no parameter captures.

use std::collections::BTreeMap;

use serde::Serialize;

use super::spread::Spread;
use crate::profile::{Actor, DeviceProfile, Distribution};

/// Maximum clients per group, and open requests per client.
const MAX_CLIENTS: u64 = 128;
/// Per request, and open in a group.
const MAX_BLOCK: u64 = 4 << 20;
const MAX_OPEN: u64 = 128 << 20;
/// Below this share of overlapping requests a group is synchronous; below this share of requests
/// after a pause an asynchronous one never thinks.
const MIN_SHARE: f64 = 0.05;

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number; the busiest are kept.
    pub groups: usize,
    /// The arena's turnaround, which it adds itself: subtracted from recorded think times.
    pub turnaround_ns: u64,
}

/// Processes of one name, as identical clients.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// The kernel's name: arbitrary bytes.
    pub name: String,
    pub requests: u64,
    /// Mean concurrency.
    pub clients: u32,
    /// In percent.
    pub read_share: u32,
    pub block_size: u32,
    /// Percent of requests that do not begin at the end of the client's previous one.
    pub jump_share: u32,
    pub iodepth: u32,
    /// Mean pause from a completion, or with several open between requests.
    pub think_ns: u64,
    pub think_dist: Spread,
    /// Bytes from the first to the last place in use.
    pub region: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Synthesis {
    /// The one with most requests first.
    pub groups: Vec<Group>,
    /// Properties of the trace that no parameter captures.
    pub unsaid: Vec<String>,
}

#[derive(Debug, Default)]
struct Sum<'a> {
    processes: Vec<&'a Actor>,
}

impl Sum<'_> {
    fn total(&self, of: impl Fn(&Actor) -> u64) -> u64 {
        self.processes.iter().map(|process| of(process)).fold(0, u64::saturating_add)
    }

    fn data(&self) -> u64 {
        self.total(|process| process.reads + process.writes)
    }

    fn mean(&self, of: impl Fn(&Actor) -> &Distribution) -> f64 {
        let sum: f64 =
            self.processes.iter().map(|process| of(process).mean * of(process).count as f64).sum();
        sum / self.total(|process| of(process).count).max(1) as f64
    }

    fn merged(&self, of: impl Fn(&Actor) -> &Distribution) -> Distribution {
        let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
        for (value, count) in self.processes.iter().flat_map(|process| of(process).buckets.iter()) {
            *buckets.entry(*value).or_default() += count;
        }
        let count = buckets.values().sum();
        Distribution { count, buckets: buckets.into_iter().collect(), ..Distribution::default() }
    }
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn percent(part: u64, whole: u64) -> u32 {
    (share(part, whole) * 100.0).round() as u32
}

pub fn groups(disk: &DeviceProfile, limits: &Limits) -> Synthesis {
    let mut sums: BTreeMap<&str, Sum<'_>> = BTreeMap::new();
    let asking = disk.processes.iter().filter(|process| process.reads + process.writes > 0);
    for process in asking {
        sums.entry(group_name(&process.name)).or_default().processes.push(process);
    }
    let mut sums: Vec<(&str, Sum<'_>)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, sum)| std::cmp::Reverse(sum.data()));
    let all: u64 = sums.iter().map(|(_, sum)| sum.data()).sum();
    let left_out = sums.split_off(limits.groups.min(sums.len()));
    let mut unsaid = Vec::new();
    if !left_out.is_empty() {
        let requests = left_out.iter().map(|(_, sum)| sum.data()).sum();
        let groups = left_out.len();
        unsaid.push(format!(
            "{groups} further groups with {:.1} % of the requests",
            share(requests, all) * 100.0
        ));
    }
    if disk.total.others > 0 {
        unsaid.push(format!("{} requests without data: flushes, discards", disk.total.others));
    }
    let mut groups = Vec::new();
    for (name, sum) in &sums {
        let group = group(name, sum, disk.span_ns(), limits);
        unsaid.extend(unsaid_of(&group, sum, disk.span_ns()));
        groups.push(group);
    }
    unsaid.push(
        "changes over time, frequently accessed places, and dependencies between processes"
            .to_owned(),
    );
    Synthesis { groups, unsaid }
}

/// Removes the trailing number: client-7 and client-8 form one group.
pub(super) fn group_name(name: &str) -> &str {
    let base = name
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .trim_end_matches(['-', '_', '/', ':', '.', '#', ' ']);
    if base.is_empty() { name } else { base }
}

fn present_ns(sum: &Sum<'_>) -> u64 {
    sum.total(|process| {
        process.threads.saturating_mul(process.last_ns.saturating_sub(process.first_ns))
    })
}

fn group(name: &str, sum: &Sum<'_>, span_ns: u64, limits: &Limits) -> Group {
    let data = sum.data();
    let clients = (share(present_ns(sum), span_ns).round() as u64).clamp(1, MAX_CLIENTS);
    let bytes = sum.total(Actor::bytes);
    let block_size = block(share(bytes, data));
    let (iodepth, think_ns, think_dist) = pace(sum, limits);
    let open = MAX_OPEN / (clients * u64::from(block_size));
    let lowest = sum.processes.iter().map(|process| process.lowest_sector).min().unwrap_or(0);
    let highest = sum.processes.iter().map(|process| process.highest_sector).max().unwrap_or(0);
    Group {
        name: name.to_owned(),
        requests: data,
        clients: clients as u32,
        read_share: percent(sum.total(|process| process.reads), data),
        block_size,
        jump_share: 100 - percent(sum.total(|process| process.sequential), sum.total(Actor::steps)),
        iodepth: iodepth.clamp(1, open.clamp(1, MAX_CLIENTS)) as u32,
        think_ns,
        think_dist,
        region: highest.saturating_sub(lowest).saturating_add(1).saturating_mul(512),
    }
}

/// Rounds to whole pages, or sectors below a page.
fn block(bytes: f64) -> u32 {
    let unit = if bytes < 4096.0 { 512.0 } else { 4096.0 };
    ((bytes / unit).round() * unit).clamp(512.0, MAX_BLOCK as f64) as u32
}

fn pace(sum: &Sum<'_>, limits: &Limits) -> (u64, u64, Spread) {
    let requests = sum.total(Actor::requests);
    let thinks = sum.total(|process| process.think_ns.count);
    let completed = sum.total(|process| process.latency_ns.count);
    if completed > 0 && share(sum.total(|process| process.overlapping), requests) < MIN_SHARE {
        let think_ns =
            (sum.mean(|process| &process.think_ns) as u64).saturating_sub(limits.turnaround_ns);
        return (
            1,
            microseconds(think_ns),
            Spread::nearest(&sum.merged(|process| &process.think_ns)),
        );
    }
    let depth: f64 =
        sum.processes.iter().map(|p| p.depth_mean * p.latency_ns.count as f64).sum::<f64>();
    let depth = (depth / completed.max(1) as f64).round() as u64;
    if completed > 0 && share(thinks, requests) < MIN_SHARE {
        return (depth, 0, Spread::Fixed);
    }
    // A client driven by time or bursts: same rate, with its maximum depth.
    let most = sum.processes.iter().map(|process| u64::from(process.depth_max)).max().unwrap_or(0);
    let most = if completed > 0 { most } else { MAX_CLIENTS };
    let between = sum.merged(|process| &process.between_ns);
    (most, microseconds(sum.mean(|process| &process.between_ns) as u64), Spread::nearest(&between))
}

fn microseconds(ns: u64) -> u64 {
    if ns < 1000 { ns } else { (ns + 500) / 1000 * 1000 }
}

fn unsaid_of(group: &Group, sum: &Sum<'_>, span_ns: u64) -> Vec<String> {
    let name = &group.name;
    let mut unsaid = Vec::new();
    let sizes = sum.merged(|process| &process.size_sectors);
    let other = sizes.buckets.iter().filter(|(sectors, _)| {
        let ratio = *sectors as f64 * 512.0 / f64::from(group.block_size);
        !(0.8..=1.25).contains(&ratio)
    });
    let other = share(other.map(|(_, count)| count).sum(), sizes.count);
    if other > MIN_SHARE {
        let percent = other * 100.0;
        unsaid
            .push(format!("{name}: {percent:.0} % of the requests differ in size from the mean; all get the mean size"));
    }
    let present = share(present_ns(sum), span_ns);
    if present < 0.5 {
        let percent = present * 100.0;
        unsaid.push(format!(
            "{name}: active {percent:.1} % of the time; its one client is always active"
        ));
    }
    let unwaited = 1.0 - share(sum.total(|process| process.sync), sum.total(Actor::requests));
    if unwaited > MIN_SHARE {
        let percent = unwaited * 100.0;
        unsaid.push(format!(
            "{name}: no process waits for {percent:.0} % of the requests (writeback, read-ahead)"
        ));
    }
    if group.iodepth > 1 && group.think_ns > 0 {
        unsaid
            .push(format!("{name}: requests arrive in bursts; their rate is kept, not the bursts"));
    }
    if sum.total(|process| process.latency_ns.count) == 0 {
        unsaid.push(format!(
            "{name}: completions are unknown, so its requests arrive by time (open loop)"
        ));
    }
    unsaid
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{At, Flags, Io, Kind};
    use crate::profile;
    use crate::trace::{Device, Process, Trace};

    const LIMITS: Limits = Limits { groups: 2, turnaround_ns: 0 };

    /// Two sequential readers that think for 3 ms, and a writer of 64 KiB that keeps four open.
    fn trace() -> Trace {
        let (mut ios, ms) = (Vec::new(), 1_000_000);
        for round in 0..500_u64 {
            let at = round * 4 * ms;
            for reader in 0..2_u64 {
                let io = Io::new(at, Kind::Read, reader << 20 | (round * 8), 8, reader as u32);
                ios.push(Io { completed: At::ns(at + ms), flags: Flags::SYNC, ..io });
            }
            let io = Io::new(at, Kind::Write, 4 << 20 | (round * 7919 % 1000 * 128), 128, 2);
            ios.push(Io { completed: At::ns(at + 15 * ms), ..io });
        }
        let name = |name: &str, pid| Process {
            name: name.to_owned(),
            pid,
            tid: pid,
            ..Process::default()
        };
        Trace {
            devices: vec![Device::default()],
            processes: vec![name("reader-1", 1), name("reader-2", 2), name("writer", 3)],
            schedulers: vec!["none".to_owned()],
            ios,
            ..Trace::default()
        }
    }

    #[test]
    fn processes_of_a_name_are_clients_of_one_group_with_their_figures() {
        let found = groups(&profile::profile_trace(&trace()).devices[0], &LIMITS);
        let [readers, writer] = &found.groups[..] else { panic!("{found:?}") };
        assert_eq!((readers.name.as_str(), readers.clients, readers.requests), ("reader", 2, 1000));
        assert_eq!((readers.read_share, readers.block_size, readers.jump_share), (100, 4096, 0));
        assert_eq!(
            (readers.iodepth, readers.think_ns, readers.think_dist),
            (1, 3_000_000, Spread::Fixed)
        );
        assert_eq!((writer.read_share, writer.block_size, writer.jump_share), (0, 65536, 100));
        assert_eq!((writer.iodepth, writer.think_ns), (4, 0));
        assert!(
            found.unsaid.iter().any(|line| line.starts_with("writer: no process waits for 100 %")),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_left_out_is_named() {
        let profile = profile::profile_trace(&trace());
        let found = groups(&profile.devices[0], &Limits { groups: 1, ..LIMITS });
        assert_eq!(found.groups.len(), 1);
        assert_eq!(found.unsaid[0], "1 further groups with 33.3 % of the requests");
    }

    #[test]
    fn names_that_differ_by_a_number_are_alike() {
        for (name, base) in
            [("client-7", "client"), ("kworker/3", "kworker"), ("42", "42"), ("", ""), ("pg", "pg")]
        {
            assert_eq!(group_name(name), base);
        }
    }
}
