//! Bisection of a monotone predicate.

/// Assumes that all numbers below a feasible one are feasible; `None` if `lo` is not. Calls
/// `feasible` at most ⌈log₂(hi − lo + 2)⌉ times, never twice for one number.
pub fn largest<E>(
    lo: u32,
    hi: u32,
    mut feasible: impl FnMut(u32) -> Result<bool, E>,
) -> Result<Option<u32>, E> {
    let (mut good, mut bad) = (u64::from(lo), u64::from(hi) + 2);
    // Shifted by one, so that `good` = lo means none yet.
    while bad > good + 1 {
        let middle = good.midpoint(bad);
        if feasible((middle - 1) as u32)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok((good > u64::from(lo)).then(|| (good - 1) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result and the number of calls.
    fn find(lo: u32, hi: u32, limit: u32) -> (Option<u32>, usize) {
        let mut asked = Vec::new();
        let found = largest(lo, hi, |n| {
            assert!(
                (lo..=hi).contains(&n) && !asked.contains(&n),
                "{n} of {lo} to {hi} after {asked:?}"
            );
            asked.push(n);
            Ok::<bool, ()>(n <= limit)
        });
        (found.unwrap(), asked.len())
    }

    #[test]
    fn the_largest_feasible_number_is_found_wherever_it_lies() {
        for (lo, hi) in
            [(1, 1), (1, 2), (1, 7), (1, 100), (5, 23), (0, 9), (u32::MAX - 3, u32::MAX)]
        {
            for limit in (lo.saturating_sub(1)..=hi).step_by(1) {
                let (found, asked) = find(lo, hi, limit);
                let expected = if limit < lo { None } else { Some(limit) };
                assert_eq!(
                    found,
                    if lo == 0 { Some(limit) } else { expected },
                    "{limit} of {lo} to {hi}"
                );
                let most = f64::from(hi - lo + 2).log2().ceil() as usize;
                assert!(asked <= most, "{asked} questions for {lo} to {hi}");
            }
        }
    }

    #[test]
    fn an_error_ends_the_search() {
        let mut asked = 0;
        let found = largest(1, 1000, |_| {
            asked += 1;
            Err::<bool, &str>("interrupted")
        });
        assert_eq!((found, asked), (Err("interrupted"), 1));
    }
}
