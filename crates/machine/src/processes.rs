//! The machine's processes, from /proc.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::root::Root;

const KTHREADD: i32 = 2;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// At most 15 bytes; chosen by the process.
    pub(crate) name: String,
    pub(crate) is_alive: bool,
    pub(crate) parent: i32,
    /// In clock ticks; unique together with the id.
    pub(crate) born: u64,
}

impl Stat {
    pub(crate) fn is_kernel_thread(&self) -> bool {
        self.parent == KTHREADD
    }
}

pub(crate) fn all(root: &Root) -> BTreeMap<i32, Stat> {
    let names = root.names(root.proc(""));
    names
        .iter()
        .filter_map(|name| name.parse().ok())
        .filter_map(|pid| Some((pid, read(root, pid)?)))
        .collect()
}

pub(crate) fn read(root: &Root, pid: i32) -> Option<Stat> {
    let bytes = fs::read(root.proc(format!("{pid}/stat"))).ok()?;
    parse(&String::from_utf8_lossy(&bytes))
}

pub(crate) fn add_descendants(all: &BTreeMap<i32, Stat>, found: &mut BTreeSet<i32>) {
    loop {
        let is_new_child =
            |(pid, stat): &(&i32, &Stat)| !found.contains(*pid) && found.contains(&stat.parent);
        let children: Vec<i32> = all.iter().filter(is_new_child).map(|(pid, _)| *pid).collect();
        if children.is_empty() {
            return;
        }
        found.extend(children);
    }
}

/// The name may contain blanks and parentheses.
fn parse(line: &str) -> Option<Stat> {
    let (start, end) = (line.find('(')?, line.rfind(')')?);
    let rest: Vec<&str> = line.get(end + 1..)?.split_whitespace().collect();
    Some(Stat {
        name: line.get(start + 1..end)?.to_string(),
        is_alive: !matches!(*rest.first()?, "Z" | "X" | "x"),
        parent: rest.get(1)?.parse().ok()?,
        born: rest.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_whose_name_has_brackets_is_read_right() {
        let line = "812 (a (b) c) S 1 812 812 0 -1 4194560 1 0 0 0 7 3 0 0 20 0 1 0 4711 1 1 1";
        let stat = parse(line).expect("a line of the kernel");
        assert_eq!(stat, Stat { name: "a (b) c".into(), is_alive: true, parent: 1, born: 4711 });
        assert_eq!(parse("812 (cut"), None);
    }
}
