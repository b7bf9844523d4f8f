//! `schedlab study` and `schedlab report`: evidence that is already there, judged and written down again.

use std::path::Path;

use anyhow::Result;
use experiment::Options;
use experiment::metric::Direction;
use experiment::plan::{self, Criteria};
use experiment::record::Record;
use experiment::study::{Study, Verdict};

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
        // One source gives one study, as study.json holds it; several give a list.
        match studies.as_slice() {
            [study] => print!("{}", report::json::render(study)?),
            studies => println!("{}", serde_json::to_string_pretty(studies)?),
        }
    }
    Ok(if studies.iter().any(has_void) { VOID } else { REACHED })
}

/// Writes the reports of a record again.
pub(crate) fn report(args: &ReportArgs) -> Result<u8> {
    let record = store::read(&args.dir)?;
    let study = experiment::study(&record, None);
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
    Ok((experiment::study(&record, Some(&criteria)), Some(record)))
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
    if let Some(name) = args.baseline.as_ref().filter(|name| samples.iter().all(|sample| sample.arm != **name)) {
        let nearest = crate::words::nearest(name, samples.iter().map(|sample| sample.arm.as_str()));
        return Err(usage(format!("--baseline {name:?} is no arm of {}{nearest}", source.display())));
    }
    let name = source.file_name().unwrap_or(source.as_os_str()).to_string_lossy().into_owned();
    let options = Options {
        baseline: args.baseline.clone(),
        primary: samples.iter().map(|sample| (sample.workload.clone(), args.metric[0].clone())).collect(),
        directions: args.lower_is_better.iter().map(|name| (name.clone(), Direction::LowerIsBetter)).collect(),
        criteria: criteria(args, Criteria::default())?,
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
    }
    Ok(criteria)
}
