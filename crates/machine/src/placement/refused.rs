//! Why a placement is refused, before or by the kernel, and the remedy.

use std::io;
use std::path::PathBuf;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use super::online::{CAP_SYS_NICE, check_online, has_capability};
use super::{AFFINITY, CpuList, NICE, POLICY, Placement, Policy};
use crate::error::Error;
use crate::root::Root;
use crate::session::Fault;

impl Placement {
    /// Refuses an impossible placement, given the isolated CPUs.
    ///
    /// # Errors
    /// [`Error::Session`]: missing CPUs, a program outside its own isolated CPUs, a deadline policy
    /// with a restricted affinity.
    pub fn admit(&self, root: &Root, isolate: Option<&CpuList>) -> Result<(), Error> {
        let Some(affinity) = &self.affinity else { return Ok(()) };
        check_online(root, affinity)?;
        let refused = |what: String, why: String| Err(Fault::Placement { what, why }.into());
        if let Some(outside) = isolate.and_then(|isolate| affinity.difference(isolate)) {
            return refused(
                format!("affinity={affinity}"),
                format!(
                    "{} is not isolated, and every task that may use others is moved; remove affinity, or name isolated CPUs",
                    outside.in_words()
                ),
            );
        }
        if let (Some(policy @ Policy::Deadline { .. }), Some(online)) =
            (self.policy, CpuList::online(root))
            && !online.is_within(affinity)
        {
            let with = isolate.map_or("affinity", |_| "isolate");
            return refused(
                format!("policy={policy}"),
                format!(
                    "the kernel gives deadlines only to tasks that may use all CPUs ({online}), unless an exclusive cpuset is made \
                     for them; remove {with}, or use fifo:50"
                ),
            );
        }
        Ok(())
    }

    pub(crate) fn refused(&self, root: &Root, said: &str, cause: &io::Error) -> String {
        let errno = cause.raw_os_error().map(Errno::from_raw_os_error);
        let why = match (said, self.policy, errno) {
            (AFFINITY, _, Some(Errno::INVAL)) => Some(affinity(root)),
            (NICE, _, Some(Errno::PERM | Errno::ACCESS)) => Some(
                "a nice level below one's own needs CAP_SYS_NICE, or a limit that allows it (`ulimit -e`): run as root"
                    .to_string(),
            ),
            (POLICY, Some(Policy::Deadline { runtime, period, .. }), Some(Errno::BUSY)) => {
                Some(admission(root, runtime, period))
            }
            (POLICY, Some(Policy::Deadline { .. }), Some(Errno::INVAL)) => Some(periods(root)),
            (POLICY, Some(Policy::Deadline { .. }), Some(Errno::PERM)) => Some(
                "a deadline needs CAP_SYS_NICE (run as root), and all CPUs of the machine: neither affinity nor a cpuset may take some away"
                    .to_string(),
            ),
            (POLICY, Some(Policy::Fifo(priority) | Policy::Rr(priority)), Some(Errno::PERM)) => {
                Some(realtime(root, priority))
            }
            (POLICY, _, Some(Errno::PERM)) => {
                Some("this policy or nice level needs CAP_SYS_NICE: run as root".to_string())
            }
            _ => None,
        };
        why.map_or_else(|| format!("{said}: {cause}"), |why| format!("{said}: {cause}; {why}"))
    }
}

fn affinity(root: &Root) -> String {
    let online = root.read_optional(root.sys("devices/system/cpu/online")).unwrap_or_default();
    let cpuset = root.read_optional(root.proc("self/cpuset")).unwrap_or_default();
    format!(
        "none of them is both online ({online}) and in schedlab's cpuset ({cpuset}): name others, or start schedlab outside of that cpuset"
    )
}

fn realtime(root: &Root, priority: u8) -> String {
    let limit = getrlimit(Resource::Rtprio).current.unwrap_or(u64::MAX);
    if !has_capability(root, CAP_SYS_NICE) && limit < u64::from(priority) {
        return format!(
            "realtime of this priority needs CAP_SYS_NICE or a limit of {priority} (`ulimit -r` is {limit}): run as root"
        );
    }
    match group_without_realtime(root) {
        Some(file) => {
            let file = file.display();
            format!(
                "the control group of schedlab has no time for realtime tasks: `echo 950000 > {file}`, or start schedlab outside of it"
            )
        }
        None => {
            "check kernel.sched_rt_runtime_us, and cpu.rt_runtime_us of the control groups (0 allows no realtime)"
                .to_string()
        }
    }
}

/// A v1 group without realtime runtime, as new ones are with CONFIG_RT_GROUP_SCHED.
fn group_without_realtime(root: &Root) -> Option<PathBuf> {
    let groups = root.read_optional(root.proc("self/cgroup"))?;
    let of_cpu = |line: &str| -> Option<String> {
        let mut parts = line.splitn(3, ':').skip(1);
        let is_cpu = parts.next()?.split(',').any(|name| name == "cpu");
        is_cpu.then(|| parts.next().map(str::to_string)).flatten()
    };
    let group = groups.lines().find_map(of_cpu)?;
    let mounts = root.read_optional(root.proc("self/mountinfo"))?;
    let of_cpu = |line: &str| -> Option<String> {
        let (front, back) = line.split_once(" - ")?;
        let mut back = back.split(' ');
        let is_cpu = back.next()? == "cgroup" && back.nth(1)?.split(',').any(|name| name == "cpu");
        is_cpu.then(|| front.split(' ').nth(4).map(str::to_string)).flatten()
    };
    let at = mounts.lines().find_map(of_cpu)?;
    let file = root.path(at).join(group.trim_start_matches('/')).join("cpu.rt_runtime_us");
    (root.read_optional(&file)? == "0").then_some(file)
}

fn admission(root: &Root, runtime: u64, period: u64) -> String {
    let number = |name: &str| -> Option<f64> {
        root.read_optional(root.proc(format!("sys/kernel/{name}")))?
            .parse()
            .ok()
            .filter(|number| *number > 0.0)
    };
    let share = runtime as f64 * 100.0 / period.max(1) as f64;
    let allowed = number("sched_rt_runtime_us").zip(number("sched_rt_period_us"));
    let allowed = allowed.map_or(String::new(), |(runtime, period)| {
        format!(", and {:.0} % can be granted", runtime * 100.0 / period)
    });
    format!(
        "all deadline tasks together request too much: this one {share:.0} % of a CPU{allowed} of each (kernel.sched_rt_runtime_us); \
         use a smaller runtime or a longer period, or end other deadline tasks"
    )
}

fn periods(root: &Root) -> String {
    let bound = |name: &str| root.read_optional(root.proc(format!("sys/kernel/{name}")));
    let bounds = bound("sched_deadline_period_min_us").zip(bound("sched_deadline_period_max_us"));
    match bounds {
        Some((least, most)) => format!(
            "a period has to be between {least} and {most} microseconds (kernel.sched_deadline_period_min_us, _max_us)"
        ),
        None => "this kernel refuses these times".to_string(),
    }
}
