//! Parses a hard disk's description. The presets document the keys, with units and defaults.

use elevator::SeekCurve;

use super::dirty::MAX_RUNS;
use super::mechanics::{Mechanics, Zone};
use super::segments::Segments;
use super::{Electronics, Hdd};
use crate::device::description::Description;
use crate::device::error::DeviceError;

const HOUR_NS: u64 = 3_600_000_000_000;
const MAX_SLIPPED: usize = 64;
const SECOND_NS: u64 = 1_000_000_000;

pub(in crate::device) fn read(from: &mut Description) -> Result<Hdd, DeviceError> {
    let trial_ms = from.number_or("trial_ms", 60_000, 1, 86_400_000)?;
    let mechanics = mechanics(from)?;
    let electronics = electronics(from, trial_ms)?;
    let count = from.number_or("segments", 0, 0, 4096)?;
    let size = from.number_or("segment_sectors", 128, 1, 1 << 20)?;
    if electronics.read_ahead > size && count > 0 {
        return Err(from.inconsistent(
            "read_ahead",
            format!("reads on further than a segment of {size} sectors holds"),
        ));
    }
    let write_cache = from.number_or("write_cache", 0, 0, 1 << 24)?;
    if electronics.immediate_reporting && write_cache == 0 {
        return Err(from.inconsistent(
            "immediate_reporting",
            "needs a write_cache (in sectors) to report from",
        ));
    }
    Ok(Hdd::new(mechanics, electronics, Segments::new(count as usize, size), write_cache))
}

fn electronics(from: &mut Description, trial_ms: u64) -> Result<Electronics, DeviceError> {
    let read_overhead_ns = overheads(from, "read", 0)?;
    Ok(Electronics {
        trial_ms,
        queue_depth: from.number_or("queue_depth", 1, 1, 4096)? as u32,
        nearest_first: from.word_or_first("order", &["nearest", "arrival"])? == 0,
        order_window: from.number_or("order_window", 4096, 1, 4096)?,
        read_overhead_ns,
        hit_overhead_ns: overheads(from, "hit", read_overhead_ns[0])?,
        write_overhead_ns: overheads(from, "write", read_overhead_ns[0])?,
        reconnect_ns: from.number_or("reconnect_ns", 0, 0, SECOND_NS)?,
        read_completion_ns: from.number_or("read_completion_ns", 0, 0, SECOND_NS)?,
        write_completion_ns: from.number_or("write_completion_ns", 0, 0, SECOND_NS)?,
        write_seek_least_ns: from.number_or("write_seek_least_ns", 0, 0, SECOND_NS)?,
        bus_bytes_per_s: bus(from)?,
        read_watermark: from.number_or("read_watermark_percent", 0, 0, 100)?,
        write_watermark: from.number_or("write_watermark", 1, 1, 1 << 20)?,
        read_ahead: from.number_or("read_ahead", 0, 0, 1 << 20)?,
        read_to_track_end: from.word_or_first("read_on", &["sectors", "track"])? == 1,
        read_on_idle_hit: from.switch_or("read_on_idle_hit", true)?,
        almost_hits: from.switch_or("almost_hits", true)?,
        immediate_reporting: from.switch_or("immediate_reporting", false)?,
        write_runs: from.number_or("write_runs", MAX_RUNS, 1, MAX_RUNS)?,
    })
}

/// Overheads after a read and after a write, by default equal.
fn overheads(from: &mut Description, of: &str, default: u64) -> Result<[u64; 2], DeviceError> {
    let after_read = from.number_or(&format!("{of}_overhead_ns"), default, 0, SECOND_NS)?;
    Ok([
        after_read,
        from.number_or(&format!("{of}_overhead_after_write_ns"), after_read, 0, SECOND_NS)?,
    ])
}

/// Rates for reads and writes; through the measuring host at most its rate.
fn bus(from: &mut Description) -> Result<[u64; 2], DeviceError> {
    let bus =
        from.number("bus_bytes_per_s", "bytes a second between host and drive", 1000, 1 << 40)?;
    let reads = from.number_or("host_bytes_per_s", 1 << 40, 1000, 1 << 40)?;
    let writes = from.number_or("host_write_bytes_per_s", reads, 1000, 1 << 40)?;
    let through = from.switch_or("through_host", false)?;
    if through && !from.has("host_bytes_per_s") {
        return Err(
            from.inconsistent("through_host", "needs host_bytes_per_s, what the host takes")
        );
    }
    Ok(if through { [bus.min(reads), bus.min(writes)] } else { [bus; 2] })
}

fn mechanics(from: &mut Description) -> Result<Mechanics, DeviceError> {
    let cylinders = from.number("cylinders", "cylinders of the disk", 1, 1_000_000)?;
    let heads = from.number("heads", "data surfaces", 1, 256)?;
    let rpm = from.number("rpm", "revolutions a minute", 300, 100_000)?;
    let spare = from.number_or("spare_sectors_per_cylinder", 0, 0, 65_535)?;
    let zones = zones(from, cylinders, heads, spare)?;
    let total = zones.last().map_or(0, |zone| zone.first_sector + zone.sectors());
    let sectors = from.number_or("sectors", total, 1, u64::MAX >> 16)?;
    if sectors > total {
        return Err(
            from.inconsistent("sectors", format!("{sectors} sectors, but the zones hold {total}"))
        );
    }
    let seek = seek_curve(from, cylinders)?;
    Ok(Mechanics::new(
        zones,
        heads as u32,
        sectors,
        (60 * SECOND_NS + rpm / 2) / rpm,
        from.number_or("head_switch_ns", 0, 0, SECOND_NS)?,
        [
            from.number_or("write_settle_ns", 0, 0, SECOND_NS)?,
            from.number_or("write_lead_ns", 0, 0, SECOND_NS)?,
        ],
        spare,
        seek,
    ))
}

/// Either `zones = [[cylinders, sectors per track, track skew, cylinder skew], …]` from the outside
/// in, each optionally with the first track's angle in sectors, the reserved and spare tracks, and
/// the slipped tracks; or `zone_count` zones of (nearly) equal size between
/// `sectors_per_track_outer` and `sectors_per_track_inner`, whose skews keep the time of the
/// outermost zone.
fn zones(
    from: &mut Description,
    cylinders: u64,
    heads: u64,
    spare: u64,
) -> Result<Vec<Zone>, DeviceError> {
    let listed = from.length("zones", 4096)?;
    let mut zones = Vec::new();
    if listed > 0 {
        for at in 0..listed {
            let key = format!("zones.{at}");
            let parts = from.length(&key, 7 + MAX_SLIPPED)?;
            if parts != 4 && parts < 7 {
                let why = "a zone is [cylinders, sectors per track, track skew, cylinder skew], or these and [angle of its first \
                           track, reserved tracks, spare tracks, slipped tracks]";
                return Err(from.inconsistent(&key, why));
            }
            let mut number = |part: usize, min, max| {
                from.number(&format!("{key}.{part}"), "part of a zone", min, max)
            };
            let (count, spt) = (number(0, 1, cylinders)?, number(1, 1, 65_535)?);
            let skews = [number(2, 0, spt)?, number(3, 0, spt)?];
            let (mut layout, most) = (Layout::default(), count * heads - 1);
            if parts > 4 {
                let [phase, reserved, spare] =
                    [number(4, 0, spt - 1)?, number(5, 0, most)?, number(6, 0, most)?];
                let slipped = (7..parts).map(|at| number(at, 0, most)).collect::<Result<_, _>>()?;
                layout = Layout { phase, reserved, spare, slipped };
            }
            add(from, &key, &mut zones, ([count, spt, skews[0], skews[1]], layout), heads, spare)?;
        }
        let sum: u64 = zones.iter().map(|zone| u64::from(zone.cylinders)).sum();
        if sum != cylinders {
            let why = format!("the zones have {sum} cylinders together, the disk has {cylinders}");
            return Err(from.inconsistent("zones", why));
        }
        return Ok(zones);
    }
    let count = from.number_or("zone_count", 1, 1, 4096)?;
    let outer = from.number(
        "sectors_per_track_outer",
        "sectors of the outermost tracks; or give zones",
        1,
        65_535,
    )?;
    let inner = from.number_or("sectors_per_track_inner", outer, 1, outer)?;
    let skews =
        [from.number_or("track_skew", 0, 0, outer)?, from.number_or("cylinder_skew", 0, 0, outer)?];
    if count > cylinders {
        return Err(
            from.inconsistent("zone_count", format!("{count} zones for {cylinders} cylinders"))
        );
    }
    for at in 0..count {
        let spt = outer - (outer - inner) * at / (count - 1).max(1);
        let size = cylinders * (at + 1) / count - cylinders * at / count;
        let [track, cylinder] = skews.map(|skew| (skew * spt).div_ceil(outer));
        add(
            from,
            "zone_count",
            &mut zones,
            ([size, spt, track, cylinder], Layout::default()),
            heads,
            spare,
        )?;
    }
    Ok(zones)
}

/// Which tracks of a zone hold numbered sectors; by default all.
#[derive(Default)]
struct Layout {
    phase: u64,
    reserved: u64,
    spare: u64,
    slipped: Vec<u64>,
}

impl Layout {
    fn check(&self, tracks: u64, spare_sectors: u64) -> Result<(), String> {
        let Layout { reserved, spare, slipped, .. } = self;
        let last = tracks - 1 - (*spare).min(tracks - 1) + slipped.len() as u64;
        if reserved + spare >= tracks {
            Err(format!("{reserved} reserved and {spare} spare tracks leave none of {tracks}"))
        } else if spare_sectors > 0 && reserved + spare > 0 {
            Err("a disk has spare sectors in its cylinders or spare and reserved tracks in its zones, not both"
                .to_owned())
        } else if slipped.len() as u64 > *spare {
            Err(format!("{} slipped tracks, but {spare} spare ones", slipped.len()))
        } else if !slipped.is_sorted_by(|before, after| before < after) {
            Err("the slipped tracks do not grow".to_owned())
        } else if slipped.iter().any(|track| track < reserved || *track >= last) {
            Err(format!(
                "slipped tracks lie between the reserved ones and the last one in use, {reserved} to {}",
                last - 1
            ))
        } else {
            Ok(())
        }
    }
}

fn add(
    from: &Description,
    key: &str,
    zones: &mut Vec<Zone>,
    ([cylinders, spt, track_skew, cylinder_skew], layout): ([u64; 4], Layout),
    heads: u64,
    spare: u64,
) -> Result<(), DeviceError> {
    if spare >= spt {
        let why = format!("{spare} spare sectors in a cylinder, but its tracks have {spt} sectors");
        return Err(from.inconsistent(key, why));
    }
    layout.check(cylinders * heads, spare).map_err(|why| from.inconsistent(key, why))?;
    let (first_sector, first_cylinder) = zones.last().map_or((0, 0), |zone: &Zone| {
        (zone.first_sector + zone.sectors(), zone.first_cylinder + zone.cylinders)
    });
    zones.push(Zone {
        first_sector,
        first_cylinder,
        cylinders: cylinders as u32,
        sectors_per_track: spt,
        sectors_per_cylinder: heads * spt - spare,
        track_skew,
        skew_per_cylinder: ((heads - 1) * track_skew + cylinder_skew) % spt,
        phase: layout.phase,
        reserved_tracks: layout.reserved,
        spare_tracks: layout.spare,
        slipped: layout.slipped,
    });
    Ok(())
}

/// A measured curve is not smooth, and the two parts of a fitted one do not meet exactly: over one
/// more cylinder the time may fall by 5 %.
fn falls(before: u64, after: u64) -> bool {
    after < before - before / 20
}

fn seek_curve(from: &mut Description, cylinders: u64) -> Result<SeekCurve, DeviceError> {
    let mut first = Vec::new();
    for at in 0..from.length("seek.first_ns", 1024)? {
        first.push(from.number(&format!("seek.first_ns.{at}"), "a seek time", 0, SECOND_NS)?);
    }
    let curve = SeekCurve {
        first,
        knee: from.number_or("seek.knee", 0, 0, 1_000_000)?,
        a_ns: from.number_or("seek.a_ns", 0, 0, SECOND_NS)?,
        b_ns: from.number_or("seek.b_ns", 0, 0, SECOND_NS / 1000)?,
        c_ns: from.number(
            "seek.c_ns",
            "constant of the linear part of the seek curve",
            0,
            SECOND_NS,
        )?,
        e_ps: from.number(
            "seek.e_ps",
            "factor of the linear part, in picoseconds a cylinder",
            0,
            HOUR_NS / 1000,
        )?,
    };
    if curve.seek_ns(cylinders - 1) > SECOND_NS {
        return Err(
            from.inconsistent("seek.e_ps", "a seek over the whole disk takes more than a second")
        );
    }
    let listed = curve.first.len() as u64;
    for distance in 1..=listed.min(cylinders.saturating_sub(2)) {
        let (here, there) = (curve.seek_ns(distance), curve.seek_ns(distance + 1));
        if falls(here, there) {
            let why = format!(
                "the time falls from {here} ns at {distance} cylinders to {there} ns at {}",
                distance + 1
            );
            return Err(from.inconsistent("seek.first_ns", why));
        }
    }
    let (here, there) = (curve.seek_ns(curve.knee), curve.seek_ns(curve.knee + 1));
    if curve.knee + 1 < cylinders && falls(here, there) {
        let why = format!(
            "the time falls from {here} ns at the knee to {there} ns beyond; the curve must not decrease"
        );
        return Err(from.inconsistent("seek.knee", why));
    }
    Ok(curve)
}
