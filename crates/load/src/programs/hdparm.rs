//! `hdparm -t` and `hdparm -T`, used in published comparisons of schedulers [C: hdparm 9.65].
//!
//! `-t` drops the device's cached pages and reads it sequentially through the page cache, for 3 s
//! or to its end. `-T` copies the first 2 MiB from the page cache, which reaches no scheduler, so
//! its trials are invalid ([`RunnerKind::reaches_device`]).
//!
//! The metric is the printed rate: it is calculated from the unrounded time, while amount (in 2^20
//! bytes) by printed time is off by 2 % for a fast device read in 0.08 s. Both must agree with it
//! within their rounding. hdparm waits and flushes dirty pages (`sync`) before its window.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use machine::session::{Ended, Launch};

use crate::programs::error::{RunnerError, tail};
use crate::programs::kind::{Bench, Measurement, Moved, Needs, Runner, RunnerKind, Trial};
use text::{Form, field};

const PROGRAM: &str = "hdparm";
const MIB: f64 = 1_048_576.0;
/// Rounding error of seconds and rate.
const ROUNDED: f64 = 0.005;

pub(crate) static HDPARM: RunnerKind = RunnerKind {
    name: "hdparm",
    help: "buffered reads (hdparm -t), or cached ones (-T), which no scheduler ever sees",
    program: Some((PROGRAM, PROGRAM)),
    needs: Needs::Device,
    reaches_device: |options| options.text("test") != Some(CACHED),
    writes: |_| false,
    primary: |_| "throughput_mb_per_s".to_string(),
    own_metrics: |_| Vec::new(),
    options: &[field(
        "test",
        BUFFERED,
        Form::Text,
        "buffered: reads of the device (-t); cached: reads of the page cache (-T)",
    )],
    check: |options| match options.text("test") {
        Some(BUFFERED | CACHED) => Ok(()),
        _ => Err("test is buffered (-t) or cached (-T)".to_string()),
    },
    starts: |_| Vec::new(),
    make: |options| {
        Box::new(Hdparm {
            cached: options.text("test") == Some(CACHED),
            deadline: options.deadline(),
            program: PROGRAM.into(),
        })
    },
};

const BUFFERED: &str = "buffered";
const CACHED: &str = "cached";

#[derive(Debug)]
struct Hdparm {
    cached: bool,
    deadline: Duration,
    program: PathBuf,
}

impl Runner for Hdparm {
    fn version(&mut self, bench: &Bench<'_>) -> Result<String, RunnerError> {
        self.program = bench.program(PROGRAM, PROGRAM)?;
        let ended = bench.run(&self.launch(vec!["-V".into()]), self.deadline)?;
        let found = ended.stdout.trim();
        if found.starts_with("hdparm v") {
            Ok(found.to_string())
        } else {
            Err(unreadable("version", &ended))
        }
    }

    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Measurement, RunnerError> {
        let test = if self.cached { "-T" } else { "-t" };
        let launch = self.launch(vec![test.into(), bench.device().path.clone().into()]);
        let ended = bench.run(&Launch { share: trial.share.clone(), ..launch }, trial.deadline)?;
        read(&ended.stdout, self.cached).map_err(|missing| unreadable(&missing, &ended))
    }

    fn remarks(&self) -> Vec<String> {
        let remark = "hdparm -T reads the page cache and bypasses the scheduler, so it cannot compare schedulers";
        self.cached.then(|| remark.to_string()).into_iter().collect()
    }
}

impl Hdparm {
    fn launch(&self, args: Vec<OsString>) -> Launch {
        Launch { program: self.program.clone(), args, dir: "/".into(), ..Launch::default() }
    }
}

fn unreadable(missing: &str, ended: &Ended) -> RunnerError {
    RunnerError::Unreadable {
        program: PROGRAM.into(),
        missing: missing.to_string(),
        tail: tail(ended),
    }
}

/// ` Timing buffered disk reads: 2968 MB in  3.00 seconds = 989.21 MB/sec`.
fn read(stdout: &str, cached: bool) -> Result<Measurement, String> {
    let begin = if cached { "Timing cached reads:" } else { "Timing buffered disk reads:" };
    let figures = stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix(begin))
        .ok_or_else(|| format!("line `{begin}`"))?;
    let words: Vec<&str> = figures.split_whitespace().collect();
    let [amount, "MB", "in", seconds, "seconds", "=", rate, unit @ ("MB/sec" | "kB/sec")] =
        words[..]
    else {
        return Err(format!("`AMOUNT MB in TIME seconds = RATE MB/sec`, but `{}`", figures.trim()));
    };
    let number = |what: &str, text: &str| {
        let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
        value.ok_or_else(|| format!("{what} above 0, but `{text}`"))
    };
    let (amount, seconds, rate) =
        (number("amount", amount)?, number("time", seconds)?, number("rate", rate)?);
    let rate = if unit == "MB/sec" { rate } else { rate / 1024.0 };
    let within = amount / (seconds + ROUNDED)..=amount / (seconds - ROUNDED).max(f64::MIN_POSITIVE);
    if !within.contains(&(rate - ROUNDED))
        && !within.contains(&(rate + ROUNDED))
        && !within.contains(&rate)
    {
        return Err(format!("figures that agree, but `{}`", figures.trim()));
    }
    Ok(Measurement {
        window: Duration::from_secs_f64(amount / rate),
        metrics: [("throughput_mb_per_s".to_string(), rate * MIB / 1e6)].into(),
        // With -t, read-ahead adds to this; with -T the device reads almost nothing, which the
        // arena detects.
        moved: Some(Moved { read_bytes: (amount * MIB) as u64, written_bytes: 0, exact: false }),
        ..Measurement::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn megabytes_of_2_to_the_20_become_those_of_10_to_the_6() {
        let seen = read(
            "\n/dev/sda:\n Timing buffered disk reads: 2968 MB in  3.00 seconds = 989.21 MB/sec\n",
            false,
        )
        .unwrap();
        assert!((seen.metrics["throughput_mb_per_s"] - 1_037.261_865).abs() < 1e-3, "{seen:?}");
        assert_eq!(
            seen.moved,
            Some(Moved { read_bytes: 2968 << 20, written_bytes: 0, exact: false })
        );
        assert!((seen.window.as_secs_f64() - 3.0).abs() < 0.005, "{seen:?}");
    }

    #[test]
    fn a_short_time_takes_its_rate_from_what_was_not_rounded() {
        let seen =
            read(" Timing buffered disk reads:  64 MB in  0.08 seconds = 819.79 MB/sec\n", false)
                .unwrap();
        assert!(
            (seen.metrics["throughput_mb_per_s"] - 819.79 * 1.048_576).abs() < 1e-9,
            "{seen:?}"
        );
    }

    #[test]
    fn a_slow_device_is_read_in_thousands_of_bytes() {
        let seen =
            read(" Timing buffered disk reads:   2 MB in  4.00 seconds = 512.00 kB/sec\n", false)
                .unwrap();
        assert!((seen.metrics["throughput_mb_per_s"] - 0.524_288).abs() < 1e-9, "{seen:?}");
    }

    #[test]
    fn cached_reads_never_reach_a_scheduler_and_say_so() {
        let cached = HDPARM.read([("test", "cached")]).unwrap();
        assert!(
            !(HDPARM.reaches_device)(&cached) && (HDPARM.reaches_device)(&HDPARM.read([]).unwrap())
        );
        assert!((HDPARM.make)(&cached).remarks()[0].contains("bypasses the scheduler"));
        assert!(
            HDPARM
                .read([("test", "both")])
                .unwrap_err()
                .to_string()
                .contains("buffered (-t) or cached (-T)")
        );
    }

    #[test]
    fn each_test_has_a_line_of_its_own() {
        let text = " Timing cached reads:   33082 MB in  1.99 seconds = 16626.04 MB/sec\n";
        assert_eq!(read(text, true).unwrap().moved.unwrap().read_bytes, 33_082 << 20);
        assert!(read(text, false).unwrap_err().contains("Timing buffered disk reads:"));
    }

    #[test]
    fn what_is_missing_or_does_not_agree_is_never_a_zero() {
        for figures in [
            "",
            "2968 MB in  3.00 seconds",
            "2968 MB in  3.00 seconds = 989.21 GB/sec",
            "0 MB in  3.00 seconds = 0.00 MB/sec",
            "x MB in  3.00 seconds = 989.21 MB/sec",
            "2968 MB in  3.00 seconds = 500.00 MB/sec",
            "2968 MB in  3.00 seconds = 989.21 kB/sec",
        ] {
            let text = format!(" Timing buffered disk reads: {figures}\n");
            assert!(read(&text, false).is_err(), "{figures}");
        }
    }
}
