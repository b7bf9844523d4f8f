//! Checks of a plan that need no machine; the arena checks device and kernel. Done once on entry,
//! so that later stages need not consider an empty list or a margin of 300 %.

use text::limits::{ROUNDS, TRIALS};

use crate::stats::spending::FIRST_LOOK;

use super::{CPU_DEVICE, Criteria, Method, Plan, PlanError, READABLE, Share, WorkloadSpec};

/// Longer budgets are rejected as typos.
pub const MAX_TIME_S: f64 = 30.0 * 86_400.0;

const MAX_TRIAL_MS: u64 = 86_400_000;

impl Plan {
    /// Checks everything that needs no machine.
    ///
    /// # Errors
    /// The first problem, with its remedy.
    pub fn check(&self) -> Result<(), PlanError> {
        if !READABLE.contains(&self.schema) {
            return Err(PlanError::Schema { found: i64::from(self.schema) });
        }
        self.check_sizes()?;
        if self.arena == &super::CPU && self.device != CPU_DEVICE {
            let problem = format!("is {}, but the cpu arena has none", self.device);
            return Err(value("device", problem, "remove it, or write arena = \"disk\""));
        }
        if self.device.trim().is_empty() {
            return Err(value(
                "device",
                "is empty",
                "name one, e.g. device = \"sdb\" or \"loop:512M\"",
            ));
        }
        self.check_names()?;
        self.workloads.iter().try_for_each(WorkloadSpec::check_flows)?;
        self.check_files()?;
        self.check_budget()?;
        self.check_shares()
    }

    /// The given baseline, or the first variant.
    ///
    /// # Panics
    /// Without variants, which [`Plan::check`] rejects.
    pub fn baseline(&self) -> &str {
        match &self.baseline {
            Some(name) => name,
            None => &self.variants.first().expect("a checked plan has variants").name,
        }
    }

    fn check_names(&self) -> Result<(), PlanError> {
        let variants: Vec<&str> =
            self.variants.iter().map(|variant| variant.name.as_str()).collect();
        unique("variant", &variants, "")?;
        let labels: Vec<&str> =
            self.workloads.iter().map(|workload| workload.name.as_str()).collect();
        unique("workload", &labels, "")?;
        if variants.len() < 2 {
            let remedy = "a comparison needs at least two (the baseline is one of them), e.g. none and mq-deadline";
            return Err(value("the list of variants", format!("has {}", variants.len()), remedy));
        }
        if labels.is_empty() {
            return Err(value("the list of workloads", "is empty", "add one, e.g. oltp"));
        }
        for variant in &self.variants {
            if variant.scheduler.trim().is_empty() && !self.arena.is_cpu() {
                let what = format!("the scheduler of variant `{}`", variant.name);
                return Err(value(what, "is empty", "name one, e.g. scheduler = \"mq-deadline\""));
            }
        }
        for workload in &self.workloads {
            if workload.kind.trim().is_empty() {
                let what = format!("the kind of workload `{}`", workload.name);
                return Err(value(what, "is empty", "name one, e.g. kind = \"oltp\""));
            }
        }
        for metric in &self.metrics {
            if metric.name.trim().is_empty() {
                let remedy = "give it the name that the program's output is read under, e.g. name = \"orders_per_s\"";
                return Err(value("a metric's name", "is empty", remedy));
            }
        }
        match &self.baseline {
            Some(name) if !variants.contains(&name.as_str()) => Err(PlanError::NoSuchName {
                what: "variant",
                name: name.clone(),
                known: variants.iter().map(|variant| variant.to_string()).collect(),
            }),
            _ => Ok(()),
        }
    }

    fn check_files(&self) -> Result<(), PlanError> {
        const KINDS: [&str; 3] = ["ext4", "xfs", "btrfs"];
        if let Some(files) = &self.files
            && !KINDS.contains(&files.kind.as_str())
        {
            return Err(PlanError::NoSuchName {
                what: "kind of file system",
                name: files.kind.clone(),
                known: KINDS.map(str::to_string).to_vec(),
            });
        }
        let shares = self.workloads.iter().flat_map(|workload| {
            let of = |share, kind: &str| (share, format!("{kind} of workload `{}`", workload.name));
            let others = workload.background.iter().map(move |load| of(&load.share, "background"));
            std::iter::once(of(&workload.share, "share")).chain(others)
        });
        for (share, whose) in shares {
            share.check(&whose)?;
        }
        Ok(())
    }

    fn check_budget(&self) -> Result<(), PlanError> {
        let time_s = self.budget.time_s;
        if !(time_s.is_finite() && time_s > 0.0) {
            return Err(value(
                "budget.time_s",
                format!("is {time_s}"),
                "give seconds above 0, e.g. 60",
            ));
        }
        if self.budget.rounds == Some(0) {
            return Err(value(
                "budget.rounds",
                "is 0",
                "give at least 1, or remove it to limit by time only",
            ));
        }
        if let Some(rounds) = self.budget.rounds {
            ROUNDS.check(rounds as usize)?;
            let trials = (rounds as usize)
                .saturating_mul(self.variants.len())
                .saturating_mul(self.workloads.len());
            TRIALS.check(trials)?;
        }
        if time_s > MAX_TIME_S {
            return Err(value(
                "budget.time_s",
                format!("is {time_s}"),
                "give at most 2592000, which is 30 days",
            ));
        }
        if self.trial.duration_ms == Some(0) {
            return Err(value("trial.duration_ms", "is 0", "give milliseconds above 0, e.g. 1000"));
        }
        for (name, ms) in [
            ("trial.duration_ms", self.trial.duration_ms),
            ("trial.warmup_ms", self.trial.warmup_ms),
        ] {
            if let Some(ms) = ms.filter(|ms| *ms > MAX_TRIAL_MS) {
                return Err(value(
                    name,
                    format!("is {ms}"),
                    "give at most 86400000, which is a day",
                ));
            }
        }
        Ok(())
    }

    fn check_shares(&self) -> Result<(), PlanError> {
        self.criteria.check()?;
        let limits = &self.limits;
        within(
            "limits.foreign_io_share",
            limits.foreign_io_share,
            0.0,
            1.0,
            "a fraction from 0 to 1, e.g. 0.05",
        )?;
        within(
            "limits.reached_share",
            limits.reached_share,
            0.0,
            1.0,
            "a fraction from 0 to 1, e.g. 0.9",
        )?;
        within(
            "limits.steal_share",
            limits.steal_share,
            0.0,
            1.0,
            "a fraction from 0 to 1, e.g. 0.1",
        )
    }
}

impl Share {
    fn check(&self, whose: &str) -> Result<(), PlanError> {
        if self.io_weight.is_some_and(|weight| !(1..=10_000).contains(&weight)) {
            return Err(value(
                format!("io_weight in the {whose}"),
                "is out of range",
                "give 1 to 10000, e.g. 50",
            ));
        }
        let is_bound = |word: &str| {
            let (key, bound) = word.split_once('=').unwrap_or((word, ""));
            ["rbps", "wbps", "riops", "wiops"].contains(&key)
                && bound.starts_with(|c: char| c.is_ascii_digit())
        };
        if self
            .io_max
            .as_ref()
            .is_some_and(|text| text.trim().is_empty() || !text.split_whitespace().all(is_bound))
        {
            let remedy = "give rbps, wbps, riops or wiops, e.g. io_max = \"wbps=10M wiops=100\"";
            return Err(value(format!("io_max in the {whose}"), "cannot be read", remedy));
        }
        if self.ioprio.as_ref().is_some_and(|text| !is_priority(text)) {
            let remedy = "give idle, best-effort:0 to best-effort:7, or realtime:0 to realtime:7 (in one word with / for the colon: ioprio=realtime/0)";
            return Err(value(format!("ioprio in the {whose}"), "cannot be read", remedy));
        }
        Ok(())
    }
}

impl Criteria {
    /// Rejects criteria that allow no comparison.
    pub fn check(&self) -> Result<(), PlanError> {
        within(
            "criteria.margin",
            self.margin,
            0.0,
            0.999,
            "a fraction from 0 to below 1, e.g. 0.01 for 1 %",
        )?;
        within(
            "criteria.alpha",
            self.alpha,
            1e-9,
            0.5,
            "a fraction above 0 and at most 0.5, e.g. 0.05 for 5 %",
        )?;
        within(
            "criteria.max_invalid_share",
            self.max_invalid_share,
            0.0,
            1.0,
            "a fraction from 0 to 1, e.g. 0.2",
        )?;
        match (self.planned, self.method) {
            (None, _) => Ok(()),
            (Some(_), Method::Anytime | Method::Fixed | Method::ThreeSigma) => {
                let remedy = "it belongs to method = \"spending\"; remove it";
                Err(value("criteria.planned", "is of no use to this method".to_string(), remedy))
            }
            (Some(planned), Method::Spending) => {
                let range = (FIRST_LOOK as f64, ROUNDS.most as f64);
                let expected = "a number of rounds, at least 4 (the first look), e.g. 24";
                within("criteria.planned", f64::from(planned), range.0, range.1, expected)
            }
        }
    }
}

pub(super) fn is_priority(text: &str) -> bool {
    let (class, level) = text.split_once(':').unwrap_or((text, ""));
    let level_fits = level.parse::<u8>().is_ok_and(|level| level < 8);
    text == "idle" || (["best-effort", "realtime"].contains(&class) && level_fits)
}

/// Rejects empty and repeated names, and those that would break a line of a report.
pub(super) fn unique(what: &'static str, names: &[&str], hint: &str) -> Result<(), PlanError> {
    for (i, name) in names.iter().enumerate() {
        if name.trim().is_empty()
            || name.chars().any(|c| c.is_control() || text::controls_terminal(c))
        {
            let remedy = "give it a name of printable characters, e.g. quick";
            return Err(value(format!("{what} {}", i + 1), "has no printable name", remedy));
        }
        if names[..i].contains(name) {
            return Err(PlanError::Duplicate {
                what,
                name: name.to_string(),
                hint: hint.to_string(),
            });
        }
    }
    Ok(())
}

fn within(what: &str, found: f64, low: f64, high: f64, remedy: &str) -> Result<(), PlanError> {
    // A comparison with NaN is false, so NaN is rejected too.
    if found >= low && found <= high {
        Ok(())
    } else {
        Err(value(what, format!("is {found}"), format!("give {remedy}")))
    }
}

pub(super) fn value(
    what: impl Into<String>,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> PlanError {
    PlanError::Value { what: what.into(), problem: problem.into(), remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, PlanError, Variant, WorkloadSpec, parse_variant, parse_workload};

    fn plan() -> Plan {
        let mut plan: Plan = toml::from_str("device = 'sda'\nvariant = []\nworkload = []").unwrap();
        plan.variants = ["none", "kyber", "bfq"].map(|word| parse_variant(word).unwrap()).to_vec();
        plan.workloads = vec![parse_workload("oltp").unwrap()];
        plan
    }

    fn refused(change: impl FnOnce(&mut Plan)) -> PlanError {
        let mut plan = plan();
        plan.check().unwrap();
        change(&mut plan);
        plan.check().unwrap_err()
    }

    #[test]
    fn slips_of_the_keyboard_in_lengths_are_refused() {
        assert!(refused(|plan| plan.budget.time_s = 1e300).to_string().contains("30 days"));
        assert!(
            refused(|plan| plan.trial.duration_ms = Some(u64::MAX)).to_string().contains("a day")
        );
        assert!(refused(|plan| plan.trial.warmup_ms = Some(1 << 62)).to_string().contains("a day"));
    }

    #[test]
    fn the_baseline_is_the_first_variant_unless_named() {
        let mut plan = plan();
        assert_eq!(plan.baseline(), "none");
        plan.baseline = Some("bfq".to_string());
        plan.check().unwrap();
        assert_eq!(plan.baseline(), "bfq");
    }

    #[test]
    fn a_baseline_that_is_no_variant_is_refused_with_the_nearest_name() {
        let error = refused(|plan| plan.baseline = Some("kybr".to_string()));
        assert!(
            matches!(&error, PlanError::NoSuchName { .. })
                && error.to_string().contains("did you mean \"kyber\"?"),
            "{error}"
        );
    }

    #[test]
    fn names_must_be_unique_and_there_must_be_something_to_compare() {
        let twice = |plan: &mut Plan| plan.variants.push(Variant { ..plan.variants[0].clone() });
        assert!(matches!(refused(twice), PlanError::Duplicate { what: "variant", .. }));
        let twice =
            |plan: &mut Plan| plan.workloads.push(WorkloadSpec { ..plan.workloads[0].clone() });
        assert!(matches!(refused(twice), PlanError::Duplicate { what: "workload", .. }));
        assert!(refused(|plan| plan.variants.truncate(1)).to_string().contains("at least two"));
        assert!(refused(|plan| plan.workloads.clear()).to_string().contains("workloads is empty"));
        for name in [" ", "a\u{1b}", "a\u{202e}b", "a\u{2028}b"] {
            assert!(
                refused(|plan| plan.variants[1].name = name.into())
                    .to_string()
                    .contains("printable name"),
                "{name:?}"
            );
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_with_the_key_and_an_example() {
        type Change = fn(&mut Plan);
        let changes: [(Change, &str); 9] = [
            (|plan| plan.criteria.margin = 1.0, "criteria.margin"),
            (|plan| plan.criteria.margin = -0.1, "criteria.margin"),
            (|plan| plan.criteria.margin = f64::NAN, "criteria.margin"),
            (|plan| plan.criteria.alpha = 0.0, "criteria.alpha"),
            (|plan| plan.criteria.alpha = 0.6, "criteria.alpha"),
            (|plan| plan.budget.time_s = f64::INFINITY, "budget.time_s"),
            (|plan| plan.budget.rounds = Some(0), "budget.rounds"),
            (|plan| plan.trial.duration_ms = Some(0), "trial.duration_ms"),
            (|plan| plan.limits.steal_share = 2.0, "limits.steal_share"),
        ];
        for (change, key) in changes {
            let message = refused(change).to_string();
            assert!(message.contains(key) && message.contains("give "), "{message}");
        }
    }

    #[test]
    fn file_systems_and_shares_of_the_device_are_checked() {
        let files = |kind: &str| {
            Some(super::super::FileSystemSpec {
                kind: kind.into(),
                mkfs: "".into(),
                mount: "".into(),
            })
        };
        assert!(
            refused(|plan| plan.files = files("ext5"))
                .to_string()
                .contains("did you mean \"ext4\"")
        );
        assert!(
            refused(|plan| plan.workloads[0].share.io_weight = Some(0))
                .to_string()
                .contains("1 to 10000")
        );
        for wrong in ["", "wbps", "bps=1", "wbps=fast"] {
            let error =
                refused(|plan| plan.workloads[0].share.io_max = Some(wrong.into())).to_string();
            assert!(error.contains("wbps=10M") && error.contains("`oltp`"), "{error}");
        }
        for wrong in ["rt", "idle:3", "best-effort", "best-effort:8"] {
            let error =
                refused(|plan| plan.workloads[0].share.ioprio = Some(wrong.into())).to_string();
            assert!(error.contains("best-effort:0"), "{error}");
        }
        let mut plan = plan();
        plan.workloads[0].share.io_max = Some("rbps=1M wiops=5".into());
        plan.workloads[0].share.ioprio = Some("realtime:7".into());
        plan.check().unwrap();
    }

    #[test]
    fn a_plan_of_another_schema_is_refused() {
        assert!(matches!(refused(|plan| plan.schema = 1), PlanError::Schema { found: 1 }));
    }
}
