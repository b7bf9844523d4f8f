//! The joint law of a statistic at successive looks, in one dimension.
//!
//! Under the null the direction of (x₁ … x_k) is uniform and independent of its length, and its
//! cosine with (1 … 1), ρ = sin φ (t = √(k − 1) tan φ), is a Markov chain. H(φ), the probability of
//! no crossing so far, is followed backwards: one look later it is the mean of the previous H over
//! the last value. It is smooth between the bounds, while forward densities have poles. Source: the
//! recursion of Armitage, McPherson & Rowe 1969; the form for t is ours, tested by simulation.
//! [`Law::Normal`] is for comparison with tables.

use std::f64::consts::{FRAC_PI_2, PI};

use statrs::function::gamma::ln_gamma;

/// Chebyshev points between the bounds.
const POINTS: usize = 32;
const NODES: usize = 32;
/// Deviations beyond which a density counts as 0: 1e-11 of it lies there.
const FAR: f64 = 6.8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Law {
    /// Student's t of a mean with unknown deviation; the coordinate is the angle φ.
    Student,
    /// The standardised mean with known deviation; the coordinate is z.
    #[cfg_attr(not(test), expect(dead_code, reason = "printed tables are of this law"))]
    Normal,
}

/// One-sided or two-sided bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sides {
    /// Only above.
    One,
    /// Above or below.
    Two,
}

/// The state after a look: the probability of no crossing so far, by coordinate.
#[derive(Debug, Clone)]
pub(super) struct State {
    law: Law,
    sides: Sides,
    n: usize,
    /// Bound in the law's coordinate.
    bound: f64,
    low: f64,
    /// Chebyshev coefficients of H between `low` and `bound`.
    coefficients: [f64; POINTS],
}

/// The transition to the next look.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    law: Law,
    sides: Sides,
    n: usize,
    cosine: Cosine,
    before: Option<&'a State>,
}

impl<'a> Step<'a> {
    pub(super) fn first(law: Law, sides: Sides, n: usize) -> Step<'a> {
        Step { law, sides, n, cosine: Cosine::of(n), before: None }
    }

    pub(super) fn after(before: &'a State, n: usize) -> Step<'a> {
        Step {
            law: before.law,
            sides: before.sides,
            n,
            cosine: Cosine::of(n),
            before: Some(before),
        }
    }

    /// The bound first crossed at this look with probability `spend`, near a guessed statistic.
    pub(super) fn bound(&self, spend: f64, guess: Option<f64>) -> f64 {
        let (mut low, mut high) = (0.0, self.end());
        if spend <= 0.0 {
            return high;
        }
        let target = spend.ln();
        // The log probability is nearly a parabola: a few Newton steps suffice; bisection keeps
        // them in bounds.
        let mut at = guess.map_or(high / 2.0, |guess| self.coordinate(guess).min(high * 0.999));
        for _ in 0..60 {
            let crossing = self.crossing(at);
            let error = crossing.max(1e-300).ln() - target;
            if error.abs() < 1e-8 {
                break;
            }
            if error > 0.0 {
                low = at
            } else {
                high = at
            }
            let slope =
                -self.sides() * self.density(at) * self.not_before(at) / crossing.max(1e-300);
            let newton = at - error / slope;
            at = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            if high - low < 1e-13 {
                break;
            }
        }
        at
    }

    /// The probability of crossing at this look and none before.
    pub(super) fn crossing(&self, bound: f64) -> f64 {
        let end = self.end().min(bound + FAR * self.spread());
        self.sides() * integral(bound, end, |at| self.density(at) * self.not_before(at))
    }

    pub(super) fn state(&self, bound: f64) -> State {
        let low = match self.sides {
            Sides::Two => -bound,
            Sides::One => (-FAR * self.spread()).max(-self.widest()).min(bound),
        };
        let mut values = [0.0; POINTS];
        for i in 0..POINTS {
            let mirrored = self.sides == Sides::Two && i >= POINTS / 2;
            let x = (PI * (i as f64 + 0.5) / POINTS as f64).cos();
            let at = low + 0.5 * (x + 1.0) * (bound - low);
            values[i] = if mirrored { values[POINTS - 1 - i] } else { self.not_before(at) };
        }
        let coefficients = std::array::from_fn(|k| {
            let term =
                |i: usize| values[i] * (PI * k as f64 * (i as f64 + 0.5) / POINTS as f64).cos();
            (0..POINTS).map(term).sum::<f64>() * if k == 0 { 1.0 } else { 2.0 } / POINTS as f64
        });
        State { law: self.law, sides: self.sides, n: self.n, bound, low, coefficients }
    }

    pub(super) fn coordinate(&self, statistic: f64) -> f64 {
        match self.law {
            Law::Student => (statistic / (self.n as f64 - 1.0).sqrt()).atan(),
            Law::Normal => statistic,
        }
    }

    fn sides(&self) -> f64 {
        if self.sides == Sides::Two { 2.0 } else { 1.0 }
    }

    /// Returns about one deviation, in the coordinate.
    fn spread(&self) -> f64 {
        match self.law {
            Law::Student => 1.0 / (self.n as f64).sqrt(),
            Law::Normal => 1.0,
        }
    }

    fn widest(&self) -> f64 {
        match self.law {
            Law::Student => FRAC_PI_2,
            Law::Normal => FAR + 3.0,
        }
    }

    /// The coordinate beyond which every path has crossed before.
    pub(super) fn end(&self) -> f64 {
        match (self.law, self.before) {
            (Law::Student, Some(before)) => {
                let r = (before.n as f64).sqrt() * before.bound.sin();
                let more = (self.n - before.n) as f64;
                ((more + r * r).sqrt() / (self.n as f64).sqrt()).min(1.0).asin()
            }
            _ => self.widest(),
        }
    }

    fn density(&self, at: f64) -> f64 {
        match self.law {
            Law::Student => self.cosine.at(at),
            Law::Normal => (-0.5 * at * at).exp() / (2.0 * PI).sqrt(),
        }
    }

    /// The probability of no earlier crossing, given the coordinate now.
    fn not_before(&self, at: f64) -> f64 {
        match (self.before, self.law) {
            (None, _) => 1.0,
            (Some(before), Law::Student) if self.n == before.n + 1 => {
                before.mean_over_the_last_value(at)
            }
            (Some(before), Law::Student) => before.mean_over_later_values(at, self.n),
            (Some(before), Law::Normal) => before.mean_over_the_last_increment(at),
        }
    }
}

impl State {
    pub(super) fn n(&self) -> usize {
        self.n
    }

    pub(super) fn statistic(&self) -> f64 {
        match self.law {
            Law::Student => (self.n as f64 - 1.0).sqrt() * self.bound.tan(),
            Law::Normal => self.bound,
        }
    }

    pub(super) fn probability(&self, at: f64) -> f64 {
        let x = (2.0 * (at.max(self.low) - self.low) / (self.bound - self.low) - 1.0).min(1.0);
        let (mut b1, mut b2) = (0.0, 0.0);
        for c in self.coefficients[1..].iter().rev() {
            (b1, b2) = (2.0 * x * b1 - b2 + c, b1);
        }
        (x * b1 - b2 + self.coefficients[0]).clamp(0.0, 1.0)
    }

    /// H one value later, at the angle `at`. The last value over the total length is v = ρ/√(k+1) +
    /// √(1 − ρ²) √(k/(k+1)) w, with w a coordinate of a uniform direction in k dimensions; the
    /// previous r = √k ρ is (r' − v)/√(1 − v²).
    fn mean_over_the_last_value(&self, at: f64) -> f64 {
        let k = self.n as f64;
        let (rho, rest) = at.sin_cos();
        let r = (k + 1.0).sqrt() * rho;
        let (centre, width) = (rho / (k + 1.0).sqrt(), rest * (k / (k + 1.0)).sqrt());
        if width <= 0.0 {
            return 0.0;
        }
        // |r before| < b where (1 + b²) v² − 2 r' v + r'² − b² < 0.
        let b = k.sqrt() * self.bound.sin();
        let root = 1.0 + b * b - r * r;
        if root <= 0.0 && (self.sides == Sides::Two || r > 0.0) {
            return 0.0;
        }
        let root = b * root.max(0.0).sqrt();
        let (from, to) = ((r - root) / (1.0 + b * b), (r + root) / (1.0 + b * b));
        let angle = |v: f64| ((v - centre) / width).clamp(-1.0, 1.0).asin();
        let far = (FAR / (k - 1.0).max(1.0).sqrt()).min(FRAC_PI_2);
        let (low, high) = match self.sides {
            Sides::Two => (angle(from), angle(to)),
            Sides::One if r > 1.0 => (angle(from), angle(to)),
            Sides::One if r >= -1.0 => (angle(from), FRAC_PI_2),
            Sides::One => (-FRAC_PI_2, FRAC_PI_2),
        };
        let density = Cosine::of(self.n);
        integral(low.max(-far), high.min(far), |theta| {
            let v = centre + width * theta.sin();
            let before = (r - v) / (1.0 - v * v).max(1e-300).sqrt();
            let place = (before / k.sqrt()).clamp(-1.0, 1.0).asin();
            density.at(theta) * self.probability(place)
        })
    }

    /// H after `n` values, several later, at the angle `at`. Given ρ' there, let c be the coordinate
    /// across the two means, of the values so far and of the later ones: c = √(1 − ρ'²) sin θ, with
    /// sin θ a coordinate of a uniform direction in n − 1 dimensions. Of the rest, (1 − ρ'²) cos² θ,
    /// the values so far have a Beta-distributed share. With a the part of their mean, tan φ =
    /// a / √(share · rest).
    pub(super) fn mean_over_later_values(&self, at: f64, n: usize) -> f64 {
        let (k, later, n) = (self.n as f64, (n - self.n) as f64, n as f64);
        let (rho, rest) = at.sin_cos();
        let (from, across) = ((k / n).sqrt() * rho, (later / n).sqrt() * rest);
        let density = Cosine::of(n as usize - 1);
        let far = (FAR / (n - 2.0).sqrt()).min(FRAC_PI_2);
        let of_share = |share: f64| {
            // Below the bound where from + across sin θ < slope cos θ, and so for the other end.
            let slope = self.bound.tan() * rest * share.sqrt();
            let (radius, turn) = (slope.hypot(across), across.atan2(slope));
            let reach = (from / radius).clamp(-1.0, 1.0).acos();
            let (mut low, mut high) = (-reach - turn, reach - turn);
            if self.sides == Sides::Two {
                let reach = PI - reach;
                (low, high) = (low.max(turn - reach), high.min(turn + reach));
            }
            integral(low.max(-far), high.min(far), |theta| {
                let (sin, cos) = theta.sin_cos();
                let place = (from + across * sin).atan2(rest * share.sqrt() * cos);
                density.at(theta) * self.probability(place)
            })
        };
        two_points_of_beta((k - 1.0) / 2.0, (later - 1.0) / 2.0)
            .map(|(share, weight)| weight * of_share(share))
            .iter()
            .sum()
    }

    /// H one value later, at `at`: given z' after k + 1 values, z after k is normal around z'
    /// √(k/(k+1)) with variance 1/(k+1).
    fn mean_over_the_last_increment(&self, at: f64) -> f64 {
        let k = self.n as f64;
        let (centre, deviation) = (at * (k / (k + 1.0)).sqrt(), 1.0 / (k + 1.0).sqrt());
        let (low, high) = ((self.low - centre) / deviation, (self.bound - centre) / deviation);
        let low = if self.sides == Sides::One { -FAR } else { low.max(-FAR) };
        integral(low, high.min(FAR), |x| {
            (-0.5 * x * x).exp() / (2.0 * PI).sqrt() * self.probability(centre + deviation * x)
        })
    }
}

/// The density of the angle whose sine is a coordinate of a uniform direction in n dimensions:
/// proportional to cos^(n−2).
#[derive(Debug, Clone, Copy)]
struct Cosine {
    log_scale: f64,
    power: f64,
}

impl Cosine {
    fn of(n: usize) -> Cosine {
        let n = n as f64;
        Cosine {
            log_scale: ln_gamma(n / 2.0) - ln_gamma((n - 1.0) / 2.0) - 0.5 * PI.ln(),
            power: n - 2.0,
        }
    }

    fn at(&self, angle: f64) -> f64 {
        (self.log_scale + self.power * angle.cos().max(1e-300).ln()).exp()
    }
}

/// Two points and weights that have the first three moments of a Beta distribution, which here is
/// narrow compared with what is integrated over it.
fn two_points_of_beta(a: f64, b: f64) -> [(f64, f64); 2] {
    let sum = a + b;
    let deviation = (a * b / (sum + 1.0)).sqrt() / sum;
    let half_skewness = (b - a) * (sum + 1.0).sqrt() / ((sum + 2.0) * (a * b).sqrt());
    let root = half_skewness.hypot(1.0);
    [1.0, -1.0].map(|sign| {
        (
            a / sum + deviation * (half_skewness + sign * root),
            0.5 * (1.0 - sign * half_skewness / root),
        )
    })
}

/// Integrates by Gauss–Legendre with [`NODES`] points; 0 on an empty interval.
fn integral(low: f64, high: f64, f: impl Fn(f64) -> f64) -> f64 {
    if low >= high {
        return 0.0;
    }
    let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
    half * rule().iter().map(|(x, weight)| weight * f(middle + half * x)).sum::<f64>()
}

/// Returns points and weights on [−1, 1], by Newton's method from the cosines.
fn rule() -> &'static [(f64, f64); NODES] {
    static RULE: std::sync::OnceLock<[(f64, f64); NODES]> = std::sync::OnceLock::new();
    RULE.get_or_init(|| {
        std::array::from_fn(|i| {
            let mut x = (PI * (i as f64 + 0.75) / (NODES as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut p0, mut p1) = (1.0, x);
                for k in 2..=NODES {
                    let k = k as f64;
                    (p0, p1) = (p1, ((2.0 * k - 1.0) * x * p1 - (k - 1.0) * p0) / k);
                }
                slope = NODES as f64 * (x * p1 - p0) / (x * x - 1.0);
                let step = p1 / slope;
                x -= step;
                if step.abs() < 1e-15 {
                    break;
                }
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        })
    })
}
