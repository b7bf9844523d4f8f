//! `schedlab analyze`, and the rewriting of reports.

use std::path::{Path, PathBuf};

use anyhow::Result;
use experiment::Options;
use experiment::analysis::Analysis;
use experiment::pool::{self, RepeatSamples};
use experiment::results::Results;
use import::Importer;
use machine::Root;

use crate::cli::AnalyzeArgs;
use crate::failure::usage;
use crate::out;
use crate::report_files;
use lab::sources::{self, Source};
use lab::{repeats, store};

mod criteria;
mod foreign_numbers;

use criteria::criteria;

pub(crate) fn analyze(root: &Root, args: &AnalyzeArgs) -> Result<u8> {
    if args.pool {
        return pooled(root, args);
    }
    let all = match format_of(args)? {
        Some(row) => vec![(foreign_numbers::of_program(row, args)?, None)],
        None => {
            args.sources.iter().map(|source| compare(source, args)).collect::<Result<Vec<_>>>()?
        }
    };
    for (at, (analysis, results)) in all.iter().enumerate() {
        let evidence = results.as_ref().map(report_files::evidence);
        let files = match &args.out {
            Some(out) if all.len() == 1 => {
                report_files::write_all(out, analysis, evidence.as_ref())?
            }
            Some(out) => report_files::write_all(
                &out.join(format!("{}", at + 1)),
                analysis,
                evidence.as_ref(),
            )?,
            None => Vec::new(),
        };
        if !args.json {
            let options = out::analysis_options(root, args.verbose);
            out::report(&report::terminal::render(analysis, evidence.as_ref(), &files, &options))?;
        }
    }
    let analyses: Vec<&Analysis> = all.iter().map(|(analysis, _)| analysis).collect();
    if args.json {
        // A single source prints one analysis, as in analysis.json.
        out::print(match analyses[..] {
            [analysis] => report::json(analysis)?,
            _ => report::json_of_all(&analyses)?,
        })?;
    }
    Ok(args.fail_if.status_of_all(analyses))
}

/// The format of sources that are read together; None for results and tables, which are compared
/// one by one.
fn format_of(args: &AnalyzeArgs) -> Result<Option<&'static Importer>> {
    if let Some(name) = &args.from {
        return Ok(import::find(name));
    }
    let format = |source: &PathBuf| match kind_of(source, args)? {
        Source::Foreign(row) => Ok(Some(row)),
        Source::Results | Source::Table | Source::Unknown(_) => Ok(None),
    };
    let formats = args.sources.iter().map(format).collect::<Result<Vec<_>>>()?;
    let Some(at) = formats.iter().position(Option::is_some) else {
        let patterns = [
            ("--variant-pattern", args.variant_pattern.is_some()),
            ("--round-pattern", args.round_pattern.is_some()),
        ];
        return match patterns.iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(usage(format!(
                "{flag}: for the output of other programs, which these sources are not; leave it out, or name the program with --from"
            ))),
            None => Ok(None),
        };
    };
    let name = |row: Option<&Importer>| row.map_or("no output of another program", |row| row.name);
    if let Some(other) = formats.iter().position(|row| name(*row) != name(formats[at])) {
        return Err(usage(format!(
            "{}: {}, and {} is {}; analyze one kind at a time, or name the program with --from",
            args.sources[other].display(),
            name(formats[other]),
            args.sources[at].display(),
            name(formats[at])
        )));
    }
    if args.invalid_if.is_some() {
        return Err(usage(format!(
            "--invalid-if: for tables, and {} is {}; leave it out",
            args.sources[at].display(),
            name(formats[at])
        )));
    }
    out::note(format_args!("read as {}; --from names another program", name(formats[at])));
    Ok(formats[at])
}

fn kind_of(source: &Path, args: &AnalyzeArgs) -> Result<Source> {
    let columns: Vec<&str> = args.variant.iter().chain(&args.metric).map(String::as_str).collect();
    sources::kind(source, args.variant.as_ref().map(|_| columns.as_slice()))
}

fn compare(source: &Path, args: &AnalyzeArgs) -> Result<(Analysis, Option<Results>)> {
    match kind_of(source, args)? {
        Source::Results => of_results(source, args),
        Source::Table => Ok((foreign_numbers::of_table(source, args)?, None)),
        Source::Foreign(row) => Ok((foreign_numbers::of_program(row, args)?, None)),
        Source::Unknown(tried) => {
            let tried: String = tried
                .iter()
                .map(|(name, mark)| format!("\n{name}: no {}", mark.trim_end()))
                .collect();
            Err(usage(format!(
                "{}: no format reads it; name the directory of an experiment, or the program that wrote it with --from. Tried:{tried}",
                source.display()
            )))
        }
    }
}

fn is_table(source: &Path) -> bool {
    ["csv", "tsv"]
        .iter()
        .any(|table| source.extension().is_some_and(|e| e.eq_ignore_ascii_case(table)))
}

fn pooled(root: &Root, args: &AnalyzeArgs) -> Result<u8> {
    let sources: Vec<PathBuf> = args.sources.iter().flat_map(|source| repeats_of(source)).collect();
    let tables = sources.iter().filter(|source| is_table(source)).count();
    if tables > 0 && tables < sources.len() {
        return Err(usage("--pool: results files and tables together; pool one kind at a time"));
    }
    repeats::check(sources.len())?;
    let analysis = if tables > 0 {
        let mut options = Options::default();
        let mut read = Vec::new();
        for (source, name) in sources.iter().zip(repeats::names(&sources)) {
            let (samples, own) = foreign_numbers::evidence_of_table(source, args)?;
            if read.is_empty() {
                options = own;
            }
            read.push(RepeatSamples { name, samples });
        }
        let name = read.iter().map(|repeat| repeat.name.as_str()).collect::<Vec<_>>().join(", ");
        pool::pool_samples(&name, &read, &options, None)
    } else {
        refuse_flags_of_tables(&sources[0], args)?;
        let all_results = repeats::all_results(&sources)?;
        let named = [&args.margin, &args.alpha].into_iter().any(Option::is_some);
        let first = all_results
            .first()
            .map(|(_, results)| criteria(args, results.header.plan.criteria.clone()))
            .transpose()?;
        let all_results: Vec<_> =
            all_results.iter().map(|(name, results)| (name.clone(), results)).collect();
        pool::pool_results(&all_results, first.filter(|_| named).as_ref(), None)
    };
    let analysis = analysis.map_err(|difference| usage(difference.to_string()))?;
    let files = args
        .out
        .as_ref()
        .map_or(Ok(Vec::new()), |out| report_files::write_all(out, &analysis, None))?;
    if args.json {
        out::print(report::json(&analysis)?)?;
    } else {
        out::report(&report::terminal::render(
            &analysis,
            None,
            &files,
            &out::analysis_options(root, args.verbose),
        ))?;
    }
    Ok(args.fail_if.status(&analysis))
}

fn repeats_of(source: &Path) -> Vec<PathBuf> {
    let below =
        if source.join(store::RESULTS).exists() { Vec::new() } else { repeats::below(source) };
    if below.is_empty() { vec![source.to_owned()] } else { below }
}

pub(super) fn write_again(source: &Path) -> Result<(Analysis, Vec<PathBuf>)> {
    let results = store::read(source)?;
    let analysis = experiment::analyze(&results, None);
    let dir = if source.is_dir() { source } else { source.parent().unwrap_or(Path::new(".")) };
    let actuator = report_files::actuator_paths(dir, &results);
    let evidence = report::Evidence { actuator: &actuator, ..report_files::evidence(&results) };
    let files = report_files::write_all(dir, &analysis, Some(&evidence))?;
    Ok((analysis, files))
}

fn of_results(source: &Path, args: &AnalyzeArgs) -> Result<(Analysis, Option<Results>)> {
    refuse_flags_of_tables(source, args)?;
    let results = store::read(source)?;
    let criteria = criteria(args, results.header.plan.criteria.clone())?;
    Ok((experiment::analyze(&results, Some(&criteria)), Some(results)))
}

fn refuse_flags_of_tables(source: &Path, args: &AnalyzeArgs) -> Result<()> {
    let of_tables = [
        ("--variant", args.variant.is_some()),
        ("--metric", !args.metric.is_empty()),
        ("--round", args.round.is_some()),
        ("--workload", args.workload.is_some()),
        ("--invalid-if", args.invalid_if.is_some()),
        ("--lower-is-better", !args.lower_is_better.is_empty()),
        ("--higher-is-better", !args.higher_is_better.is_empty()),
        ("--baseline", args.baseline.is_some()),
    ];
    if let Some((flag, _)) = of_tables.iter().find(|(_, given)| *given) {
        return Err(usage(format!(
            "{}: a results file, which has its own plan; leave out {flag}, which is for tables",
            source.display()
        )));
    }
    Ok(())
}
