//! The short answer: a headline, and one line per workload.
//!
//! The table below shows every variant, interval and caution, so the analysis's full sentences
//! would repeat it. Variant and verdicts are the analysis's.

use std::fmt;

use experiment::advice::{costs, losses};
use experiment::analysis::{Analysis, Comparison, Verdict};
use experiment::plan::{ArenaFacts, Method};
use experiment::reason::Reason;

use super::evidence::Evidence;
use super::view::{self, MetricView, WorkloadView};
use super::words::{self, listed};
use super::{number, place, repeats};

/// Further costs are only counted.
const MAX_COSTS_NAMED: usize = 3;
/// Maximum number of workloads named in the headline; more are counted.
const MAX_WORKLOADS_NAMED: usize = 3;

/// What speaks for a variant, and its costs. Without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merits {
    pub(crate) gain: String,
    /// Metrics on which the variant is worse, largest factor first.
    pub(crate) costs: Option<String>,
}

impl Merits {
    fn without_costs(gain: String) -> Merits {
        Merits { gain, costs: None }
    }

    /// Another sentence after the last part.
    fn followed_by(self, sentence: &str) -> Merits {
        let Merits { gain, costs } = self;
        match costs {
            Some(costs) => Merits { gain, costs: Some(format!("{costs}. {sentence}")) },
            None => Merits::without_costs(format!("{gain}. {sentence}")),
        }
    }
}

impl fmt::Display for Merits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.gain)?;
        self.costs.as_ref().map_or(Ok(()), |costs| write!(f, ", but {costs}"))
    }
}

/// What to use, where it was measured, and its costs, in one line.
pub fn headline(analysis: &Analysis) -> String {
    format!("{}.", headline_parts(analysis))
}

pub(crate) fn headline_parts(analysis: &Analysis) -> Merits {
    let is_modelled = ArenaFacts::find(&analysis.arena)
        .is_some_and(|arena| arena.is_virtual() && !arena.is_cpu());
    let linux: Vec<&str> = elevator::LINUX.iter().map(|row| row.name).collect();
    let best = is_modelled.then(|| best_of(&TODAYS_LINUX, &linux, analysis)).flatten();
    best.unwrap_or_else(|| parts(analysis))
}

/// A kernel that lacks some of the compared schedulers.
struct Kernel {
    /// Precedes what it lacks.
    lacks: &'static str,
    /// Why to keep the baseline where it has no other of them. `None`: then the answer is what
    /// the comparison recommends.
    has_no_other: Option<&'static str>,
}

const TODAYS_LINUX: Kernel = Kernel { lacks: "Not in today's Linux", has_no_other: None };
const THIS_MACHINES: Kernel = Kernel {
    lacks: "Not offered by this machine's kernel",
    has_no_other: Some("this machine's kernel offers no other scheduler of this comparison"),
};

fn scheduler_of<'a>(analysis: &'a Analysis, variant: &str) -> Option<&'a str> {
    analysis.variants.iter().find(|known| known.name == variant)?.scheduler.as_deref()
}

/// If the recommended scheduler is not among those of the kernel: first the best that is, and
/// second what it is compared with.
fn best_of(kernel: &Kernel, offered: &[impl AsRef<str>], analysis: &Analysis) -> Option<Merits> {
    let is_offered = |variant: &str| {
        let scheduler = scheduler_of(analysis, variant);
        scheduler.is_some_and(|scheduler| offered.iter().any(|name| name.as_ref() == scheduler))
    };
    let best = analysis.recommendation.variant.as_deref().filter(|best| !is_offered(best))?;
    let baseline = &analysis.comparisons.iter().find(|of| of.variant == best)?.baseline;
    let merits = merits(&view::workloads(analysis, None), best).filter(|_| is_offered(baseline))?;
    let available = analysis.restricted_to(is_offered);
    let first = if available.comparisons.is_empty() {
        let (baseline, place) = (words::clean(baseline), place::of(analysis));
        Merits::without_costs(format!("Keep {baseline}{place}: {}", kernel.has_no_other?))
    } else {
        parts(&available)
    };
    Some(first.followed_by(&format!("{}: {}: {merits}", kernel.lacks, words::clean(best))))
}

/// The headline for a reader at this machine, whose kernel offers these schedulers. What it does
/// not offer comes second.
pub(crate) fn headline_here(analysis: &Analysis, offered: &[String]) -> String {
    let arena = ArenaFacts::find(&analysis.arena);
    let is_of_cpus = arena.is_some_and(ArenaFacts::is_cpu);
    let best = analysis.recommendation.variant.as_deref();
    let scheduler = best.and_then(|best| scheduler_of(analysis, best));
    let Some((best, scheduler)) =
        best.zip(scheduler).filter(|_| !offered.is_empty() && !is_of_cpus)
    else {
        return headline(analysis);
    };
    let is_offered = offered.iter().any(|name| name == scheduler);
    let merits = match best_of(&THIS_MACHINES, offered, analysis) {
        Some(merits) => merits,
        None if is_offered && arena.is_some_and(ArenaFacts::has_disk) => {
            return headline(analysis);
        }
        None if is_offered => {
            let scheduler = words::clean(scheduler);
            parts(analysis).followed_by(&format!("This machine's kernel offers {scheduler}"))
        }
        None => {
            let best = words::clean(best);
            let sentence = format!("This machine's kernel does not offer {best}");
            headline_parts(analysis).followed_by(&sentence)
        }
    };
    format!("{merits}.")
}

fn parts(analysis: &Analysis) -> Merits {
    let workloads = view::workloads(analysis, None);
    let deciding = all_deciding(&workloads);
    let place = place::of(analysis);
    let baseline = deciding.iter().find_map(|(_, metric)| metric.baseline);
    let variant = analysis.recommendation.variant.as_deref();
    let answer = match variant.zip(baseline) {
        Some((variant, baseline)) if variant == baseline => {
            Some(Merits::without_costs(keep(analysis, variant, &place, &deciding)))
        }
        Some((variant, _)) => merits(&workloads, variant).map(|merits| {
            let workload = deciding
                .first()
                .filter(|_| deciding.len() == 1)
                .and_then(|(of, _)| words::name_of(of.name));
            let workload = workload.map(|name| format!(" for {name}")).unwrap_or_default();
            let Merits { gain, costs } = merits;
            let gain = format!("Use {}{workload}{place}: {gain}", words::clean(variant));
            Merits { gain, costs }
        }),
        None => None,
    };
    let Merits { gain, costs } = answer.unwrap_or_else(|| {
        Merits::without_costs(
            by_workload(analysis, &place)
                .unwrap_or_else(|| elsewhere(&analysis.recommendation.sentence, &place)),
        )
    });
    Merits { gain: repeats::led(analysis, gain), costs }
}

/// For how many workloads each variant is recommended, where more than [`MAX_WORKLOADS_NAMED`] have
/// no common one: the lines below name them.
fn by_workload(analysis: &Analysis, place: &str) -> Option<String> {
    let workloads = &analysis.recommendation.workloads;
    if analysis.recommendation.variant.is_some() || workloads.len() <= MAX_WORKLOADS_NAMED {
        return None;
    }
    let mut counts: Vec<(Option<&str>, usize)> = Vec::new();
    for advice in workloads {
        let variant = advice.variant.as_deref();
        match counts.iter_mut().find(|(known, _)| *known == variant) {
            Some((_, count)) => *count += 1,
            None => counts.push((variant, 1)),
        }
    }
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(variant, count)| {
            format!("{} for {count}", variant.map_or_else(|| "no advice".into(), words::clean))
        })
        .collect();
    Some(format!(
        "No single choice suits all {} workloads{place}: {}",
        workloads.len(),
        listed(&counts)
    ))
}

/// The answer of an analysis that has no variant to use for everything, with the place at its end.
fn elsewhere(sentence: &str, place: &str) -> String {
    let sentence = words::clean(sentence);
    let sentence = sentence.trim_end_matches('.');
    match place.trim_start() {
        "" => sentence.to_owned(),
        place => format!("{sentence} ({place})"),
    }
}

/// `None` if the variant was not compared.
fn merits(workloads: &[WorkloadView<'_>], variant: &str) -> Option<Merits> {
    let deciding = all_deciding(workloads);
    let baseline = words::clean(deciding.iter().find_map(|(_, metric)| metric.baseline)?);
    let costs = costs_of(workloads, variant);
    if let [(_, metric)] = deciding[..] {
        let gain = comparison(metric, variant).map(number::effect).unwrap_or_default();
        let close = close_to(metric, variant).unwrap_or_default();
        let gain = format!("{} {gain} against {baseline}{close}", metric.label);
        return Some(Merits { gain, costs });
    }
    let named = |wanted: Verdict| -> Vec<String> {
        let has = |metric: &MetricView<'_>| {
            comparison(metric, variant).is_some_and(|j| j.verdict == wanted)
        };
        deciding
            .iter()
            .filter(|(_, metric)| has(metric))
            .map(|(workload, _)| words::clean(workload.name))
            .collect()
    };
    let states = [
        (format!("better than {baseline} for"), Verdict::Better),
        ("equivalent for".into(), Verdict::Equivalent),
        ("inconclusive for".into(), Verdict::Inconclusive),
    ];
    let parts: Vec<String> = states
        .into_iter()
        .map(|(state, verdict)| (state, named(verdict)))
        .filter(|(_, names)| !names.is_empty())
        .map(|(state, names)| match names.len() {
            ..=MAX_WORKLOADS_NAMED => format!("{state} {}", listed(&names)),
            count => format!("{state} {count} of {} workloads", deciding.len()),
        })
        .collect();
    (!parts.is_empty()).then(|| Merits { gain: parts.join(", "), costs })
}

/// Others whose estimates differ from the variant's by less than this were not told apart.
const CLOSE: f64 = 0.005;

/// The better variants that are hardly distinguished from this one.
fn close_to(metric: &MetricView<'_>, variant: &str) -> Option<String> {
    let own = comparison(metric, variant)?.ratio?;
    let is_close = |other: &&Comparison| {
        other.variant != variant
            && other.verdict == Verdict::Better
            && other.ratio.is_some_and(|ratio| (ratio / own).ln().abs() < CLOSE)
    };
    let compared = metric.rows.iter().filter_map(|row| row.comparison);
    let names: Vec<String> =
        compared.filter(is_close).map(|other| words::clean(&other.variant)).collect();
    match names.len() {
        0 => None,
        1..=MAX_COSTS_NAMED => Some(format!(" ({} about as much)", listed(&names))),
        count => Some(format!(" ({count} others about as much)")),
    }
}

pub(crate) fn costs_of(workloads: &[WorkloadView<'_>], variant: &str) -> Option<String> {
    let metrics =
        || workloads.iter().flat_map(|of| of.metrics.iter().map(move |metric| (of, metric)));
    let compared =
        metrics().flat_map(|(_, metric)| metric.rows.iter().filter_map(|row| row.comparison));
    let costs = costs(compared, variant);
    let of = |cost: &&Comparison| {
        let is_its = |found: &(&WorkloadView<'_>, &MetricView<'_>)| {
            found.0.name == cost.workload && found.1.name == cost.metric
        };
        let (workload, metric) = metrics().find(is_its)?;
        let place = if workloads.len() > 1 {
            format!("{} ", words::clean(workload.name))
        } else {
            String::new()
        };
        let values = cost.baseline_mean.zip(cost.variant_mean);
        let values = values.map(|(from, to)| {
            format!(": {} → {}", metric.scale.bare(from), metric.scale.with_unit(to))
        });
        Some(format!(
            "{place}{} {}{}",
            metric.label,
            number::effect(cost),
            values.unwrap_or_default()
        ))
    };
    let named: Vec<String> = costs.iter().take(MAX_COSTS_NAMED).filter_map(of).collect();
    let more = Some(costs.len() - named.len())
        .filter(|more| *more > 0)
        .map(|more| format!("and {more} more"));
    let all: Vec<String> = named.into_iter().chain(more).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Advice per workload; empty for a single workload, or if all keep the baseline.
pub(crate) fn lines(analysis: &Analysis, workloads: &[WorkloadView<'_>]) -> Vec<(String, Merits)> {
    let baseline = workloads.iter().filter_map(deciding).find_map(|metric| metric.baseline);
    let all_keep = baseline.is_some() && analysis.recommendation.variant.as_deref() == baseline;
    if workloads.len() < 2 || all_keep {
        return Vec::new();
    }
    let headline_variant = analysis.recommendation.variant.as_deref();
    workloads
        .iter()
        .filter_map(|workload| {
            Some((words::clean(workload.name), line(workload, headline_variant)?))
        })
        .collect()
}

/// Omits the costs of the headline's variant, which the headline contains.
fn line(workload: &WorkloadView<'_>, headline_variant: Option<&str>) -> Option<Merits> {
    let (advice, metric) = (workload.advice?, deciding(workload)?);
    let variant = advice.variant.as_deref();
    let mut costs = None;
    let gain = match variant.map(|variant| (variant, words::clean(variant))) {
        None => words::clean(&advice.why),
        Some((variant, name)) => match comparison(metric, variant) {
            Some(comparison) => {
                if headline_variant != Some(variant) {
                    costs = costs_of(std::slice::from_ref(workload), variant);
                }
                format!("{name}: {} {}", metric.label, number::effect(comparison))
            }
            None if metric.baseline != Some(variant) => words::clean(&advice.why),
            None => {
                format!(
                    "{name}: nothing was shown to be better{}",
                    undecided(&[(workload, metric)])
                )
            }
        },
    };
    Some(Merits { gain, costs })
}

/// Names what is worse: a reader of `nothing was shown to be better` alone would miss the loss.
fn keep(
    analysis: &Analysis,
    variant: &str,
    place: &str,
    deciding: &[(&WorkloadView<'_>, &MetricView<'_>)],
) -> String {
    let kept = format!("Keep {}{place}", words::clean(variant));
    let worse = match deciding {
        [(_, metric)] => worse(metric),
        _ => None,
    };
    let by = match analysis.criteria.method {
        Method::ThreeSigma => " by the three-sigma rule".into(),
        _ if analysis.criteria.margin == 0.0 => String::new(),
        _ => format!(" by more than {}", number::percent(analysis.criteria.margin)),
    };
    let others = format!("nothing was shown to be better{by}{}", undecided(deciding));
    match worse {
        Some(Worse { words, all: true }) => format!("{kept}: {words}"),
        Some(Worse { words, all: false }) => format!("{kept}: {words}; {others}"),
        None => format!("{kept}: {others}"),
    }
}

struct Worse {
    words: String,
    /// Nothing else was compared.
    all: bool,
}

/// The largest loss first.
fn worse(metric: &MetricView<'_>) -> Option<Worse> {
    let compared: Vec<&Comparison> = metric.rows.iter().filter_map(|row| row.comparison).collect();
    let worse = losses(compared.iter().copied());
    let first = worse.first()?;
    let (name, effect) = (words::clean(&first.variant), number::effect(first));
    let more = match worse.len() - 1 {
        0 => String::new(),
        1 => ", as is 1 other".into(),
        more => format!(", as are {more} others"),
    };
    let words = format!("{name} is worse: {} {effect}{more}", metric.label);
    Some(Worse { words, all: worse.len() == compared.len() })
}

/// Keeping the baseline for want of evidence is not equivalence.
fn undecided(deciding: &[(&WorkloadView<'_>, &MetricView<'_>)]) -> String {
    let all: Vec<&Comparison> = deciding
        .iter()
        .flat_map(|(_, metric)| metric.rows.iter().filter_map(|row| row.comparison))
        .collect();
    let count =
        |verdict: Verdict| all.iter().filter(|comparison| comparison.verdict == verdict).count();
    let (open, invalid, all) = (count(Verdict::Inconclusive), count(Verdict::Invalid), all.len());
    let clause = |count: usize, what: &str| match count {
        1 if all == 1 => format!("; the comparison is {what}"),
        2 if all == 2 => format!("; both comparisons are {what}"),
        count if count == all => format!("; all {count} comparisons are {what}"),
        1 => format!("; 1 of {all} comparisons is {what}"),
        count => format!("; {count} of {all} comparisons are {what}"),
    };
    match (open, invalid) {
        (0, 0) => String::new(),
        (open, 0) => clause(open, "inconclusive"),
        (0, invalid) => clause(invalid, "invalid"),
        (open, invalid) => {
            format!("; of {all} comparisons {open} are inconclusive and {invalid} invalid")
        }
    }
}

/// Longer runs get a hint: six hours.
const LONG_MS: u64 = 6 * 3_600_000;

/// `None` if everything is decided.
pub(crate) fn next(
    evidence: Option<&Evidence<'_>>,
    workloads: &[WorkloadView<'_>],
) -> Option<String> {
    let deciding = workloads.iter().filter_map(deciding);
    let compared = deciding.flat_map(|metric| metric.rows.iter().filter_map(|row| row.comparison));
    let open: Vec<&Comparison> =
        compared.filter(|comparison| comparison.verdict == Verdict::Inconclusive).collect();
    if open.is_empty() {
        return None;
    }
    if open.iter().all(|comparison| comparison.reasons.contains(&Reason::CpuTimeOmitted)) {
        return Some(
            "Next: repeat the command without cpu_percent=0, so that requests cost CPU time."
                .into(),
        );
    }
    let these = if open.len() == 1 { "comparison" } else { "comparisons" };
    // Extending a spent budget would violate its stopping rule.
    if let Some(rounds) = open.iter().filter_map(|comparison| comparison.new_plan_rounds).max() {
        let about = words::counted(rounds.into(), "round");
        let time = evidence.and_then(|evidence| evidence.time_of(rounds)).map(|ms| {
            let hint = if ms > LONG_MS { "; a larger --margin decides sooner" } else { "" };
            (format!(", {}", evidence.map_or_else(String::new, |it| it.span(ms))), hint)
        });
        let (time, hint) = time.unwrap_or_default();
        return Some(format!(
            "Next: a new run of about {about} (--rounds {rounds}{time}) would probably decide the inconclusive {these}, if rounds differ as they did{hint}."
        ));
    }
    let Some(more) = open.iter().filter_map(|comparison| comparison.more_rounds).max() else {
        return Some(match evidence {
            Some(_) => "Next: too few rounds to estimate how many more are needed; repeat the command with --out DIR --resume and a larger --budget.".into(),
            None => "Next: too few values to estimate how many more are needed; add measurements to the table and analyze it again.".into(),
        });
    };
    let rounds = words::counted(more.into(), "more round");
    let decided = format!("about {rounds} would probably decide the inconclusive {these}");
    Some(match evidence {
        Some(_) => format!(
            "Next: {decided}; repeat the command with --out DIR --resume and a larger --budget."
        ),
        None => format!("Next: {decided}; add them to the table and analyze it again."),
    })
}

fn all_deciding<'v, 'a>(
    workloads: &'v [WorkloadView<'a>],
) -> Vec<(&'v WorkloadView<'a>, &'v MetricView<'a>)> {
    workloads.iter().filter_map(|workload| Some((workload, deciding(workload)?))).collect()
}

fn deciding<'v, 'a>(workload: &'v WorkloadView<'a>) -> Option<&'v MetricView<'a>> {
    workload.metrics.iter().find(|metric| metric.primary)
}

fn comparison<'a>(metric: &MetricView<'a>, variant: &str) -> Option<&'a Comparison> {
    metric.rows.iter().find(|row| row.variant == variant)?.comparison
}

#[cfg(test)]
mod tests;
