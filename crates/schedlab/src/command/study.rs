//! `schedlab study` and `schedlab report`: evidence that is already there, judged and written down again.

use std::path::Path;

use anyhow::Result;
use experiment::Options;
use experiment::metric::Direction;
use experiment::plan::{self, Criteria, Method};
use experiment::record::Record;
use experiment::study::{Judgement, Study, Verdict};

use crate::cli::{ReportArgs, StudyArgs};
use crate::failure::{REACHED, VOID, usage};
use crate::out;
use crate::report_files;
use lab::foreign::{self, Columns};
use lab::store;

/// Judges each source, prints it, and says by the exit status whether any evidence is void.
pub(crate) fn study(args: &StudyArgs) -> Result<u8> {
    let mut studies = Vec::new();
    for (at, source) in args.sources.iter().enumerate() {
        let is_table = source.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        let (study, record) = if is_table { (of_table(source, args)?, None) } else { of_record(source, args)? };
        let evidence = record.as_ref().map(report_files::evidence);
        let files = match &args.out {
            Some(out) if args.sources.len() == 1 => report_files::write_all(out, &study, evidence.as_ref())?,
            Some(out) => report_files::write_all(&out.join(format!("{}", at + 1)), &study, evidence.as_ref())?,
            None => Vec::new(),
        };
        if !args.json {
            let options = out::report_options(args.verbose);
            out::report(&report::terminal::render(&study, evidence.as_ref(), &files, &options))?;
        }
        studies.push(study);
    }
    if args.json {
        // One source gives one study, as study.json holds it; several give a list.
        match studies.as_slice() {
            [study] => out::print(report::json(study)?)?,
            studies => out::line(serde_json::to_string_pretty(studies)?)?,
        }
    }
    Ok(if studies.iter().any(has_void) { VOID } else { REACHED })
}

/// Writes the reports of a record again.
pub(crate) fn report(args: &ReportArgs) -> Result<u8> {
    let record = store::read(&args.dir)?;
    let study = experiment::study(&record, None);
    let dir = if args.dir.is_dir() { &args.dir } else { args.dir.parent().unwrap_or(Path::new(".")) };
    let actuator = report_files::actuator_paths(dir, &record);
    let evidence = report::Evidence { actuator: &actuator, ..report_files::evidence(&record) };
    for file in report_files::write_all(dir, &study, Some(&evidence))? {
        out::line(file.display())?;
    }
    Ok(REACHED)
}

/// Whether a deciding judgement is void, or there is none at all.
pub(crate) fn has_void(study: &Study) -> bool {
    let void = |judgement: &Judgement| judgement.primary && judgement.verdict == Verdict::Void;
    study.judgements.is_empty() || study.judgements.iter().any(void)
}

fn of_record(source: &Path, args: &StudyArgs) -> Result<(Study, Option<Record>)> {
    let of_tables = [
        ("--arm", args.arm.is_some()),
        ("--metric", !args.metric.is_empty()),
        ("--block", args.block.is_some()),
        ("--workload", args.workload.is_some()),
        ("--void-if", args.void_if.is_some()),
        ("--lower-is-better", !args.lower_is_better.is_empty()),
        ("--baseline", args.baseline.is_some()),
    ];
    if let Some((flag, _)) = of_tables.iter().find(|(_, given)| *given) {
        return Err(usage(format!(
            "{}: a record, which has its own plan; leave out {flag}, which is for CSV tables",
            source.display()
        )));
    }
    let record = store::read(source)?;
    let criteria = criteria(args, record.header.plan.criteria.clone())?;
    Ok((experiment::study(&record, Some(&criteria)), Some(record)))
}

fn of_table(source: &Path, args: &StudyArgs) -> Result<Study> {
    let (Some(arm), false) = (&args.arm, args.metric.is_empty()) else {
        return Err(usage(format!(
            "{}: a table, of which no column is chosen (found {}); name the column of arms and that of the numbers with \
             --arm COL --metric COL",
            source.display(),
            foreign::header(source)?.join(", ")
        )));
    };
    let columns = Columns {
        arm,
        metrics: &args.metric,
        block: args.block.as_deref(),
        workload: args.workload.as_deref(),
        void_if: args.void_if.as_deref(),
    };
    for (i, name) in args.metric.iter().enumerate() {
        if args.metric[..i].contains(name) {
            return Err(usage(format!("--metric {name}: given twice; leave one out")));
        }
    }
    if let Some(name) = args.lower_is_better.iter().find(|name| !args.metric.contains(name)) {
        let nearest = text::did_you_mean(name, args.metric.iter().map(String::as_str));
        return Err(usage(format!(
            "--lower-is-better {name:?}: none of the metrics given by --metric; add it there{nearest}"
        )));
    }
    let samples = foreign::read(source, &columns)?;
    if samples.iter().all(|sample| sample.arm == samples[0].arm) {
        return Err(usage(format!(
            "{}: one arm only, {:?}, in column {arm:?}; a comparison needs two",
            source.display(),
            samples[0].arm
        )));
    }
    if let Some(name) = args.baseline.as_ref().filter(|name| samples.iter().all(|sample| sample.arm != **name)) {
        let nearest = text::did_you_mean(name, samples.iter().map(|sample| sample.arm.as_str()));
        return Err(usage(format!(
            "--baseline {name:?}: not an arm of {}; name one of its arms{nearest}",
            source.display()
        )));
    }
    let name = source.file_name().unwrap_or(source.as_os_str()).to_string_lossy().into_owned();
    let options = Options {
        baseline: args.baseline.clone(),
        primary: samples.iter().map(|sample| (sample.workload.clone(), args.metric[0].clone())).collect(),
        directions: args.lower_is_better.iter().map(|name| (name.clone(), Direction::LowerIsBetter)).collect(),
        criteria: criteria(args, Criteria { method: Method::Fixed, ..Criteria::default() })?,
        ..Options::default()
    };
    Ok(experiment::study_samples(&name, &samples, &options))
}

fn criteria(args: &StudyArgs, mut criteria: Criteria) -> Result<Criteria> {
    if let Some(word) = &args.margin {
        criteria.margin = plan::parse_percent(word).map_err(|e| usage(format!("--margin: {e}")))?;
    }
    if let Some(word) = &args.alpha {
        criteria.alpha = plan::parse_percent(word).map_err(|e| usage(format!("--alpha: {e}")))?;
    }
    if let Some(method) = args.method {
        criteria.method = method.into();
        criteria.planned = criteria.planned.filter(|_| criteria.method == Method::Spending);
    }
    if let Some(planned) = args.planned {
        if criteria.method != Method::Spending {
            return Err(usage("--planned: belongs to --method spending; add it, or leave --planned out"));
        }
        criteria.planned = Some(planned);
    }
    if criteria.method == Method::Spending && args.method.is_some() && criteria.planned.is_none() {
        return Err(usage(
            "--method spending: looks within a budget of blocks; name how many there were to be, e.g. --planned 24",
        ));
    }
    criteria.check().map_err(|e| usage(e.to_string()))?;
    Ok(criteria)
}
