//! Shares: bounded lag at any time, and shares over windows.

use elevator::{ElevatorKind, Guarantee, Time};

use crate::guarantees::drive::{Event, What, World, run};
use crate::guarantees::scenario::Scenario;

/// While two flows are backlogged, their weighted service differs by no more than guaranteed, with
/// one process per flow or one per request.
pub(crate) fn lag_at_most(kind: &ElevatorKind, scenario: &Scenario) -> Result<(), String> {
    let bounds = kind.guarantees.iter().filter_map(|guarantee| match guarantee {
        Guarantee::LagAtMost { costs, slack_kib } => Some((*costs, *slack_kib)),
        _ => None,
    });
    for (costs, slack_kib) in bounds {
        let scenario = &backlogged(scenario);
        for forks in [false, true] {
            let log = run(kind, scenario, &World { forks, ..World::backlogged(scenario) })?;
            for first in 0..scenario.flows.len() {
                for second in 0..first {
                    let of = |flow: usize| &scenario.flows[flow];
                    let largest: u64 = [first, second]
                        .map(|flow| of(flow).bytes() / u64::from(of(flow).weight))
                        .iter()
                        .sum();
                    let bound = u64::from(costs + scenario.depth - 1) * largest
                        + (u64::from(slack_kib) << 10);
                    let (lag, at) = largest_lag(scenario, &log, [first, second]);
                    require!(
                        lag <= bound,
                        "at {} µs the service of flows {second} and {first} by weight differs by {lag} bytes, not {bound}",
                        at.as_ns() / 1000
                    );
                }
            }
        }
    }
    Ok(())
}

/// At least two requests per flow: with one, the scheduler holds none between a dispatch and the
/// next arrival.
fn backlogged(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.flows.iter_mut().for_each(|flow| flow.window = flow.window.max(2));
    scenario
}

/// Of two flows' difference in weighted service while both were backlogged, and its time.
fn largest_lag(scenario: &Scenario, log: &[Event], pair: [usize; 2]) -> (u64, Time) {
    let (mut held, mut served) = ([0u32; 2], [0i64; 2]);
    // Since both are backlogged.
    let mut since: Option<(i64, i64)> = None;
    let mut largest = (0, Time::ZERO);
    for (event, which) in log
        .iter()
        .filter_map(|event| Some((event, pair.iter().position(|flow| *flow == event.flow)?)))
    {
        match event.what {
            What::Inserted => held[which] += 1,
            // A flow submits at each dispatch: the insertion at the same time counts first.
            What::Dispatched => held[which] -= 1,
            What::Completed => {
                served[which] +=
                    (event.request.bytes() / u64::from(scenario.flows[event.flow].weight)) as i64;
            }
        }
        let difference = served[0] - served[1];
        if event.what == What::Dispatched && held[which] == 0 {
            since = None;
        } else if held.iter().all(|held| *held > 0) {
            let (low, high) = since.unwrap_or((difference, difference));
            let (low, high) = (low.min(difference), high.max(difference));
            since = Some((low, high));
            if (high - low) as u64 > largest.0 {
                largest = ((high - low) as u64, event.at);
            }
        }
    }
    largest
}

/// In every window of the guaranteed length in which all flows are backlogged, shares match
/// weights.
pub(crate) fn share_within(kind: &ElevatorKind, scenario: &Scenario) -> Result<(), String> {
    let bounds = kind.guarantees.iter().filter_map(|guarantee| match guarantee {
        Guarantee::ShareWithin { percent, over_ms } => Some((*percent, *over_ms)),
        _ => None,
    });
    for (percent, over_ms) in bounds {
        if scenario.flows.len() < 2 {
            return Ok(());
        }
        let window = u64::from(over_ms) * 1_000_000;
        let mut long = backlogged(scenario);
        long.flows.iter_mut().for_each(|flow| flow.requests = u32::MAX);
        let begun = scenario.flows.iter().map(|flow| flow.starts_us * 1000).max().unwrap_or(0);
        let world =
            World { until: Some(Time::from_ns(begun + 3 * window)), ..World::backlogged(&long) };
        let log = run(kind, &long, &world)?;
        let done: Vec<&Event> = log
            .iter()
            .filter(|event| event.what == What::Completed && event.at.as_ns() > begun)
            .collect();
        let weights: u64 = long.flows.iter().map(|flow| u64::from(flow.weight)).sum();
        let mut bytes = vec![0u64; long.flows.len()];
        let mut first = 0;
        for (at, event) in done.iter().enumerate() {
            bytes[event.flow] += event.request.bytes();
            while done[at].at - done[first].at > window {
                bytes[done[first].flow] -= done[first].request.bytes();
                first += 1;
            }
            if event.at.as_ns() < begun + window {
                continue;
            }
            let sum: u64 = bytes.iter().sum();
            for (flow, bytes) in bytes.iter().enumerate() {
                let part = 10_000 * bytes / sum;
                let due = 10_000 * u64::from(long.flows[flow].weight) / weights;
                require!(
                    part.abs_diff(due) <= 100 * u64::from(percent),
                    "over the {over_ms} ms until {} ms flow {flow} has {}.{:02} % of the bytes; its weight gives it {}.{:02} %",
                    event.at.as_ns() / 1_000_000,
                    part / 100,
                    part % 100,
                    due / 100,
                    due % 100
                );
            }
        }
    }
    Ok(())
}
