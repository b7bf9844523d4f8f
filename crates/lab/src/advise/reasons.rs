//! Explains why a scheduler may help: the processes, their access patterns, and the gain from
//! anticipation.

use trace::profile::{Actor, DeviceProfile};

const MOST: usize = 3;
/// Processes with a smaller share of the busy time are omitted.
const SHARE: f64 = 0.05;

/// The rule that knows future requests: an upper bound, not available to a scheduler.
const HINDSIGHT: &str = "best";

/// Sentences, most important first. `waits`: whether the advised scheduler idles for the
/// last-served process.
pub fn reasons(of: &DeviceProfile, has_arm: bool, waits: bool) -> Vec<String> {
    let mut found = Vec::new();
    let busy: u64 = of.processes.iter().map(|process| process.device_ns).sum();
    for process in of.processes.iter().take(MOST) {
        let share = process.device_ns as f64 / busy.max(1) as f64;
        if share >= SHARE {
            found.push(process_words(process, share));
        }
    }
    found.push(depth_words(of, has_arm));
    found.extend(anticipation_words(of, has_arm, waits));
    found.extend(idle_words(of));
    found
}

fn percent(part: u64, of: u64) -> f64 {
    100.0 * part as f64 / of.max(1) as f64
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

fn process_words(process: &Actor, share: f64) -> String {
    let Actor { name, reads, writes, sequential, think_ns, latency_ns, depth_mean, .. } = process;
    let name = if name.is_empty() { "a process without a name" } else { name };
    let pattern = match percent(*sequential, process.steps()) {
        part if part > 70.0 => "mostly one after another",
        part if part < 20.0 => "mostly scattered",
        _ => "partly one after another",
    };
    format!(
        "{name} (pid {}) had the disk for {:.0} % of its work: {reads} reads and {writes} writes, {pattern} ({:.0} %), {depth_mean:.1} \
         outstanding on average; it thinks for {:.2} ms (median) and waits for {:.2} ms (median; 99 %: {:.2} ms)",
        process.pid,
        share * 100.0,
        percent(*sequential, process.steps()),
        ms(think_ns.p50),
        ms(latency_ns.p50),
        ms(latency_ns.p99)
    )
}

fn depth_words(of: &DeviceProfile, has_arm: bool) -> String {
    let queued = of.depth.queued_mean;
    let consequence = match (queued < 1.5, has_arm) {
        (true, _) => "there is seldom a choice between requests, so that schedulers differ little",
        (false, true) => {
            "a scheduler has requests to choose from, and on a disk with an actuator their order decides the seeks"
        }
        (false, false) => {
            "a scheduler has requests to choose from, but without an actuator order saves no time; it can only prioritise"
        }
    };
    format!(
        "on average {queued:.1} requests were outstanding ({} at most): {consequence}",
        of.depth.queued_max
    )
}

/// The gain from waiting for the last-served process, by the best rule available to a scheduler.
fn anticipation_words(of: &DeviceProfile, has_arm: bool, waits: bool) -> Option<String> {
    let possible = of.anticipation.rules.iter().filter(|rule| rule.rule != HINDSIGHT);
    let best = possible.max_by_key(|rule| rule.gain_ns)?;
    let span = of.span_ns().max(1) as f64;
    let gain = best.gain_ns as f64 / 1e6;
    let deceived = of.anticipation.deceived;
    if has_arm && best.gain_ns as f64 > 0.01 * span {
        return Some(format!(
            "waiting for the process that was served last pays here: {deceived} times the disk was sent away from a process that asked again \
             within 20 ms nearby; the rule {} would have saved {gain:.0} ms of the disk's time ({:.1} %)",
            best.rule,
            100.0 * best.gain_ns as f64 / span
        ));
    }
    // The replay takes precedence: a scheduler that gained by waiting is not contradicted by rules
    // applied to the recorded order.
    if waits {
        return None;
    }
    if best.waits == 0 && of.anticipation.chances == 0 {
        return Some(
            "no request of another process waited when a process fell silent: there is nothing to gain by waiting"
                .to_owned(),
        );
    }
    if let Some(most) = best.unknown_gain_ns().filter(|_| has_arm) {
        return Some(format!(
            "whether waiting for the process that was served last pays is not known: the trace has no request near the one before it; waiting \
             saves at most {:.0} % of the time",
            100.0 * most as f64 / span
        ));
    }
    Some(format!(
        "waiting for the process that was served last does not pay here: the better of the rules, {}, gains {gain:.0} ms ({:.1} % of the time), with {} \
         successes in {} waits",
        best.rule,
        100.0 * best.gain_ns as f64 / span,
        best.successes,
        best.waits
    ))
}

fn idle_words(of: &DeviceProfile) -> Option<String> {
    let idle = &of.idle;
    let share = percent(idle.deceptive_ns, idle.idle_ns + idle.busy_ns);
    (idle.deceptive > 0 && share >= 1.0).then(|| {
        format!(
            "the disk idled {} times ({:.0} ms, {share:.1} % of the time) while waiting for the last-served process",
            idle.deceptive,
            ms(idle.deceptive_ns)
        )
    })
}

#[cfg(test)]
mod tests {
    use trace::{At, Io, Kind, Process, Trace, profile};

    use super::*;

    /// Two readers, each in its own region with 1 ms of think time, served in turn.
    fn two_readers() -> Trace {
        let (mut at, mut ios) = (0, Vec::new());
        for round in 0..400_u64 {
            for process in 0..2_u64 {
                let io =
                    Io::new(at, Kind::Read, process * 1_000_000 + round * 8, 8, process as u32);
                at += 8_000_000;
                ios.push(Io { issued: At::ns(at - 7_500_000), completed: At::ns(at), ..io });
            }
        }
        let name = |name: &str, pid| Process { name: name.to_owned(), pid, ..Process::default() };
        Trace {
            devices: vec![trace::Device::default()],
            processes: vec![name("left", 1), name("right", 2)],
            schedulers: vec!["none".to_owned()],
            ios,
            ..Trace::default()
        }
    }

    #[test]
    fn processes_and_their_patterns_are_named() {
        let profile = profile::profile_trace(&two_readers());
        let said = reasons(&profile.devices[0], true, false);
        assert!(said[0].contains("left (pid 1)") || said[0].contains("right (pid 2)"), "{said:?}");
        assert!(said[0].contains("mostly one after another"), "{said:?}");
        assert!(said.iter().any(|line| line.contains("outstanding")), "{said:?}");
        assert!(said.iter().any(|line| line.contains("waiting")), "{said:?}");
    }

    #[test]
    fn advice_to_wait_is_not_contradicted_by_its_reasons() {
        let profile = profile::profile_trace(&two_readers());
        let said = |waits| reasons(&profile.devices[0], false, waits).join("; ");
        let speaks_against = |said: &str| {
            said.contains("does not pay") || said.contains("nothing to gain by waiting")
        };
        assert!(speaks_against(&said(false)), "without an actuator no wait pays: {}", said(false));
        assert!(!speaks_against(&said(true)), "{}", said(true));
    }

    /// The same, but each request arrives 1 ms after the reader's last completion, while the other
    /// is served.
    fn two_readers_at_once() -> Trace {
        let served = 8_000_000;
        let io = |slot: u64| {
            let (process, start) = (slot % 2, slot * served);
            let asked = slot.checked_sub(1).map_or(0, |before| before * served + 1_000_000);
            let asked = if slot < 2 { 0 } else { asked };
            let io =
                Io::new(asked, Kind::Read, process * 1_000_000 + slot / 2 * 8, 8, process as u32);
            Io { issued: At::ns(start), completed: At::ns(start + served), ..io }
        };
        Trace { ios: (0..800).map(io).collect(), ..two_readers() }
    }

    #[test]
    fn a_gain_that_the_trace_cannot_show_is_not_denied() {
        let profile = profile::profile_trace(&two_readers_at_once());
        let said = reasons(&profile.devices[0], true, false).join("; ");
        assert!(said.contains("pays is not known") && said.contains("at most"), "{said}");
    }
}
