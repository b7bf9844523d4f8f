//! `rt-tasks`: sets of random real-time tasks, with a background of reads without deadlines.
//!
//! One client has the tasks; a set begins after the previous one's last deadline, and is submitted
//! at once with `batch`, otherwise task by task. `best_effort_iops` counts the `background`
//! clients' random reads. Source: DM-SCAN (RTSS'98) and RG-SCAN (JSS 59(2) 2002) [C abstracts:
//! random tasks, 30 in the claim]; uniform distributions and 36 KiB (a track of the HP 97560) are
//! recalled [R], the other defaults ours [P].

use elevator::{Op, Request};

use super::task_set::{Drawn, MAX_NS, MAX_TASKS, Task};
use super::{Arrival, OpenLoop, Schedule};
use crate::workload::client::Client;
use crate::workload::paced::Paced;
use crate::workload::random::Scatter;
use crate::workload::rng::Rng;
use crate::workload::row::{Params, Seat};
use text::{format_duration, format_size};

const MAX_BACKGROUND: u32 = 64;
const MAX_OPEN: u64 = 1 << 30;

enum Source {
    Given(Vec<Task>),
    Drawn(Drawn, Box<Rng>),
}

struct Sets {
    source: Source,
    batch: bool,
    length_ns: u64,
    since_ns: u64,
    /// The next one last.
    left: Vec<Task>,
    begun: bool,
}

impl Sets {
    fn begin(&mut self) {
        if self.begun {
            self.since_ns += self.length_ns;
        }
        self.begun = true;
        self.left = match &mut self.source {
            Source::Given(tasks) => tasks.clone(),
            Source::Drawn(drawn, rng) => drawn.draw(rng),
        };
        // Tasks are submitted in order of release; ties in the set's order.
        self.left.sort_by_key(|task| task.release_ns);
        self.left.reverse();
    }
}

impl Schedule for Sets {
    fn draw(&mut self) -> Option<Arrival> {
        if self.left.is_empty() {
            self.begin();
        }
        let task = self.left.pop()?;
        let release_ns = self.since_ns + task.release_ns;
        Some(Arrival {
            at_ns: if self.batch { self.since_ns } else { release_ns },
            release_ns,
            deadline_ns: Some(self.since_ns + task.deadline_ns),
            request: Request::new(Op::Read, task.offset, task.len),
        })
    }
}

fn drawn(params: &Params, region: u64) -> Drawn {
    let timed = &params.timed;
    Drawn {
        tasks: timed.tasks,
        release_within_ns: timed.release_within_ns,
        deadline_ns: (timed.deadline_min_ns, timed.deadline_max_ns),
        block: params.block_size,
        sizes: u64::from((params.block_size_max / params.block_size).ilog2()) + 1,
        region,
    }
}

impl Params {
    /// The first set of a trial, on a region of `region` bytes.
    pub fn first_task_set(&self, region: u64, seed: u64) -> Vec<Task> {
        match &self.timed.set {
            Some(set) => set.0.clone(),
            None => drawn(self, region).draw(&mut Rng::new(seed, self.timed.background.into())),
        }
    }
}

/// The named tasks with the least time for their bytes: those of a given set, or the worst possible
/// draw.
pub(crate) fn tightest(params: &Params) -> Vec<(String, Task)> {
    let timed = &params.timed;
    if let Some(set) = &timed.set {
        return (1..)
            .zip(&set.0)
            .map(|(number, task)| (format!("task {number} of set ({task})"), *task))
            .collect();
    }
    let (len, deadline_ns) = (params.block_size_max, timed.deadline_min_ns);
    let (size, time) = (format_size(len.into()), format_duration(deadline_ns));
    let name = format!("a task of block_size_max = {size} with deadline_min = {time}");
    vec![(name, Task { release_ns: 0, deadline_ns, offset: 0, len })]
}

pub(crate) fn clients(params: &Params) -> u32 {
    params.timed.background.saturating_add(1)
}

fn nr_tasks(params: &Params) -> u32 {
    params.timed.set.as_ref().map_or(params.timed.tasks, |set| set.0.len() as u32)
}

fn is_tasks(params: &Params, index: u32) -> bool {
    index == params.timed.background
}

/// A whole set is open; the background is synchronous.
pub(crate) fn iodepth(params: &Params, index: u32) -> u32 {
    if is_tasks(params, index) { nr_tasks(params) } else { 1 }
}

pub(crate) fn possible(params: &Params) -> Result<(), String> {
    let timed = &params.timed;
    if timed.background > MAX_BACKGROUND {
        return Err(format!(
            "background = {}: out of range (expected 0 to {MAX_BACKGROUND})",
            timed.background
        ));
    }
    if let Some(set) = &timed.set {
        return set.check();
    }
    if !(1..=MAX_TASKS).contains(&timed.tasks) {
        return Err(format!("tasks = {}: out of range (expected 1 to {MAX_TASKS})", timed.tasks));
    }
    let bytes = u64::from(timed.tasks) * u64::from(params.block_size_max);
    if bytes > MAX_OPEN {
        let (bytes, most) = (format_size(bytes), format_size(MAX_OPEN));
        return Err(format!("tasks × block_size_max is {bytes}: at most {most} can be open"));
    }
    let (shortest, longest) = (timed.deadline_min_ns, timed.deadline_max_ns);
    if shortest == 0 || shortest > longest || longest.max(timed.release_within_ns) > MAX_NS {
        return Err(format!(
            "deadline_min = {} and deadline_max = {} after a release within {}: a deadline is after its release, the largest not before \
             the smallest, and all within an hour",
            format_duration(shortest),
            format_duration(longest),
            format_duration(timed.release_within_ns)
        ));
    }
    Ok(())
}

pub(crate) fn fits(params: &Params, region: u64) -> Result<(), String> {
    params.timed.set.as_ref().map_or(Ok(()), |set| set.fits(region))
}

pub(crate) fn check_alignment(params: &Params, logical_block: u32) -> Result<(), String> {
    let block = u64::from(logical_block);
    let whole = |task: &Task| {
        task.offset.is_multiple_of(block) && u64::from(task.len).is_multiple_of(block)
    };
    let tasks = params.timed.set.as_ref().map_or(&[][..], |set| &set.0);
    match (1..).zip(tasks).find(|(_, task)| !whole(task)) {
        None => Ok(()),
        Some((number, task)) => Err(format!(
            "task {number} of set ({task}) is not a multiple of the target's block of {block} bytes, as direct I/O needs; \
             direct=false does without"
        )),
    }
}

pub(crate) fn build(params: &Params, seat: Seat) -> Box<dyn Client + Send> {
    let timed = &params.timed;
    if !is_tasks(params, seat.index) {
        let background = Scatter::new(seat.rng(), timed.background_size, seat.len, 100);
        return Box::new(Paced::new(background, params));
    }
    let (source, length_ns) = match &timed.set {
        Some(set) => (
            Source::Given(set.0.clone()),
            set.0.iter().map(|task| task.deadline_ns).max().unwrap_or(1),
        ),
        None => {
            let drawn = drawn(params, seat.len);
            (
                Source::Drawn(drawn, Box::new(seat.rng())),
                timed.release_within_ns + timed.deadline_max_ns,
            )
        }
    };
    let sets =
        Sets { source, batch: timed.batch, length_ns, since_ns: 0, left: Vec::new(), begun: false };
    Box::new(OpenLoop::new(sets))
}

#[cfg(test)]
mod tests {
    use elevator::Time;

    use super::*;
    use crate::workload::{Step, find};

    const SET: &str = "0..40ms@1M+36k,5ms..30ms@0+64k";

    fn requests(pairs: &[(&str, &str)], n: usize) -> Vec<(u64, Request)> {
        let row = find("rt-tasks").unwrap();
        let params = row.params(pairs.iter().copied()).unwrap();
        let mut client = row.client(&params, Seat { index: 1, count: 2, len: 64 << 20, seed: 3 });
        let (mut now, mut made) = (Time::ZERO, Vec::new());
        while made.len() < n {
            match client.next(now, None) {
                Step::Io(request) => made.push((now.as_ns() / 1_000_000, request)),
                Step::Think(ns) => now = now + ns,
                other => panic!("{other:?}"),
            }
        }
        made
    }

    #[test]
    fn a_batch_is_handed_over_when_its_set_begins_and_a_task_else_when_it_is_released() {
        let times = |batch| {
            requests(&[("set", SET), ("batch", batch)], 4)
                .iter()
                .map(|made| made.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(times("true"), [0, 0, 40, 40]);
        assert_eq!(times("false"), [0, 5, 40, 45]);
        for (of, _) in requests(&[("set", SET), ("batch", "true")], 4).iter().zip(0..) {
            assert!(of.1.release.unwrap() < of.1.deadline.unwrap());
        }
    }

    #[test]
    fn sets_follow_each_other_without_overlap_and_are_drawn_anew() {
        let made = requests(&[("tasks", "10")], 30);
        for (set, tasks) in made.chunks(10).enumerate() {
            let begin = set as u64 * 1_500_000_000;
            for (_, task) in tasks {
                let (release, deadline) =
                    (task.release.unwrap().as_ns(), task.deadline.unwrap().as_ns());
                assert!(
                    release >= begin && deadline <= begin + 1_500_000_000,
                    "{release} {deadline}"
                );
            }
        }
        assert_ne!(made[0].1.offset, made[10].1.offset);
    }

    #[test]
    fn the_first_set_is_what_the_client_makes_first() {
        let row = find("rt-tasks").unwrap();
        let params = row.params([("tasks", "7"), ("batch", "true")]).unwrap();
        let mut set = params.first_task_set(64 << 20, 3);
        set.sort_by_key(|task| task.release_ns);
        let made = requests(&[("tasks", "7"), ("batch", "true")], 7);
        let places = |task: &Task| (task.offset, task.release_ns);
        let of = |made: &(u64, Request)| (made.1.offset, made.1.release.unwrap().as_ns());
        assert_eq!(
            set.iter().map(places).collect::<Vec<_>>(),
            made.iter().map(of).collect::<Vec<_>>()
        );
    }

    #[test]
    fn impossible_sets_are_refused_by_their_task() {
        let row = find("rt-tasks").unwrap();
        let problem = |set| row.params([("set", set)]).unwrap_err().to_string();
        let late = problem("0..40ms@0+4k,30ms..30ms@0+4k");
        assert!(
            late.contains(
                "task 2 of set (30ms..30ms@0+4k) is released at 30ms, not before its deadline"
            ),
            "{late}"
        );
        assert!(problem("0..4000s@0+4k").contains("task 1"), "an hour");
        let params = row.params([("set", "0..40ms@0+4k,1ms..2ms@1M+4k")]).unwrap();
        let beyond = row.extents(&params, 1 << 20, 512).unwrap_err().to_string();
        assert!(
            beyond.contains("task 2 of set (1ms..2ms@1M+4k) ends beyond the region's 1M"),
            "{beyond}"
        );
        let askew = row.extents(&params, 2 << 20, 8192).unwrap_err().to_string();
        assert!(askew.contains("multiple of the target's block of 8192"), "{askew}");
        let times = row.params([("deadline_min", "2s")]).unwrap_err().to_string();
        assert!(times.contains("deadline_min = 2s and deadline_max = 900ms"), "{times}");
    }
}
