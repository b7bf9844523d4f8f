//! A CPU bitmap of fixed size for system calls, usable between fork and exec, where allocation is
//! forbidden. The C library's set ends at 1024 CPUs, the kernel's at 8192.

use std::io;

use super::CpuList;
use crate::sys::{sched_getaffinity, sched_setaffinity};

const WORDS: usize = 128;

/// A task's CPUs relative to a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// None of the set.
    Apart,
    /// Only CPUs of the set.
    Within,
    /// Some of the set, and others.
    Across,
}

#[derive(Debug, Clone)]
pub struct Mask(Box<[u64; WORDS]>);

impl Mask {
    pub fn of(cpus: &CpuList) -> Mask {
        let mut words = Box::new([0; WORDS]);
        for cpu in cpus.iter().map(|cpu| cpu as usize).filter(|cpu| *cpu < 64 * WORDS) {
            words[cpu / 64] |= 1 << (cpu % 64);
        }
        Mask(words)
    }

    /// Online CPUs; 0 is the calling task.
    pub fn of_task(task: u32) -> io::Result<Mask> {
        let mut words = Box::new([0u64; WORDS]);
        sched_getaffinity(task, &mut words[..])?;
        Ok(Mask(words))
    }

    /// 0 is the calling task. Does not allocate.
    pub fn give(&self, task: u32) -> io::Result<()> {
        sched_setaffinity(task, &self.0[..])
    }

    pub fn touch(&self, set: &Mask) -> Touch {
        let pairs = || self.0.iter().zip(set.0.iter());
        match (pairs().any(|(own, set)| own & set != 0), pairs().any(|(own, set)| own & !set != 0))
        {
            (false, _) => Touch::Apart,
            (true, false) => Touch::Within,
            (true, true) => Touch::Across,
        }
    }

    /// `None` if empty.
    pub fn list(&self) -> Option<CpuList> {
        CpuList::of(
            (0..64 * WORDS as u32).filter(|cpu| self.0[*cpu as usize / 64] >> (cpu % 64) & 1 == 1),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(text: &str) -> Mask {
        Mask::of(&text.parse().unwrap())
    }

    #[test]
    fn a_mask_holds_every_cpu_that_a_list_can_name() {
        for text in ["0", "63-64", "0,1023-1024,8191"] {
            assert_eq!(mask(text).list().unwrap().to_string(), text);
        }
    }

    #[test]
    fn how_a_task_lies_to_a_set_is_told_apart() {
        assert_eq!(mask("1-3").touch(&mask("0")), Touch::Apart);
        assert_eq!(mask("0-3").touch(&mask("0")), Touch::Across);
        assert_eq!(mask("0,70").touch(&mask("0-1,70")), Touch::Within);
        assert_eq!(mask("70").touch(&mask("0,70")), Touch::Within);
    }

    #[test]
    fn the_mask_of_this_thread_is_what_the_kernel_writes_of_it() {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
        let online = std::fs::read_to_string("/sys/devices/system/cpu/online")
            .unwrap()
            .parse::<CpuList>()
            .unwrap();
        let allowed = line.trim().parse::<CpuList>().unwrap();
        let both = CpuList::of(allowed.iter().filter(|cpu| online.contains(*cpu)));
        assert_eq!(Mask::of_task(0).unwrap().list(), both);
    }
}
