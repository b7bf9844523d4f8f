//! Mutants: correct elevators in a wrapper with one fault, each with the property that must detect
//! it.
//!
//! The test fails if a mutant does not break its property, or if an elevator without a fault breaks
//! any with the same inputs. With `SCHEDLAB_SOAK`, all properties are checked on all mutants, and
//! others that fail are printed.

mod mutant;

use elevator::{Build, ElevatorKind, Guarantee, Origin, find};
use mutant::{Fault, Mutant};
use properties::{
    FLOW_PROPERTIES, PROPERTIES, broken_of, broken_properties, fixed_inputs, fixed_scenarios,
    property, samples,
};

struct Planted {
    row: ElevatorKind,
    fault: Fault,
    property: &'static str,
}

macro_rules! plant {
    ($($base:ident $fault:ident => $property:literal),* $(,)?) => {
        fn planted() -> Vec<Planted> {
            vec![$(Planted {
                row: ElevatorKind {
                    name: stringify!($fault),
                    build: |build: &Build| Mutant::wrap(&base::$base(), build, Fault::$fault),
                    ..base::$base()
                },
                fault: Fault::$fault,
                property: $property,
            }),*]
        }
    };
}

/// Elevators without faults.
mod base {
    use super::*;

    fn copy(of: &ElevatorKind) -> ElevatorKind {
        let ElevatorKind { name, origin, help, source, evidence, guarantees, tunables, build } =
            *of;
        ElevatorKind { name, origin, help, source, evidence, guarantees, tunables, build }
    }

    pub(super) fn none() -> ElevatorKind {
        copy(find("none").expect("none is a row"))
    }

    /// With a tag pool per direction, as in legacy Linux.
    pub(super) fn legacy() -> ElevatorKind {
        ElevatorKind { origin: Origin::LegacyLinux, ..none() }
    }

    pub(super) fn edf() -> ElevatorKind {
        copy(find("edf").expect("edf is a row"))
    }

    pub(super) fn rg_scan() -> ElevatorKind {
        copy(find("rg-scan").expect("rg-scan is a row"))
    }

    pub(super) fn sweep() -> ElevatorKind {
        samples::SWEEP
    }

    pub(super) fn idler() -> ElevatorKind {
        samples::IDLER
    }

    pub(super) fn fair() -> ElevatorKind {
        samples::FAIR
    }

    pub(super) fn bounds() -> ElevatorKind {
        samples::BOUNDS
    }

    pub(super) fn quanta() -> ElevatorKind {
        samples::QUANTA
    }

    pub(super) fn classes() -> ElevatorKind {
        samples::CLASSES
    }
}

plant![
    none LosesARequest => "served_once_through_the_queue",
    sweep DispatchesTwice => "served_once_directly",
    none GivesOutOfNothing => "drained_at_the_end",
    idler ChangesTheTag => "served_once_directly",
    sweep KeepsTheLastForEver => "drained_at_the_end",
    legacy DropsAProcessAtItsExit => "served_once_through_the_queue",
    sweep LosesTheRequeued => "requeued_requests_are_served_once",
    none CountsOneTooMany => "counters_agree",
    sweep CountsNothingAfterMerge => "counters_agree",
    sweep ForgetsTheCoalesced => "merges_keep_every_sector",
    none JoinsReadsWithWrites => "merges_keep_every_sector",
    sweep IdlesWithoutTimer => "idling_ends_by_a_timer",
    idler IdlesForEver => "idling_ends_by_a_timer",
    sweep IdlesWhileInFlight => "never_idle_while_holding_work",
    idler IdlesAtTheExtreme => "served_once_through_the_queue",
    idler GivesWhenAskedAgain => "asking_again_changes_nothing",
    none SwapsTwo => "order_of_arrival",
    sweep TurnsBack => "order_of_sectors",
    idler StarvesOne => "passed_at_most",
    idler StarvesOne => "waits_at_most",
    none Overtakes => "passed_at_most",
    sweep ReadsOneMore => "tunables_read_back",
    idler IgnoresTheMaximum => "tunables_read_back",
    sweep SetsAllAtOnce => "tunables_read_back",
    idler StartsOutOfRange => "tunables_read_back",
    none RemembersTheOneBefore => "same_input_same_output",
    idler CountsFailuresTwice => "anticipation_adds_up",
    idler TakesBackAWait => "anticipation_adds_up",
    fair IgnoresWeights => "lag_at_most",
    fair SharesByProcess => "lag_at_most",
    fair IgnoresWeights => "share_within",
    idler StarvesOne => "no_flow_starves",
    bounds IgnoresBounds => "latency_inside_the_curve",
    quanta IgnoresWeights => "insulated_from_others",
    classes CompletesTwice => "real_time_first",
    edf SwapsTwo => "meets_feasible_deadlines",
    edf Overtakes => "meets_feasible_deadlines",
    rg_scan SwapsTwo => "meets_what_edf_meets",
    rg_scan Overtakes => "meets_what_edf_meets",
    sweep StopsAfterAStall => "served_by_a_device_that_stalls",
    none StopsWhenTimeFlies => "served_when_the_clock_jumps",
    sweep StopsInThePast => "served_when_the_clock_jumps",
    none KnowsFewProcesses => "served_with_a_process_for_each_request",
    idler DropsARequestAtAWrite => "served_while_tunables_are_written",
    fair LosesTheHeaviest => "served_with_weights_at_the_extremes",
    none NeedsArrivals => "drained_when_the_device_goes",
];

#[test]
fn every_mutant_is_killed_by_its_property_and_the_elevator_without_a_fault_by_none() {
    let (inputs, scenarios) = (fixed_inputs(80), fixed_scenarios(40));
    let broken = |row: &ElevatorKind| {
        let mut broken = broken_properties(&[row], &inputs);
        broken.extend(broken_of(FLOW_PROPERTIES, &[row], &scenarios));
        broken
    };
    let assessed = planted().into_iter().map(|planted| {
        let by = if testbed::is_soak() {
            broken(&planted.row)
        } else if let Some(property) =
            FLOW_PROPERTIES.iter().find(|property| property.name == planted.property)
        {
            broken_of(std::slice::from_ref(property), &[&planted.row], &scenarios)
        } else {
            broken_of(std::slice::from_ref(property(planted.property)), &[&planted.row], &inputs)
        };
        (planted, by)
    });
    let killed: Vec<_> = assessed.collect();
    let healthy = [
        ElevatorKind {
            build: |build| Mutant::wrap(&base::none(), build, Fault::None),
            ..base::none()
        },
        ElevatorKind {
            build: |build| Mutant::wrap(&base::legacy(), build, Fault::None),
            ..base::legacy()
        },
        ElevatorKind {
            build: |build| Mutant::wrap(&base::sweep(), build, Fault::None),
            ..base::sweep()
        },
        ElevatorKind {
            build: |build| Mutant::wrap(&base::idler(), build, Fault::None),
            ..base::idler()
        },
        ElevatorKind {
            build: |build| Mutant::wrap(&base::fair(), build, Fault::None),
            ..base::fair()
        },
        ElevatorKind {
            build: |build| Mutant::wrap(&base::bounds(), build, Fault::None),
            ..base::bounds()
        },
        ElevatorKind {
            build: |build| Mutant::wrap(&base::quanta(), build, Fault::None),
            ..base::quanta()
        },
        ElevatorKind {
            build: |build| Mutant::wrap(&base::classes(), build, Fault::None),
            ..base::classes()
        },
        ElevatorKind {
            build: |build| Mutant::wrap(&base::edf(), build, Fault::None),
            ..base::edf()
        },
        ElevatorKind {
            build: |build| Mutant::wrap(&base::rg_scan(), build, Fault::None),
            ..base::rg_scan()
        },
    ];
    let sick: Vec<_> = healthy.iter().map(|row| (row.name, broken(row))).collect();
    for (Planted { fault, property, .. }, by) in &killed {
        let others =
            by.iter().filter(|name| *name != property).copied().collect::<Vec<_>>().join(", ");
        let verdict = if by.contains(property) { "killed by" } else { "SURVIVED" };
        println!("{:<26} {verdict} {property:<34} also: {others}", format!("{fault:?}"));
    }
    for (name, by) in &sick {
        assert!(by.is_empty(), "{name} without a fault breaks {by:?}");
    }
    for (Planted { fault, property, .. }, by) in &killed {
        assert!(
            by.contains(property),
            "{fault:?} survives the property {property}; broken are {by:?}"
        );
    }
}

#[test]
fn every_property_kills_a_mutant() {
    let planted = planted();
    for name in PROPERTIES
        .iter()
        .map(|property| property.name)
        .chain(FLOW_PROPERTIES.iter().map(|property| property.name))
    {
        assert!(
            planted.iter().any(|planted| planted.property == name),
            "no mutant is planted for {name}"
        );
    }
}

#[test]
fn every_guarantee_stands_in_a_row_that_a_mutant_is_made_of() {
    let rows = planted();
    let guaranteed = |is: fn(&Guarantee) -> bool| {
        rows.iter().any(|planted| planted.row.guarantees.iter().any(is))
    };
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::WorkConserving)));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::IdlesWithTimer)));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::ArrivalOrder)));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::Ascending { .. })));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::Sweeping { .. })));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::PassedAtMost { .. })));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::WaitsAtMostMs(_))));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::LagAtMost { .. })));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::ShareWithin { .. })));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::LatencyInsideCurve)));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::Insulates { .. })));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::RealTimeBehind { .. })));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::MeetsFeasibleDeadlines)));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::MeetsWhatEdfMeets)));
    assert!(guaranteed(|guarantee| matches!(guarantee, Guarantee::AnyClock)));
}
