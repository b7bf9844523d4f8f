//! LINPACK's vector operations in two forms: one element per step, and four.
//!
//! Plain scalar code; what the compiler makes of it is part of the measurement. Slices of equal
//! length and chunks of four avoid bounds checks.

pub(super) trait Form {
    /// `y += t * x`, unless `t` = 0.
    fn axpy(t: f64, x: &[f64], y: &mut [f64]);
    fn scale(t: f64, x: &mut [f64]);
    fn dot(x: &[f64], y: &[f64]) -> f64;
}

pub(super) struct Rolled;

/// Four elements per step, after a remainder.
pub(super) struct Unrolled;

impl Form for Rolled {
    fn axpy(t: f64, x: &[f64], y: &mut [f64]) {
        if t == 0.0 {
            return;
        }
        for (y, x) in y.iter_mut().zip(x) {
            *y += t * x;
        }
    }

    fn scale(t: f64, x: &mut [f64]) {
        for x in x {
            *x *= t;
        }
    }

    fn dot(x: &[f64], y: &[f64]) -> f64 {
        x.iter().zip(y).fold(0.0, |sum, (x, y)| sum + x * y)
    }
}

impl Form for Unrolled {
    fn axpy(t: f64, x: &[f64], y: &mut [f64]) {
        if t == 0.0 {
            return;
        }
        let odd = x.len() % 4;
        let ((x_odd, x), (y_odd, y)) = (x.split_at(odd), y.split_at_mut(odd));
        for (y, x) in y_odd.iter_mut().zip(x_odd) {
            *y += t * x;
        }
        for (y, x) in y.as_chunks_mut::<4>().0.iter_mut().zip(x.as_chunks::<4>().0) {
            y[0] += t * x[0];
            y[1] += t * x[1];
            y[2] += t * x[2];
            y[3] += t * x[3];
        }
    }

    fn scale(t: f64, x: &mut [f64]) {
        let odd = x.len() % 4;
        let (x_odd, x) = x.split_at_mut(odd);
        for x in x_odd {
            *x *= t;
        }
        for x in x.as_chunks_mut::<4>().0 {
            x[0] *= t;
            x[1] *= t;
            x[2] *= t;
            x[3] *= t;
        }
    }

    fn dot(x: &[f64], y: &[f64]) -> f64 {
        let odd = x.len() % 4;
        let ((x_odd, x), (y_odd, y)) = (x.split_at(odd), y.split_at(odd));
        let sum = x_odd.iter().zip(y_odd).fold(0.0, |sum, (x, y)| sum + x * y);
        let four = |sum, (x, y): (&[f64; 4], &[f64; 4])| {
            sum + x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3]
        };
        x.as_chunks::<4>().0.iter().zip(y.as_chunks::<4>().0).fold(sum, four)
    }
}

/// The first element with the largest magnitude; 0 if empty.
pub(super) fn largest(x: &[f64]) -> usize {
    let mut best = (0, x.first().map_or(0.0, |x| x.abs()));
    for (at, x) in x.iter().enumerate().skip(1) {
        if x.abs() > best.1 {
            best = (at, x.abs());
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers, whose sums do not depend on order.
    fn vectors(n: usize) -> (Vec<f64>, Vec<f64>) {
        let x: Vec<f64> = (0..n).map(|i| (i as f64 * 7.0) % 11.0 - 5.0).collect();
        let y: Vec<f64> = (0..n).map(|i| (i as f64 * 3.0) % 13.0 - 6.0).collect();
        (x, y)
    }

    #[test]
    fn both_forms_do_the_same_for_every_length() {
        for n in 0..23 {
            let (x, y) = vectors(n);
            let wanted: Vec<f64> = x.iter().zip(&y).map(|(x, y)| y + 3.0 * x).collect();
            let (mut rolled, mut unrolled) = (y.clone(), y.clone());
            Rolled::axpy(3.0, &x, &mut rolled);
            Unrolled::axpy(3.0, &x, &mut unrolled);
            assert_eq!((&rolled, &unrolled), (&wanted, &wanted), "axpy of {n}");
            Rolled::scale(-2.0, &mut rolled);
            Unrolled::scale(-2.0, &mut unrolled);
            let wanted: Vec<f64> = wanted.iter().map(|v| v * -2.0).collect();
            assert_eq!((&rolled, &unrolled), (&wanted, &wanted), "scale of {n}");
            let wanted: f64 = (0..n).map(|i| x[i] * y[i]).sum();
            assert_eq!(
                (Rolled::dot(&x, &y), Unrolled::dot(&x, &y)),
                (wanted, wanted),
                "dot of {n}"
            );
        }
    }

    #[test]
    fn the_largest_is_by_magnitude_and_the_first_of_several() {
        assert_eq!(largest(&[1.0, -3.0, 2.0, 3.0]), 1);
        assert_eq!(largest(&[-4.0, 3.0, 4.0]), 0);
        assert_eq!((largest(&[0.5]), largest(&[])), (0, 0));
    }
}
