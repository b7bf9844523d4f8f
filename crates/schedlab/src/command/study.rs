//! `schedlab study` and `schedlab report`: evidence that is already there, judged and written down again.

use std::path::Path;

use anyhow::{Context, Result};
use experiment::plan::{self, Criteria};
use experiment::record::Record;
use experiment::study::{self, Study, Verdict};

use crate::cli::{ReportArgs, StudyArgs};
use crate::failure::{REACHED, VOID, usage};
use crate::foreign::{self, Columns};
use crate::report::{self, Evidence, terminal};
use crate::store;

/// Judges each source, prints it, and says by the exit status whether any evidence is void.
pub(crate) fn study(args: &StudyArgs) -> Result<u8> {
    let mut studies = Vec::new();
    for (at, source) in args.sources.iter().enumerate() {
        let is_table = source.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        let (study, record) = if is_table { (of_table(source, args)?, None) } else { of_record(source, args)? };
        let evidence = record.as_ref().map(Evidence::of);
        let files = match &args.out {
            Some(out) if args.sources.len() == 1 => report::write_all(out, &study, evidence.as_ref())?,
            Some(out) => report::write_all(&out.join(format!("{}", at + 1)), &study, evidence.as_ref())?,
            None => Vec::new(),
        };
        if !args.json {
            let options = terminal::Options::of_stdout(args.verbose);
            print!("{}", terminal::render(&study, evidence.as_ref(), &files, &options));
        }
        studies.push(study);
    }
    if args.json {
        println!("{}", report::json_of(&studies)?);
    }
    Ok(if studies.iter().any(has_void) { VOID } else { REACHED })
}

/// Writes the reports of a record again.
pub(crate) fn report(args: &ReportArgs) -> Result<u8> {
    let record = store::read(&args.dir)?;
    let study = study::study(&record, None);
    let dir = if args.dir.is_dir() { &args.dir } else { args.dir.parent().unwrap_or(Path::new(".")) };
    for file in report::write_all(dir, &study, Some(&Evidence::of(&record)))? {
        println!("{}", file.display());
    }
    Ok(REACHED)
}

/// Whether a deciding judgement is void.
pub(crate) fn has_void(study: &Study) -> bool {
    study.judgements.iter().any(|judgement| judgement.primary && judgement.verdict == Verdict::Void)
}

fn of_record(source: &Path, args: &StudyArgs) -> Result<(Study, Option<Record>)> {
    if args.arm.is_some() || !args.metric.is_empty() {
        return Err(usage(format!("{} is a record: --arm and --metric are for CSV tables", source.display())));
    }
    let record = store::read(source)?;
    let criteria = criteria(args, record.header.plan.criteria.clone())?;
    Ok((study::study(&record, Some(&criteria)), Some(record)))
}

fn of_table(source: &Path, args: &StudyArgs) -> Result<Study> {
    let (Some(arm), false) = (&args.arm, args.metric.is_empty()) else {
        return Err(usage(format!(
            "{} is a table: say which column names what is compared and which one holds the numbers, \
             --arm COL --metric COL; it has {}",
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
    let samples = foreign::read(source, &columns)?;
    let baseline = match &args.baseline {
        Some(name) if samples.iter().any(|sample| sample.arm == *name) => name.clone(),
        Some(name) => {
            let nearest = crate::words::nearest(name, samples.iter().map(|sample| sample.arm.as_str()));
            return Err(usage(format!("--baseline {name:?} is no arm of {}{nearest}", source.display())));
        }
        None => samples.first().map(|sample| sample.arm.clone()).context("a table has rows")?,
    };
    let name = source.file_name().unwrap_or(source.as_os_str()).to_string_lossy().into_owned();
    let options = study::Options {
        baseline,
        primary: args.metric[0].clone(),
        lower_is_better: args.lower_is_better.clone(),
        criteria: criteria(args, Criteria::default())?,
    };
    Ok(study::study_samples(&name, &samples, &options))
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
    }
    Ok(criteria)
}
