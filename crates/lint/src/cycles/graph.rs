//! Circles in the graph of files, and which arrows to cut.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::names::Arrows;

#[derive(Debug)]
pub struct Cycle {
    pub files: Vec<PathBuf>,
    /// Every arrow between two of the files.
    pub arrows: Vec<Arrow>,
}

#[derive(Debug)]
pub struct Arrow {
    pub from: PathBuf,
    pub to: PathBuf,
    /// Where `from` first names one of them.
    pub line: usize,
    pub items: BTreeSet<String>,
    /// Against the order that leaves the fewest items against it: without these arrows there is no cycle.
    pub is_back: bool,
}

/// The strongly connected components of more than one file, largest first.
pub(super) fn cycles(arrows: &Arrows) -> Vec<Cycle> {
    let mut reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> = BTreeMap::new();
    for (from, _) in arrows.keys() {
        reached.entry(from).or_insert_with(|| reachable(arrows, from));
    }
    let mut found: Vec<Cycle> = Vec::new();
    let mut done: BTreeSet<&PathBuf> = BTreeSet::new();
    for (file, targets) in &reached {
        if !targets.contains(file) || done.contains(file) {
            continue;
        }
        let component: BTreeSet<&PathBuf> = targets
            .iter()
            .filter(|other| reached.get(*other).is_some_and(|back| back.contains(file)))
            .copied()
            .collect();
        done.extend(&component);
        found.push(cycle(arrows, &component));
    }
    found.sort_by_key(|cycle| std::cmp::Reverse(cycle.files.len()));
    found
}

fn reachable<'a>(arrows: &'a Arrows, from: &PathBuf) -> BTreeSet<&'a PathBuf> {
    let mut found = BTreeSet::new();
    let mut todo: Vec<&PathBuf> = arrows.keys().filter(|(start, _)| start == from).map(|(_, to)| to).collect();
    while let Some(file) = todo.pop() {
        if found.insert(file) {
            todo.extend(arrows.keys().filter(|(start, _)| start == file).map(|(_, to)| to));
        }
    }
    found
}

fn cycle(arrows: &Arrows, component: &BTreeSet<&PathBuf>) -> Cycle {
    let inside: Vec<_> =
        arrows.iter().filter(|((from, to), _)| component.contains(from) && component.contains(to)).collect();
    let weights: Vec<(&PathBuf, &PathBuf, usize)> =
        inside.iter().map(|((from, to), (_, items))| (from, to, items.len())).collect();
    let order = order(component, &weights);
    let position = |file: &PathBuf| order.iter().position(|other| *other == file);
    Cycle {
        files: component.iter().map(|file| (*file).clone()).collect(),
        arrows: inside
            .into_iter()
            .map(|((from, to), (line, items))| Arrow {
                from: from.clone(),
                to: to.clone(),
                line: *line,
                items: items.clone(),
                is_back: position(from) > position(to),
            })
            .collect(),
    }
}

/// An order with few items against it (Eades, Lin and Smyth's greedy heuristic): sinks last, sources first, else what gives most over what it takes.
fn order<'a>(component: &BTreeSet<&'a PathBuf>, weights: &[(&PathBuf, &PathBuf, usize)]) -> Vec<&'a PathBuf> {
    let mut left = component.clone();
    let (mut first, mut last) = (Vec::new(), Vec::new());
    while !left.is_empty() {
        let sum = |file: &PathBuf, outwards: bool| -> usize {
            let ends =
                weights.iter().map(|(from, to, weight)| if outwards { (from, to, weight) } else { (to, from, weight) });
            ends.filter(|(near, far, _)| **near == file && left.contains(**far)).map(|(_, _, weight)| weight).sum()
        };
        if let Some(sink) = left.iter().copied().find(|file| sum(file, true) == 0) {
            last.push(sink);
            left.remove(sink);
            continue;
        }
        let next = left
            .iter()
            .copied()
            .max_by_key(|file| (sum(file, false) == 0, sum(file, true) as i64 - sum(file, false) as i64))
            .expect("it is not empty");
        first.push(next);
        left.remove(next);
    }
    first.extend(last.into_iter().rev());
    first
}
