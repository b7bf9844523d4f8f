//! CPU workloads, each in a process that is started like any other program.
//!
//! The workloads are in `load::cpu`, their rows in [`workloads`].

mod loads;
mod workloads;

use std::path::PathBuf;
use std::time::Duration;

use crate::cpu::{Report, Spec};
use machine::session::{Ended, Launch};

use crate::programs::error::{RunnerError, tail};
use crate::programs::kind::{Bench, Measurement, Runner, Trial};
use crate::programs::options::Options;

pub use loads::{LOADS, LoadKind, find as find_load};
pub use workloads::spec_of;
pub(crate) use workloads::{BUILD, CYCLIC, FRAMES, LINPACK, MESSAGING, REQUEST, WAKEUP};

/// Hidden; runs the spec on standard input.
pub const SUBCOMMAND: &str = "cpu-work";

const WORK: text::Form = text::Form::Time(0, 50_000_000);

#[derive(Debug)]
struct Own {
    name: &'static str,
    options: Options,
    spec: workloads::MakeSpec,
}

fn own(name: &'static str, options: &Options, spec: workloads::MakeSpec) -> Box<dyn Runner> {
    Box::new(Own { name, options: options.clone(), spec })
}

impl Runner for Own {
    fn version(&mut self, _bench: &Bench<'_>) -> Result<String, RunnerError> {
        Ok(format!("schedlab {}", text::build::identity()))
    }

    fn measure(&mut self, bench: &Bench<'_>, trial: &Trial) -> Result<Measurement, RunnerError> {
        let spec = (self.spec)(&self.options, trial.duration, trial.seed);
        let running = bench
            .session
            .start(&Launch { placement: trial.placement.clone(), ..launch(&spec)? })?;
        let ended = bench.finish(running, self.name, trial.deadline)?;
        let report = report(self.name, &ended)?;
        Ok(Measurement {
            window: Duration::from_nanos(report.window_ns),
            metrics: report.metrics,
            counts: report.counts,
            counters: report.counters,
            moved: None,
        })
    }
}

/// Reads an option with a 32-bit range.
fn number(options: &Options, name: &str) -> u32 {
    options.number(name).and_then(|number| u32::try_from(number).ok()).unwrap_or(0)
}

fn nanoseconds(options: &Options, name: &str) -> u64 {
    options.time(name).map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn duration_ns(window: Duration) -> u64 {
    u64::try_from(window.as_nanos()).unwrap_or(u64::MAX)
}

/// Fails if schedlab's executable cannot be found.
pub fn launch(order: &Spec) -> Result<Launch, RunnerError> {
    let failed = |why: String| RunnerError::Wrong {
        program: SUBCOMMAND.into(),
        problem: why,
        tail: String::new(),
    };
    let program: PathBuf = std::env::current_exe()
        .map_err(|e| failed(format!("its own executable cannot be found: {e}")))?;
    let input = serde_json::to_vec(order).map_err(|e| failed(e.to_string()))?;
    Ok(Launch {
        program,
        args: vec![SUBCOMMAND.into()],
        dir: "/".into(),
        input,
        ..Launch::default()
    })
}

/// The last line of the output; [`RunnerError::Unreadable`] if missing.
pub fn report(name: &str, ended: &Ended) -> Result<Report, RunnerError> {
    let last = ended.stdout.lines().last().unwrap_or_default();
    serde_json::from_str(last).map_err(|e| RunnerError::Unreadable {
        program: name.to_string(),
        missing: format!("report: {e}"),
        tail: tail(ended),
    })
}

#[cfg(test)]
mod tests {
    use crate::programs::kind::Needs;
    use crate::programs::table::{RUNNERS, find};

    #[test]
    fn every_cpu_workload_accepts_its_own_defaults() {
        let rows = || RUNNERS.iter().filter(|row| row.needs == Needs::Cpus);
        assert_eq!(rows().count(), 7);
        for row in rows() {
            let options = row.read([]).unwrap_or_else(|e| panic!("{e}"));
            assert!((row.primary)(&options).contains(['s', 'k']), "{}", row.name);
        }
    }

    #[test]
    fn an_invalid_value_is_refused_with_the_valid_range() {
        for (name, key, value, right) in [
            ("linpack", "array", "9", "10 to 10000"),
            ("linpack", "array", "512", "array=514"),
            ("messaging", "groups", "0", "1 to 100"),
            ("messaging", "bytes", "5000", "1 to 4096"),
            ("wakeup", "workers", "100", "1 to 64"),
            ("wakeup", "work", "51ms", "50ms"),
            ("cyclic", "interval", "10us", "20us to 100ms"),
            ("cyclic", "threads", "99999999999", "1 to 256"),
            ("build", "read", "5000", "multiple of 4k"),
            ("build", "dir", "tmp", "/var/tmp"),
        ] {
            let error = find(name).expect("a row").read([(key, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains(right), "{name}:{key}={value}: {error}");
        }
    }
}
