//! Fits a hard disk from reads alone.
//!
//! Source: Worthington, Ganger, Patt & Wilkes, On-Line Extraction of SCSI Disk Drive Parameters,
//! SIGMETRICS 1995, and Talagala, Arpaci-Dusseau & Patterson, UCB/CSD-99-1063. Departures: no SCSI
//! commands other than reads, so tracks are found by sector angles (`bench`, `tracks`) and seeks
//! timed at chosen angles (`seek`). Reads do not show write overhead and settling, the write cache,
//! or hidden spare sectors: writes get the reads' overhead, the rest the defaults.

mod bench;
mod cache;
mod curve;
mod geometry;
mod rotation;
mod seek;
mod tracks;

use std::fmt::Write as _;

use elevator::SECTOR_BYTES;

use crate::fit::drive::{Drive, FitError, Read};
use bench::Bench;
use cache::Cache;
use geometry::Geometry;
use seek::Move;

pub use curve::Curve;

const QUEUED_READS: usize = 200;

/// Locations and lengths in units of the smallest read.
#[derive(Debug)]
pub struct Hdd {
    unit: u64,
    sectors: u64,
    queue_depth: u32,
    /// Nanoseconds per revolution.
    pub period_ns: f64,
    /// SD of an angle, in turns.
    pub noise: f64,
    geometry: Geometry,
    cache: Cache,
    pub curve: Curve,
    overhead_ns: f64,
    head_switch_ns: f64,
    orders: bool,
}

/// # Errors
/// [`FitError::Unfit`] if it does not behave like a spindle with tracks.
pub fn measure(
    drive: &mut dyn Drive,
    seed: u64,
    say: &mut dyn FnMut(&str),
) -> Result<Hdd, FitError> {
    let facts = drive.facts().clone();
    let mut bench = Bench::new(drive, seed);
    say("hits of the read cache");
    cache::hits(&mut bench)?;
    say("time of a revolution");
    rotation::measure(&mut bench)?;
    say("reading on, segments");
    let cache = cache::measure(&mut bench)?;
    let geometry = geometry::measure(&mut bench, say)?;
    say("overhead and head switch");
    let overhead_ns = seek::least(&mut bench, &geometry, Move::None)?;
    let head_switch_ns = match geometry.heads {
        1 => 0.0,
        _ => (seek::least(&mut bench, &geometry, Move::Head)? - overhead_ns).max(0.0),
    };
    let mut times = Vec::new();
    for distance in seek::distances(geometry.cylinders()) {
        say(&format!("seeks over {distance} of {} cylinders", geometry.cylinders()));
        let ns = seek::least(&mut bench, &geometry, Move::Seek(distance))? - overhead_ns;
        times.push(seek::Least { distance, ns: ns.max(1.0) });
    }
    let (period_ns, noise) = (bench.period_ns, bench.noise);
    say("order of queued reads");
    let orders = facts.queue_depth > 1 && is_faster_queued(&mut bench, facts.queue_depth.min(32))?;
    Ok(Hdd {
        unit: facts.unit.into(),
        sectors: facts.sectors,
        queue_depth: facts.queue_depth,
        period_ns,
        noise,
        geometry,
        cache,
        curve: curve::fit(&times),
        overhead_ns,
        head_switch_ns,
        orders,
    })
}

/// Whether random reads are faster when queued, which requires reordering.
fn is_faster_queued(bench: &mut Bench<'_>, depth: u32) -> Result<bool, FitError> {
    let mut took = [0, 0];
    for (took, depth) in took.iter_mut().zip([1, depth]) {
        let places: Vec<u64> =
            (0..QUEUED_READS).map(|_| bench.anywhere() * u64::from(bench.unit)).collect();
        let reads: Vec<Read> =
            places.into_iter().map(|sector| Read { sector, sectors: bench.unit }).collect();
        let began = bench.drive.now();
        bench.drive.read_many(depth, &reads)?;
        *took = bench.drive.now() - began;
    }
    Ok(took[1] as f64 * 1.1 < took[0] as f64)
}

impl Hdd {
    pub fn shape(&self) -> (u64, u64, usize) {
        (self.geometry.cylinders(), self.geometry.heads, self.geometry.zones.len())
    }

    pub fn rpm(&self) -> u64 {
        (60e9 / self.period_ns).round() as u64
    }

    fn media_bytes_per_s(&self) -> f64 {
        let track = self.geometry.zones.first().map_or(1, |zone| zone.track) * self.unit;
        (track * SECTOR_BYTES) as f64 * 1e9 / self.period_ns
    }

    fn bus_bytes_per_s(&self) -> u64 {
        let unit_bytes = (self.unit * SECTOR_BYTES) as f64;
        let bus =
            if self.cache.unit_ns > 0.0 { unit_bytes * 1e9 / self.cache.unit_ns } else { 0.0 };
        // Without an answer from cache hits, the bus is assumed not to limit.
        let bus = if bus > 0.0 { bus } else { 4.0 * self.media_bytes_per_s() };
        (bus.round() as u64).clamp(1000, 1 << 40)
    }

    pub fn keys(&self) -> String {
        let unit_ns = (self.unit * SECTOR_BYTES) as f64 * 1e9 / self.bus_bytes_per_s() as f64;
        let mut text = String::new();
        let mut key = |name: &str, value: String| _ = writeln!(text, "{name} = {value}");
        key("model", "\"hdd\"".to_owned());
        key("sectors", self.sectors.to_string());
        key("cylinders", self.geometry.cylinders().to_string());
        key("heads", self.geometry.heads.to_string());
        key("rpm", self.rpm().to_string());
        if self.geometry.spare > 0 {
            key("spare_sectors_per_cylinder", (self.geometry.spare * self.unit).to_string());
        }
        key("zones", self.zones());
        key("head_switch_ns", rounded(self.head_switch_ns));
        key("read_overhead_ns", rounded(self.overhead_ns - unit_ns));
        if self.cache.segments > 0 {
            key("hit_overhead_ns", rounded(self.cache.hit_ns - unit_ns));
            key("segments", self.cache.segments.to_string());
            let segment =
                (self.cache.segment.max(self.cache.read_ahead) * self.unit).clamp(1, 1 << 20);
            key("segment_sectors", segment.to_string());
            key("read_ahead", (self.cache.read_ahead * self.unit).min(segment).to_string());
            key(
                "read_on",
                if self.cache.to_track_end { "\"track\"" } else { "\"sectors\"" }.to_owned(),
            );
        }
        key("bus_bytes_per_s", self.bus_bytes_per_s().to_string());
        key("queue_depth", self.queue_depth.clamp(1, 4096).to_string());
        key("order", if self.orders { "\"nearest\"" } else { "\"arrival\"" }.to_owned());
        let Curve { first, knee, a_ns, b_ns, c_ns, e_ns } = &self.curve;
        let first = first.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        let _ = write!(
            text,
            "\n[seek]\nfirst_ns = [{first}]\nknee = {knee}\na_ns = {}\nb_ns = {}\nc_ns = {}\ne_ps = {}\n",
            rounded(*a_ns),
            rounded(*b_ns),
            rounded(*c_ns),
            rounded(e_ns * 1000.0)
        );
        text
    }

    fn zones(&self) -> String {
        let of = |zone: &geometry::Zone| {
            let track = zone.track * self.unit;
            let phase = ((zone.phase * track as f64).round() as u64) % track;
            let numbers = [
                zone.cylinders,
                track,
                zone.track_skew * self.unit,
                zone.cylinder_skew * self.unit,
                phase,
                zone.reserved,
                zone.spare_tracks,
            ];
            // The short form suffices without spare or reserved tracks at angle 0; spare sectors
            // per cylinder exclude both.
            let shown = if numbers[4..] == [0, 0, 0] || self.geometry.spare > 0 { 4 } else { 7 };
            let numbers =
                numbers[..shown].iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            format!("[{numbers}]")
        };
        format!("[{}]", self.geometry.zones.iter().map(of).collect::<Vec<_>>().join(", "))
    }
}

fn rounded(ns: f64) -> String {
    (ns.max(0.0).round() as u64).to_string()
}
