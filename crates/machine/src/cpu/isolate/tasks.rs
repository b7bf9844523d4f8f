//! Lists the machine's tasks, reads their masks, and moves them.
//!
//! A trait, so that tests can drive every interleaving of forks, exits, changes and crashes on a
//! fake machine.

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Root;
use crate::placement::CpuList;
use crate::placement::{Mask, Touch};

/// User space may not change its affinity.
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

/// From /proc/PID/stat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Task {
    /// In clock ticks since boot.
    pub(super) start: u64,
    pub(super) parent: u32,
    pub(super) name: String,
    /// No other task may set its affinity.
    pub(super) is_bound: bool,
    /// Exited, and not reaped.
    pub(super) is_over: bool,
}

/// Exited tasks return `None`.
pub(super) trait Tasks: Debug + Send + Sync {
    fn processes(&self) -> Vec<u32>;
    /// All threads, including the first.
    fn threads(&self, process: u32) -> Vec<u32>;
    fn stat(&self, task: u32) -> Option<Task>;
    /// The affinity mask, including offline CPUs.
    fn mask(&self, task: u32) -> Option<CpuList>;
    /// Much cheaper than `mask`.
    fn touch(&self, task: u32, set: &Mask) -> Option<Touch>;
    fn bind(&self, task: u32, cpus: &CpuList) -> io::Result<()>;
    fn ticks(&self) -> u64;
    fn sleep(&self, time: Duration);
}

#[derive(Debug)]
pub(super) struct Kernel(pub(super) Root);

impl Kernel {
    fn ids(&self, path: impl AsRef<Path>) -> Vec<u32> {
        let Ok(entries) = std::fs::read_dir(self.0.proc(path)) else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    }
}

impl Tasks for Kernel {
    fn processes(&self) -> Vec<u32> {
        self.ids("")
    }

    fn threads(&self, process: u32) -> Vec<u32> {
        self.ids(format!("{process}/task"))
    }

    fn stat(&self, task: u32) -> Option<Task> {
        read_stat(&self.0.read_optional(self.0.proc(format!("{task}/stat")))?)
    }

    fn mask(&self, task: u32) -> Option<CpuList> {
        let status = self.0.read_optional(self.0.proc(format!("{task}/status")))?;
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.parse().ok()
    }

    fn touch(&self, task: u32, set: &Mask) -> Option<Touch> {
        Some(Mask::of_task(task).ok()?.touch(set))
    }

    /// Task ids in a fake root do not belong to this machine.
    fn bind(&self, task: u32, cpus: &CpuList) -> io::Result<()> {
        if self.0.proc("") != Path::new("/proc/") {
            return Err(io::Error::from(io::ErrorKind::Unsupported));
        }
        Mask::of(cpus).give(task)
    }

    fn ticks(&self) -> u64 {
        let now = clock_gettime(ClockId::Boottime);
        let per_second = rustix::param::clock_ticks_per_second();
        let (seconds, ns) =
            (u64::try_from(now.tv_sec).unwrap_or(0), u64::try_from(now.tv_nsec).unwrap_or(0));
        seconds * per_second + ns * per_second / 1_000_000_000
    }

    fn sleep(&self, time: Duration) {
        thread::sleep(time);
    }
}

/// The name, between the first and last parenthesis, can contain any character.
fn read_stat(line: &str) -> Option<Task> {
    let (_, rest) = line.split_once('(')?;
    let (name, rest) = rest.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    Some(Task {
        start: number(19)?,
        parent: u32::try_from(number(1)?).ok()?,
        name: name.to_string(),
        is_bound: number(6)? & PF_NO_SETAFFINITY != 0,
        is_over: matches!(*fields.first()?, "Z" | "X"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line =
            "14 (a) S (b) R 9 14 14 0 -1 69238848 103 0 0 0 0 0 0 0 20 0 1 0 6012834 2998272 420";
        let task = read_stat(line).unwrap();
        assert_eq!((task.parent, task.start, task.name.as_str()), (9, 6_012_834, "a) S (b"));
        assert!(task.is_bound && !task.is_over, "69238848 has the bit 0x04000000");
        assert!(!read_stat(&line.replace("69238848", "4194304")).unwrap().is_bound);
        assert!(read_stat(&line.replace(") R", ") Z")).unwrap().is_over);
        assert_eq!(read_stat("14 (a) R 9"), None);
    }

    #[test]
    fn this_process_is_found_with_its_threads_and_has_started_by_now() {
        let kernel = Kernel(Root::real());
        let own = std::process::id();
        assert!(kernel.processes().contains(&own) && kernel.threads(own).contains(&own));
        let task = kernel.stat(own).unwrap();
        assert!(task.start <= kernel.ticks() && task.start + 100 * 60 * 60 * 24 > kernel.ticks());
        assert_eq!(task.parent, std::os::unix::process::parent_id());
    }

    #[test]
    fn nothing_is_moved_by_the_ids_of_another_tree() {
        let kernel = Kernel(Root::at("/tmp/no-machine"));
        let every: CpuList = "0-8191".parse().unwrap();
        assert_eq!(
            kernel.bind(std::process::id(), &every).unwrap_err().kind(),
            io::ErrorKind::Unsupported
        );
    }
}
