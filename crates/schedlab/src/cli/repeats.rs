//! Flags of repeated experiments.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use experiment::plan;

use crate::failure::usage;

// How often, and how far apart: shared by `compare` and `run`.
#[derive(Debug, Clone, Args)]
pub(crate) struct RepeatArgs {
    /// Measure 2 to 100 times, each for the whole budget, and pool the results (OUT/repeat-K). A
    /// systemd timer starts all but the first; the same command continues if a timer did not. In
    /// virtual time all run now, with different seeds.
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub(crate) repeat: Option<u32>,
    /// Wait this long, at least 1m, between repeats.
    #[arg(long, value_name = "TIME", default_value = "8h", requires = "repeat")]
    pub(crate) every: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Several {
    pub(crate) number: u32,
    /// From the end of a repeat to the start of the next.
    pub(crate) every: Duration,
    /// `every` as the user wrote it.
    pub(crate) word: String,
}

impl RepeatArgs {
    /// The requested repeats; None for an ordinary experiment.
    pub(crate) fn several(&self) -> Result<Option<Several>> {
        let Some(number) = self.repeat else { return Ok(None) };
        let seconds =
            plan::parse_duration_s(&self.every).map_err(|e| usage(format!("--every: {e}")))?;
        if seconds < 60.0 {
            return Err(usage(format!(
                "--every {}: shorter than a minute, in which no day differs; give e.g. 8h",
                self.every
            )));
        }
        Ok(Some(Several {
            number,
            every: Duration::from_secs_f64(seconds),
            word: self.every.clone(),
        }))
    }
}
