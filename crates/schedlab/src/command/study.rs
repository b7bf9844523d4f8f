//! `schedlab study` and `schedlab report`: evidence that is already there, judged and written down again.

use std::path::{Path, PathBuf};

use anyhow::Result;
use experiment::Options;
use experiment::metric::Direction;
use experiment::plan::{self, Criteria, Method};
use experiment::pool::{self, OccasionSamples};
use experiment::record::Record;
use experiment::samples::Sample;
use experiment::study::{Judgement, Study, Verdict};

use crate::cli::StudyArgs;
use crate::failure::{REACHED, VOID, usage};
use crate::out;
use crate::report_files;
use lab::foreign::{self, Columns};
use lab::{occasions, store};

/// Judges each source, prints it, and says by the exit status whether any evidence is void.
pub(crate) fn study(args: &StudyArgs) -> Result<u8> {
    if args.pool {
        return pooled(args);
    }
    let mut studies = Vec::new();
    for (at, source) in args.sources.iter().enumerate() {
        let (study, record) = if is_table(source) { (of_table(source, args)?, None) } else { of_record(source, args)? };
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

fn is_table(source: &Path) -> bool {
    source.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"))
}

/// Judges the sources as occasions of one question.
fn pooled(args: &StudyArgs) -> Result<u8> {
    let sources: Vec<PathBuf> = args.sources.iter().flat_map(|source| occasions_of(source)).collect();
    let tables = sources.iter().filter(|source| is_table(source)).count();
    if tables > 0 && tables < sources.len() {
        return Err(usage("--pool: records and tables together; pool one kind at a time"));
    }
    occasions::check(sources.len())?;
    let study = if tables > 0 {
        let mut options = Options::default();
        let mut read = Vec::new();
        for (source, name) in sources.iter().zip(occasions::names(&sources)) {
            let (samples, own) = evidence_of_table(source, args)?;
            if read.is_empty() {
                options = own;
            }
            read.push(OccasionSamples { name, samples });
        }
        let name = read.iter().map(|occasion| occasion.name.as_str()).collect::<Vec<_>>().join(", ");
        pool::pool_samples(&name, &read, &options, None)
    } else {
        refuse_flags_of_tables(&sources[0], args)?;
        let records = occasions::records(&sources)?;
        let named = [&args.margin, &args.alpha].into_iter().any(Option::is_some);
        let first =
            records.first().map(|(_, record)| criteria(args, record.header.plan.criteria.clone())).transpose()?;
        let records: Vec<_> = records.iter().map(|(name, record)| (name.clone(), record)).collect();
        pool::pool_records(&records, first.filter(|_| named).as_ref(), None)
    };
    let study = study.map_err(|difference| usage(difference.to_string()))?;
    let files = args.out.as_ref().map_or(Ok(Vec::new()), |out| report_files::write_all(out, &study, None))?;
    if args.json {
        out::print(report::json(&study)?)?;
    } else {
        out::report(&report::terminal::render(&study, None, &files, &out::report_options(args.verbose)))?;
    }
    Ok(if has_void(&study) { VOID } else { REACHED })
}

/// The occasions in a directory that `--occasions` wrote; otherwise the source itself.
fn occasions_of(source: &Path) -> Vec<PathBuf> {
    let below = if source.join(store::RECORD).exists() { Vec::new() } else { occasions::below(source) };
    if below.is_empty() { vec![source.to_owned()] } else { below }
}

/// Studies a record and writes its reports beside it; the study and the files.
pub(super) fn write_again(source: &Path) -> Result<(Study, Vec<PathBuf>)> {
    let record = store::read(source)?;
    let study = experiment::study(&record, None);
    let dir = if source.is_dir() { source } else { source.parent().unwrap_or(Path::new(".")) };
    let actuator = report_files::actuator_paths(dir, &record);
    let evidence = report::Evidence { actuator: &actuator, ..report_files::evidence(&record) };
    let files = report_files::write_all(dir, &study, Some(&evidence))?;
    Ok((study, files))
}

/// Whether a deciding judgement is void, or there is none at all.
pub(crate) fn has_void(study: &Study) -> bool {
    let void = |judgement: &Judgement| judgement.primary && judgement.verdict == Verdict::Void;
    study.judgements.is_empty() || study.judgements.iter().any(void)
}

fn of_record(source: &Path, args: &StudyArgs) -> Result<(Study, Option<Record>)> {
    refuse_flags_of_tables(source, args)?;
    let record = store::read(source)?;
    let criteria = criteria(args, record.header.plan.criteria.clone())?;
    Ok((experiment::study(&record, Some(&criteria)), Some(record)))
}

fn refuse_flags_of_tables(source: &Path, args: &StudyArgs) -> Result<()> {
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
    Ok(())
}

fn of_table(source: &Path, args: &StudyArgs) -> Result<Study> {
    let (samples, options) = evidence_of_table(source, args)?;
    let name = source.file_name().unwrap_or(source.as_os_str()).to_string_lossy().into_owned();
    Ok(experiment::study_samples(&name, &samples, &options))
}

/// What a table says, and what the flags say of it.
fn evidence_of_table(source: &Path, args: &StudyArgs) -> Result<(Vec<Sample>, Options)> {
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
    let options = Options {
        baseline: args.baseline.clone(),
        primary: samples.iter().map(|sample| (sample.workload.clone(), args.metric[0].clone())).collect(),
        directions: args.lower_is_better.iter().map(|name| (name.clone(), Direction::LowerIsBetter)).collect(),
        criteria: criteria(args, Criteria { method: Method::Fixed, ..Criteria::default() })?,
        ..Options::default()
    };
    Ok((samples, options))
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
