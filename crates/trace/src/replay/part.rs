//! Selects a representative part of a trace that is too long to replay.
//!
//! Proposed here [P]: windows of the requested length are compared with the whole trace by
//! requests/s, bytes/s, share of reads, mean length, share of sequential requests, mean log
//! distance, and active processes, each in standard deviations over all windows. The window with
//! the smallest mean square wins, the first of equals. Windows start every half length, at most
//! [`WINDOWS`].

use std::collections::BTreeSet;

use crate::io::{Io, Kind};

use super::layout::moves;

const WINDOWS: u64 = 20_000;

pub(super) const FEATURES: [&str; 7] = [
    "requests/s",
    "MB/s",
    "% reads",
    "KiB a request",
    "% sequential",
    "log2 of the distance",
    "processes",
];

#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub from_ns: u64,
    pub length_ns: u64,
    pub windows: usize,
    /// RMS over the features, in standard deviations.
    pub distance: f64,
    /// Name, value of the part, value of the whole.
    pub features: Vec<(&'static str, f64, f64)>,
}

impl Eq for Part {}

#[derive(Debug, Clone, Default)]
struct Sums {
    requests: u64,
    reads: u64,
    sectors: u64,
    sequential: u64,
    distance: f64,
    processes: BTreeSet<u32>,
}

impl Sums {
    fn add(&mut self, io: &Io, distance: u64) {
        self.requests += 1;
        self.reads += u64::from(io.kind == Kind::Read);
        self.sectors += u64::from(io.sectors);
        self.sequential += u64::from(distance == 0);
        self.distance += (1.0 + distance as f64).log2();
        self.processes.insert(io.process);
    }

    fn features(&self, seconds: f64, processes: f64) -> [f64; FEATURES.len()] {
        let requests = self.requests.max(1) as f64;
        [
            self.requests as f64 / seconds,
            self.sectors as f64 * 512.0 / 1e6 / seconds,
            100.0 * self.reads as f64 / requests,
            self.sectors as f64 / 2.0 / requests,
            100.0 * self.sequential as f64 / requests,
            self.distance / requests,
            processes,
        ]
    }
}

/// Returns `None` if the whole is not longer.
pub(super) fn choose(ios: &[Io], length_ns: u64) -> Option<Part> {
    let total = ios.last()?.queued.saturating_add(1);
    if length_ns == 0 || total <= length_ns {
        return None;
    }
    let stride = (length_ns / 2).max(total / WINDOWS).max(1);
    let count =
        usize::try_from((total - length_ns) / stride + 1).expect("at most WINDOWS times two");
    let (mut whole, mut windows) = (Sums::default(), vec![Sums::default(); count]);
    let mut head = None;
    for io in ios.iter().filter(|io| moves(io)) {
        let distance = head.map_or(0, |end: u64| end.abs_diff(io.sector));
        head = Some(io.end());
        whole.add(io, distance);
        let last = (io.queued / stride).min(count as u64 - 1);
        for number in (0..=last).rev().take_while(|number| number * stride + length_ns > io.queued)
        {
            windows[number as usize].add(io, distance);
        }
    }
    // Processes of the whole are averaged over non-empty windows, as in a window.
    let busy: Vec<(usize, &Sums)> =
        windows.iter().enumerate().filter(|(_, sums)| sums.requests > 0).collect();
    let processes = busy.iter().map(|(_, sums)| sums.processes.len() as f64).sum::<f64>()
        / busy.len().max(1) as f64;
    let seconds = |ns: u64| ns as f64 / 1e9;
    let of_whole = whole.features(seconds(total), processes);
    let features: Vec<(usize, [f64; FEATURES.len()])> = busy
        .iter()
        .map(|(number, sums)| {
            (*number, sums.features(seconds(length_ns), sums.processes.len() as f64))
        })
        .collect();
    let scale = deviations(&features);
    let distance = |of: &[f64; FEATURES.len()]| {
        let square = |at: usize| {
            if scale[at] > 0.0 { ((of[at] - of_whole[at]) / scale[at]).powi(2) } else { 0.0 }
        };
        ((0..FEATURES.len()).map(square).sum::<f64>() / FEATURES.len() as f64).sqrt()
    };
    let (number, of) = features.iter().min_by(|a, b| distance(&a.1).total_cmp(&distance(&b.1)))?;
    let triples = (0..FEATURES.len()).map(|at| (FEATURES[at], of[at], of_whole[at]));
    Some(Part {
        from_ns: *number as u64 * stride,
        length_ns,
        windows: features.len(),
        distance: distance(of),
        features: triples.collect(),
    })
}

fn deviations(windows: &[(usize, [f64; FEATURES.len()])]) -> [f64; FEATURES.len()] {
    let count = windows.len().max(1) as f64;
    std::array::from_fn(|at| {
        let mean = windows.iter().map(|(_, of)| of[at]).sum::<f64>() / count;
        (windows.iter().map(|(_, of)| (of[at] - mean).powi(2)).sum::<f64>() / count).sqrt()
    })
}
