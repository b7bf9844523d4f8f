//! Baseline values of a sweep's tunables, for reports such as "16 instead of 64".
//!
//! Real machines read them from the kernel; the simulator knows the scheduler's. Guests report only
//! figures, so the kernel arena uses the `elevator` table, without values that depend on the queue
//! size.

use std::collections::BTreeMap;

use elevator::{Build, Role};
use experiment::plan::{Plan, Variant};
use experiment::results::Environment;
use experiment::sweep::{self, DEFAULTS};
use sim::DeviceModel;

use super::sim::Setting;

pub(super) type Defaults = BTreeMap<String, String>;

/// Tunables varied one at a time.
pub(super) fn swept(plan: &Plan) -> Vec<String> {
    let sweep = sweep::of_plan(plan);
    sweep.into_iter().flat_map(|sweep| sweep.tunables).map(|turned| turned.name).collect()
}

pub(super) fn baseline(plan: &Plan) -> Option<&Variant> {
    plan.variants.iter().find(|variant| variant.name == plan.baseline())
}

pub(super) fn simulated(
    plan: &Plan,
    setting: Option<&Setting>,
    device: &dyn DeviceModel,
) -> Defaults {
    let names = swept(plan);
    let values = setting
        .filter(|_| !names.is_empty())
        .map(|setting| setting.values(device))
        .unwrap_or_default();
    let wanted = values.into_iter().filter(|(name, _)| names.iter().any(|n| n == name));
    wanted.map(|(name, value)| (name.to_owned(), value.to_string())).collect()
}

/// Linux defaults from the table.
pub(super) fn tabled(plan: &Plan) -> Defaults {
    let names = swept(plan);
    let scheduler = baseline(plan).map(|variant| variant.scheduler.as_str()).unwrap_or_default();
    let knobs =
        elevator::find(scheduler).map(|kind| kind.knobs(&Build::default())).unwrap_or_default();
    let known = knobs.into_iter().filter(|knob| knob.row.role != Role::Window);
    let wanted = known.filter(|knob| names.iter().any(|name| name == knob.row.name));
    wanted.map(|knob| (knob.row.name.to_owned(), knob.default.to_string())).collect()
}

pub(super) fn note(facts: &mut Environment, defaults: &Defaults) {
    if !defaults.is_empty() {
        facts.insert(DEFAULTS.to_owned(), defaults.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::model::Model;

    fn plan(variants: &[&str]) -> Plan {
        let mut plan = Plan::from_toml(
            "arena = 'sim'\ndevice = 'hp97560'\n[[variant]]\nname = 'a'\nscheduler = 'none'\n[[variant]]\nname = 'b'\nscheduler = \
             'none'\n[[workload]]\nname = 'r'\nkind = 'randread'\n",
        )
        .unwrap();
        plan.variants = experiment::plan::parse_variants(variants).unwrap();
        plan
    }

    fn of_sim(plan: &Plan) -> Defaults {
        let setting = Setting::of(baseline(plan).unwrap()).unwrap();
        Model::read(&plan.device).unwrap().look(|device| simulated(plan, Some(&setting), device))
    }

    #[test]
    fn the_simulators_defaults_are_those_of_this_device_and_this_baseline() {
        let plan = plan(&[
            "d=mq-deadline:fifo_batch=8",
            "x=mq-deadline:fifo_batch=1",
            "y=mq-deadline:fifo_batch=8:nr_requests=4",
        ]);
        let found = of_sim(&plan);
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!((names, found["fifo_batch"].as_str()), (vec!["fifo_batch", "nr_requests"], "8"));
    }

    #[test]
    fn the_table_tells_nothing_that_hangs_on_the_queue_and_nothing_of_what_is_not_swept() {
        let plan =
            plan(&["d=mq-deadline", "x=mq-deadline:fifo_batch=1", "y=mq-deadline:async_depth=4"]);
        assert_eq!(tabled(&plan), Defaults::from([("fifo_batch".to_owned(), "16".to_owned())]));
    }

    #[test]
    fn an_experiment_that_is_no_sweep_notes_nothing() {
        let plan = plan(&["d=mq-deadline", "bfq"]);
        assert!(of_sim(&plan).is_empty() && tabled(&plan).is_empty());
        let mut facts = Environment::new();
        note(&mut facts, &Defaults::new());
        assert!(facts.is_empty());
    }
}
