//! Computes the setting that reverts a change.
//!
//! With the same scheduler, that is every changed value. Otherwise, switching back restores most
//! values. The tables show which; in doubtful cases (an out-of-tree scheduler, `async_depth`, whose
//! default has changed twice) the value is named.

use std::collections::BTreeMap;

use elevator::{Build, Knob, LINUX};

use super::attribute::same;
use super::{Setting, Snapshot};

/// The setting that leads from `new` back to `old`.
pub(super) fn undo(old: &Snapshot, new: &Snapshot) -> Setting {
    let mut named = BTreeMap::new();
    if old.scheduler == new.scheduler {
        named.extend(old.differences(new).into_iter().map(|(name, value, _)| (name, value)));
        return Setting { scheduler: None, tunables: named };
    }
    let device =
        old.differences(new).into_iter().filter(|(name, ..)| old.device.contains_key(name));
    named.extend(device.map(|(name, value, _)| (name, value)));
    let back = SwitchBack { old, new };
    let queue = old.queue.iter().filter(|(name, value)| !back.gives_attribute(name, value));
    named.extend(queue.map(|(name, value)| (name.clone(), value.clone())));
    let tunables = old.tunables.iter().filter(|(name, value)| !back.gives_tunable(name, value));
    named.extend(tunables.map(|(name, value)| (name.clone(), value.clone())));
    Setting { scheduler: old.scheduler.clone(), tunables: named }
}

struct SwitchBack<'a> {
    old: &'a Snapshot,
    new: &'a Snapshot,
}

impl SwitchBack<'_> {
    fn scheduler(&self) -> &str {
        self.old.scheduler.as_deref().unwrap_or_default()
    }

    /// Whether a mere switch back restores the value.
    fn gives_attribute(&self, name: &str, value: &str) -> bool {
        match name {
            // Depends on the driver.
            "nr_requests" => false,
            // Without a scheduler it follows nr_requests, and cannot be written.
            "async_depth" => self.scheduler() == "none",
            "wbt_lat_usec" => same(&self.throttling_after(), value),
            _ => self.new.queue.get(name).is_some_and(|now| same(now, value)),
        }
    }

    /// bfq disables throttling, and leaving bfq enables it, depending on the kind of disk.
    fn throttling_after(&self) -> String {
        let shown = |name: &str| self.new.queue.get(name).cloned().unwrap_or_default();
        let now = shown("wbt_lat_usec");
        let chosen = if shown("rotational") == "0" { "2000" } else { "75000" };
        match (self.scheduler(), self.new.scheduler.as_deref()) {
            ("bfq", _) => "0".to_string(),
            (_, Some("bfq")) if now == "0" => chosen.to_string(),
            _ => now,
        }
    }

    fn gives_tunable(&self, name: &str, value: &str) -> bool {
        let row = LINUX.iter().find(|row| row.name == self.scheduler());
        let knobs: Vec<Knob> = row.map(|row| row.tunables(&Build::default())).unwrap_or_default();
        let knob = knobs.iter().find(|knob| knob.row.name == name && name != "async_depth");
        knob.is_some_and(|knob| same(&knob.default.to_string(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn snapshot(scheduler: &str, queue: &[(&str, &str)], tunables: &[(&str, &str)]) -> Snapshot {
        Snapshot {
            scheduler: Some(scheduler.to_string()),
            queue: map(queue),
            tunables: map(tunables),
            device: BTreeMap::new(),
        }
    }

    #[test]
    fn with_the_same_scheduler_the_old_values_of_what_differs_are_named_and_no_others() {
        let old =
            snapshot("bfq", &[("nomerges", "0"), ("nr_requests", "256")], &[("slice_idle", "8")]);
        let new =
            snapshot("bfq", &[("nomerges", "0"), ("nr_requests", "64")], &[("slice_idle", "0")]);
        let back = undo(&old, &new);
        assert_eq!(
            (back.scheduler, back.tunables),
            (None, map(&[("nr_requests", "256"), ("slice_idle", "8")]))
        );
    }

    #[test]
    fn what_a_switch_back_gives_for_free_is_not_named() {
        let old = snapshot(
            "mq-deadline",
            &[("nr_requests", "256"), ("wbt_lat_usec", "2000"), ("rotational", "0")],
            &[("read_expire", "500"), ("fifo_batch", "1"), ("async_depth", "256")],
        );
        let new = snapshot(
            "bfq",
            &[("nr_requests", "256"), ("wbt_lat_usec", "0"), ("rotational", "0")],
            &[],
        );
        let back = undo(&old, &new);
        assert_eq!(back.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(
            back.tunables,
            map(&[("async_depth", "256"), ("fifo_batch", "1"), ("nr_requests", "256")])
        );
        let of_bfq = snapshot("bfq", &[("wbt_lat_usec", "0")], &[]);
        let throttled = snapshot("kyber", &[("wbt_lat_usec", "75000")], &[]);
        assert!(undo(&of_bfq, &throttled).tunables.is_empty(), "bfq switches it off itself");
        let tuned = snapshot("mq-deadline", &[("nr_requests", "64"), ("wbt_lat_usec", "5")], &[]);
        assert_eq!(
            undo(&tuned, &new).tunables,
            map(&[("nr_requests", "64"), ("wbt_lat_usec", "5")])
        );
    }

    #[test]
    fn of_a_scheduler_that_no_table_knows_everything_is_named() {
        let old = snapshot("adios", &[], &[("read_expire", "500")]);
        assert_eq!(
            undo(&old, &snapshot("none", &[], &[])).tunables,
            map(&[("read_expire", "500")])
        );
    }
}
