//! Seek times, compared separately: a wrong nanosecond rarely changes a decision.

use elevator::SeekCurve;
use kernel_model::Seek;

use super::random::Random;

/// Log-uniform.
fn any(random: &mut Random, end: u64) -> u64 {
    let bits = random.below(u64::from(end.ilog2()) + 1);
    random.below(end.min(1 << bits) + 1)
}

/// Within and beyond the tunables' ranges; returns the first difference.
pub fn seeks_agree(seek: Seek, times: u64) -> Result<(), String> {
    let mut random = Random::new(97_560);
    for _ in 0..times / 8 {
        let curve = SeekCurve {
            first: (0..random.below(3)).map(|nr| 500_000 * (nr + 1)).collect(),
            knee: any(&mut random, 10_000_000),
            a_ns: any(&mut random, 1_000_000_000),
            b_ns: any(&mut random, u64::from(u32::MAX)),
            c_ns: any(&mut random, 1_000_000_000),
            e_ps: any(&mut random, 1_000_000_000_000),
        };
        for _ in 0..8 {
            let distance = any(&mut random, 10_000_000);
            let (rust, c) = (curve.seek_ns(distance), seek.ns(&curve, distance));
            if rust != c {
                return Err(format!(
                    "a seek over {distance}: {rust} ns in Rust, {c} in C, for {curve:?}"
                ));
            }
        }
    }
    Ok(())
}
