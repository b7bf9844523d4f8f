//! What a profile says. Times are nanoseconds and distances sectors of 512 bytes, unless a name
//! says otherwise.

use serde::{Deserialize, Serialize};

use super::counts::Distribution;
use super::heat::HeatMap;
use crate::trace::About;

/// What the requests of a trace have in common: see the fields.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    pub about: About,
    /// Disks that were asked for something, the busiest first.
    pub devices: Vec<DeviceProfile>,
    /// Requests of disks beyond the number that is profiled.
    pub beyond: u64,
    /// Requests that were not in the order of their time; their stages count, the state of the disk
    /// around them may be wrong.
    pub out_of_order: u64,
}

/// One disk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceProfile {
    /// The index in the trace's table.
    pub device: u16,
    pub name: String,
    /// Its size; 0 is unknown.
    pub sectors: u64,
    pub rotational: Option<bool>,
    /// Schedulers in effect and the requests under each, the first used first.
    pub schedulers: Vec<(String, u64)>,
    /// When the first request was queued and the last known stage of any was reached.
    pub first_ns: u64,
    pub last_ns: u64,
    /// All requests. Its distances are those between requests in the order in which the disk was
    /// asked.
    pub total: Actor,
    /// Each process, the one that used the disk longest first; threads of a process are one.
    pub processes: Vec<Actor>,
    /// Each control group.
    pub cgroups: Vec<Actor>,
    pub stages: Vec<StageTimes>,
    pub depth: Depth,
    pub idle: Idle,
    pub anticipation: Anticipation,
    /// What the disk took for a request, by its distance from the one before.
    pub service: Vec<Service>,
    /// From the end of each request to the beginning of the next, in the order in which the disk
    /// got them.
    pub seeks: Distribution,
    /// Requests that begin where the one that the disk got before ends.
    pub seeks_none: u64,
    pub series: Series,
    /// Requests by time and sector.
    pub sector_map: HeatMap,
    /// Requests by time and latency (queued to completed).
    pub latency_map: HeatMap,
}

impl DeviceProfile {
    /// Nanoseconds from the first request to the last known stage.
    pub fn span_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }
}

/// Who asked: a process, a control group or everybody.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Actor {
    /// The process's name or the control group's path.
    pub name: String,
    /// 0 for a control group, or where the trace does not say.
    pub pid: u32,
    /// A process's control group.
    pub cgroup: String,
    /// Threads that asked.
    pub threads: u64,
    pub reads: u64,
    pub writes: u64,
    /// Flushes, discards and the rest.
    pub others: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Requests that somebody waits for.
    pub sync: u64,
    /// Requests that failed, and those that were inserted again.
    pub failed: u64,
    pub requeued: u64,
    /// Requests with data that begin where the process's one before ends.
    pub sequential: u64,
    /// Those that begin at most [`super::NEAR`] sectors away from there, sequential ones too.
    pub near: u64,
    /// Those that begin before it.
    pub backward: u64,
    /// Runs of sequential requests.
    pub runs: u64,
    /// The range of the disk in use.
    pub lowest_sector: u64,
    pub highest_sector: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    /// How long the disk worked for it: for each request from when the disk got it or completed the
    /// one before.
    pub device_ns: u64,
    /// From the completion of its last outstanding request to its next one.
    pub think_ns: Distribution,
    /// Requests that it made while it had others outstanding.
    pub overlapping: u64,
    /// What it had outstanding after each of its requests.
    pub depth_mean: f64,
    pub depth_max: u32,
    /// From each of its requests to its next.
    pub between_ns: Distribution,
    /// From the end of each of its requests to the beginning of its next, in either direction.
    pub distance_sectors: Distribution,
    pub size_sectors: Distribution,
    /// Queued to completed.
    pub latency_ns: Distribution,
    /// What anticipation would have done for it.
    pub anticipation: Anticipation,
}

impl Actor {
    pub fn requests(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    pub fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.write_bytes)
    }

    /// Requests with data that follow one of the same process: what `sequential`, `near` and
    /// `backward` are parts of.
    pub fn steps(&self) -> u64 {
        self.distance_sectors.count
    }
}

/// From one stage to another.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StageTimes {
    /// In the words of btt (Q2D), where it has one.
    pub name: String,
    /// What happens then.
    pub what: String,
    pub reads: Distribution,
    /// Everything that is no read.
    pub writes: Distribution,
}

/// How many requests there were at a time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Depth {
    /// Queued and not completed: the mean over time, and the most.
    pub queued_mean: f64,
    pub queued_max: u32,
    /// At the disk.
    pub device_mean: f64,
    pub device_max: u32,
    /// At the disk when it got another one, that one too.
    pub at_issue: Distribution,
}

/// When the disk had nothing to do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Idle {
    pub busy_ns: u64,
    pub idle_ns: u64,
    /// The part of it during which requests waited: the scheduler, its tags or a plug kept them
    /// back.
    pub held_ns: u64,
    /// Idle periods.
    pub periods: u64,
    /// Those that ended with a request of the process that was served last, near its last one: the
    /// disk was idle only because the process had not asked yet.
    pub deceptive: u64,
    pub deceptive_ns: u64,
    /// Periods of at least [`super::HELD`] in which requests waited, and those of them that ended
    /// with a request of the process that was served last: waits of the scheduler in effect, and
    /// their successes.
    pub held: u64,
    pub held_for_last: u64,
}

/// Waits for the process that was served last: what was possible, and what each rule would have
/// done.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Anticipation {
    /// Completions after which the process had nothing outstanding while a request of another
    /// waited in the scheduler.
    pub chances: u64,
    /// Those at which all others were at the disk already: a scheduler cannot wait.
    pub too_late: u64,
    /// Chances at which the disk was given a request farther away than the one that the process
    /// made within 20 ms, near its last.
    pub deceived: u64,
    /// From the completion to that request, and what the two seeks took more than the process's own
    /// request.
    pub deceived_think_ns: u64,
    pub deceived_loss_ns: u64,
    /// The completion after which most was lost so, and how much: where to look in the trace.
    pub worst_at_ns: u64,
    pub worst_loss_ns: u64,
    /// Chances of which the outcome is not known: the trace ended, or nothing else was served
    /// before the process completed another request.
    pub open: u64,
    pub rules: Vec<Waits>,
}

/// What a rule of anticipation would have done. Each chance is compared by itself, as it came about
/// under the scheduler in effect.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Waits {
    pub rule: String,
    pub waits: u64,
    pub successes: u64,
    pub success_ns: u64,
    pub failure_ns: u64,
    /// Time of the disk that it saves by service times of this trace: in each success the
    /// candidate's less the process's own and the wait, in each failure less the wait. Below 0 it
    /// costs.
    pub gain_ns: i64,
    /// Successes that are not in the gain, because the trace did not say until then what a
    /// request like the process's own takes.
    pub unpriced: u64,
    /// What these would gain if the process's own requests took no time: the bound.
    pub bound_ns: u64,
}

impl Waits {
    pub fn failures(&self) -> u64 {
        self.waits - self.successes
    }

    /// The deceptive idle period: what failures waited, by wait.
    pub fn deceptive_idle_ns(&self) -> Option<f64> {
        (self.waits > 0).then(|| self.failure_ns as f64 / self.waits as f64)
    }
}

/// What the disk took for requests at a distance.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Service {
    /// `read` or `write`.
    pub kind: String,
    /// The distance is at least this and less than the next one's; 0 alone is sequential.
    pub from_sectors: u64,
    pub until_sectors: u64,
    pub count: u64,
    pub mean_ns: f64,
}

/// The course of the trace, in columns of the same length.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    pub column_ns: u64,
    pub columns: Vec<Moment>,
}

/// What happened in a column of time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Moment {
    pub reads: u64,
    pub writes: u64,
    pub others: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Sum of the latencies of requests queued then, and their number.
    pub latency_ns: u64,
    pub completed: u64,
    pub busy_ns: u64,
    /// Requests queued and not completed, by the time.
    pub queued_ns: u64,
}
