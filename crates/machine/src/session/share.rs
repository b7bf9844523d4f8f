//! A program's share of the device, parsed and checked.

use elevator::Priority;
use text::{Field, Form, field};

use super::Fault;

/// The highest weight that bfq accepts.
pub(super) const BFQ_WEIGHT: u32 = 1000;

/// Range of control group weights.
const WEIGHTS: std::ops::RangeInclusive<u32> = 1..=10_000;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Share {
    /// 1 to 10000, default 100; bfq accepts up to 1000.
    pub io_weight: Option<u32>,
    /// `rbps`, `wbps` (bytes per second), `riops`, `wiops` (requests per second), e.g. `wbps=10M
    /// wiops=100`.
    pub io_max: Option<String>,
    /// `idle`, `best-effort:0…7` or `realtime:0…7`; 0 is the highest.
    pub ioprio: Option<String>,
    /// For the cost model only, 1 to 10000.
    pub cost_weight: Option<u32>,
    /// For bfq only, 1 to 1000.
    pub bfq_weight: Option<u32>,
    /// Latency target, for which siblings are throttled.
    pub latency_us: Option<u64>,
    /// `no-change`, `none-to-rt`, `promote-to-rt`, `restrict-to-be` or `idle`.
    pub prio_class: Option<String>,
    /// A control group even without other settings, to compete like the others.
    pub own_group: bool,
}

const CLASSES: [&str; 5] = ["no-change", "none-to-rt", "promote-to-rt", "restrict-to-be", "idle"];

pub static BOUNDS: [Field; 4] = [
    field("rbps", "", Form::Size(1, u64::MAX), "bytes read in a second"),
    field("wbps", "", Form::Size(1, u64::MAX), "bytes written in a second"),
    field("riops", "", Form::Whole(1, u64::MAX), "reads in a second"),
    field("wiops", "", Form::Whole(1, u64::MAX), "writes in a second"),
];

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Limits {
    pub(super) weight: Option<u32>,
    /// In bytes or requests per second.
    pub(super) max: Vec<(&'static str, u64)>,
    /// In the kernel's encoding.
    pub(super) ioprio: Option<u16>,
    pub(super) cost_weight: Option<u32>,
    pub(super) bfq_weight: Option<u32>,
    pub(super) latency_us: Option<u64>,
    pub(super) prio_class: Option<&'static str>,
    pub(super) own_group: bool,
}

impl Limits {
    pub(super) fn read(share: &Share) -> Result<Limits, Fault> {
        for (name, weight) in [("io_weight", share.io_weight), ("io.weight", share.cost_weight)] {
            if let Some(weight) = weight.filter(|weight| !WEIGHTS.contains(weight)) {
                return Err(refused(
                    &format!("{name} {weight}"),
                    "a weight is a whole number from 1 to 10000",
                ));
            }
        }
        if let Some(weight) = share.bfq_weight.filter(|weight| !(1..=BFQ_WEIGHT).contains(weight)) {
            return Err(refused(
                &format!("io.bfq.weight {weight}"),
                "bfq takes a whole number from 1 to 1000",
            ));
        }
        let class = |text: &String| {
            let known = CLASSES.into_iter().find(|class| class == text);
            known.ok_or_else(|| {
                refused(
                    &format!("io.prio.class {text}"),
                    &format!("it is one of {}", CLASSES.join(", ")),
                )
            })
        };
        Ok(Limits {
            weight: share.io_weight,
            max: share.io_max.as_deref().map_or(Ok(Vec::new()), bounds)?,
            ioprio: share.ioprio.as_deref().map(priority).transpose()?,
            cost_weight: share.cost_weight,
            bfq_weight: share.bfq_weight,
            latency_us: share.latency_us,
            prio_class: share.prio_class.as_ref().map(class).transpose()?,
            own_group: share.own_group,
        })
    }

    /// Whether it needs a control group with a controller.
    pub(super) fn needs_group(&self) -> bool {
        let Limits {
            weight,
            max,
            ioprio: _,
            cost_weight,
            bfq_weight,
            latency_us,
            prio_class,
            own_group: _,
        } = self;
        weight.or(*cost_weight).or(*bfq_weight).is_some()
            || !max.is_empty()
            || latency_us.is_some()
            || prio_class.is_some()
    }

    pub(super) fn text(&self) -> String {
        let weight = self.weight.map(|weight| format!("io_weight {weight}"));
        let max: Vec<String> =
            self.max.iter().map(|(name, bound)| format!("{name}={bound}")).collect();
        let max = (!max.is_empty()).then(|| format!("io_max {}", max.join(" ")));
        let cost = self.cost_weight.map(|weight| format!("io.weight {weight}"));
        let bfq = self.bfq_weight.map(|weight| format!("io.bfq.weight {weight}"));
        let latency = self.latency_us.map(|us| format!("io.latency {us} us"));
        let class = self.prio_class.map(|class| format!("io.prio.class {class}"));
        [weight, max, cost, bfq, latency, class]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" with ")
    }
}

fn refused(what: &str, why: &str) -> Fault {
    Fault::Share { what: what.to_string(), why: why.to_string() }
}

fn bounds(text: &str) -> Result<Vec<(&'static str, u64)>, Fault> {
    let mut all: Vec<(&'static str, u64)> = Vec::new();
    for word in text.split_whitespace() {
        let what = format!("io_max {word}");
        let (name, value) = word
            .split_once('=')
            .ok_or_else(|| refused(&what, "bounds look like wbps=10M wiops=100"))?;
        let row = BOUNDS.iter().find(|row| row.name == name).ok_or_else(|| {
            let known = text::expected_one_of(name, BOUNDS.iter().map(|row| row.name));
            refused(&what, &format!("no such bound {known}"))
        })?;
        let bound = row.form.read(value);
        let bound =
            bound.ok_or_else(|| refused(&what, &format!("it needs {}", row.form.words())))?;
        if all.iter().any(|(other, _)| *other == name) {
            return Err(refused(&what, "it is given twice"));
        }
        all.push((row.name, bound));
    }
    if all.is_empty() {
        return Err(refused("io_max", "it is empty: remove it, or give e.g. wbps=10M"));
    }
    Ok(all)
}

fn priority(text: &str) -> Result<u16, Fault> {
    let expected = "expected idle, best-effort:0 to best-effort:7, or realtime:0 to realtime:7";
    let read = Priority::parse(text).ok_or_else(|| refused(&format!("ioprio {text}"), expected))?;
    Ok(read.number())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(io_weight: Option<u32>, io_max: &str, ioprio: &str) -> Result<Limits, String> {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
        Limits::read(&Share {
            io_weight,
            io_max: some(io_max),
            ioprio: some(ioprio),
            ..Share::default()
        })
        .map_err(|fault| fault.to_string())
    }

    #[test]
    fn sizes_become_bytes_and_priorities_the_kernels_numbers() {
        let limits = of(Some(200), "wbps=10M riops=100", "best-effort:3").expect("right");
        assert_eq!(limits.max, [("wbps", 10 << 20), ("riops", 100)]);
        assert_eq!(limits.ioprio, Some((2 << 13) | 3));
        assert_eq!(limits.text(), "io_weight 200 with io_max wbps=10485760 riops=100");
        assert_eq!(of(None, "", "idle").expect("right").ioprio, Some(3 << 13));
        assert!(!of(None, "", "realtime:0").expect("right").needs_group());
    }

    #[test]
    fn what_is_no_share_is_refused_with_what_would_be_one() {
        for (weight, max, prio, needle) in [
            (Some(0), "", "", "1 to 10000"),
            (Some(10_001), "", "", "1 to 10000"),
            (None, "wbps", "", "wbps=10M"),
            (None, "bps=1", "", "rbps, wbps"),
            (None, "wbps=0", "", "a size, at least 1"),
            (None, "wiops=1k", "", "a whole number, at least 1"),
            (None, "wbps=1M wbps=2M", "", "twice"),
            (None, " ", "", "empty"),
            (None, "", "best-effort:8", "best-effort:7"),
            (None, "", "rt:1", "realtime:7"),
        ] {
            let error = of(weight, max, prio).expect_err(needle);
            assert!(error.contains(needle), "{error}");
        }
    }
}
