//! CPU scheduler counters of a CPU arena experiment, and remarks about unusual values. They show
//! whether the compared setting can explain a verdict.

use experiment::results::Trial;
use experiment::stats::describe;

use super::evidence::Evidence;
use super::remarks::{self, Remark, Sentence};
use super::table::Table;
use super::view::WorkloadView;
use super::{number, words};

/// Caches take 10 to 100 µs to warm up after a migration, so 100 per second cost about as much as
/// the usual margin of 1 %.
const MANY_MOVES_PER_S: f64 = 100.0;
/// Beyond this ratio, variants did not run at the same CPU speed.
const FREQUENCY_RATIO: f64 = 1.02;

/// Head, and value of one trial.
type Column = (&'static str, fn(&Trial) -> Option<f64>);

const COLUMNS: [Column; 9] = [
    ("migrations\nper second", |trial| per_second(trial, &["task_migrations"])),
    ("waiting for\na CPU, %", |trial| waiting(trial).map(percent)),
    ("voluntary\nswitches/s", |trial| per_second(trial, &["task_voluntary_switches"])),
    ("involuntary\nswitches/s", |trial| per_second(trial, &["task_involuntary_switches"])),
    ("preempted after\n(median), ms", |trial| counter(trial, "slice_p50_us").map(|us| us / 1e3)),
    ("queue wait\np99, ms", |trial| counter(trial, "queue_wait_p99_us").map(|us| us / 1e3)),
    ("share error\nby weights, %", share_error),
    ("steal, %", |trial| counter(trial, "steal_share").map(percent)),
    ("MHz", |trial| counter(trial, "cpu_mhz")),
];

fn percent(share: f64) -> f64 {
    share * 100.0
}

fn counter(trial: &Trial, name: &str) -> Option<f64> {
    trial.observation.counters.get(name).copied().filter(|value| value.is_finite())
}

/// Divides by the program's run time or, if unknown, by the measured window.
fn per_second(trial: &Trial, names: &[&str]) -> Option<f64> {
    let window = trial.observation.duration_ns as f64 / 1e9;
    let seconds = counter(trial, "task_wall_ms").map_or(window, |ms| ms / 1e3);
    let sum: f64 = names.iter().map(|name| counter(trial, name)).sum::<Option<f64>>()?;
    (seconds > 0.0).then(|| sum / seconds)
}

/// Deviation of the time on the CPU from that by the weights of all runnable tasks.
fn share_error(trial: &Trial) -> Option<f64> {
    let by_weight = counter(trial, "share_by_weight_us").filter(|us| *us > 0.0)?;
    Some(percent(counter(trial, "share_us")? / by_weight - 1.0))
}

/// Share of runnable time.
fn waiting(trial: &Trial) -> Option<f64> {
    let (wait, run) = (counter(trial, "task_wait_ms")?, counter(trial, "task_run_ms")?);
    (wait + run > 0.0).then(|| wait / (wait + run))
}

fn trials<'a>(evidence: &Evidence<'a>, workload: &str, variant: &str) -> Vec<&'a Trial> {
    let of = |trial: &&Trial| {
        trial.workload == workload
            && trial.variant == variant
            && !trial.observation.metrics.is_empty()
    };
    evidence.trials.iter().filter(of).collect()
}

fn median(trials: &[&Trial], figure: impl Fn(&Trial) -> Option<f64>) -> Option<f64> {
    describe::median(&trials.iter().filter_map(|trial| figure(trial)).collect::<Vec<_>>())
}

/// `None` outside the CPU arena, or if nothing was counted.
pub(crate) fn table(evidence: &Evidence<'_>, workload: &str, variants: &[&str]) -> Option<Table> {
    let evidence = evidence.of_cpus()?;
    let all: Vec<Vec<&Trial>> =
        variants.iter().map(|variant| trials(evidence, workload, variant)).collect();
    let counted = |(_, figure): &&Column| all.iter().any(|trials| median(trials, figure).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(counted).collect();
    if columns.is_empty() {
        return None;
    }
    let cell = |trials: &Vec<&Trial>, figure: fn(&Trial) -> Option<f64>| {
        median(trials, figure).map_or_else(|| "-".to_owned(), number::significant)
    };
    let rows = variants.iter().zip(&all).map(|(variant, trials)| {
        (words::clean(variant), columns.iter().map(|(_, figure)| cell(trials, *figure)).collect())
    });
    let place = words::name_of(workload).map(|place| format!("{place}: ")).unwrap_or_default();
    Some(Table {
        title: format!(
            "{place}CPU scheduling of the measured program (its first thread; all threads of schedlab's own workloads), medians over trials"
        ),
        head: columns.iter().map(|(head, _)| (*head).to_owned()).collect(),
        rows: rows.collect(),
        detail: true,
    })
}

pub(crate) fn remarks<'a>(
    evidence: Option<&Evidence<'_>>,
    workloads: &[WorkloadView<'a>],
    variants: &[&'a str],
) -> Vec<Remark> {
    let Some(evidence) = evidence.and_then(Evidence::of_cpus) else { return Vec::new() };
    let limit = evidence.header.plan.limits.steal_share;
    remarks::merged(workloads, |workload| {
        let mut found = Vec::new();
        for variant in variants {
            let trials = trials(evidence, workload.name, variant);
            let texts = [migrations(&trials), stolen(&trials, limit), stayed(&trials)];
            found.extend(
                texts.into_iter().flatten().map(|text| Sentence::plain(variant, text, false)),
            );
        }
        let frequencies = frequencies(evidence, workload.name, variants);
        found.extend(frequencies.map(|text| Sentence::plain("all variants", text, false)));
        found
    })
}

fn migrations(trials: &[&Trial]) -> Option<String> {
    let of_one = |trial: &Trial| {
        let threads = counter(trial, "task_threads").unwrap_or(1.0).max(1.0);
        Some(per_second(trial, &["task_migrations"])? / threads)
    };
    let rate = median(trials, of_one).filter(|rate| *rate > MANY_MOVES_PER_S)?;
    Some(format!(
        "migrated between CPUs {} times a second (median): each migration leaves warm caches behind, and more than {MANY_MOVES_PER_S} \
         a second can be an effect of their own",
        number::significant(rate)
    ))
}

fn stolen(trials: &[&Trial], limit: f64) -> Option<String> {
    let shares: Vec<f64> =
        trials.iter().filter_map(|trial| counter(trial, "steal_share")).collect();
    let above = shares.iter().filter(|share| **share > limit / 2.0).count();
    let most = shares.iter().copied().fold(0.0, f64::max);
    (above > 0).then(|| {
        format!(
            "in {above} of {} the hypervisor took more than {} of the CPU time (at most {}; invalid beyond {})",
            words::counted(shares.len() as u64, "trial"),
            number::percent(limit / 2.0),
            number::percent(most),
            number::percent(limit)
        )
    })
}

fn stayed(trials: &[&Trial]) -> Option<String> {
    let most = |name: &str| trials.iter().filter_map(|trial| counter(trial, name)).reduce(f64::max);
    let stayed = most("isolate_unmovable").filter(|count| *count >= 1.0)? as u64;
    let moved = most("isolate_moved")
        .map(|count| format!(", {} could", number::count(count as u64)))
        .unwrap_or_default();
    Some(format!(
        "{} could not be moved off the isolated CPUs{moved} (maximum of a trial)",
        words::counted(stayed, "task")
    ))
}

fn frequencies(evidence: &Evidence<'_>, workload: &str, variants: &[&str]) -> Option<String> {
    let of = |variant: &str| {
        median(&trials(evidence, workload, variant), |trial| counter(trial, "cpu_mhz"))
    };
    let mut found: Vec<(&str, f64)> =
        variants.iter().filter_map(|variant| Some((*variant, of(variant)?))).collect();
    found.retain(|(_, mhz)| *mhz > 0.0);
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (least, most) = (found.first()?, found.last()?);
    (most.1 / least.1 > FREQUENCY_RATIO).then(|| {
        format!(
            "the CPU frequency differed by {} between variants (medians: {} {} MHz, {} {} MHz): part of an effect may come from the \
             frequency",
            number::percent(most.1 / least.1 - 1.0),
            words::clean(least.0),
            number::significant(least.1),
            words::clean(most.0),
            number::significant(most.1)
        )
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::fixture::Lab;
    use crate::view;

    pub(crate) fn on_cpus(counters: &[(&str, &str, f64)]) -> Lab {
        let mut lab = Lab::typical();
        lab.header.plan.arena = &experiment::plan::CPU;
        for trial in &mut lab.trials {
            let of_variant = counters.iter().filter(|(variant, ..)| *variant == trial.variant);
            trial
                .observation
                .counters
                .extend(of_variant.map(|(_, name, value)| ((*name).to_owned(), *value)));
        }
        lab
    }

    fn said(lab: &Lab) -> Vec<(String, String)> {
        let evidence = lab.evidence();
        let views = view::workloads(&lab.analysis, Some(&evidence));
        let variants = view::variants(&lab.analysis, Some(&evidence));
        remarks(Some(&evidence), &views[..1], &variants)
            .into_iter()
            .map(|remark| (remark.about, remark.text))
            .collect()
    }

    fn shown(lab: &Lab) -> Option<Table> {
        let evidence = lab.evidence();
        table(&evidence, "oltp", &view::variants(&lab.analysis, Some(&evidence)))
    }

    #[test]
    fn what_was_not_counted_is_left_out_and_devices_have_no_such_table() {
        let lab = on_cpus(&[]);
        assert_eq!((shown(&lab), said(&lab)), (None, vec![]));
        let mut lab =
            on_cpus(&[("none", "task_migrations", 1e6), ("none", "isolate_unmovable", 3.0)]);
        lab.header.plan.arena = &experiment::plan::DISK;
        assert_eq!((shown(&lab), said(&lab)), (None, vec![]));
    }

    #[test]
    fn the_table_has_rates_of_the_measured_time_and_the_share_of_waiting() {
        // The fixture's trials take 0.5 s.
        let lab = on_cpus(&[
            ("none", "task_migrations", 30.0),
            ("none", "task_wait_ms", 100.0),
            ("none", "task_run_ms", 300.0),
            ("none", "task_voluntary_switches", 5.0),
            ("none", "task_involuntary_switches", 10.0),
            ("none", "steal_share", 0.01),
            ("bfq", "task_migrations", 1.0),
        ]);
        let table = shown(&lab).expect("something was counted");
        assert!(table.detail && table.head.len() == 5, "no frequency, no column: {table:?}");
        assert_eq!(
            table.rows[0],
            (
                "none".to_owned(),
                ["60.0", "25.0", "10.0", "20.0", "1.00"].map(String::from).to_vec()
            )
        );
        assert_eq!(table.rows[3].1, ["2.00", "-", "-", "-", "-"].map(String::from).to_vec());
    }

    #[test]
    fn a_guests_run_queue_is_shown_in_ms_and_its_share_as_an_error() {
        let lab = on_cpus(&[
            ("none", "slice_p50_us", 3000.0),
            ("none", "queue_wait_p99_us", 12_500.0),
            ("none", "share_us", 90.0),
            ("none", "share_by_weight_us", 100.0),
            ("bfq", "share_us", 0.0),
            ("bfq", "share_by_weight_us", 0.0),
        ]);
        let table = shown(&lab).expect("something was counted");
        assert_eq!(table.rows[0].1, ["3.00", "12.5", "-10.0"].map(String::from).to_vec());
        assert_eq!(table.rows[3].1, ["-", "-", "-"].map(String::from).to_vec());
    }

    #[test]
    fn many_moves_and_much_stolen_time_are_flagged_and_little_of_them_is_not() {
        assert_eq!(
            said(&on_cpus(&[("bfq", "task_migrations", 50.0), ("bfq", "steal_share", 0.125)])),
            []
        );
        let found =
            said(&on_cpus(&[("bfq", "task_migrations", 51.0), ("kyber", "steal_share", 0.2)]));
        let [(kyber, steal), (bfq, moves)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((kyber.as_str(), bfq.as_str()), ("kyber", "bfq"));
        assert!(moves.starts_with("migrated between CPUs 102 times a second"), "{moves}");
        let wanted = "in 14 of 14 trials the hypervisor took more than 12.5 % of the CPU time (at most 20 %; invalid beyond 25 %)";
        assert_eq!(steal, wanted);
    }

    #[test]
    fn the_same_of_several_variants_is_one_remark_and_every_variant_is_not_said_when_it_is_the_baseline_and_some()
     {
        let stayed = |variants: &[&'static str]| {
            let counters: Vec<_> =
                variants.iter().map(|variant| (*variant, "isolate_unmovable", 1.0)).collect();
            said(&on_cpus(&counters)).into_iter().map(|(about, _)| about).collect::<Vec<_>>()
        };
        assert_eq!(stayed(&["mq-deadline", "kyber", "bfq"]), ["every variant"]);
        assert_eq!(stayed(&["none", "kyber", "bfq"]), ["none, kyber and bfq"]);
    }

    #[test]
    fn tasks_that_stayed_are_counted_and_frequencies_that_differ_are_named() {
        let found = said(&on_cpus(&[
            ("bfq", "isolate_unmovable", 12.0),
            ("bfq", "isolate_moved", 85.0),
            ("none", "cpu_mhz", 3000.0),
            ("bfq", "cpu_mhz", 2900.0),
            ("kyber", "cpu_mhz", 2950.0),
        ]));
        let [(bfq, stayed), (all, frequency)] = &found[..] else { panic!("{found:?}") };
        assert_eq!((bfq.as_str(), all.as_str()), ("bfq", "all variants"));
        assert_eq!(
            stayed,
            "12 tasks could not be moved off the isolated CPUs, 85 could (maximum of a trial)"
        );
        assert!(
            frequency.contains("3.4") && frequency.contains("bfq 2,900 MHz, none 3,000 MHz"),
            "{frequency}"
        );
        assert_eq!(said(&on_cpus(&[("none", "cpu_mhz", 3000.0), ("bfq", "cpu_mhz", 2950.0)])), []);
        assert_eq!(said(&on_cpus(&[("bfq", "isolate_unmovable", 0.0)])), []);
    }
}
