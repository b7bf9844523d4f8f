//! LINPACK's system of linear equations: MATGEN, DGEFA, DGESL, and the residual.
//!
//! Columns are `lda` numbers apart, and every inner loop runs along a column.

use super::blas::{Form, Unrolled, largest};

const PERIOD: usize = 16_384;

/// Matrix and right side, replaced by factors and solution.
#[derive(Debug)]
pub(super) struct System {
    pub(super) n: usize,
    lda: usize,
    pub(super) a: Vec<f64>,
    /// The right side; after [`System::solve`] the solution.
    pub(super) b: Vec<f64>,
    pivots: Vec<usize>,
}

/// The generator's period makes the matrix singular.
pub(super) fn has_equal_columns(n: usize) -> bool {
    let common = n.trailing_zeros().min(PERIOD.trailing_zeros());
    PERIOD >> common < n
}

impl System {
    pub(super) fn new(array: u32) -> System {
        let lda = array as usize;
        let n = lda / 2;
        System { n, lda, a: vec![0.0; lda * n], b: vec![0.0; n], pivots: vec![0; n] }
    }

    /// MATGEN: numbers between -2 and 2 by a congruential generator; right sides are sums of rows,
    /// so the solution is all ones.
    pub(super) fn generate(&mut self) {
        let mut init = 1325;
        for column in self.a.chunks_exact_mut(self.lda) {
            for value in &mut column[..self.n] {
                init = 3125 * init % 65_536;
                *value = (f64::from(init) - 32_768.0) / 16_384.0;
            }
        }
        self.b.fill(0.0);
        for column in self.a.chunks_exact(self.lda) {
            for (b, value) in self.b.iter_mut().zip(column) {
                *b += value;
            }
        }
    }

    /// DGEFA: Gaussian elimination with partial pivoting. False if a pivot is zero.
    pub(super) fn factor<F: Form>(&mut self) -> bool {
        self.factor_by::<F>(largest)
    }

    /// `choose` selects the pivot in a column.
    fn factor_by<F: Form>(&mut self, choose: impl Fn(&[f64]) -> usize) -> bool {
        let (n, lda) = (self.n, self.lda);
        let mut whole = true;
        for k in 0..n.saturating_sub(1) {
            let (left, right) = self.a.split_at_mut((k + 1) * lda);
            let pivot_column = &mut left[k * lda..k * lda + n];
            let pivot = k + choose(&pivot_column[k..]);
            self.pivots[k] = pivot;
            if pivot_column[pivot] == 0.0 {
                whole = false;
                continue;
            }
            pivot_column.swap(pivot, k);
            let t = -1.0 / pivot_column[k];
            let multipliers = &mut pivot_column[k + 1..];
            F::scale(t, multipliers);
            for column in right.chunks_exact_mut(lda) {
                let column = &mut column[..n];
                column.swap(pivot, k);
                F::axpy(column[k], multipliers, &mut column[k + 1..]);
            }
        }
        if let Some(last) = n.checked_sub(1) {
            self.pivots[last] = last;
            whole &= self.a[last * lda + last] != 0.0;
        }
        whole
    }

    /// DGESL: the solution replaces the right side.
    pub(super) fn solve<F: Form>(&mut self) {
        let (n, lda) = (self.n, self.lda);
        let column = |k: usize| k * lda..k * lda + n;
        for k in 0..n.saturating_sub(1) {
            self.b.swap(self.pivots[k], k);
            F::axpy(self.b[k], &self.a[column(k)][k + 1..], &mut self.b[k + 1..]);
        }
        for k in (0..n).rev() {
            let values = &self.a[column(k)];
            self.b[k] /= values[k];
            F::axpy(-self.b[k], &values[..k], &mut self.b[..k]);
        }
    }

    /// DGESL for the transposed matrix.
    fn solve_transposed<F: Form>(&mut self) {
        let (n, lda) = (self.n, self.lda);
        let column = |k: usize| k * lda..k * lda + n;
        for k in 0..n {
            let values = &self.a[column(k)];
            self.b[k] = (self.b[k] - F::dot(&values[..k], &self.b[..k])) / values[k];
        }
        for k in (0..n.saturating_sub(1)).rev() {
            self.b[k] += F::dot(&self.a[column(k)][k + 1..], &self.b[k + 1..]);
            self.b.swap(self.pivots[k], k);
        }
    }

    /// The larger normalised residual of the solution in `b` and of one of the transposed system. 1
    /// corresponds to the rounding of one operation on the largest numbers.
    pub(super) fn residual<F: Form>(&mut self) -> f64 {
        let solution = self.b.clone();
        let matrix = vec![0.0; self.a.len()];
        let factors = std::mem::replace(&mut self.a, matrix);
        let mut own = System {
            n: self.n,
            lda: self.lda,
            a: factors,
            b: Vec::new(),
            pivots: self.pivots.clone(),
        };
        self.generate();
        own.b = self.b.clone();
        own.solve_transposed::<F>();
        let plain = self.normalised(&self.minus_product(&solution), &solution);
        let transposed = self.normalised(&self.minus_transposed_product(&own.b), &own.b);
        // Unlike `f64::max`, keeps NaN.
        if transposed > plain || transposed.is_nan() { transposed } else { plain }
    }

    /// `b - A x`.
    fn minus_product(&self, x: &[f64]) -> Vec<f64> {
        let mut rest = self.b.clone();
        for (column, x) in self.a.chunks_exact(self.lda).zip(x) {
            Unrolled::axpy(-x, &column[..self.n], &mut rest);
        }
        rest
    }

    /// `b - Aᵀ x`.
    fn minus_transposed_product(&self, x: &[f64]) -> Vec<f64> {
        let columns = self.a.chunks_exact(self.lda);
        self.b
            .iter()
            .zip(columns)
            .map(|(b, column)| b - Unrolled::dot(&column[..self.n], x))
            .collect()
    }

    /// Largest error / (n * largest of matrix * largest of solution * epsilon).
    fn normalised(&self, rest: &[f64], x: &[f64]) -> f64 {
        let norm = |values: &[f64]| {
            values
                .iter()
                .fold(0.0f64, |norm, v| if v.is_nan() { f64::NAN } else { v.abs().max(norm) })
        };
        norm(rest) / (self.n as f64 * norm(&self.a) * norm(x) * f64::EPSILON)
    }
}

#[cfg(test)]
mod tests {
    use super::super::blas::Rolled;
    use super::*;

    /// For the orders of these tests.
    const LIMIT: f64 = 12.5;

    fn solved<F: Form>(array: u32) -> System {
        let mut system = System::new(array);
        system.generate();
        assert!(system.factor::<F>(), "{array}");
        system.solve::<F>();
        system
    }

    #[test]
    fn the_generator_gives_its_known_numbers() {
        let mut system = System::new(200);
        system.generate();
        // 3125 * 1325 mod 65536 = 11857; then 25285.
        assert_eq!(system.a[0], (11_857.0 - 32_768.0) / 16_384.0);
        assert_eq!(system.a[1], (25_285.0 - 32_768.0) / 16_384.0);
        assert_eq!(
            system.a[100], 0.0,
            "between the order and the leading dimension nothing is written"
        );
        let row: f64 = (0..100).map(|j| system.a[j * 200]).sum();
        assert_eq!(system.b[0], row);
    }

    #[test]
    fn the_solution_is_one_everywhere_and_the_residual_small_in_both_forms() {
        for array in [10, 11, 14, 200, 258, 500] {
            for (mut system, form) in
                [(solved::<Rolled>(array), "rolled"), (solved::<Unrolled>(array), "unrolled")]
            {
                let far = system.b.iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
                assert!(far < 1e-9, "{array} {form}: {far}");
                let residual = system.residual::<Unrolled>();
                assert!(residual > 0.0 && residual < LIMIT, "{array} {form}: {residual}");
            }
        }
    }

    #[test]
    fn pivots_that_are_not_the_largest_show_in_the_residual() {
        let mut system = System::new(200);
        system.generate();
        assert!(system.factor_by::<Rolled>(|_| 0), "no pivot is zero");
        system.solve::<Rolled>();
        let residual = system.residual::<Rolled>();
        assert!(residual > 2.0 * LIMIT, "{residual}");
    }

    #[test]
    fn one_wrong_number_shows_in_the_residual() {
        let mut wrong = solved::<Rolled>(200);
        wrong.b[17] += 1e-11;
        assert!(wrong.residual::<Rolled>() > LIMIT);
        let mut wrong = solved::<Rolled>(200);
        wrong.b[3] = f64::NAN;
        assert!(wrong.residual::<Rolled>().is_nan());
        let mut wrong = solved::<Rolled>(200);
        wrong.a[200 * 50 + 70] += 1e-11;
        assert!(wrong.residual::<Rolled>() > LIMIT, "a factor is seen by the transposed solution");
    }

    #[test]
    fn an_order_whose_columns_repeat_is_known() {
        let repeats = |n: usize| {
            let mut system = System::new(2 * n as u32);
            system.generate();
            let column = |k: usize| &system.a[k * 2 * n..k * 2 * n + n];
            (1..n).any(|k| column(0) == column(k))
        };
        for n in [5, 64, 96, 100, 127, 128, 129, 160, 192, 250, 256, 320, 384, 512] {
            assert_eq!(has_equal_columns(n), repeats(n), "{n}");
        }
        assert!(
            has_equal_columns(256)
                && has_equal_columns(2000)
                && !has_equal_columns(100)
                && !has_equal_columns(1000)
        );
    }
}
