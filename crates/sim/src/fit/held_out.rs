//! Reads held out from the fit, run on the device and on its model.

use crate::device::device_from_toml;
use crate::{Stream, stream};
use elevator::Time;

use crate::fit::demerit::Error;
use crate::fit::drive::{Drive, FitError, ModelDrive, Read};

const SINGLE: usize = 2000;
const PAUSE_NS: u64 = 12_000_000;

/// Draws reads: two thirds anywhere, the others near or right after the previous one; 1 to 128
/// units.
pub fn single_reads(facts: &crate::fit::drive::Facts, seed: u64) -> Vec<(u64, Read)> {
    let mut random = stream(seed, "held-out");
    let unit = u64::from(facts.unit);
    let units = facts.sectors / unit;
    let longest = u64::from(facts.largest / facts.unit).clamp(1, 128).min(units);
    let mut next = 0;
    (0..SINGLE)
        .map(|_| {
            let length = length(&mut random, longest);
            let highest = units - length;
            let at = match random.below(6) {
                0 => next,
                1 => next + random.below(2000),
                _ => random.below(highest + 1),
            }
            .min(highest);
            next = at + length;
            let read = Read { sector: at * unit, sectors: (length * unit) as u32 };
            (random.below(PAUSE_NS), read)
        })
        .collect()
}

fn length(random: &mut Stream, longest: u64) -> u64 {
    let most = 1 << random.below(u64::from(longest.ilog2()) + 1);
    (1 + random.below(most)).min(longest)
}

pub fn latencies(drive: &mut dyn Drive, reads: &[(u64, Read)]) -> Result<Vec<u64>, FitError> {
    let mut ended = drive.now();
    reads
        .iter()
        .map(|(pause, read)| {
            let timed = drive.read(*read, ended + pause)?;
            ended = timed.ended;
            Ok(timed.latency())
        })
        .collect()
}

/// A description's model on the bench.
pub fn model(
    description: &str,
    facts: &crate::fit::drive::Facts,
    seed: u64,
) -> Result<ModelDrive, FitError> {
    let made = device_from_toml(description, &[], seed)
        .map_err(|e| FitError::Description(e.to_string()))?;
    let mut drive = ModelDrive::new(&facts.name, made).with_facts(facts);
    // Avoids time 0, at which all angles are those of the zones.
    drive.read(Read { sector: 0, sectors: facts.unit }, Time::from_ns(1_000_000_007).as_ns())?;
    Ok(drive)
}

pub fn error_of(
    drive: &mut dyn Drive,
    description: &str,
    seed: u64,
) -> Result<Option<Error>, FitError> {
    let facts = drive.facts().clone();
    let reads = single_reads(&facts, seed);
    let of_drive = latencies(drive, &reads)?;
    let of_model = latencies(&mut model(description, &facts, seed)?, &reads)?;
    Ok(Error::compare(&of_drive, &of_model))
}
