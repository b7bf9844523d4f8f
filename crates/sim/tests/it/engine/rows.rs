//! Properties of every row of the tables.

use elevator::ELEVATORS;
use sim::device::device;
use sim::workload::WORKLOADS;
use sim::{Unobserved, run};

use super::common::{MS, US, observed, trial};

#[test]
fn every_workload_runs_under_every_scheduler_on_the_null_device() {
    for (row, elevator) in
        WORKLOADS.iter().flat_map(|row| ELEVATORS.iter().map(move |elevator| (row, elevator)))
    {
        let plain = trial(row.name, &[]);
        let trial = sim::Trial {
            elevator,
            device: device("null", 1).unwrap(),
            // Deadlines are several hundred milliseconds away.
            duration_ns: if row.primary.starts_with("deadline") { 2000 * MS } else { 100 * MS },
            turnaround_ns: MS,
            ..plain
        };
        let outcome = run(trial, &mut Unobserved, &|| false).unwrap();
        let (seen, queue) = (&outcome.measured, &outcome.queue);
        assert!(seen.ios() > 0 && seen.passes > 0, "{} {}: {seen:?}", row.name, elevator.name);
        assert!(seen.sum_of_rates.is_some() == row.pass_based, "{}", row.name);
        assert!((queue.submitted > 0) == row.reaches_device, "{}", row.name);
        assert_eq!(queue.submitted, queue.done, "{} {}", row.name, elevator.name);
        // Other schedulers may starve the one client concerned: anticipation does if all writes are
        // synchronous.
        let has_primary =
            elevator.name != "none" || sim::workload::metrics(seen).contains_key(row.primary);
        assert!(has_primary, "{} has no {}", row.name, row.primary);
        let whole = outcome.busy_ns + outcome.idle_ns;
        assert_eq!(whole, outcome.window_ns, "{}: busy and idle are the whole window", row.name);
    }
}

/// Clients of a later pass reuse the numbers of earlier ones: schedulers must not count the earlier
/// exits against them.
#[test]
fn a_later_pass_is_served_like_the_first_by_schedulers_that_know_processes() {
    for name in ["cfq", "anticipatory", "antic-95", "wpcas"] {
        let rate = |duration_ns: u64| {
            let params = [("clients", "4"), ("file_size", "8M")];
            let device = sim::device::device("cheetah9lp", 1).unwrap();
            let plain = trial("iozone", &params);
            let elevator = elevator::find(name).unwrap();
            let (turnaround_ns, hz) = (10 * US, 1000);
            let (outcome, _) =
                observed(sim::Trial { device, elevator, duration_ns, turnaround_ns, hz, ..plain });
            (outcome.measured.passes, outcome.measured.sum_of_rates.unwrap())
        };
        let ((first, once), (passes, often)) = (rate(1), rate(30_000 * MS));
        assert!(first == 1 && passes > 5, "{name}: {passes} passes");
        assert!(
            often > 0.8 * once,
            "{name}: {once:.0} bytes/s in the first pass, {often:.0} over {passes}"
        );
    }
}
