//! Zones, heads and skews: from tracks to the numbers of a description, and from a unit to its
//! cylinder and angle.

use super::bench::{Bench, turns};
use super::tracks::{self, Track};
use crate::fit::drive::FitError;

/// Tracks measured first; zones are searched between differing neighbours.
const POINTS: u64 = 16;
/// Resolution as a fraction of the disk.
const FINE: u64 = 1 << 14;
/// Maximum tracks walked until the cylinders are known.
const MAX_TRACKS: usize = 72;
const MAX_ZONES: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Zone {
    pub(super) first: u64,
    /// First unit after its last.
    pub(super) end: u64,
    pub(super) first_cylinder: u64,
    pub(super) cylinders: u64,
    pub(super) track: u64,
    pub(super) track_skew: u64,
    pub(super) cylinder_skew: u64,
    /// Tracks before the first and after the last numbered unit.
    pub(super) reserved: u64,
    pub(super) spare_tracks: u64,
    /// Angle of its first cylinder, in turns from the reference.
    pub(super) phase: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Geometry {
    pub(super) zones: Vec<Zone>,
    pub(super) heads: u64,
    /// Units by which a cylinder's last track is shorter.
    pub(super) spare: u64,
}

impl Geometry {
    pub(super) fn cylinders(&self) -> u64 {
        self.zones.last().map_or(0, |zone| zone.first_cylinder + zone.cylinders)
    }

    fn per_cylinder(&self, zone: &Zone) -> u64 {
        self.heads * zone.track - self.spare
    }

    fn zone_of_cylinder(&self, cylinder: u64) -> &Zone {
        let at = self.zones.partition_point(|zone| zone.first_cylinder <= cylinder);
        &self.zones[at.saturating_sub(1)]
    }

    /// The first numbered unit, if any.
    pub(super) fn track_start(&self, cylinder: u64, head: u64) -> Option<(u64, u64)> {
        let zone = self.zone_of_cylinder(cylinder);
        let from = (cylinder - zone.first_cylinder) * self.per_cylinder(zone) + head * zone.track;
        let first = (zone.first + from).checked_sub(zone.reserved * zone.track)?;
        let spare = if head + 1 == self.heads { self.spare } else { 0 };
        (first >= zone.first && first + zone.track <= zone.end)
            .then_some((first, zone.track - spare))
    }

    /// The passing time in turns.
    pub(super) fn turn(&self, unit: u64) -> f64 {
        let at = self.zones.partition_point(|zone| zone.first <= unit);
        1.0 / self.zones[at.saturating_sub(1)].track as f64
    }
}

pub(super) fn measure(
    bench: &mut Bench<'_>,
    say: &mut dyn FnMut(&str),
) -> Result<Geometry, FitError> {
    let lengths = zones(bench, say)?;
    let mut geometry = Geometry { zones: Vec::new(), heads: 0, spare: 0 };
    let mut first_cylinder = 0;
    for (at, (first, track)) in lengths.iter().enumerate() {
        let end = lengths.get(at + 1).map_or(bench.units, |(next, _)| *next);
        say(&format!("skews of zone {} of {}", at + 1, lengths.len()));
        let walked = walk(bench, Track { first: *first, units: *track }, end, geometry.heads)?;
        if at == 0 {
            (geometry.heads, geometry.spare) = (walked.heads, walked.spare);
        }
        let heads = geometry.heads;
        let per_cylinder = heads * track - geometry.spare;
        let reserved = if heads > 1 { (heads - walked.to_cylinder.min(heads)) % heads } else { 0 };
        let numbered = end - first + reserved * track;
        let cylinders = numbered.div_ceil(per_cylinder);
        let spare_tracks = (cylinders * per_cylinder - numbered) / track;
        let begins = bench.angle(*first)? - 1.0 / *track as f64;
        let phase = turns(begins - (reserved * walked.track_skew) as f64 / *track as f64);
        geometry.zones.push(Zone {
            first: *first,
            end,
            first_cylinder,
            cylinders,
            track: *track,
            track_skew: walked.track_skew,
            cylinder_skew: walked.cylinder_skew,
            reserved,
            spare_tracks,
            phase,
        });
        first_cylinder += cylinders;
    }
    Ok(geometry)
}

fn zones(bench: &mut Bench<'_>, say: &mut dyn FnMut(&str)) -> Result<Vec<(u64, u64)>, FitError> {
    let mut points = Vec::new();
    for point in 0..=POINTS {
        say(&format!("tracks at {point} of {POINTS} of the disk"));
        let at = ((bench.units - 1) * point / POINTS).min(bench.units - 1);
        points.push(tracks::track_below(bench, at)?);
    }
    let mut found = vec![(0, points[0].units)];
    for pair in points.windows(2) {
        zones_between(bench, pair[0], pair[1], &mut found)?;
    }
    if found.len() > MAX_ZONES {
        return Err(FitError::Unfit {
            what: "too many zones",
            found: found.len().to_string(),
            next: "measure an idle device",
        });
    }
    Ok(found)
}

fn zones_between(
    bench: &mut Bench<'_>,
    low: Track,
    high: Track,
    found: &mut Vec<(u64, u64)>,
) -> Result<(), FitError> {
    if low.units == high.units || found.len() > MAX_ZONES {
        return Ok(());
    }
    if low.end() >= high.first {
        found.push((high.first, high.units));
        return Ok(());
    }
    // Exactly the track below the higher one unless a whole track fits between.
    let near = high.first - low.end() <= 2 * low.units.max(high.units);
    let at = if near { high.first } else { low.end() + (high.first - low.end()) / 2 + high.units };
    let middle = tracks::track_below(bench, at.min(high.first))?;
    if middle.first <= low.first || middle.first >= high.first {
        found.push((low.end(), high.units));
        return Ok(());
    }
    if high.first - low.end() < bench.units / FINE && middle.units == high.units {
        found.push((middle.first, high.units));
        return Ok(());
    }
    zones_between(bench, low, middle, found)?;
    zones_between(bench, middle, high, found)
}

struct Walked {
    heads: u64,
    spare: u64,
    track_skew: u64,
    cylinder_skew: u64,
    to_cylinder: u64,
}

/// Walks until two cylinders have begun, or one if heads are known.
fn walk(bench: &mut Bench<'_>, first: Track, end: u64, heads: u64) -> Result<Walked, FitError> {
    let tolerance = tracks::tolerance(bench, first.units);
    let (mut track, mut skews, mut spare) = (first, Vec::new(), 0);
    let most = if heads > 0 { (2 * heads + 2) as usize } else { MAX_TRACKS };
    while skews.len() < most && track.end() + track.units <= end {
        let Some((next, skew)) = tracks::next(bench, track)? else { break };
        spare = spare.max(track.end() - next.first);
        skews.push(skew);
        track = next;
        let enough = |(_, gap)| skews.len() as u64 > 3 * gap;
        if heads == 0 && skews.len() % 8 == 0 && cylinder_of(&skews, tolerance).is_some_and(enough)
        {
            break;
        }
    }
    let least = common(&skews, tolerance);
    Ok(match cylinder_of(&skews, tolerance) {
        Some((at, gap)) => Walked {
            heads: if heads > 0 { heads } else { gap },
            spare,
            track_skew: least,
            cylinder_skew: skews[at],
            to_cylinder: at as u64 + 1,
        },
        // All alike: each track counts as a cylinder.
        None if heads <= 1 => {
            Walked { heads: 1, spare, track_skew: 0, cylinder_skew: least, to_cylinder: 1 }
        }
        None => {
            Walked { heads, spare, track_skew: least, cylinder_skew: least, to_cylinder: heads }
        }
    })
}

/// The most frequent skew: mean of similar ones, smaller of a tie.
fn common(skews: &[u64], tolerance: u64) -> u64 {
    let alike =
        |skew: u64| skews.iter().copied().filter(move |other| other.abs_diff(skew) <= tolerance);
    let most = skews.iter().map(|skew| alike(*skew).count()).max().unwrap_or(0);
    let least =
        skews.iter().copied().filter(|skew| alike(*skew).count() + 1 >= most).min().unwrap_or(0);
    let (sum, count) = alike(least).fold((0, 0), |(sum, count), skew| (sum + skew, count + 1));
    (sum + count / 2) / count.max(1)
}

/// Finds the first cylinder and the tracks per cylinder: cylinders begin at uncommon skews.
fn cylinder_of(skews: &[u64], tolerance: u64) -> Option<(usize, u64)> {
    let least = common(skews, tolerance);
    let differs = |skew: u64| skew.abs_diff(least) > tolerance;
    let mut others = skews.iter().enumerate().filter(|(_, skew)| differs(**skew)).map(|(at, _)| at);
    let first = others.next()?;
    Some((first, (others.next().unwrap_or(2 * first + 1) - first) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cylinders_show_in_the_skews_even_of_two_heads_and_of_one() {
        let of = |heads: usize| {
            (1..40).map(|at| if at % heads == 0 { 18 } else { 8 }).collect::<Vec<u64>>()
        };
        assert_eq!(cylinder_of(&of(19), 1), Some((18, 19)));
        assert_eq!(cylinder_of(&of(4), 1), Some((3, 4)));
        assert_eq!(cylinder_of(&of(2), 1), Some((1, 2)));
        assert_eq!(cylinder_of(&of(1), 1), None, "a cylinder is a track");
    }
}
