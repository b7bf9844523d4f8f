//! Programs under test: prepared once, reset before each trial, and checked against the device's
//! counters.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow};
use experiment::metric;
use experiment::plan::Limits;
use experiment::results::InvalidReason;
use load::Issued;
use load::programs::{Bench, Measurement, Moved, ProcessStats, Runner, RunnerError, Trial};
use load::{Allowance, account};
use machine::cpu::Setting;
use machine::files::open_input;
use machine::probe::DeviceDelta;
use machine::{Device, Session};
use sha2::{Digest, Sha256};

use crate::arena::TrialSpec;
use crate::arena::invalid::share_of;
use crate::failure::usage;
use crate::progress::Progress;
use crate::workloads::{Program, Workload, Workloads};

/// Keyed by workload index.
#[derive(Debug, Default)]
pub(super) struct Programs {
    all: BTreeMap<usize, Prepared>,
    versions: BTreeMap<String, String>,
}

#[derive(Debug)]
struct Prepared {
    workload: Workload,
    runner: Box<dyn Runner>,
    /// After the first success, failures are data.
    proven: bool,
}

impl Prepared {
    fn program(&self) -> &Program {
        self.workload.program().expect("only programs are prepared")
    }
}

#[derive(Clone, Copy)]
pub(super) struct TrialContext<'a> {
    pub(super) session: &'a Session,
    pub(super) device: Option<&'a Device>,
    pub(super) may_write: bool,
    pub(super) stop: &'a AtomicBool,
    pub(super) progress: &'a dyn Progress,
    pub(super) noted: &'a ProcessStats,
}

impl TrialContext<'_> {
    fn with<T>(
        &self,
        work: impl FnOnce(&Bench<'_>) -> Result<T, RunnerError>,
    ) -> Result<T, RunnerError> {
        let say = |text: &str| self.progress.phase(text);
        let directory = self.session.directory();
        work(&Bench {
            session: self.session,
            device: self.device,
            directory,
            may_write: self.may_write,
            stop: self.stop,
            say: &say,
            stats: self.noted,
        })
    }
}

impl Programs {
    /// Creates the runners and queries versions.
    pub(super) fn find(workloads: &Workloads, place: &TrialContext<'_>) -> Result<Programs> {
        let mut all = Programs::default();
        for (number, workload) in workloads.iter().enumerate() {
            let Some(program) = workload.program() else { continue };
            let label = &workload.name;
            let mut runner = (program.kind.make)(&program.options);
            let version = place
                .with(|bench| runner.version(bench))
                .map_err(|e| usage(format!("workload {label}: {e}")))?;
            all.versions.insert(label.clone(), version);
            all.versions.extend(files_of(label, program)?);
            all.all.insert(number, Prepared { workload: workload.clone(), runner, proven: false });
        }
        Ok(all)
    }

    pub(super) fn prepare(&mut self, place: &TrialContext<'_>) -> Result<()> {
        for Prepared { workload, runner, .. } in self.all.values_mut() {
            place
                .with(|bench| runner.prepare(bench))
                .map_err(|e| anyhow!("workload {}: {e}", workload.name))?;
            runner.remarks().iter().for_each(|remark| place.progress.remark(remark));
        }
        Ok(())
    }

    /// Versions and digests of input files, constant during an experiment.
    pub(super) fn versions(&self) -> &BTreeMap<String, String> {
        &self.versions
    }

    pub(super) fn reset(&mut self, workload: usize, place: &TrialContext<'_>) -> Result<()> {
        let Some(Prepared { workload, runner, .. }) = self.all.get_mut(&workload) else {
            return Ok(());
        };
        place
            .with(|bench| runner.reset(bench))
            .map_err(|e| anyhow!("workload {}: {e}", workload.name))
    }

    /// # Errors
    /// The program has never succeeded, so it would not later.
    pub(super) fn measure(
        &mut self,
        spec: &TrialSpec,
        setting: &Setting,
        place: &TrialContext<'_>,
    ) -> Result<Result<Measurement, InvalidReason>> {
        let prepared =
            self.all.get_mut(&spec.workload).expect("a program is prepared before it is measured");
        let trial = Trial {
            seed: spec.seed,
            duration: spec.duration,
            warmup: spec.warmup,
            deadline: prepared.program().options.deadline(),
            share: share_of(&prepared.workload.share),
            placement: setting.placement.clone(),
            run: setting.run.clone(),
        };
        match place.with(|bench| prepared.runner.measure(bench, &trial)) {
            Ok(seen) => {
                prepared.proven = true;
                Ok(Ok(seen))
            }
            Err(RunnerError::Interrupted) => {
                Ok(Err(InvalidReason::Interrupted { by: "a signal".to_owned() }))
            }
            Err(error) if prepared.proven => {
                Ok(Err(InvalidReason::ProgramFailed { detail: error.to_string() }))
            }
            Err(error) => Err(anyhow!("workload {}: {error}", prepared.workload.name)),
        }
    }

    /// `device` excludes background I/O.
    pub(super) fn invalid(
        &self,
        workload: usize,
        seen: &Measurement,
        device: &DeviceDelta,
        limits: &Limits,
    ) -> Vec<InvalidReason> {
        let program =
            self.all.get(&workload).expect("a program is prepared before it is measured").program();
        let mut invalid = reached(seen, device, limits);
        if !(program.kind.reaches_device)(&program.options) && invalid.is_empty() {
            let (issued_bytes, device_bytes) = (0, device.read_bytes + device.written_bytes);
            invalid.push(InvalidReason::NeverReached { issued_bytes, device_bytes });
        }
        invalid.extend(too_few(&seen.counts));
        invalid
    }
}

fn files_of(label: &str, program: &Program) -> Result<Vec<(String, String)>> {
    let files = program.kind.all_options().filter(|option| option.form == text::Form::File);
    let digest = |option: &'static text::Field| -> Option<Result<(String, String)>> {
        let path = program.options.text(option.name)?;
        let mut hash = Sha256::new();
        let read =
            open_input(path.as_ref()).and_then(|mut file| std::io::copy(&mut file, &mut hash));
        let read = read.with_context(|| format!("workload {label}: cannot read {path}"));
        Some(read.map(|_| {
            (format!("{label}, {}", option.name), format!("sha256 {:x}", hash.finalize()))
        }))
    };
    files.filter_map(digest).collect()
}

/// Checks that the device performed the I/O. If its amount is unknown, any suffices.
fn reached(seen: &Measurement, device: &DeviceDelta, limits: &Limits) -> Vec<InvalidReason> {
    let device_bytes = device.read_bytes + device.written_bytes;
    let Some(Moved { read_bytes, written_bytes, exact }) = seen.moved else {
        let issued_bytes = 0;
        return if device_bytes == 0 {
            vec![InvalidReason::NeverReached { issued_bytes, device_bytes }]
        } else {
            Vec::new()
        };
    };
    let issued = Issued { read_bytes, written_bytes, ..Issued::default() };
    let account = account(&issued, device, Allowance { read_bytes: SIGNATURES, written_bytes: 0 });
    let mut invalid = Vec::new();
    if account.reached_share < limits.reached_share || device_bytes == 0 {
        invalid
            .push(InvalidReason::NeverReached { issued_bytes: account.issued_bytes, device_bytes });
    }
    if exact && account.foreign_share > limits.foreign_io_share {
        invalid.push(InvalidReason::ForeignIo {
            share: account.foreign_share,
            limit: limits.foreign_io_share,
        });
    }
    invalid
}

/// Bytes that the program or udev read to probe the device.
const SIGNATURES: u64 = 2 << 20;

/// Percentiles with too few `counts` of events.
pub(super) fn too_few(counts: &BTreeMap<String, u64>) -> Vec<InvalidReason> {
    let of = |(name, &count): (&String, &u64)| -> Option<InvalidReason> {
        let needed = load::needed_for(metric::find(name)?.percentile?);
        (count < needed).then(|| InvalidReason::TooFewIos { metric: name.clone(), count, needed })
    };
    counts.iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(read_bytes: u64, written_bytes: u64) -> DeviceDelta {
        DeviceDelta { read_bytes, written_bytes, ..DeviceDelta::default() }
    }

    fn moved(read_bytes: u64, written_bytes: u64, exact: bool) -> Measurement {
        Measurement {
            moved: Some(Moved { read_bytes, written_bytes, exact }),
            ..Measurement::default()
        }
    }

    #[test]
    fn a_program_whose_bytes_stayed_in_memory_is_invalid_and_one_that_knows_nothing_must_move_the_device()
     {
        let limits = Limits::default();
        let classes = |seen: &Measurement, delta: DeviceDelta| -> Vec<String> {
            reached(seen, &delta, &limits)
                .iter()
                .map(|invalid| invalid.class().to_owned())
                .collect()
        };
        let never = ["I/O never reached the device"];
        assert_eq!(classes(&moved(0, 100 << 20, false), device(0, 1 << 20)), never);
        assert_eq!(classes(&moved(0, 100 << 20, false), device(9 << 20, 300 << 20)), [""; 0]);
        assert_eq!(classes(&Measurement::default(), device(0, 0)), never);
        assert_eq!(classes(&Measurement::default(), device(0, 4096)), [""; 0]);
        assert_eq!(
            classes(&moved(100 << 20, 0, true), device(100 << 20, 50 << 20)),
            ["others used the device"]
        );
        assert_eq!(classes(&moved(100 << 20, 0, true), device(101 << 20, 0)), [""; 0]);
    }

    #[test]
    fn a_percentile_of_a_program_rests_on_enough_requests_or_is_invalid() {
        let name = "latency_p99_us".to_owned();
        let seen = |count| Measurement {
            metrics: [(name.clone(), 1.0), ("tps".to_owned(), 1.0)].into(),
            counts: [(name.clone(), count)].into(),
            ..Measurement::default()
        };
        assert!(
            matches!(&too_few(&seen(10).counts)[..], [InvalidReason::TooFewIos { metric, count: 10, .. }] if *metric == name)
        );
        assert_eq!(too_few(&seen(1_000_000).counts), []);
    }
}
