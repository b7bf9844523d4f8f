//! Finds processes by the thread ids in events.

use std::collections::BTreeMap;

use machine::Root;
use machine::tracing::start_in;

use crate::live::clock::Began;
use crate::live::tables::{Asker, Tables};
use crate::live::target::Filter;

/// Ticks are 10 ms on every machine.
const NS_PER_TICK: u64 = 10_000_000;

pub(super) struct Who {
    root: Root,
    filter: Filter,
    began: Began,
    /// Index, `None` if not selected, and name.
    known: BTreeMap<u32, (Option<u32>, Vec<u8>)>,
}

impl Who {
    pub(super) fn new(root: &Root, filter: &Filter, began: Began) -> Who {
        Who { root: root.clone(), filter: filter.clone(), began, known: BTreeMap::new() }
    }

    /// The thread's id may be reused.
    pub(super) fn forget_thread(&mut self, tid: u32) {
        self.known.remove(&tid);
    }

    /// `None` if not selected.
    pub(super) fn process(&mut self, tid: u32, name: &[u8], tables: &mut Tables) -> Option<u32> {
        if let Some((index, known)) = self.known.get(&tid)
            && known == name
        {
            return *index;
        }
        let read = |file: &str| self.root.read_optional(self.root.proc(format!("{tid}/{file}")));
        let pid = read("status").and_then(|text| {
            text.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
        });
        let began = read("stat")
            .and_then(|text| start_in(&text))
            .map_or(0, |ticks| ticks.saturating_mul(NS_PER_TICK));
        let cgroup = read("cgroup").and_then(|text| {
            text.lines().find_map(|line| line.strip_prefix("0::").map(str::to_owned))
        });
        let asker = Asker {
            pid: pid.unwrap_or(0),
            tid,
            began,
            name: String::from_utf8_lossy(name).into_owned(),
            ..Asker::default()
        };
        let index = self
            .is_wanted(&asker, cgroup.as_deref())
            .then(|| tables.add_process(&asker, cgroup.unwrap_or_default()));
        self.known.insert(tid, (index, name.to_vec()));
        index
    }

    fn is_wanted(&self, asker: &Asker, cgroup: Option<&str>) -> bool {
        // To the precision of a tick.
        let is_old = asker.began <= self.began.boot;
        let is_below = |path: &str| {
            let rest = cgroup.and_then(|cgroup| cgroup.strip_prefix(path.trim_end_matches('/')));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.filter.is_empty()
            || (is_old && self.filter.pids.iter().any(|pid| [asker.pid, asker.tid].contains(pid)))
            || self.filter.cgroups.iter().any(|(_, path)| is_below(path))
    }
}
