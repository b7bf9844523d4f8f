//! Placement of a trace's disks on the target of a replay.

use crate::io::{Io, Kind};
use crate::trace::Trace;

use super::types::ReplayError;

/// In sectors: 1 MiB.
const BORDER: u64 = 2048;

const ALL: &str = "all";

/// First sector on the target; `None` if not replayed.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) bases: Vec<Option<u64>>,
    /// A single disk's size if known, otherwise the range in use.
    pub(super) span: u64,
    pub(super) others: Vec<String>,
}

/// Only requests that move data are replayed.
pub(super) fn moves(io: &Io) -> bool {
    matches!(io.kind, Kind::Read | Kind::Write) && io.sectors > 0
}

impl Layout {
    /// The disk named by `only`, or [`ALL`], or the default of [`chosen`].
    pub(super) fn from_trace(trace: &Trace, only: Option<&str>) -> Result<Layout, ReplayError> {
        let devices = &trace.devices;
        let mut ends = vec![0u64; devices.len()];
        for io in trace.ios.iter().filter(|io| moves(io)) {
            let end = &mut ends[usize::from(io.device)];
            *end = io.end().max(*end);
        }
        let used = |number: &usize| ends[*number] > 0;
        let chosen = chosen(trace, only, (0..devices.len()).filter(used).collect())?;
        let mut bases = vec![None; devices.len()];
        let mut next = 0u64;
        for &number in &chosen {
            bases[number] = Some(next);
            next = ends[number]
                .checked_next_multiple_of(BORDER)
                .and_then(|end| next.checked_add(end))
                .unwrap_or(u64::MAX);
        }
        if next > u64::MAX / 512 {
            return Err(ReplayError(
                "disks: one after another they end beyond 64 bits; name one of them (device=NAME)"
                    .into(),
            ));
        }
        let others = (0..devices.len()).filter(used).filter(|number| bases[*number].is_none());
        let others = others.map(|number| devices[number].name.clone()).collect();
        let span = match chosen[..] {
            [one] => devices[one].sectors.max(ends[one]),
            _ => next,
        };
        Ok(Layout { bases, span, others })
    }
}

/// The disks to replay, among those with reads or writes.
///
/// Disks of one kernel may be stacked, which repeats requests: by default only the one with the
/// first request is replayed. Files or volumes of other formats are all replayed.
fn chosen(trace: &Trace, only: Option<&str>, used: Vec<usize>) -> Result<Vec<usize>, ReplayError> {
    let devices = &trace.devices;
    let is_below = |number: &usize| {
        let name = &devices[*number].name;
        used.iter().any(|upper| upper != number && devices[*upper].below.contains(name))
    };
    match only {
        None if used.iter().any(|number| devices[*number].major > 0) => {
            let first = trace.ios.iter().find(|io| moves(io)).map(|io| usize::from(io.device));
            Ok(first.into_iter().collect())
        }
        None => Ok(used),
        Some(ALL) => {
            let upper: Vec<usize> =
                used.iter().copied().filter(|number| !is_below(number)).collect();
            // A cycle of disks is not a stack.
            Ok(if upper.is_empty() { used } else { upper })
        }
        Some(only) => {
            let named = |number: &usize| {
                let device = &devices[*number];
                device.name == only || format!("{},{}", device.major, device.minor) == only
            };
            let found: Vec<usize> = used.iter().copied().filter(named).collect();
            if found.is_empty() {
                let names: Vec<&str> =
                    used.iter().take(20).map(|number| devices[*number].name.as_str()).collect();
                let problem = format!(
                    "device: {only:?} is not a disk with reads or writes in the trace (found {}); name one of them, or all",
                    names.join(", ")
                );
                return Err(ReplayError(problem));
            }
            Ok(found)
        }
    }
}
