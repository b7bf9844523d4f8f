//! The properties over every row, with random inputs. `mutants/` shows that they can fail.

use elevator::{ELEVATORS, ElevatorKind, Guarantee};
use properties::{
    Property, Scenario, broken_guarantees, check, check_flows, fixed_inputs, fixed_scenarios,
    samples, test_every_flow_property, test_every_property,
};

use crate::shortest_first;

fn hold(property: &Property) {
    check(property, ELEVATORS.iter().chain(samples::SAMPLES).chain([&shortest_first::ROW]));
}

test_every_property!(hold);

mod flows {
    use super::*;

    fn hold(property: &Property<Scenario>) {
        check_flows(
            property,
            ELEVATORS.iter().chain(samples::SAMPLES).chain([&shortest_first::ROW]),
        );
    }

    test_every_flow_property!(hold);
}

#[test]
fn rows_have_names_of_their_own_and_say_where_they_come_from() {
    for (at, kind) in ELEVATORS.iter().enumerate() {
        assert!(
            ELEVATORS[..at].iter().all(|other| other.name != kind.name),
            "{} stands twice",
            kind.name
        );
        assert!(
            !kind.help.is_empty() && !kind.source.is_empty() && !kind.guarantees.is_empty(),
            "{}",
            kind.name
        );
        for (at, tunable) in kind.tunables.iter().enumerate() {
            assert!(
                kind.tunables[..at].iter().all(|other| other.name != tunable.name),
                "{} {}",
                kind.name,
                tunable.name
            );
        }
    }
}

#[test]
fn a_guarantee_is_called_not_kept_only_where_there_is_a_counter_example() {
    let (inputs, scenarios) = (fixed_inputs(60), fixed_scenarios(60));
    for kind in ELEVATORS {
        for (guarantee, broken) in broken_guarantees(kind, &inputs, &scenarios) {
            assert!(broken, "{} keeps {guarantee:?}: declare it", kind.name);
        }
    }
    const LAG: &[Guarantee] = &[Guarantee::LagAtMost { costs: 2, slack_kib: 0 }];
    const NOT_KEPT: &[Guarantee] =
        &[Guarantee::NotKept { guarantees: LAG, because: "it looks at sectors" }];
    let of = |kind: &ElevatorKind| {
        broken_guarantees(&kind.guaranteeing(NOT_KEPT), &inputs, &scenarios)[0].1
    };
    assert!(of(&samples::SWEEP) && !of(&samples::FAIR), "the check sees both");
}
