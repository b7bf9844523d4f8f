//! Checks of the flows of a `flows` workload.

use super::check::{is_priority, unique, value};
use super::{FLOWS, Flow, PlanError, WorkloadSpec};

const MAX_NAME: usize = 64;

/// Whether the name is valid for a control group: 1 to 64 letters, digits, `_` and `-`.
pub fn is_flow_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_plain)
}

impl WorkloadSpec {
    pub(super) fn check_flows(&self) -> Result<(), PlanError> {
        let label = &self.name;
        if self.kind != FLOWS {
            if self.flows.is_empty() {
                return Ok(());
            }
            let what = format!("workload `{label}`");
            return Err(value(
                what,
                format!("is of kind {} and has flows", self.kind),
                "write kind = \"flows\"",
            ));
        }
        let names: Vec<&str> = self.flows.iter().map(|flow| flow.name.as_str()).collect();
        unique("flow", &names, "")?;
        self.flows.iter().try_for_each(|flow| flow.check(label))
    }
}

impl Flow {
    fn check(&self, label: &str) -> Result<(), PlanError> {
        let whose = |what: &str| format!("{what} of flow `{}` in workload `{label}`", self.name);
        if !is_flow_name(&self.name) {
            let remedy =
                "it names a control group: use at most 64 letters, digits, - and _, e.g. reader";
            return Err(value(whose("the name"), "cannot be a file's name", remedy));
        }
        if self.kind.trim().is_empty() {
            return Err(value(
                whose("the kind"),
                "is empty",
                "name a workload, e.g. kind = \"randread\"",
            ));
        }
        if self.weight.is_some_and(|weight| !(1..=10_000).contains(&weight)) {
            let problem = match self.weight {
                Some(0) => "is 0, which is not a share",
                _ => "is out of range",
            };
            return Err(value(whose("the weight"), problem, "give 1 to 10000, e.g. 100"));
        }
        for (what, text) in [("the rate", &self.rate), ("the burst", &self.burst)] {
            if let Some(text) = text
                && text::parse_size(text).is_none_or(|bytes| bytes == 0)
            {
                return Err(value(
                    whose(what),
                    format!("is {text}"),
                    "give bytes above 0, e.g. 10M",
                ));
            }
        }
        if let Some(text) = &self.latency
            && text::parse_duration_ns(text).is_none_or(|ns| ns == 0)
        {
            return Err(value(
                whose("the latency"),
                format!("is {text}"),
                "give a time above 0, e.g. 20ms",
            ));
        }
        if self.latency.is_some() && (self.rate.is_none() || self.burst.is_none()) {
            let remedy = "a bound holds inside an arrival curve: give rate and burst as well, e.g. rate = \"10M\"";
            return Err(value(whose("the latency"), "stands alone", remedy));
        }
        if self.ioprio.as_ref().is_some_and(|text| !is_priority(text)) {
            let remedy = "give idle, best-effort:0 to best-effort:7, or realtime:0 to realtime:7";
            return Err(value(whose("the ioprio"), "cannot be read", remedy));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    fn read(flow: &str, kind: &str) -> Result<Plan, PlanError> {
        Plan::from_toml(&format!(
            "device = 'hp97560'\narena = 'sim'\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'b'\n\
             scheduler = 'bfq'\n[[workload]]\nname = 'w'\nkind = '{kind}'\n[[workload.flow]]\n{flow}\n"
        ))
    }

    fn refused(flow: &str) -> String {
        read(flow, "flows").expect_err(flow).to_string()
    }

    #[test]
    fn a_flow_has_a_name_a_kind_and_a_contract() {
        let text = "name = 'reader'\nkind = 'randread'\nparams = { clients = 2 }\nweight = 400\nrate = '10M'\n\
                    burst = '1M'\nlatency = '20ms'\nioprio = 'realtime:0'";
        let plan = read(text, "flows").unwrap();
        assert_eq!(
            (plan.workloads[0].flows[0].weight, plan.workloads[0].flows.len()),
            (Some(400), 1)
        );
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }

    #[test]
    fn a_guarantee_that_means_nothing_is_refused_with_what_would_be_right() {
        for (more, says) in [
            ("weight = 0", "is 0, which is not a share"),
            ("weight = 10001", "1 to 10000"),
            ("rate = '0'", "bytes above 0"),
            ("burst = 'much'", "bytes above 0"),
            ("latency = '20ms'", "give rate and burst"),
            ("latency = 'soon'\nrate = '1M'\nburst = '1M'", "a time above 0"),
            ("ioprio = 'high'", "best-effort:0"),
        ] {
            let error = refused(&format!("name = 'a'\nkind = 'randread'\n{more}"));
            assert!(error.contains(says) && error.contains("flow `a` in workload `w`"), "{error}");
        }
        for name in ["../a", "a b", "a/b", "\u{e9}", &"a".repeat(65)] {
            assert!(
                refused(&format!("name = \"{name}\"\nkind = 'randread'"))
                    .contains("letters, digits"),
                "{name}"
            );
        }
        assert!(refused("name = ''\nkind = 'randread'").contains("printable name"));
        let elsewhere = read("name = 'a'\nkind = 'randread'", "oltp").unwrap_err().to_string();
        assert!(elsewhere.contains("kind = \"flows\""), "{elsewhere}");
    }
}
