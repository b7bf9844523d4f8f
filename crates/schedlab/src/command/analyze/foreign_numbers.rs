//! Numbers measured elsewhere: a table or another program's files, compared as one look.
//!
//! A verdict needs a direction and a baseline. If neither the user, the format nor the metric's
//! name gives them, they are required: a guess might recommend the slowest.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use experiment::Options;
use experiment::analysis::Analysis;
use experiment::metric::{Direction, direction_of_column};
use experiment::plan::{Criteria, Method};
use experiment::samples::Sample;
use import::table::{self, Columns};
use import::{Choice, Guess, Import, Importer};
use lab::sources;

use crate::cli::AnalyzeArgs;
use crate::failure::usage;
use crate::out;

const ONE_LOOK: &str = "one look: the interval holds if the number of trials was chosen before the first of them, and not after looking at \
                        results (--method anytime holds whenever it was chosen)";

pub(super) fn of_program(row: &Importer, args: &AnalyzeArgs) -> Result<Analysis> {
    let files = sources::files(row, &args.sources)?;
    let choice = Choice {
        variant: args.variant.as_deref(),
        variant_pattern: args.variant_pattern.as_deref(),
        round: args.round.as_deref(),
        round_pattern: args.round_pattern.as_deref(),
        workload: args.workload.as_deref(),
        metrics: &args.metric,
    };
    check_names(args)?;
    let import = import::import(row, &files, &choice).map_err(|error| usage(error.to_string()))?;
    let (name, subject) = match args.sources.as_slice() {
        [one] => (file_name(one), one.display().to_string()),
        several => {
            let all = format!("{} of {}", several.len(), row.name);
            (all.clone(), all)
        }
    };
    let remedy = format!(
        "name files of another variant as well, or choose the label of variants with --variant or --variant-pattern (labels of {}: \
                          file, dir, {})",
        row.name,
        row.labels.iter().map(|(label, _)| *label).collect::<Vec<_>>().join(", ")
    );
    let (samples, options) = evidence(&subject, import, args, &remedy)?;
    Ok(experiment::analyze_samples(&name, &samples, &options))
}

pub(super) fn of_table(source: &Path, args: &AnalyzeArgs) -> Result<Analysis> {
    let (samples, options) = evidence_of_table(source, args)?;
    Ok(experiment::analyze_samples(&file_name(source), &samples, &options))
}

pub(super) fn evidence_of_table(
    source: &Path,
    args: &AnalyzeArgs,
) -> Result<(Vec<Sample>, Options)> {
    let text = sources::table(source)?;
    let of_source = |error: import::Error| usage(format!("{}: {error}", source.display()));
    let Guess { variant, metrics, round, workload } = choice(source, &text, args)?;
    let columns = Columns {
        variant: &variant,
        metrics: &metrics,
        round: round.as_deref(),
        workload: workload.as_deref(),
        invalid_if: args.invalid_if.as_deref(),
    };
    check_names(args)?;
    let samples = table::parse(&text, &columns).map_err(of_source)?;
    let primary =
        samples.iter().map(|sample| (sample.workload.clone(), metrics[0].clone())).collect();
    let import = Import { samples, primary, directions: BTreeMap::new(), cautions: Vec::new() };
    evidence(
        &source.display().to_string(),
        import,
        args,
        &format!("a comparison needs two in column {variant:?}"),
    )
}

/// The columns that the user chose, or those detected.
fn choice(source: &Path, text: &str, args: &AnalyzeArgs) -> Result<Guess> {
    let (round, workload) = (args.round.clone(), args.workload.clone());
    if let (Some(variant), false) = (&args.variant, args.metric.is_empty()) {
        let (variant, metrics) = (variant.clone(), args.metric.clone());
        return Ok(Guess { variant, metrics, round, workload });
    }
    let guess = import::guess(text, args.variant.as_deref(), &args.metric)
        .map_err(|error| usage(format!("{}: {error}", source.display())))?;
    let guess =
        Guess { round: round.or(guess.round), workload: workload.or(guess.workload), ..guess };
    let flags: String = [("--round", &guess.round), ("--workload", &guess.workload)]
        .iter()
        .filter_map(|(flag, column)| Some(format!(" {flag} {}", column.as_ref()?)))
        .collect();
    let metrics = guess.metrics.join(" --metric ");
    out::note(format_args!(
        "{}: read with --variant {} --metric {metrics}{flags}",
        source.display(),
        guess.variant
    ));
    Ok(guess)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn evidence(
    name: &str,
    import: Import,
    args: &AnalyzeArgs,
    one_variant: &str,
) -> Result<(Vec<Sample>, Options)> {
    let Import { samples, primary, directions, mut cautions } = import;
    if samples.iter().all(|sample| sample.variant == samples[0].variant) {
        return Err(usage(format!(
            "{name}: one variant only, {:?}; {one_variant}",
            samples.first().map_or("", |sample| sample.variant.as_str())
        )));
    }
    let criteria =
        super::criteria::criteria(args, Criteria { method: Method::Fixed, ..Criteria::default() })?;
    let baseline = baseline(name, &samples, args)?;
    let directions = all_directions(name, &samples, &primary, directions, args)?;
    if criteria.method == Method::Fixed {
        cautions.push(ONE_LOOK.to_owned());
    }
    let options = Options {
        baseline: Some(baseline),
        primary,
        directions,
        criteria,
        cautions,
        ..Options::default()
    };
    Ok((samples, options))
}

fn check_names(args: &AnalyzeArgs) -> Result<()> {
    for (i, name) in args.metric.iter().enumerate() {
        if args.metric[..i].contains(name) {
            return Err(usage(format!("--metric {name}: given twice; leave one out")));
        }
    }
    if let Some(name) =
        args.lower_is_better.iter().find(|name| args.higher_is_better.contains(name))
    {
        return Err(usage(format!(
            "--lower-is-better {name:?}: also given as --higher-is-better; leave one out"
        )));
    }
    let flags = [
        ("--lower-is-better", &args.lower_is_better),
        ("--higher-is-better", &args.higher_is_better),
    ];
    for (flag, names) in flags {
        if let Some(name) =
            names.iter().find(|name| !args.metric.is_empty() && !args.metric.contains(name))
        {
            let nearest = text::did_you_mean(name, args.metric.iter().map(String::as_str));
            return Err(usage(format!(
                "{flag} {name:?}: none of the metrics given by --metric; add it there{nearest}"
            )));
        }
    }
    Ok(())
}

fn baseline(name: &str, samples: &[Sample], args: &AnalyzeArgs) -> Result<String> {
    let mut variants: Vec<&str> = Vec::new();
    for sample in samples {
        if !variants.contains(&sample.variant.as_str()) {
            variants.push(&sample.variant);
        }
    }
    if let Some(named) = &args.baseline {
        let nearest = || text::did_you_mean(named, variants.iter().copied());
        return if variants.contains(&named.as_str()) {
            Ok(named.clone())
        } else {
            Err(usage(format!(
                "--baseline {named:?}: not a variant of {name}; name one of its variants{}",
                nearest()
            )))
        };
    }
    let usual = ["default", "none"].into_iter().find(|usual| variants.contains(usual));
    usual.map(str::to_owned).ok_or_else(|| {
        let shown: Vec<String> = variants.iter().take(20).map(|variant| format!("{variant:?}")).collect();
        let more = if variants.len() > 20 { ", …" } else { "" };
        usage(format!(
            "{name}: no variant is called default or none (found {}{more}); name the one to compare the others with by --baseline NAME",
            shown.join(", ")
        ))
    })
}

/// From the user, the format, or the metric's name; required for a metric that was named or
/// decides.
fn all_directions(
    name: &str,
    samples: &[Sample],
    primary: &BTreeMap<String, String>,
    of_format: BTreeMap<String, Direction>,
    args: &AnalyzeArgs,
) -> Result<BTreeMap<String, Direction>> {
    let mut directions = of_format;
    directions.extend(
        args.lower_is_better.iter().map(|metric| (metric.clone(), Direction::LowerIsBetter)),
    );
    directions.extend(
        args.higher_is_better.iter().map(|metric| (metric.clone(), Direction::HigherIsBetter)),
    );
    let there = |metric: &str| samples.iter().any(|sample| sample.metric == metric);
    if let Some(missing) =
        args.lower_is_better.iter().chain(&args.higher_is_better).find(|metric| !there(metric))
    {
        return Err(usage(format!("metric {missing:?}: not in {name}; name one that is there")));
    }
    let needed = args.metric.iter().chain(primary.values());
    for metric in needed.filter(|metric| there(metric)) {
        if !directions.contains_key(metric) && direction_of_column(metric).is_none() {
            return Err(usage(format!(
                "metric {metric:?}: its name does not tell which way is better; add --lower-is-better {metric:?} or --higher-is-better {metric:?}"
            )));
        }
    }
    Ok(directions)
}
