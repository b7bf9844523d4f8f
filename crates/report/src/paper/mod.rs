//! Material for a paper: figures, tables for LaTeX and Markdown, and a methods paragraph with its
//! references.
//!
//! The figures are those of report.html as standalone SVG with fixed colours.

use experiment::analysis::{Analysis, Comparison};
use experiment::plan::{ArenaFacts, Method};

use super::evidence::Evidence;
use super::page::Page;
use super::plot::{self, distribution, forest, latency, timeline};
use super::view::{MetricView, RowView, WorkloadView};
use super::{number, verdict, words};

#[derive(Debug)]
pub struct Paper {
    /// Tables, paragraph and references, by file name.
    pub texts: Vec<(&'static str, String)>,
    /// SVG, by name without extension.
    pub figures: Vec<(String, String)>,
}

pub fn files(analysis: &Analysis, evidence: Option<&Evidence<'_>>) -> crate::Result<Paper> {
    let page = Page::of(analysis, evidence);
    let texts = [
        ("table.tex", latex_table(&page)),
        ("table.md", markdown_table(&page)),
        ("methods.tex", methods(&page, &LATEX)),
        ("methods.md", methods(&page, &MARKDOWN)),
        ("references.bib", references(&page)),
    ];
    let texts = texts.map(|(name, text)| (name, crate::words::escape_file(text))).to_vec();
    Ok(Paper { texts, figures: figures(&page)? })
}

fn figures(page: &Page<'_>) -> crate::Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for (place, workload) in page.workloads.iter().enumerate() {
        let Some(metric) = workload.metrics.iter().find(|metric| metric.primary) else { continue };
        let name = |kind: &str| format!("{}-{kind}", file_name(place, workload.name));
        let comparisons: Vec<&Comparison> =
            metric.rows.iter().filter_map(|row| row.comparison).collect();
        let margin = page.analysis.criteria.margin;
        let label =
            format!("{}: effect of each variant on {}", words::clean(workload.name), metric.label);
        found.extend(
            forest::plot(&label, &comparisons, metric.direction, margin)?
                .map(|svg| (name("effects"), svg)),
        );
        let Some(evidence) = &page.evidence else { continue };
        let trials: Vec<_> =
            evidence.trials.iter().filter(|trial| trial.workload == workload.name).collect();
        let subject = |label| distribution::Subject {
            label,
            trials: &trials,
            variants: &page.variants,
            metric: metric.name,
            words: &metric.label,
            scale: &metric.scale,
        };
        let label = format!("{}: {} of every trial", words::clean(workload.name), metric.label);
        found.extend(distribution::plot(&subject(&label))?.map(|svg| (name("trials"), svg)));
        found.extend(timeline::plot(&subject(&label))?.map(|svg| (name("drift"), svg)));
        for op in latency::kinds(&trials) {
            let label =
                format!("{}: latency percentiles of {op} requests", words::clean(workload.name));
            let svg = latency::plot(&label, &trials, &page.variants, op)?;
            found.extend(svg.map(|svg| (name(&format!("latency-{op}")), svg)));
        }
    }
    Ok(found
        .into_iter()
        .map(|(name, svg)| (name, crate::words::escape_file(plot::canvas::whole_file(&svg))))
        .collect())
}

/// The workload's number makes the name unique.
fn file_name(place: usize, workload: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let word: String = workload.chars().take(40).map(plain).collect();
    let word: Vec<&str> = word.split('-').filter(|part| !part.is_empty()).collect();
    if word.is_empty() {
        format!("workload-{}", place + 1)
    } else {
        format!("{}-{}", place + 1, word.join("-"))
    }
}

/// Variant, value, change, interval, verdict and rounds.
fn cells(metric: &MetricView<'_>, row: &RowView<'_>) -> [String; 6] {
    let of = row.comparison;
    let own = row.own_baseline(metric).map(|own| format!(" (baseline {own})")).unwrap_or_default();
    [
        row.marked(),
        row.bare_centre(metric) + &own,
        of.and_then(number::estimate).unwrap_or_default().replace('-', "−"),
        of.filter(|j| j.ratio.is_some())
            .map(number::interval)
            .unwrap_or_default()
            .replace('-', "−"),
        of.map_or("baseline", |j| verdict::word(j.verdict)).to_owned(),
        row.rounds(),
    ]
}

fn deciding<'v, 'a>(
    page: &'v Page<'a>,
) -> impl Iterator<Item = (&'v WorkloadView<'a>, &'v MetricView<'a>)> {
    page.workloads.iter().filter_map(|workload| {
        Some((workload, workload.metrics.iter().find(|metric| metric.primary)?))
    })
}

fn caption(page: &Page<'_>) -> String {
    format!(
        "{}. Values are geometric means over the rounds that count; change and interval are of their ratio to the baseline. {}{}.",
        page.title,
        page.rules[..1].to_uppercase(),
        &page.rules[1..]
    )
}

fn unit_of(metric: &MetricView<'_>) -> String {
    if metric.scale.unit.is_empty() {
        metric.label.clone()
    } else {
        format!("{} ({})", metric.label, metric.scale.unit)
    }
}

fn latex_table(page: &Page<'_>) -> String {
    let mut out = String::from(
        "% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\begin{tabular}{lrrrlr}\n\\toprule\n\
         variant & geom.\\ mean & change & interval & verdict & rounds \\\\\n",
    );
    for (workload, metric) in deciding(page) {
        let place =
            words::name_of(workload.name).map(|place| format!("{place}: ")).unwrap_or_default();
        let head = latex(&format!("{place}{}, {}", unit_of(metric), metric.good()));
        out += &format!("\\midrule\n\\multicolumn{{6}}{{l}}{{\\emph{{{head}}}}} \\\\\n");
        for row in &metric.rows {
            let cells = cells(metric, row).map(|text| latex(&text)).join(" & ");
            // After `\\`, LaTeX would parse `[` or `*` as an argument.
            let guard = if cells.starts_with(['[', '*']) { "{}" } else { "" };
            out += &format!("{guard}{cells} \\\\\n");
        }
    }
    out + &format!(
        "\\bottomrule\n\\end{{tabular}}\n\\caption{{{}}}\n\\label{{tab:schedlab}}\n\\end{{table}}\n",
        latex(&caption(page))
    )
}

fn markdown_table(page: &Page<'_>) -> String {
    let mut out = String::new();
    for (workload, metric) in deciding(page) {
        let place =
            words::name_of(workload.name).map(|place| format!("{place}: ")).unwrap_or_default();
        let head =
            super::markdown::escaped(&format!("{place}{}, {}", unit_of(metric), metric.good()));
        out += &format!(
            "**{head}**\n\n| variant | geom. mean | change | interval | verdict | rounds |\n|---|--:|--:|--:|---|--:|\n"
        );
        for row in &metric.rows {
            out += &format!(
                "| {} |\n",
                cells(metric, row).map(|text| super::markdown::escaped(&text)).join(" | ")
            );
        }
        out.push('\n');
    }
    out + &super::markdown::paragraph(&caption(page)) + "\n"
}

/// How a format writes own text, in which `[@KEY]` is a citation, and external text.
struct Prose {
    own: fn(&str) -> String,
    theirs: fn(&str) -> String,
}

const MARKDOWN: Prose = Prose { own: str::to_owned, theirs: super::markdown::escaped };
const LATEX: Prose = Prose { own: |text| cited(&latex(text)), theirs: latex };

impl Prose {
    /// Replaces each `{}` with an external text or a number.
    fn say(&self, sentence: &str, texts: &[&str]) -> String {
        let mut said = String::new();
        for (i, own) in sentence.split("{}").enumerate() {
            if i > 0 {
                said += &(self.theirs)(texts[i - 1]);
            }
            said += &(self.own)(own);
        }
        said
    }
}

fn methods(page: &Page<'_>, prose: &Prose) -> String {
    let analysis = page.analysis;
    let criteria = &analysis.criteria;
    let (margin, alpha) = (number::percent(criteria.margin), number::percent(criteria.alpha));
    let variants = words::listed(
        &page.variants.iter().map(|variant| words::clean(variant)).collect::<Vec<_>>(),
    );
    let mut said = Vec::new();
    match &page.evidence {
        Some(evidence) => {
            said.push(prose.say(
                "We compared {} on {} with schedlab {} [@schedlab].",
                &[&variants, &place(page), &evidence.header.schedlab],
            ));
            said.push(prose.say(
                "Each round ran every variant once, in an order drawn at random (randomised complete rounds [@fisher1935]), and each variant \
                 was compared with the baseline of the same round.",
                &[],
            ));
            let trials = words::counted(evidence.trials.len() as u64, "trial");
            let seed = evidence.header.plan.seed.to_string();
            said.push(prose.say("{} were made in {} (seed {}).", &[&trials, &rounds(page), &seed]));
        }
        None => said.push(prose.say(
            "Measurements of {} that were made elsewhere were compared with schedlab [@schedlab].",
            &[&variants],
        )),
    }
    said.push(prose.say(
        "The effect is the ratio of geometric means: the mean over the rounds of the logarithm of the ratio to the baseline.",
        &[],
    ));
    said.push((prose.own)(&rule(page, &alpha)));
    if criteria.method != Method::ThreeSigma {
        said.push(prose.say(
            "A variant is called better or worse when its interval lies wholly beyond a margin of ±{}, which was fixed beforehand, \
             and equivalent when it lies wholly inside; the error over all variants of a metric is at most {}.",
            &[&margin, &alpha],
        ));
    }
    let invalid: u32 = analysis
        .comparisons
        .iter()
        .filter(|comparison| comparison.primary)
        .map(|comparison| comparison.invalid_rounds)
        .sum();
    said.push(match invalid {
        0 => prose.say("No round was invalid; outliers were kept.", &[]),
        invalid => prose.say(
            "Invalid and left out: {} on deciding metrics; outliers were kept.",
            &[&words::counted(invalid.into(), "round")],
        ),
    });
    said.join(" ") + "\n"
}

fn rule(page: &Page<'_>, alpha: &str) -> String {
    let unpaired =
        |comparison: &Comparison| comparison.ratio.is_some() && comparison.log_ratios.is_empty();
    let unpaired = page.analysis.comparisons.iter().any(unpaired);
    let early =
        page.evidence.as_ref().is_some_and(|evidence| !evidence.header.plan.budget.no_early_stop);
    let stop = if early {
        ", and measuring stopped for a variant as soon as its verdict was reached"
    } else {
        ""
    };
    let most = page
        .analysis
        .criteria
        .planned
        .map(|planned| format!(", at most {planned} times"))
        .unwrap_or_default();
    match page.analysis.criteria.method {
        Method::Anytime if !unpaired => format!(
            "The result was looked at after every round{stop}; the intervals are confidence sequences [@wangramdas2023], which hold \
             at every look, with Holm's correction over the variants [@holm1979]."
        ),
        Method::Spending if !unpaired => format!(
            "The result was looked at after every round from the fourth{most}{stop}; the error was spent over the looks by the \
             function of Hwang, Shih and DeCani [@hwang1990], the intervals are repeated confidence intervals [@jennison1989] with \
             bounds of the t statistic, and {alpha} is shared among the variants by a graphical procedure [@maurer2013]."
        ),
        Method::ThreeSigma => {
            "The rule of three standard deviations was applied, which has no error rate.".to_owned()
        }
        _ if unpaired => format!(
            "The intervals are Welch's [@welch1947], at {alpha} over all variants by Holm's correction [@holm1979]."
        ),
        _ => format!(
            "The number of rounds was fixed beforehand; the intervals are Student's, at {alpha} over all variants by Holm's correction \
             [@holm1979]."
        ),
    }
}

/// `16 rounds`, or `14 to 16 rounds`.
fn rounds(page: &Page<'_>) -> String {
    let counts = || {
        page.analysis
            .comparisons
            .iter()
            .filter(|j| j.primary)
            .map(|j| u64::from(j.rounds + j.invalid_rounds))
    };
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least < most => {
            format!("{least} to {}", words::counted(most, "round"))
        }
        (_, most) => words::counted(most.unwrap_or(0), "round"),
    }
}

fn place(page: &Page<'_>) -> String {
    let arena = ArenaFacts::find(&page.analysis.arena).map_or("", |arena| arena.paper);
    // The date is placed separately.
    let about = page.about.get(1..).unwrap_or_default();
    let date = page
        .about
        .first()
        .filter(|_| arena.is_empty())
        .map(|at| format!(" on {at}"))
        .unwrap_or_default();
    format!("{arena}{}{date}", about.join(", "))
}

const REFERENCES: &str = include_str!("../templates/references.bib");

fn references(page: &Page<'_>) -> String {
    let said = methods(page, &MARKDOWN);
    let key = |entry: &str| entry.split(['{', ',']).nth(1).unwrap_or_default().to_owned();
    let cited = REFERENCES.split("\n\n").filter(|entry| said.contains(&format!("@{}", key(entry))));
    let title = "schedlab: a laboratory for Linux schedulers";
    let own = format!(
        "@misc{{schedlab,\n  title = {{{title}}},\n  note = {{Version {}}}\n}}",
        env!("CARGO_PKG_VERSION")
    );
    std::iter::once(own.as_str())
        .chain(cited)
        .map(|entry| format!("{}\n", entry.trim_end()))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Characters missing from standard LaTeX fonts become commands.
fn latex(text: &str) -> String {
    let text = words::clean(text);
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\textbackslash{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(c);
            }
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '±' => out.push_str("$\\pm$"),
            '×' => out.push_str("$\\times$"),
            '∞' => out.push_str("$\\infty$"),
            'µ' => out.push_str("$\\mu$"),
            '−' => out.push_str("$-$"),
            other => out.push(other),
        }
    }
    out
}

/// `[@a; @b]` as `\cite{a,b}`.
fn cited(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[@") {
        let Some((keys, after)) = after.split_once(']') else { break };
        if !keys.chars().all(|c| c.is_ascii_alphanumeric() || "@; ".contains(c)) {
            out.push_str(before);
            out.push_str("[@");
            rest = &rest[before.len() + 2..];
            continue;
        }
        out.push_str(before);
        out.push_str(&format!("\\cite{{{}}}", keys.replace(['@', ' '], "").replace(';', ",")));
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests;
