//! The short answer: a headline, and one line per workload.
//!
//! The table below shows every variant, interval and caution, so the analysis's full sentences
//! would repeat it. Variant and verdicts are the analysis's.

use std::fmt;

use experiment::advice::costs;
use experiment::analysis::{Analysis, Comparison, Verdict};
use experiment::plan::{ArenaFacts, Method};
use experiment::reason::Reason;

use super::evidence::Evidence;
use super::view::{self, MetricView, WorkloadView};
use super::words::{self, listed};
use super::{number, place, repeats};

/// Further costs are only counted.
const MAX_COSTS_NAMED: usize = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merits {
    pub(crate) gain: String,
    /// Metrics on which the variant is worse, largest factor first.
    pub(crate) costs: Option<String>,
}

impl fmt::Display for Merits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.gain)?;
        self.costs.as_ref().map_or(Ok(()), |costs| write!(f, ", but {costs}"))
    }
}

/// What to use, where it was measured, and its costs, in one line.
pub fn headline(analysis: &Analysis) -> String {
    joined(headline_parts(analysis))
}

fn joined(Merits { gain, costs }: Merits) -> String {
    match costs {
        Some(costs) => format!("{}, but {costs}.", gain.trim_end_matches('.')),
        None => gain,
    }
}

pub(crate) fn headline_parts(analysis: &Analysis) -> Merits {
    linux_first(analysis).unwrap_or_else(|| parts(analysis))
}

const LINUX: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// In virtual time, if the recommended scheduler is not in Linux: first the best one that is, with
/// its baseline. `None` if one answer is enough.
fn linux_first(analysis: &Analysis) -> Option<Merits> {
    let is_in_linux = |variant: &str| {
        let found = analysis.variants.iter().find(|known| known.name == variant);
        found
            .and_then(|found| found.scheduler.as_deref())
            .is_some_and(|scheduler| LINUX.contains(&scheduler))
    };
    ArenaFacts::find(&analysis.arena).filter(|arena| arena.is_virtual() && !arena.is_cpu())?;
    let best = analysis.recommendation.variant.as_deref().filter(|best| !is_in_linux(best))?;
    let available = analysis.restricted_to(is_in_linux);
    available.comparisons.first().filter(|comparison| is_in_linux(&comparison.baseline))?;
    let merits = merits(&view::workloads(analysis, None), best)?;
    let Merits { gain, costs } = parts(&available);
    let other = format!("Not in today's Linux: {}: {merits}", words::clean(best));
    let costs = match costs {
        Some(costs) => Some(format!("{costs}. {other}")),
        None => return Some(Merits { gain: format!("{gain} {other}."), costs: None }),
    };
    Some(Merits { gain, costs })
}

fn parts(analysis: &Analysis) -> Merits {
    let workloads = view::workloads(analysis, None);
    let deciding = all_deciding(&workloads);
    let place = place::of(analysis);
    let baseline = deciding.iter().find_map(|(_, metric)| metric.baseline);
    let variant = analysis.recommendation.variant.as_deref();
    let answer = match variant.zip(baseline) {
        Some((variant, baseline)) if variant == baseline => {
            Some((keep(analysis, variant, &place, &deciding), None))
        }
        Some((variant, _)) => merits(&workloads, variant).map(|merits| {
            let workload = deciding
                .first()
                .filter(|_| deciding.len() == 1)
                .and_then(|(of, _)| words::name_of(of.name));
            let workload = workload.map(|name| format!(" for {name}")).unwrap_or_default();
            let Merits { gain, costs } = merits;
            (format!("Use {}{workload}{place}: {gain}.", words::clean(variant)), costs)
        }),
        None => None,
    };
    let sentence = || (elsewhere(&analysis.recommendation.sentence, &place), None);
    let (gain, costs) = answer.unwrap_or_else(sentence);
    Merits { gain: repeats::led(analysis, gain), costs }
}

/// The headline for a machine whose kernel offers `offered`. A recommended scheduler that it does
/// not offer is named second.
pub(crate) fn headline_here(analysis: &Analysis, offered: &[String]) -> String {
    let offers = |variant: &str| {
        let scheduler =
            analysis.variants.iter().find(|known| known.name == variant)?.scheduler.as_deref()?;
        Some(offered.iter().any(|name| name == scheduler))
    };
    let arena = ArenaFacts::find(&analysis.arena);
    let of_cpus = arena.is_some_and(ArenaFacts::is_cpu);
    let variant =
        analysis.recommendation.variant.as_deref().filter(|_| !offered.is_empty() && !of_cpus);
    let measured_here = arena.is_some_and(ArenaFacts::has_disk);
    match variant.and_then(|variant| Some((variant, offers(variant)?))) {
        None => headline(analysis),
        Some((_, true)) if measured_here => headline(analysis),
        Some((variant, true)) => {
            format!(
                "{} This machine's kernel offers {}.",
                joined(parts(analysis)),
                words::clean(variant)
            )
        }
        Some((variant, false)) => {
            let merits = merits(&view::workloads(analysis, None), variant)
                .map(|merits| format!(": {merits}"))
                .unwrap_or_default();
            let available = analysis.restricted_to(|variant| offers(variant) == Some(true));
            let best = match analysis
                .comparisons
                .iter()
                .find(|comparison| comparison.variant == variant)
            {
                Some(Comparison { baseline, .. })
                    if available.comparisons.is_empty() && offers(baseline) == Some(true) =>
                {
                    let (baseline, place) = (words::clean(baseline), place::of(analysis));
                    format!(
                        "Keep {baseline}{place}: this machine's kernel offers no other scheduler of this comparison."
                    )
                }
                _ if available.comparisons.is_empty() => {
                    return format!(
                        "{} This machine's kernel does not offer {}.",
                        headline(analysis),
                        words::clean(variant)
                    );
                }
                _ => headline(&available),
            };
            format!(
                "{best} Not offered by this machine's kernel: {}{merits}.",
                words::clean(variant)
            )
        }
    }
}

/// Adds the place to the sentence of an analysis that recommends no single variant.
fn elsewhere(sentence: &str, place: &str) -> String {
    let sentence = words::clean(sentence);
    match place.trim_start() {
        "" => sentence,
        place => format!("{} ({place}).", sentence.trim_end_matches('.')),
    }
}

/// `None` if the variant was not compared.
fn merits(workloads: &[WorkloadView<'_>], variant: &str) -> Option<Merits> {
    let deciding = all_deciding(workloads);
    let baseline = words::clean(deciding.iter().find_map(|(_, metric)| metric.baseline)?);
    let costs = costs_of(workloads, variant);
    if let [(_, metric)] = deciding[..] {
        let gain = comparison(metric, variant).map(number::effect).unwrap_or_default();
        let gain = format!("{} {gain} against {baseline}", metric.label);
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
        .map(|(state, names)| format!("{state} {}", listed(&names)))
        .collect();
    (!parts.is_empty()).then(|| Merits { gain: parts.join(", "), costs })
}

fn costs_of(workloads: &[WorkloadView<'_>], variant: &str) -> Option<String> {
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

fn keep(
    analysis: &Analysis,
    variant: &str,
    place: &str,
    deciding: &[(&WorkloadView<'_>, &MetricView<'_>)],
) -> String {
    let by = match analysis.criteria.method {
        Method::ThreeSigma => " by the three-sigma rule".into(),
        _ if analysis.criteria.margin == 0.0 => String::new(),
        _ => format!(" by more than {}", number::percent(analysis.criteria.margin)),
    };
    format!(
        "Keep {}{place}: nothing was shown to be better{by}{}.",
        words::clean(variant),
        undecided(deciding)
    )
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
        return Some(format!(
            "Next: a new run of about {about} (--rounds {rounds}) would probably decide the inconclusive {these}."
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
mod tests {
    use super::*;
    use crate::fixture::{self, Lab};
    use crate::view;

    fn said(lab: &Lab) -> (String, Vec<(String, String)>) {
        let views = view::workloads(&lab.analysis, Some(&lab.evidence()));
        let lines = lines(&lab.analysis, &views).into_iter();
        (headline(&lab.analysis), lines.map(|(name, of)| (name, of.to_string())).collect())
    }

    #[test]
    fn several_workloads_have_a_line_each_below_one_for_all() {
        let (headline, lines) = said(&Lab::typical());
        assert_eq!(
            headline,
            "Use mq-deadline on SAMSUNG MZ7LH960 (/dev/sdb): better than none for oltp and mixed, equivalent for seqread, but \
             oltp CPU time per I/O +14.9 % [+13.5, +16.3]: 4.09 → 4.71 µs; seqread CPU time per I/O +14.3 % [+13.5, +15.1]: \
             4.10 → 4.69 µs; mixed CPU time per I/O +13.8 % [+12.6, +15.0]: 4.13 → 4.70 µs."
        );
        assert_eq!(lines[0], ("oltp".into(), "mq-deadline: IOPS +11.1 % [+10.3, +11.9]".into()));
        let open = "none: nothing was shown to be better; 1 of 3 comparisons is inconclusive";
        assert_eq!(lines[1], ("seqread".into(), open.into()));
        let bfq = &lines[2].1;
        assert!(
            bfq.starts_with(
                "bfq: read latency p99 0.093× [0.090, 0.096], but CPU time per I/O +43.0 %"
            ),
            "{bfq}"
        );
    }

    #[test]
    fn one_workload_is_one_line() {
        let mut lab = Lab::typical();
        lab.analysis.comparisons.retain(|comparison| comparison.workload == "oltp");
        lab.analysis.summaries.retain(|summary| summary.workload == "oltp");
        let (headline, lines) = said(&lab);
        let place = "on SAMSUNG MZ7LH960 (/dev/sdb)";
        let price = "but CPU time per I/O +14.9 % [+13.5, +16.3]: 4.09 → 4.71 µs";
        let text = format!(
            "Use mq-deadline for oltp {place}: IOPS +11.1 % [+10.3, +11.9] against none, {price}."
        );
        assert_eq!(headline, text);
        assert!(lines.is_empty());
    }

    fn lab_with_costs(ratios: &[f64]) -> Lab {
        let mut lab = Lab::typical();
        lab.analysis
            .comparisons
            .retain(|comparison| comparison.workload == "oltp" && comparison.primary);
        lab.analysis.summaries.retain(|summary| summary.workload == "oltp");
        for (ratio, metric) in ratios.iter().zip([
            "longest_wait_ms",
            "write_iops",
            "latency_p50_us",
            "read_iops",
            "iops2",
        ]) {
            let comparison = fixture::comparison("mq-deadline");
            lab.analysis.comparisons.push(Comparison {
                metric: metric.into(),
                primary: false,
                ratio: Some(*ratio),
                low: Some(ratio * 0.98),
                high: Some(ratio * 1.02),
                baseline_mean: Some(22.3),
                variant_mean: Some(22.3 * ratio),
                verdict: Verdict::Worse,
                ..comparison
            });
        }
        lab
    }

    #[test]
    fn costs_come_largest_first_and_more_than_three_are_counted() {
        let said = headline(&lab_with_costs(&[1.2, 0.25, 11.6, 0.9, 1.1]).analysis);
        let price = said.split_once(", but ").expect("a price").1;
        assert_eq!(
            price,
            "latency p50 11.6× [11.4, 11.8]: 22.3 → 259 µs; write IOPS 0.250× [0.245, 0.255]: 22.3 → 5.58 IO/s; longest wait \
             +20.0 % [+17.6, +22.4]: 22.3 → 26.8 ms; and 2 more."
        );
    }

    #[test]
    fn a_metric_that_is_not_worse_is_no_cost() {
        let mut lab = lab_with_costs(&[11.6, 1.2]);
        for comparison in
            lab.analysis.comparisons.iter_mut().filter(|comparison| !comparison.primary)
        {
            comparison.verdict = Verdict::Inconclusive;
        }
        assert!(!headline(&lab.analysis).contains("but"));
        lab.analysis.comparisons[3].verdict = Verdict::Worse;
        lab.analysis.comparisons[3].variant = "kyber".into();
        assert!(!headline(&lab.analysis).contains("but"), "a cost of another variant");
    }

    #[test]
    fn every_format_begins_with_the_same_headline() {
        let lab = lab_with_costs(&[11.6]);
        let said = headline(&lab.analysis);
        assert!(said.contains("but longest wait 11.6×"), "{said}");
        let page = crate::page::Page::of(&lab.analysis, Some(&lab.evidence()));
        let flat =
            |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "");
        let options = crate::terminal::Options { width: 400, ..Default::default() };
        let terminal = crate::terminal::render(&lab.analysis, Some(&lab.evidence()), &[], &options);
        let html = crate::template::with_plain_texts(&crate::html::render(&page).expect("a page"));
        let formats = [
            terminal,
            html.replace(".</h1>\n<p class=\"costs\">But: ", ", but "),
            crate::markdown::render(&page).expect("markdown"),
            crate::json(&lab.analysis).expect("JSON"),
        ];
        for text in formats {
            let text = flat(text.replace("&#x2f;", "/").replace('\u{a0}', " "));
            assert!(text.contains(&flat(said.clone())), "{said}\n{text}");
        }
    }

    #[test]
    fn the_best_of_linux_comes_before_one_that_linux_does_not_have() {
        let mut lab = lab_with_costs(&[11.6]);
        lab.analysis.arena = "sim".into();
        for variant in &mut lab.analysis.variants {
            if variant.scheduler.as_deref() == Some("mq-deadline") {
                variant.scheduler = Some("anticipatory".into());
            }
        }
        for comparison in
            lab.analysis.comparisons.iter_mut().filter(|comparison| comparison.variant == "kyber")
        {
            (comparison.verdict, comparison.ratio, comparison.low, comparison.high) =
                (Verdict::Better, Some(1.05), Some(1.04), Some(1.06));
        }
        let said = headline(&lab.analysis);
        assert!(said.starts_with("Use kyber for oltp on a simulated SAMSUNG MZ7LH960"), "{said}");
        assert!(said.contains("Not in today's Linux: mq-deadline: IOPS +11.1 %"), "{said}");
        lab.analysis.arena = "disk".into();
        assert!(headline(&lab.analysis).starts_with("Use mq-deadline"), "it was measured there");
    }

    #[test]
    fn a_variant_that_the_kernel_offers_is_confirmed_as_such() {
        let mut lab = lab_with_costs(&[]);
        lab.analysis.arena = "sim".into();
        let offered = ["none", "mq-deadline"].map(String::from);
        assert!(
            headline_here(&lab.analysis, &offered)
                .ends_with(" This machine's kernel offers mq-deadline.")
        );
        assert_eq!(headline_here(&lab.analysis, &[]), headline(&lab.analysis), "not known");
        lab.analysis.arena = "disk".into();
        assert_eq!(
            headline_here(&lab.analysis, &offered),
            headline(&lab.analysis),
            "it was measured on such a kernel"
        );
    }

    #[test]
    fn the_best_offered_variant_comes_before_one_that_is_not() {
        let mut lab = lab_with_costs(&[11.6]);
        lab.analysis.arena = "sim".into();
        for comparison in
            lab.analysis.comparisons.iter_mut().filter(|comparison| comparison.variant == "kyber")
        {
            (comparison.verdict, comparison.ratio, comparison.low, comparison.high) =
                (Verdict::Better, Some(1.05), Some(1.04), Some(1.06));
        }
        let said = headline_here(&lab.analysis, &["none", "kyber"].map(String::from));
        assert!(
            said.starts_with("Use kyber for oltp on a simulated SAMSUNG MZ7LH960: IOPS +5"),
            "{said}"
        );
        let second = "Not offered by this machine's kernel: mq-deadline: IOPS +11.1 % [+10.3, +11.9] against none, but longest wait";
        assert!(said.contains(second), "{said}");
        let nothing_better = headline_here(&lab.analysis, &["none".to_owned()]);
        assert!(nothing_better.contains(second), "{nothing_better}");
        assert!(nothing_better.starts_with(
            "Keep none on a simulated SAMSUNG MZ7LH960: this machine's kernel offers no other"
        ));
        let said = headline_here(&lab.analysis, &["elsewhere".to_owned()]);
        assert_eq!(
            said,
            headline(&lab.analysis) + " This machine's kernel does not offer mq-deadline."
        );
    }

    #[test]
    fn keeping_the_baseline_says_how_much_is_open_and_invalid() {
        let mut lab = Lab::typical();
        lab.analysis.recommendation.variant = Some("none".into());
        for comparison in &mut lab.analysis.comparisons {
            comparison.verdict =
                if comparison.variant == "bfq" { Verdict::Invalid } else { Verdict::Inconclusive };
        }
        let text = "Keep none on SAMSUNG MZ7LH960 (/dev/sdb): nothing was shown to be better by more than 1 %; of 9 comparisons 6 are inconclusive and 3 invalid.";
        let (headline, lines) = said(&lab);
        assert_eq!(headline, text);
        assert!(lines.is_empty(), "the headline says it for every workload: {lines:?}");
    }

    #[test]
    fn what_is_inconclusive_has_a_next_step_and_what_is_decided_has_none() {
        let mut lab = Lab::typical();
        let said = |lab: &Lab| {
            let views = view::workloads(&lab.analysis, None);
            [Some(&lab.evidence()), None].map(|evidence| next(evidence, &views))
        };
        let [Some(measured), Some(table)] = said(&lab) else {
            panic!("two comparisons are inconclusive")
        };
        assert!(
            measured.contains("about 23 more rounds") && measured.contains("--resume"),
            "{measured}"
        );
        assert!(
            table.contains("about 23 more rounds") && table.contains("add them to the table"),
            "{table}"
        );
        lab.analysis
            .comparisons
            .iter_mut()
            .for_each(|comparison| comparison.new_plan_rounds = Some(40));
        assert!(
            said(&lab)[0]
                .as_ref()
                .is_some_and(|text| text.contains("a new run of about 40 rounds (--rounds 40)"))
        );
        lab.analysis
            .comparisons
            .iter_mut()
            .for_each(|comparison| comparison.new_plan_rounds = None);
        lab.analysis.comparisons.iter_mut().for_each(|comparison| comparison.more_rounds = None);
        assert!(
            said(&lab).into_iter().all(|text| text.is_some_and(|text| text.contains("too few")))
        );
        let omitted = experiment::reason::Reason::CpuTimeOmitted;
        lab.analysis
            .comparisons
            .iter_mut()
            .for_each(|comparison| comparison.reasons.push(omitted.clone()));
        assert!(
            said(&lab)
                .into_iter()
                .all(|text| text.is_some_and(|text| text.contains("without cpu_percent=0")))
        );
        lab.analysis
            .comparisons
            .iter_mut()
            .for_each(|comparison| comparison.verdict = Verdict::Equivalent);
        assert_eq!(said(&lab), [None, None]);
    }

    #[test]
    fn without_a_choice_the_analysis_speaks_for_itself() {
        let mut lab = Lab::typical();
        lab.analysis.recommendation.variant = None;
        lab.analysis.recommendation.sentence = "No advice: nothing was measured.".into();
        let text = "No advice: nothing was measured (on SAMSUNG MZ7LH960 (/dev/sdb)).";
        assert_eq!(said(&lab).0, text);
        lab.analysis.recommendation.variant = Some("a variant that no comparison knows".into());
        assert_eq!(said(&lab).0, text);
    }
}
