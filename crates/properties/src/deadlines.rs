//! Deadlines: EDF's optimality for equal requests, and keeping what EDF keeps of a known task set.
//!
//! Task sets use the positions and sizes of an input's steps; their numbers determine releases and
//! deadlines. Deadlines exceed the reference order by a few hundred microseconds, so a single
//! exchange makes a request late.

use elevator::realtime::{ServiceModel, Task, schedule};
use elevator::testing::request;
use elevator::{
    BlockRequest, Build, Disk, Elevator, ElevatorKind, Finished, Geometry, Guarantee, InsertAt,
    NoDisk, Time,
};

use crate::input::{DISK, Input, Step, geometry};

const UNIT_NS: u64 = 1_000_000;
const MAX_TASKS: usize = 40;
/// A longer run counts as endless.
const MAX_EVENTS: usize = 10_000;

/// Rotational: service takes time without a seek, too.
fn disk() -> Geometry {
    Geometry { revolution_ns: 8_000_000, sector_ns: 10_000, ..geometry(512) }
}

/// Depends only on a step and its index.
fn number(step: &Step, nr: usize) -> u64 {
    let mixed = (step.sector ^ step.gap_ns.rotate_left(20) ^ (nr as u64).rotate_left(40))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed >> 33
}

fn steps(input: &Input) -> impl Iterator<Item = &Step> {
    input.steps.iter().filter(|step| !step.exit).take(MAX_TASKS)
}

fn task(step: &Step, release: u64, deadline: u64) -> Task {
    let [release, deadline] = [release, deadline].map(Time::from_ns);
    Task { release, deadline, sector: step.sector.min(DISK - 1), nr_sectors: step.nr_sectors }
}

/// Of the released tasks the smallest deadline, the older on a tie.
pub fn edf_order(model: &ServiceModel, tasks: &[Task]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < tasks.len() {
        let now = schedule(model, Time::ZERO, 0, tasks, &order)
            .finishes
            .last()
            .copied()
            .unwrap_or(Time::ZERO);
        let left = || (0..tasks.len()).filter(|nr| !order.contains(nr));
        let earliest = left().map(|nr| tasks[nr].release).min().expect("a task is left");
        let ready = left().filter(|nr| tasks[*nr].release <= now.max(earliest));
        order.push(
            ready.min_by_key(|nr| (tasks[*nr].deadline, *nr)).expect("the earliest is ready"),
        );
    }
    order
}

/// Serves a task set one request at a time, each in `service(head, request)`, with `others` without
/// deadlines queued at the start. Returns the first late task.
///
/// # Errors
/// If the scheduler gets stuck.
pub fn first_late(
    elevator: &mut dyn Elevator,
    tasks: &[Task],
    others: &[u64],
    service: impl Fn(u64, &BlockRequest) -> u64,
) -> Result<Option<u64>, String> {
    let mut requests: Vec<BlockRequest> =
        (0..).zip(tasks).map(|(nr, task)| request_of(nr, task)).collect();
    let mut waiting = requests.clone();
    let early = elevator.features().takes_unreleased;
    waiting.sort_by_key(|task| (if early { None } else { task.release }, task.seq));
    waiting.reverse();
    for (tag, sector) in (tasks.len() as u32..).zip(others) {
        requests.push(request(tag, *sector));
        elevator.insert(Time::ZERO, &request(tag, *sector), InsertAt::Sorted);
    }
    let disk: &dyn Disk = &NoDisk;
    let (mut now, mut head) = (Time::ZERO, 0);
    for _ in 0..MAX_EVENTS {
        while waiting.last().is_some_and(|next| early || next.is_released(now)) {
            elevator.insert(now, &waiting.pop().expect("it was just seen"), InsertAt::Sorted);
        }
        if let Some(tag) = elevator.dispatch(now, disk) {
            let request = requests[tag as usize];
            require!(
                request.is_released(now),
                "{request:?} is dispatched at {now:?}, before its release"
            );
            let end = now + service(head, &request);
            elevator.complete(end, &Finished { request, issued: now });
            (now, head) = (end, request.end() - 1);
            if request.deadline.is_some_and(|deadline| now > deadline) {
                return Ok(Some(request.seq));
            }
            continue;
        }
        let release = waiting.last().and_then(|next| next.release);
        let Some(next) = elevator.next_timer().into_iter().chain(release).min() else {
            require!(elevator.is_empty(), "{} requests are held without a timer", elevator.len());
            return Ok(None);
        };
        now = now.max(next);
        elevator.on_timer(now);
    }
    Err("the drive does not end".to_owned())
}

fn request_of(nr: u32, task: &Task) -> BlockRequest {
    let nr_sectors = task.nr_sectors;
    BlockRequest {
        nr_sectors,
        release: Some(task.release),
        deadline: Some(task.deadline),
        ..request(nr, task.sector)
    }
}

pub fn build_for(geometry: Geometry) -> Build {
    Build { nr_tags: 4 * MAX_TASKS as u32, queue_depth: 1, geometry, ..Build::default() }
}

/// If all requests take equally long, every deadline that any order meets is met.
pub(crate) fn meets_feasible_deadlines(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    if !kind.guarantees(Guarantee::MeetsFeasibleDeadlines) {
        return Ok(());
    }
    for online in [false, true] {
        let (tasks, others) = unit_tasks(input, online);
        let mut elevator = (kind.build)(&build_for(geometry(512)));
        let late = first_late(elevator.as_mut(), &tasks, &others, |_, _| UNIT_NS)?;
        require!(late.is_none(), "task {late:?} is late in a set that can be met: {tasks:?}");
    }
    Ok(())
}

/// Feasible, with releases at multiples of the unit if online: Jackson's rule (the k-th smallest
/// deadline leaves time for k tasks), generalised by serving in deadline order and moving late
/// deadlines.
fn unit_tasks(input: &Input, online: bool) -> (Vec<Task>, Vec<u64>) {
    let nr = steps(input).count() as u64;
    let of = |(at, step): (usize, &Step)| {
        let random = number(step, at);
        let release = if online { random % (nr + 1) * UNIT_NS } else { 0 };
        task(step, release, release + (1 + (random >> 8) % (nr + 1)) * UNIT_NS)
    };
    let mut tasks: Vec<Task> = steps(input).enumerate().map(of).collect();
    let model = ServiceModel::from_geometry(&Geometry::default()).with_rotation_ns(UNIT_NS);
    // Deadlines only grow, at most to the schedule's end, so this terminates.
    loop {
        let order = edf_order(&model, &tasks);
        let ends = schedule(&model, Time::ZERO, 0, &tasks, &order).finishes;
        let late = order.iter().zip(ends).find(|(task, end)| tasks[**task].deadline < *end);
        let Some((late, end)) = late else { break };
        tasks[*late].deadline = end;
    }
    // After a batch: online, one of them could delay an arriving task.
    let others =
        steps(input).map(|step| step.sector.min(DISK - 8)).take(if online { 0 } else { 5 });
    (tasks, others.collect())
}

/// Every deadline of a known task set that EDF meets is met, regardless of requests without
/// deadlines.
pub(crate) fn meets_what_edf_meets(kind: &ElevatorKind, input: &Input) -> Result<(), String> {
    if !kind.guarantees(Guarantee::MeetsWhatEdfMeets) {
        return Ok(());
    }
    let model = ServiceModel::from_geometry(&disk());
    for spread in [0, 1, 8] {
        let Some(tasks) = tasks_of(input, &model, spread) else { continue };
        let others: Vec<u64> = steps(input).map(|step| step.sector.min(DISK - 8)).take(5).collect();
        let mut elevator = (kind.build)(&build_for(disk()));
        let service = |head, request: &BlockRequest| {
            model.service_ns(head, request.sector, request.nr_sectors)
        };
        let late = first_late(elevator.as_mut(), &tasks, &others, service)?;
        require!(late.is_none(), "task {late:?} is late, and EDF meets all: {tasks:?}");
    }
    Ok(())
}

/// If found. `spread`: distance of releases in thirds of a service.
fn tasks_of(input: &Input, model: &ServiceModel, spread: u64) -> Option<Vec<Task>> {
    let mut end = 0;
    let mut tasks: Vec<Task> = Vec::new();
    for (at, step) in steps(input).enumerate() {
        let random = number(step, at);
        let release = (end + random % 3_000_000).saturating_sub(20_000_000) * spread.min(1)
            + random % 4_000_000 * spread;
        let one = task(step, release, 0);
        tasks.push(one);
        let order: Vec<usize> = (0..tasks.len()).collect();
        end = schedule(model, Time::ZERO, 0, &tasks, &order).finishes.last()?.as_ns();
        let loose = [200_000, 5_000_000, 60_000_000][(random >> 20) as usize % 3];
        tasks[at].deadline = Time::from_ns(end + (random >> 5) % loose);
    }
    for _ in 0..4 {
        let order = edf_order(model, &tasks);
        let served = schedule(model, Time::ZERO, 0, &tasks, &order);
        if served.is_feasible() {
            return Some(tasks);
        }
        for (task, end) in order.iter().zip(served.finishes) {
            tasks[*task].deadline = tasks[*task].deadline.max(end);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    /// Unit tasks, all released.
    fn any_order_meets(deadlines: &[u64], after: u64) -> bool {
        deadlines.is_empty()
            || (0..deadlines.len()).any(|first| {
                let rest = [&deadlines[..first], &deadlines[first + 1..]].concat();
                deadlines[first] > after && any_order_meets(&rest, after + 1)
            })
    }

    #[test]
    fn jacksons_rule_is_what_trying_all_orders_finds() {
        for code in 0..5_u64.pow(5) {
            let deadlines: Vec<u64> = (0..5).map(|at| 1 + code / 5_u64.pow(at) % 5).collect();
            let mut sorted = deadlines.clone();
            sorted.sort_unstable();
            let jackson = (0..).zip(&sorted).all(|(before, deadline)| *deadline > before);
            assert_eq!(jackson, any_order_meets(&deadlines, 0), "{deadlines:?}");
        }
    }
}
