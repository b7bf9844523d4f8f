//! Fits the curve of a description to seek times: a + b·√d up to the knee, c + e·d beyond, and
//! individual times where the root does not fit.

use super::seek::Least;

/// The curve, in nanoseconds and cylinders.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// Individual times of the first distances, which override the root.
    pub first: Vec<u64>,
    pub knee: u64,
    pub a_ns: f64,
    pub b_ns: f64,
    pub c_ns: f64,
    pub e_ns: f64,
}

const MAX_FIRST: usize = 16;
/// Relative error that gives a distance its own time.
const OFF: f64 = 0.01;

impl Curve {
    pub fn seek_ns(&self, distance: u64) -> f64 {
        let d = distance as f64;
        match self.first.get((distance as usize).wrapping_sub(1)) {
            _ if distance == 0 => 0.0,
            Some(ns) => *ns as f64,
            None if distance <= self.knee => self.a_ns + self.b_ns * d.sqrt(),
            None => self.c_ns + self.e_ns * d,
        }
    }
}

/// Minimizes the squared relative errors over all positions of the knee.
pub(super) fn fit(times: &[Least]) -> Curve {
    let none = Curve::default();
    let Some(last) = times.last() else { return none };
    if times.len() < 6 {
        let mean = times.iter().map(|of| of.ns).sum::<f64>() / times.len() as f64;
        let listed = times.iter().map(|of| of.ns.max(0.0) as u64).collect();
        return Curve { first: listed, c_ns: mean, ..none };
    }
    let mut best = (f64::INFINITY, none);
    for split in 3..=times.len() - 3 {
        let (near, far) = times.split_at(split);
        let Some((a, b)) = line(near, f64::sqrt) else { continue };
        let Some((c, e)) = line(far, |d| d) else { continue };
        let curve = Curve {
            first: Vec::new(),
            knee: closest_distance(a, b, c, e, near[split - 1].distance, far[0].distance),
            a_ns: a.max(0.0),
            b_ns: b.max(0.0),
            c_ns: c.max(0.0),
            e_ns: e.max(0.0),
        };
        let off: f64 =
            times.iter().map(|of| (curve.seek_ns(of.distance) / of.ns - 1.0).powi(2)).sum();
        // A curve that falls at the knee would be rejected.
        let falls = curve.seek_ns(curve.knee + 1) < 0.96 * curve.seek_ns(curve.knee);
        if off < best.0 && !falls && curve.knee < last.distance {
            best = (off, curve);
        }
    }
    let curve = best.1;
    let off = |of: &Least| (curve.seek_ns(of.distance) / of.ns - 1.0).abs() > OFF;
    let consecutive =
        times.iter().enumerate().take_while(|(at, of)| of.distance == *at as u64 + 1).count();
    let listed = times[..consecutive.min(MAX_FIRST)].iter().rposition(off).map_or(0, |at| at + 1);
    let mut next = curve.seek_ns(listed as u64 + 1);
    let mut first: Vec<u64> =
        times[..listed].iter().map(|of| of.ns.max(0.0).round() as u64).collect();
    // Measured times are not smooth, and a description whose curve falls by 5 % is rejected.
    for ns in first.iter_mut().rev() {
        *ns = (*ns).min((next * 1.04) as u64);
        next = *ns as f64;
    }
    Curve { first, ..curve }
}

/// Returns the distance between `low` and `high` at which the root and the line are closest.
fn closest_distance(a: f64, b: f64, c: f64, e: f64, low: u64, high: u64) -> u64 {
    let apart = |d: u64| (a + b * (d as f64).sqrt() - c - e * d as f64).abs();
    (low..high)
        .step_by(((high - low) / 256).max(1) as usize)
        .min_by(|x, y| apart(*x).total_cmp(&apart(*y)))
        .unwrap_or(low)
}

/// Fits a line by least squares of relative errors.
fn line(times: &[Least], of: impl Fn(f64) -> f64) -> Option<(f64, f64)> {
    let (mut w, mut x, mut y, mut xx, mut xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for time in times {
        let weight = 1.0 / (time.ns * time.ns);
        let at = of(time.distance as f64);
        (w, x, y) = (w + weight, x + weight * at, y + weight * time.ns);
        (xx, xy) = (xx + weight * at * at, xy + weight * at * time.ns);
    }
    let under = w * xx - x * x;
    if !under.is_normal() {
        return None;
    }
    let slope = (w * xy - x * y) / under;
    Some(((y - slope * x) / w, slope))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_curve_comes_back_from_its_own_times() {
        let truth =
            Curve { knee: 383, a_ns: 3.24e6, b_ns: 4e5, c_ns: 8e6, e_ns: 8e3, first: Vec::new() };
        let times: Vec<Least> = super::super::seek::distances(1962)
            .into_iter()
            .map(|distance| Least { distance, ns: truth.seek_ns(distance) })
            .collect();
        let found = fit(&times);
        for distance in 1..1962 {
            let off = found.seek_ns(distance) / truth.seek_ns(distance) - 1.0;
            assert!(off.abs() < 0.003, "{distance} cylinders: {off}, {found:?}");
        }
    }
}
