//! Agreement of the simulator and the kernel arena: equivalent settings, and bounds on the
//! difference.
//!
//! `selfbench conformance` checks the bounds; the atlas treats smaller differences as zero.

use std::collections::BTreeMap;

use experiment::plan::WorkloadSpec;

use super::kernel::MODULES;

/// Modules that send one request at a time to a drive with an arm.
const ONE_AT_A_TIME: &[&str] = &["anticipatory", "wpcas"];

/// Default bound in percent; for counts, per 100 requests.
pub const USUAL: f64 = 2.0;

/// Bound on a trial's end under `none`. The guest's disk receives requests 0.4 µs later, which can
/// cost a revolution: 6 ms in 9 s.
const END_OF_NONE: f64 = 0.07;

/// One without tagged queueing, one with a few tags, and one with 32 tags and a write cache.
pub const DISKS: &[&str] = &["hp97560", "cheetah9lp", "wd4tb7200"];

/// Behind SATA, with read priority and constant collection, and without a buffer.
pub const FLASH: &[&str] = &["sata-ssd", "nvme:capacity_mib=256:precondition=steady", "femu"];

/// Workloads of so few clients that their requests do not overtake each other on flash.
const IN_TURN: &[&str] = &["randread-1", "think-mix"];

/// Each reading of the guest's clock costs 256 ns, which makes a request's turn 1.2 µs longer: 3 %
/// of a read of 40 µs. With many clients other requests then meet at a die.
const CLOCK: &str =
    "a request's turn takes 1.2 µs longer, in which the guest's kernel reads its clock";
/// Bounds in percent, of the 99th percentile and of other metrics.
const ON_FLASH: (f64, f64) = (13.0, 6.0);

struct Wider {
    /// Disk, workload, scheduler.
    of: [&'static str; 3],
    percent: f64,
    p99: f64,
    why: &'static str,
}

/// The orders agree up to completion 8166 of 9171 on one disk and 5 on the other, depending on
/// which queues merge at the start. With turns longer by 1.6 µs, the simulator has the kernel's
/// means within 1 %.
const BFQ: &str = "which of ten processes that read small files in turn are merged depends on microseconds, and a turn takes 1.6 µs longer, in which the guest's kernel reads its clock";

/// Expiries count ticks of 1 ms (core/antic.c and crates/elevator). Requests 0.4 µs later
/// eventually cross a tick boundary and change a turn by one request; until then the orders are
/// identical.
const TICKS: &str = "expiries count ticks of 1 ms: a request that comes 0.4 µs later falls into another one, and from there on the histories differ";

/// Every gap affects learning, which controls waits and shares. The 99th percentile is the sixth
/// longest latency of 512.
const GAPS: &str = "a gap that differs by 0.4 µs teaches another cost, and with eight processes that write, too, no two histories are alike";

const fn wider(of: [&'static str; 3], percent: f64, p99: f64, why: &'static str) -> Wider {
    Wider { of, percent, p99, why }
}

/// Slightly above the observed differences, to detect changes.
const WIDER: &[Wider] = &[
    wider(["hp97560", "think-mix", "wpcas"], 10.0, 20.0, TICKS),
    wider(["cheetah9lp", "think-mix", "wpcas"], 50.0, 35.0, TICKS),
    wider(["hp97560", "iozone-10", "wpcas"], 3.0, 3.0, TICKS),
    wider(["hp97560", "iozone-10", "anticipatory"], 3.0, 3.0, TICKS),
    wider(["cheetah9lp", "iozone-10", "bfq"], 2.0, 11.0, BFQ),
    wider(["wd4tb7200", "iozone-10", "bfq"], 50.0, 40.0, BFQ),
    wider(["hp97560", "oltp-8x4", "occupancy"], 2.0, 10.0, GAPS),
];

#[derive(Debug, Clone, Copy)]
pub struct Bound {
    usual: f64,
    p99: f64,
    end: f64,
    /// Whether the order of completions must match.
    pub exact: bool,
    pub note: Option<&'static str>,
}

impl Bound {
    /// In percent.
    pub fn of(&self, metric: &str) -> f64 {
        match metric.rsplit('.').next() {
            Some("elapsed_s") => self.end,
            Some("latency_p99_us") => self.p99,
            _ => self.usual,
        }
    }
}

/// For a disk in neither [`DISKS`] nor [`FLASH`], the widest bounds of [`DISKS`].
pub fn bound(disk: &str, workload: &str, scheduler: &str) -> Bound {
    if FLASH.contains(&disk) {
        return Bound {
            usual: ON_FLASH.1,
            p99: ON_FLASH.0,
            end: ON_FLASH.1,
            exact: scheduler == "none" && IN_TURN.contains(&workload),
            note: Some(CLOCK),
        };
    }
    let known = DISKS.contains(&disk);
    let fits =
        |wider: &&Wider| (!known || wider.of[0] == disk) && wider.of[1..] == [workload, scheduler];
    let found = || WIDER.iter().filter(fits);
    let most = |of: fn(&Wider) -> f64| found().map(of).fold(USUAL, f64::max);
    let exact = scheduler == "none" && found().next().is_none();
    let usual = most(|wider| wider.percent);
    Bound {
        usual,
        p99: most(|wider| wider.p99),
        end: if exact { END_OF_NONE } else { usual },
        exact,
        note: found().map(|wider| wider.why).next(),
    }
}

pub fn workload_of(spec: &WorkloadSpec) -> String {
    match (spec.kind.as_str(), spec.params.get("clients")) {
        ("iozone", Some(clients)) => format!("iozone-{clients}"),
        (kind, _) => kind.to_owned(),
    }
}

/// The modelled Linux version closest to this release.
pub fn linux(release: &str) -> u32 {
    match guest::linux_of(release) {
        older if older < (6, 12) => 601,
        (..7, _) => 612,
        _ => 703,
    }
}

/// Tunables that match a modelled scheduler to the guest's.
///
/// The guest has HZ=100 and one CPU, whose clock stops while it computes. Our modules count 1000
/// ticks per second; two of them issue one request at a time to a drive with an arm, where the
/// simulator needs `queue_depth`.
pub fn as_in_guest(scheduler: &str, linux: u32, has_arm: bool) -> BTreeMap<String, String> {
    let mut tunables: Vec<(&str, String)> = Vec::new();
    if !MODULES.contains(&scheduler) {
        tunables.extend([
            ("hz", "100".to_owned()),
            ("one_cpu", "1".to_owned()),
            ("linux", linux.to_string()),
        ]);
    } else if !ONE_AT_A_TIME.contains(&scheduler) {
        tunables.push(("one_cpu", "1".to_owned()));
    } else if has_arm {
        tunables.push(("queue_depth", "1".to_owned()));
    } else {
        tunables.push(("one_cpu", "1".to_owned()));
    }
    if scheduler == "bfq" {
        tunables.push(("still_clock", "1".to_owned()));
    }
    tunables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_was_not_compared_has_the_widest_bound_and_one_that_was_has_its_own() {
        let of = |disk| bound(disk, "think-mix", "wpcas").of("latency_mean_us");
        assert_eq!([of("hp97560"), of("wd4tb7200"), of("st2000dm006")], [10.0, USUAL, 50.0]);
        let bfq = bound("cheetah9lp", "iozone-10", "bfq");
        assert_eq!(
            (bfq.of("reader.latency_p99_us"), bfq.of("iops"), bfq.note),
            (11.0, USUAL, Some(BFQ))
        );
        let flash = |workload| bound(FLASH[1], workload, "none");
        assert!(flash("think-mix").exact && !flash("oltp-16").exact);
        assert_eq!(flash("oltp-16").of("latency_p99_us"), ON_FLASH.0);
        let none = bound("cheetah9lp", "iozone-10", "none");
        assert_eq!((none.exact, none.of("elapsed_s")), (true, END_OF_NONE));
    }

    #[test]
    fn the_rules_of_linux_are_those_of_the_nearest_version() {
        assert_eq!(
            ["6.1.100", "5.10", "6.12.3-um", "6.19", "7.0", "7.3.4-schedlab", ""].map(linux),
            [601, 601, 612, 612, 703, 703, 601]
        );
    }

    #[test]
    fn every_scheduler_of_the_guest_can_be_the_guests_in_the_simulator() {
        for name in elevator::LINUX.iter().map(|row| row.name).chain(MODULES.iter().copied()) {
            let variant = experiment::plan::Variant {
                tunables: as_in_guest(name, 703, true),
                ..crate::resolve::bare(name)
            };
            crate::arena::sim::Setting::of(&variant)
                .unwrap_or_else(|error| panic!("{name}: {error:#}"));
        }
    }
}
