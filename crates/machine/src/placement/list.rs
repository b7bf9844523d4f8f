//! CPU lists in the kernel's format: `0`, `0-3`, `0,2-3`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::root::Root;

/// Linux supports 8192 CPUs.
const MAX_CPU: u32 = 8191;

/// Never empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuList(BTreeSet<u32>);

impl CpuList {
    /// `None` if unknown.
    pub fn online(root: &Root) -> Option<CpuList> {
        root.read_optional(root.sys("devices/system/cpu/online"))?.parse().ok()
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// `None` if empty.
    pub fn difference(&self, other: &CpuList) -> Option<CpuList> {
        CpuList::of(self.0.difference(&other.0).copied())
    }

    pub fn union(&self, other: &CpuList) -> CpuList {
        CpuList(self.0.union(&other.0).copied().collect())
    }

    pub fn is_within(&self, other: &CpuList) -> bool {
        self.0.is_subset(&other.0)
    }

    pub fn intersects(&self, other: &CpuList) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// `CPU 0`, `CPUs 0-1`.
    pub fn in_words(&self) -> String {
        format!("CPU{} {self}", if self.count() == 1 { "" } else { "s" })
    }

    /// `None` if empty.
    pub fn of(cpus: impl IntoIterator<Item = u32>) -> Option<CpuList> {
        let cpus: BTreeSet<u32> = cpus.into_iter().collect();
        (!cpus.is_empty()).then_some(CpuList(cpus))
    }
}

impl FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<CpuList, String> {
        let wrong = || format!("{text:?} is not a list of CPUs; write e.g. 0 or 0-3 or 0,2-3");
        let mut cpus = BTreeSet::new();
        for part in text.trim().split([',', '+']) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |word: &str| {
                word.trim().parse::<u32>().ok().filter(|cpu| *cpu <= MAX_CPU).ok_or_else(wrong)
            };
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        Ok(CpuList(cpus))
    }
}

impl TryFrom<String> for CpuList {
    type Error = String;

    fn try_from(text: String) -> Result<CpuList, String> {
        text.parse()
    }
}

impl From<CpuList> for String {
    fn from(list: CpuList) -> String {
        list.to_string()
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match runs.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => runs.push((cpu, cpu)),
            }
        }
        let run = |(first, last): &(u32, u32)| {
            if first == last { first.to_string() } else { format!("{first}-{last}") }
        };
        f.write_str(&runs.iter().map(run).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_the_kernel_writes_it_and_written_the_same() {
        for text in ["0", "0-3", "0,2-3", "1,3,5-8191"] {
            assert_eq!(text.parse::<CpuList>().unwrap().to_string(), text);
        }
        assert_eq!("3,2,1,0+5".parse::<CpuList>().unwrap().to_string(), "0-3,5");
        for text in ["", "x", "3-1", "0,,1", "-1", "8192", "0-"] {
            assert!(text.parse::<CpuList>().unwrap_err().contains("0,2-3"), "{text}");
        }
    }

    #[test]
    fn taking_all_away_leaves_no_set() {
        let list = |text: &str| text.parse::<CpuList>().unwrap();
        assert_eq!(list("0-3").difference(&list("1")), Some(list("0,2-3")));
        assert_eq!(list("1").difference(&list("0-3")), None);
        assert!(list("1").is_within(&list("0-3")) && !list("0-3").is_within(&list("1")));
        assert_eq!(list("0").union(&list("2")).count(), 2);
        assert!(list("0-1").intersects(&list("1-2")) && !list("0").intersects(&list("1")));
        assert_eq!([list("0").in_words(), list("0-1").in_words()], ["CPU 0", "CPUs 0-1"]);
    }
}
