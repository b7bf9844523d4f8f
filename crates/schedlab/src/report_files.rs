//! Writes report files, each atomically; the report crate renders them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use experiment::analysis::Analysis;
use experiment::results::Results;
use lab::store::TRACES;
use lab::trace_file::{self, Format};
use machine::files::Dir;
use report::{ActuatorPath, Evidence, Visit};

use crate::out;

/// More visits make a plot black.
const MOST_VISITS: usize = 1_000_000;

pub(crate) fn evidence(results: &Results) -> Evidence<'_> {
    Evidence { unit_of, ..Evidence::of(results) }
}

/// The actuator paths of trials that `--trace` wrote into `dir`, for [`Evidence::actuator`].
/// Unreadable traces are reported and skipped.
pub(crate) fn actuator_paths(dir: &Path, results: &Results) -> Vec<ActuatorPath> {
    let traces = dir.join(TRACES);
    if !traces.is_dir() {
        return Vec::new();
    }
    let (mut traced, mut seen) = (Vec::<(&str, &str)>::new(), BTreeSet::new());
    for trial in &results.trials {
        let named = (trial.workload.as_str(), trial.variant.as_str());
        if seen.insert(named) {
            traced.push(named);
        }
    }
    let until_ns =
        results.header.plan.trial.warmup_ms.unwrap_or_default().saturating_mul(1_000_000)
            + 2_000_000_000;
    let mut paths = Vec::new();
    for format in [Format::Csv, Format::Parquet] {
        let Ok(format) = format.available() else { continue };
        let mut taken: Vec<String> = Vec::new();
        for (workload, variant) in &traced {
            let name = trace_file::name(format, workload, variant, &taken);
            let file = traces.join(&name);
            match file.exists().then(|| visits(&file, until_ns)).transpose() {
                Ok(None) => {}
                Ok(Some(visits)) => paths.push(ActuatorPath {
                    workload: (*workload).to_owned(),
                    variant: (*variant).to_owned(),
                    visits,
                }),
                Err(error) => out::note(format_args!(
                    "no actuator plot of {variant} in the report: {error:#}"
                )),
            }
            taken.push(name);
        }
    }
    paths
}

fn visits(file: &Path, until_ns: u64) -> anyhow::Result<Vec<Visit>> {
    let mut visits = Vec::new();
    trace_file::read(file, &mut |event| {
        let at_ns = event.at.as_ns();
        if event.kind == sim::EventKind::Issue && at_ns < until_ns && visits.len() < MOST_VISITS {
            visits.push(Visit {
                at_ns,
                sector: event.sector,
                nr_sectors: event.nr_sectors,
                client: event.process,
            });
        }
    })?;
    Ok(visits)
}

fn unit_of(scheduler: &str, tunable: &str) -> &'static str {
    let row = elevator::find(scheduler).and_then(|kind| kind.tunable(tunable)).map(|row| row.unit);
    let of_cpus =
        || machine::cpu::SCALES.iter().find(|scale| scale.name == tunable).map(|scale| scale.unit);
    row.or_else(of_cpus).filter(|unit| *unit != "switch").unwrap_or_default()
}

/// Writes analysis.json, report.html, report.md, comparisons.csv, for a sweep sweep.csv, and with
/// `evidence` trials.csv; returns the files. Each is replaced atomically, so a full disk leaves the
/// previous one in place.
pub(crate) fn write_all(
    dir: &Path,
    analysis: &Analysis,
    evidence: Option<&Evidence<'_>>,
) -> anyhow::Result<Vec<PathBuf>> {
    let files = report::files(analysis, evidence)?;
    let dir = Dir::make(dir).context("reports: name another directory with --out")?;
    let write = |(name, text): (&str, String)| {
        dir.replace(name, text.as_bytes())?;
        Ok(dir.file(name))
    };
    files.into_iter().map(write).collect()
}

#[cfg(test)]
mod tests {
    use experiment::results::{Observation, Trial};

    use super::*;

    fn results() -> Results {
        let plan = "device = '/dev/sdb'\nworkload = [{ name = 'oltp', kind = 'oltp', primary = 'iops' }]\n\
                    variant = [{ name = 'none', scheduler = 'none' }, { name = 'bfq', scheduler = 'bfq' }]";
        let plan = experiment::plan::Plan::from_toml(plan).expect("a plan");
        let header = experiment::results::Header {
            schema: 1,
            schedlab: "0.1.0".into(),
            plan,
            environment: Default::default(),
            started_unix_ms: 0,
            command: "schedlab".into(),
        };
        let mut results = Results::new(header);
        for (at, (variant, iops)) in
            [("none", 100.0), ("bfq", 90.0)].into_iter().cycle().take(6).enumerate()
        {
            results.trials.push(Trial {
                sequence: at as u64,
                workload: "oltp".into(),
                round: at as u32 / 2,
                position: at as u32 % 2,
                variant: variant.into(),
                started_ms: at as u64 * 1000,
                observation: Observation {
                    metrics: [("iops".into(), iops)].into(),
                    ..Observation::default()
                },
            });
        }
        results
    }

    #[test]
    fn every_file_is_written_whole_and_nothing_else_is_left_behind() {
        let results = results();
        let analysis = experiment::analyze(&results, None);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let written = write_all(dir.path(), &analysis, Some(&evidence(&results)))
            .expect("the report is written");
        let mut names: Vec<String> = std::fs::read_dir(dir.path())
            .expect("the directory is readable")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a UTF-8 name"))
            .collect();
        names.sort();
        assert_eq!(
            names,
            ["analysis.json", "comparisons.csv", "report.html", "report.md", "trials.csv"]
        );
        assert_eq!(written.len(), names.len());
    }

    #[test]
    fn an_analysis_without_results_is_reported_too() {
        let analysis = experiment::analyze(&results(), None);
        let dir = tempfile::tempdir().expect("a temporary directory");
        let written = write_all(&dir.path().join("not/yet/there"), &analysis, None)
            .expect("the report is written");
        assert_eq!(written.len(), 4);
    }

    #[test]
    fn traces_beside_the_results_become_paths_of_the_actuator() {
        let (results, dir) = (results(), tempfile::tempdir().expect("a temporary directory"));
        assert_eq!(actuator_paths(dir.path(), &results), []);
        let traces = dir.path().join(TRACES);
        std::fs::create_dir(&traces).expect("the directory is made");
        let head = "at_ns,event,process,tag,op,sector,nr_sectors\n";
        let events = "5,insert,1,3,read,800,8\n7,issue,1,3,read,800,8\n9,complete,1,3,read,800,8\n9000000000,issue,1,3,read,808,8\n";
        std::fs::write(traces.join("oltp-bfq.csv"), format!("{head}{events}"))
            .expect("the trace is written");
        std::fs::write(traces.join("oltp-none.csv"), "no trace").expect("the file is written");
        let found = actuator_paths(dir.path(), &results);
        let visits = vec![Visit { at_ns: 7, sector: 800, nr_sectors: 8, client: Some(1) }];
        assert_eq!(
            found,
            [ActuatorPath { workload: "oltp".into(), variant: "bfq".into(), visits }]
        );
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let analysis = experiment::analyze(&results(), None);
        let dir = tempfile::tempdir().expect("a temporary directory");
        std::fs::create_dir(dir.path().join("report.html")).expect("a directory is in the way");
        let error =
            write_all(dir.path(), &analysis, None).expect_err("a directory cannot be replaced");
        assert!(error.to_string().contains("report.html"), "{error}");
        let error = write_all(Path::new("/proc/nowhere"), &analysis, None)
            .expect_err("there is no such directory");
        assert!(format!("{error:#}").contains("/proc/nowhere"), "{error:#}");
    }
}
