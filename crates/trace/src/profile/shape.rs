//! The contents of a profile. Times are nanoseconds and distances sectors of 512 bytes unless a
//! name says otherwise.

use serde::{Deserialize, Serialize};

use super::counts::Distribution;
use super::heat::HeatMap;
use crate::trace::About;

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Profile {
    pub about: About,
    /// The busiest first.
    pub devices: Vec<DeviceProfile>,
    /// Requests of disks that are not profiled.
    pub beyond: u64,
    /// Requests with stages out of order: they count, but the disk's state around them may be
    /// wrong.
    pub out_of_order: u64,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceProfile {
    pub device: u16,
    pub name: String,
    /// Its size; 0 if unknown.
    pub sectors: u64,
    pub rotational: Option<bool>,
    /// With their numbers of requests, in order of first use.
    pub schedulers: Vec<(String, u64)>,
    /// From the first request queued to the last known stage.
    pub first_ns: u64,
    pub last_ns: u64,
    /// Distances here are between consecutive requests to the disk.
    pub total: Actor,
    /// Threads merged; the longest user of the disk first.
    pub processes: Vec<Actor>,
    pub cgroups: Vec<Actor>,
    pub stages: Vec<StageTimes>,
    pub depth: Depth,
    pub idle: Idle,
    pub anticipation: Anticipation,
    /// Service times by distance from the previous request.
    pub service: Vec<Service>,
    /// Distances from the end of each request to the beginning of the next issued.
    pub seeks: Distribution,
    /// Requests that begin at the end of the previously issued one.
    pub seeks_none: u64,
    pub series: Series,
    pub sector_map: HeatMap,
    pub latency_map: HeatMap,
}

impl DeviceProfile {
    /// The time from the first request to the last known stage.
    pub fn span_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.first_ns)
    }
}

/// A process, a control group, or all requests.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Actor {
    /// The process's name or the control group's path.
    pub name: String,
    /// 0 for a control group or if unknown.
    pub pid: u32,
    pub cgroup: String,
    pub threads: u64,
    pub reads: u64,
    pub writes: u64,
    /// Flushes, discards and the rest.
    pub others: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    pub sync: u64,
    pub failed: u64,
    pub requeued: u64,
    /// Requests that begin at the end of the process's previous request.
    pub sequential: u64,
    /// Requests at most [`super::NEAR`] sectors from there, sequential ones included.
    pub near: u64,
    /// Requests that begin before that end.
    pub backward: u64,
    pub runs: u64,
    /// The range of the disk in use.
    pub lowest_sector: u64,
    pub highest_sector: u64,
    pub first_ns: u64,
    pub last_ns: u64,
    /// Disk time, from the later of issue and previous completion.
    pub device_ns: u64,
    /// Time from its last outstanding completion to its next request.
    pub think_ns: Distribution,
    /// Requests made with others outstanding.
    pub overlapping: u64,
    /// Requests outstanding after each of its requests.
    pub depth_mean: f64,
    pub depth_max: u32,
    /// Time between its consecutive requests.
    pub between_ns: Distribution,
    /// Distances from the end of each request to the beginning of its next, in either direction.
    pub distance_sectors: Distribution,
    pub size_sectors: Distribution,
    /// Queued to completed.
    pub latency_ns: Distribution,
    pub anticipation: Anticipation,
}

impl Actor {
    pub fn requests(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    pub fn bytes(&self) -> u64 {
        self.read_bytes.saturating_add(self.write_bytes)
    }

    /// Requests with a predecessor: the denominator of `sequential`, `near` and `backward`.
    pub fn steps(&self) -> u64 {
        self.distance_sectors.count
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct StageTimes {
    /// The name in btt's notation (Q2D) if it has one.
    pub name: String,
    pub what: String,
    pub reads: Distribution,
    /// Everything except reads.
    pub writes: Distribution,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Depth {
    /// Requests queued and not completed.
    pub queued_mean: f64,
    pub queued_max: u32,
    /// Requests at the disk.
    pub device_mean: f64,
    pub device_max: u32,
    /// Requests at the disk on each issue, the new one included.
    pub at_issue: Distribution,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Idle {
    pub busy_ns: u64,
    pub idle_ns: u64,
    /// Time with requests held back by the scheduler, its tags or a plug.
    pub held_ns: u64,
    pub periods: u64,
    /// Periods ended by a nearby request of the process served last, which had not asked yet.
    pub deceptive: u64,
    pub deceptive_ns: u64,
    /// Periods of at least [`super::HELD`] with requests waiting, and those ended by the process
    /// served last: the actual scheduler's waits, and their successes.
    pub held: u64,
    pub held_for_last: u64,
}

/// Opportunities to wait for the process served last, and each rule's outcome.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Anticipation {
    /// Completions that left the process idle while another's request waited in the scheduler.
    pub chances: u64,
    /// Those with all others already at the disk: a scheduler cannot wait.
    pub too_late: u64,
    /// Chances where the request issued was farther away than the one that the process made within
    /// 20 ms, near its last.
    pub deceived: u64,
    /// Time until that request, and the extra cost of the two seeks over it.
    pub deceived_think_ns: u64,
    pub deceived_loss_ns: u64,
    /// The completion with the greatest such loss.
    pub worst_at_ns: u64,
    pub worst_loss_ns: u64,
    /// Chances of unknown outcome: the trace ended, or nothing else was served before the process's
    /// next completion.
    pub open: u64,
    pub rules: Vec<Waits>,
}

/// Chances are evaluated separately, as they arose under the actual scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Waits {
    pub rule: String,
    pub waits: u64,
    pub successes: u64,
    pub success_ns: u64,
    pub failure_ns: u64,
    /// Disk time saved, by this trace's service times; negative is a loss. A success saves the
    /// candidate's minus the own request's and the wait, a failure costs the wait.
    pub gain_ns: i64,
    /// Successes not in the gain, because the own request's cost was not yet known.
    pub unpriced: u64,
    /// Their gain if the own requests took no time.
    pub bound_ns: u64,
}

impl Waits {
    pub fn failures(&self) -> u64 {
        self.waits - self.successes
    }

    /// The largest possible gain of waiting, where most waits have no price, so that whether it
    /// pays is not known.
    pub fn unknown_gain_ns(&self) -> Option<u64> {
        let gain_ns = self.gain_ns.max(0).unsigned_abs();
        (self.unpriced > self.waits / 2).then(|| gain_ns.saturating_add(self.bound_ns))
    }

    /// Mean time lost to failed waits, per wait.
    pub fn deceptive_idle_ns(&self) -> Option<f64> {
        (self.waits > 0).then(|| self.failure_ns as f64 / self.waits as f64)
    }
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Service {
    pub kind: String,
    /// Distances from this up to the next bucket; 0 alone is sequential.
    pub from_sectors: u64,
    pub until_sectors: u64,
    pub count: u64,
    pub mean_ns: f64,
}

/// The trace over time, in columns of equal length.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Series {
    pub column_ns: u64,
    pub columns: Vec<Moment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Moment {
    pub reads: u64,
    pub writes: u64,
    pub others: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Latency of requests queued then.
    pub latency_ns: u64,
    pub completed: u64,
    pub busy_ns: u64,
    /// Requests queued and not completed, times time.
    pub queued_ns: u64,
}
