//! The parts of a results file that go into a fleet, and the identity of a question.

use super::*;
use crate::testing::{result, results, with_invalid};

#[test]
fn a_result_has_the_facts_of_machine_and_drive_and_the_values_of_every_metric() {
    let MachineResult { header, groups } = result(7, 0.8, 5);
    assert_eq!((header.machine.as_str(), header.host.as_str()), ("m007", "db7"));
    assert_eq!((header.model.as_str(), header.firmware.as_str()), ("FAST 980", "2B4Q"));
    assert_eq!((header.kernel.as_str(), header.cpu.as_str()), ("6.12.9-lab", "8 x Some CPU"));
    assert_eq!((header.trials, header.size_bytes), (10, 1_000_204_886_016));
    assert!(!header.drive.contains("eui") && header.drive.len() == 16);
    assert_eq!(groups.each_ref().map(Vec::len), [10, 10]);
    let deciding: Vec<&Series> = header.series.iter().filter(|series| series.is_deciding).collect();
    assert_eq!(
        deciding.iter().map(|series| series.variant.as_str()).collect::<Vec<_>>(),
        ["none", "bfq:slice_idle=0"]
    );
    assert!(deciding[0].is_baseline && !deciding[1].is_baseline);
    assert_eq!(
        (deciding[1].workload.as_str(), deciding[1].better.as_str()),
        ("randread:clients=4", "higher")
    );
}

#[test]
fn labels_and_devices_change_no_question_and_parameters_do() {
    let question = |change: &dyn Fn(&mut Plan)| {
        let mut results = results(1, 0.8, 3);
        change(&mut results.header.plan);
        let label = results.header.plan.workloads[0].name.clone();
        results.trials.iter_mut().for_each(|trial| trial.workload.clone_from(&label));
        let machine = Machine { name: "x".to_owned() };
        MachineResult::of(&results, &machine).expect("a result").header.series[0].question.clone()
    };
    let plain = question(&|_| {});
    assert_eq!(question(&|plan| plan.workloads[0].name = "mine".to_owned()), plain);
    assert_eq!(question(&|plan| plan.device = "/dev/nvme0n1".to_owned()), plain);
    assert_ne!(
        question(&|plan| _ = plan.workloads[0].params.insert("iodepth".to_owned(), "8".to_owned())),
        plain
    );
    assert_ne!(question(&|plan| plan.workloads[0].share.io_weight = Some(50)), plain);
}

#[test]
fn an_invalid_value_stays_with_its_reason_and_virtual_time_is_refused() {
    let machine = Machine { name: "x".to_owned() };
    let of = MachineResult::of(&with_invalid(results(1, 0.8, 3), 1), &machine).expect("a result");
    let invalid: Vec<&Value> =
        of.groups[0].iter().filter(|value| value.invalid.is_some()).collect();
    assert_eq!(invalid.len(), 1);
    assert!(
        invalid[0].value.is_some()
            && invalid[0].invalid.as_deref().is_some_and(|why| why.contains("another program"))
    );
    let mut virtual_time = results(1, 0.8, 3);
    virtual_time.header.plan.arena = &experiment::plan::SIM;
    assert!(
        MachineResult::of(&virtual_time, &machine)
            .unwrap_err()
            .to_string()
            .contains("virtual time")
    );
    let mut empty = results(1, 0.8, 3);
    empty.trials.clear();
    assert!(MachineResult::of(&empty, &machine).unwrap_err().to_string().contains("no trial"));
}

#[test]
fn a_machine_without_a_name_gets_one_that_does_not_tell_its_id() {
    let name = machine_name("0123456789abcdef0123456789abcdef\n");
    assert_eq!(name, machine_name("0123456789abcdef0123456789abcdef"));
    assert!(name.starts_with("m-") && name.len() == 14 && !name.contains("0123456789"));
}
