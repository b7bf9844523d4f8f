//! Sets of real-time tasks: syntax, random generation, checks.

use crate::workload::rng::Rng;
use text::{format_duration, format_size, parse_duration_ns, parse_size};

/// Bounds that keep a set within memory and a trial.
pub(crate) const MAX_TASKS: u32 = 4096;
pub(crate) const MAX_NS: u64 = 3_600_000_000_000;

/// A read with release time and deadline, in ns from the start of its set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Earliest service.
    pub release_ns: u64,
    /// Latest completion.
    pub deadline_ns: u64,
    /// First byte in the region.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
}

impl std::fmt::Display for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (release, deadline) =
            (format_duration(self.release_ns), format_duration(self.deadline_ns));
        write!(
            f,
            "{release}..{deadline}@{}+{}",
            format_size(self.offset),
            format_size(self.len.into())
        )
    }
}

/// A set given task by task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSet(pub Vec<Task>);

pub(super) const SET_FORM: &str = "none, or tasks RELEASE..DEADLINE@OFFSET+SIZE with a comma between them, like 0ms..40ms@1G+36k,5ms..30ms@0+64k";

impl TaskSet {
    pub(super) fn parse(text: &str) -> Option<TaskSet> {
        let tasks: Option<Vec<Task>> =
            text.split(',').map(|task| parse_task(task.trim())).collect();
        tasks.filter(|tasks| tasks.len() <= MAX_TASKS as usize).map(TaskSet)
    }

    pub(super) fn show(&self) -> String {
        self.0.iter().map(Task::to_string).collect::<Vec<_>>().join(",")
    }

    pub(super) fn check(&self) -> Result<(), String> {
        for (number, task) in (1..).zip(&self.0) {
            if task.release_ns >= task.deadline_ns {
                let (release, deadline) =
                    (format_duration(task.release_ns), format_duration(task.deadline_ns));
                return Err(format!(
                    "task {number} of set ({task}) is released at {release}, not before its deadline at {deadline}; give it a later deadline"
                ));
            }
            if task.deadline_ns > MAX_NS {
                return Err(format!(
                    "task {number} of set ({task}) has a deadline after an hour; give it an earlier one"
                ));
            }
            if task.len == 0 {
                return Err(format!("task {number} of set ({task}) has no bytes; give it a size"));
            }
        }
        Ok(())
    }

    pub(super) fn fits(&self, region: u64) -> Result<(), String> {
        let beyond =
            |task: &Task| task.offset.checked_add(task.len.into()).is_none_or(|end| end > region);
        match (1..).zip(&self.0).find(|(_, task)| beyond(task)) {
            None => Ok(()),
            Some((number, task)) => {
                let region = format_size(region);
                Err(format!(
                    "task {number} of set ({task}) ends beyond the region's {region}; give it a smaller offset"
                ))
            }
        }
    }
}

fn parse_task(text: &str) -> Option<Task> {
    let (times, place) = text.split_once('@')?;
    let (release, deadline) = times.split_once("..")?;
    let (offset, len) = place.split_once('+')?;
    Some(Task {
        release_ns: parse_duration_ns(release)?,
        deadline_ns: parse_duration_ns(deadline)?,
        offset: parse_size(offset)?,
        len: parse_size(len)?.try_into().ok()?,
    })
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    pub(super) tasks: u32,
    /// Releases are within 0 and this.
    pub(super) release_within_ns: u64,
    /// Range from release to deadline.
    pub(super) deadline_ns: (u64, u64),
    /// Smallest, and number of doubling sizes.
    pub(super) block: u32,
    pub(super) sizes: u64,
    pub(super) region: u64,
}

impl Drawn {
    pub(super) fn draw(&self, rng: &mut Rng) -> Vec<Task> {
        let blocks = self.region / u64::from(self.block);
        let (shortest, longest) = self.deadline_ns;
        let task = |rng: &mut Rng| {
            let release_ns = rng.below(self.release_within_ns + 1);
            let deadline_ns = release_ns + shortest + rng.below(longest - shortest + 1);
            let wide = 1u64 << rng.below(self.sizes);
            let offset = rng.below(blocks - wide + 1) * u64::from(self.block);
            Task { release_ns, deadline_ns, offset, len: self.block * wide as u32 }
        };
        (0..self.tasks).map(|_| task(rng)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_reads_back_what_it_shows() {
        let text = "0..40ms@1G+36k,5ms..30ms@0+64k";
        let set = TaskSet::parse(text).unwrap();
        assert_eq!(
            set.0[1],
            Task { release_ns: 5_000_000, deadline_ns: 30_000_000, offset: 0, len: 64 << 10 }
        );
        assert_eq!(TaskSet::parse(&set.show()), Some(set));
        for wrong in ["", ",", "5ms@0+4k", "1ms..2ms@0", "1ms..2ms@0+-4k", "1..2@0+4k"] {
            assert_eq!(TaskSet::parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_drawn_set_keeps_its_bounds() {
        let drawn = Drawn {
            tasks: 200,
            release_within_ns: 50,
            deadline_ns: (10, 20),
            block: 512,
            sizes: 3,
            region: 100 * 512 + 5,
        };
        let mut rng = Rng::new(1, 0);
        let sets = [drawn.draw(&mut rng), drawn.draw(&mut rng)];
        assert_ne!(sets[0], sets[1]);
        for task in sets.iter().flatten() {
            assert!(
                task.release_ns <= 50 && (10..=20).contains(&(task.deadline_ns - task.release_ns)),
                "{task:?}"
            );
            assert!(
                task.offset + u64::from(task.len) <= drawn.region && task.len <= 2048,
                "{task:?}"
            );
        }
        assert!(
            sets[0].iter().any(|task| task.len == 2048)
                && sets[0].iter().any(|task| task.release_ns == 0)
        );
    }
}
