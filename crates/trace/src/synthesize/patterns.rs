//! Splits processes with several access patterns into one process per pattern.
//!
//! A database reads random pages, appends to its log synchronously, and writes pages back
//! asynchronously; their mean resembles none of these. Requests of one name fall into classes by
//! direction, synchrony and size (factors of four) [P]. A class with at least [`MIN_SHARE`] of the
//! requests is a pattern; others join the nearest one. Waits between patterns are lost. Synchronous
//! reads and writes of one size are a single pattern.

use std::collections::BTreeMap;

use text::format_size;

use super::groups::group_name;
use crate::io::{Flags, Io, Kind};
use crate::trace::{Process, Trace};

/// Minimum share of a name's requests for a pattern.
const MIN_SHARE: f64 = 0.1;
/// Those with the most requests.
const MAX_PATTERNS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Class {
    is_write: bool,
    is_waited_for: bool,
    /// Factors of four.
    size: u32,
}

impl Class {
    fn classify(io: &Io) -> Option<Class> {
        let is_data = matches!(io.kind, Kind::Read | Kind::Write) && io.sectors > 0;
        is_data.then(|| Class {
            is_write: io.kind == Kind::Write,
            is_waited_for: io.flags.has(Flags::SYNC),
            size: io.sectors.min(1 << 30).next_power_of_two().ilog2().div_ceil(2),
        })
    }

    fn far(self, other: Class) -> u32 {
        100 * u32::from(self.is_write != other.is_write)
            + 30 * u32::from(self.is_waited_for != other.is_waited_for)
            + self.size.abs_diff(other.size)
    }

    fn name(self, of: &str) -> String {
        let what = match (self.is_write, self.is_waited_for) {
            (false, _) => "reads",
            (true, true) => "writes",
            (true, false) => "writeback",
        };
        // The largest size of the class.
        let size = format_size(512 << (2 * self.size).min(40));
        format!("{of} to {size} {what}")
    }
}

type Counts = BTreeMap<String, BTreeMap<Class, u64>>;

/// Returns the names with several patterns.
pub fn by_pattern(trace: &mut Trace) -> Vec<String> {
    let mut counts = Counts::new();
    for io in &trace.ios {
        let (Some(class), Some(process)) =
            (Class::classify(io), trace.processes.get(io.process as usize))
        else {
            continue;
        };
        let classes = match counts.get_mut(group_name(&process.name)) {
            Some(classes) => classes,
            None => counts.entry(group_name(&process.name).to_owned()).or_default(),
        };
        *classes.entry(class).or_default() += 1;
    }
    let patterns: BTreeMap<&str, Vec<Class>> =
        counts.iter().map(|(name, of)| (name.as_str(), patterns_of(of))).collect();
    let mut split = BTreeMap::<(u32, Class), u32>::new();
    let Trace { ios, processes, .. } = trace;
    let nr_known = processes.len();
    for io in ios.iter_mut() {
        let (Some(class), Some(process)) =
            (Class::classify(io), processes.get(io.process as usize))
        else {
            continue;
        };
        let base = group_name(&process.name);
        let several = patterns.get(base).filter(|patterns| patterns.len() > 1);
        let Some(nearest) =
            several.and_then(|all| all.iter().min_by_key(|other| class.far(**other)))
        else {
            continue;
        };
        let name = nearest.name(base);
        io.process = *split.entry((io.process, *nearest)).or_insert_with(|| {
            // Without pid and tid, or its threads would be merged into one process again.
            processes.push(Process {
                pid: 0,
                tid: 0,
                name,
                ..processes[io.process as usize].clone()
            });
            processes.len() as u32 - 1
        });
    }
    if processes.len() == nr_known {
        return Vec::new();
    }
    patterns
        .iter()
        .filter(|(_, patterns)| patterns.len() > 1)
        .map(|(name, _)| (*name).to_owned())
        .collect()
}

fn patterns_of(classes: &BTreeMap<Class, u64>) -> Vec<Class> {
    let all: u64 = classes.values().sum();
    let mut own: Vec<(Class, u64)> =
        classes.iter().map(|(class, count)| (*class, *count)).collect();
    own.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    own.retain(|(_, count)| *count as f64 >= MIN_SHARE * all as f64);
    own.truncate(MAX_PATTERNS);
    if own.iter().all(|(class, _)| class.is_waited_for && class.size == own[0].0.size) {
        own.truncate(1);
    }
    own.into_iter().map(|(class, _)| class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Device;

    fn trace(names: &[&str], ios: Vec<Io>) -> Trace {
        let process = |(pid, name): (usize, &&str)| Process {
            pid: pid as u32 + 1,
            name: (*name).to_owned(),
            ..Process::default()
        };
        Trace {
            devices: vec![Device::default()],
            processes: names.iter().enumerate().map(process).collect(),
            schedulers: vec![String::new()],
            ios,
            ..Trace::default()
        }
    }

    fn io(at: u64, kind: Kind, sectors: u32, process: u32, flags: Flags) -> Io {
        Io { flags, ..Io::new(at, kind, at * 8, sectors, process) }
    }

    #[test]
    fn reads_waited_writes_and_writeback_of_a_name_become_processes_and_a_rare_class_joins_the_nearest()
     {
        let mut ios = Vec::new();
        for at in 0..40 {
            let process = at as u32 % 2;
            ios.push(io(at, Kind::Read, 16, process, Flags::SYNC));
            ios.push(io(at, Kind::Write, 64, process, Flags::SYNC));
            ios.push(io(at, Kind::Write, 16, process, Flags::default()));
            ios.push(io(at, Kind::Read, 8, 2, Flags::SYNC));
        }
        // One large read, and a flush, which has no class.
        ios.push(io(40, Kind::Read, 4096, 0, Flags::SYNC));
        ios.push(io(41, Kind::Flush, 0, 1, Flags::SYNC));
        let mut trace = trace(&["pg-1", "pg-2", "reader"], ios);
        assert_eq!(by_pattern(&mut trace), ["pg"]);
        trace.check().expect("all numbers point into the tables");
        let name = |io: &Io| trace.processes[io.process as usize].name.clone();
        let names: Vec<String> = trace.ios[..4].iter().map(name).collect();
        assert_eq!(names, ["pg to 8k reads", "pg to 32k writes", "pg to 8k writeback", "reader"]);
        assert_eq!(trace.processes.len(), 3 + 2 * 3, "each of both has three patterns");
        let last = trace.ios.len() - 2;
        assert_eq!(
            (name(&trace.ios[last]), name(&trace.ios[last + 1])),
            ("pg to 8k reads".into(), "pg-2".into())
        );
        assert!(
            group_name("pg to 8k reads") == "pg to 8k reads",
            "patterns are groups of their own"
        );
    }

    #[test]
    fn names_of_one_pattern_stay_as_they_are() {
        let ios = (0..50).map(|at| io(at, Kind::Read, 8, 0, Flags::SYNC)).collect();
        let mut one = trace(&["reader"], ios);
        let before = one.clone();
        assert!(by_pattern(&mut one).is_empty() && one == before);
        let kind = |at: u64| if at.is_multiple_of(3) { Kind::Write } else { Kind::Read };
        let ios = (0..60).map(|at| io(at, kind(at), 8, 0, Flags::SYNC)).collect();
        let mut mixed = trace(&["client"], ios);
        assert!(by_pattern(&mut mixed).is_empty(), "a share of reads says it");
        assert!(by_pattern(&mut Trace::default()).is_empty());
    }
}
