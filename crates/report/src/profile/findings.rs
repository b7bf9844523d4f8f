//! Findings of a profile in words: who uses the disk, where requests spend time, and whether
//! anticipation would help.

use trace::profile::{Actor, DeviceProfile, Waits};

use super::{name_of, percent};
use crate::number;

/// Waits and gains below this share are omitted.
const SMALL: f64 = 0.01;

const NAMED: usize = 2;

/// The most important first.
pub fn findings(device: &DeviceProfile) -> Vec<String> {
    let mut said = Vec::new();
    said.extend(who(device));
    said.extend(anticipation(device));
    said.extend(held(device));
    said.extend(idle(device));
    said.extend(stages(device));
    said.extend(failures(device));
    said
}

fn who(device: &DeviceProfile) -> Option<String> {
    let first = device.processes.first()?;
    let all: u64 = device.processes.iter().map(|actor| actor.device_ns).sum();
    let part = if all > 0 { first.device_ns as f64 / all as f64 } else { return None };
    let most = if part > 0.995 { "all".to_owned() } else { percent(part) };
    Some(format!(
        "{} takes {most} of the time that the disk works: {}.",
        name_of(first),
        pattern(first)
    ))
}

/// `reads of 8 KiB, one after the other, 93 % sequential, thinking 0.4 ms between them`.
pub(super) fn pattern(actor: &Actor) -> String {
    let data = (actor.reads + actor.writes).max(1);
    let kind = match actor.reads as f64 / data as f64 {
        share if share > 0.95 => "reads".to_owned(),
        share if share < 0.05 => "writes".to_owned(),
        share => format!("{} reads", percent(share)),
    };
    let mut words =
        vec![format!("{kind} of {}", number::bytes(actor.size_sectors.p50 as f64 * 512.0))];
    let sequential = actor.sequential as f64 / actor.steps().max(1) as f64;
    let near = actor.near as f64 / actor.steps().max(1) as f64;
    words.push(match (sequential, near) {
        (sequential, _) if sequential > 0.5 => format!("{} sequential", percent(sequential)),
        (_, near) if near > 0.5 => format!("{} within 4 MiB of the one before", percent(near)),
        (sequential, _) => format!("at random ({} sequential)", percent(sequential)),
    });
    let together =
        actor.overlapping as f64 / (actor.overlapping + actor.think_ns.count).max(1) as f64;
    if together > 0.5 {
        words.push(format!("{} outstanding at a time", number::significant(actor.depth_mean)));
    } else if actor.think_ns.count > 0 {
        words.push(format!(
            "one after the other, thinking {} between them (median)",
            number::latency_ns(actor.think_ns.p50 as f64)
        ));
    }
    words.join(", ")
}

fn anticipation(device: &DeviceProfile) -> Vec<String> {
    let seen = &device.anticipation;
    let span = device.span_ns().max(1) as f64;
    let rule =
        |name: &str| seen.rules.iter().find(|rule| rule.rule == name).cloned().unwrap_or_default();
    let [always, wpcas, best] = ["always", "wpcas", "best"].map(rule);
    if seen.chances == 0 {
        let why = if seen.too_late > 0 {
            format!(
                " At {} completions the requests of others were at the disk already, where no scheduler orders them.",
                number::count(seen.too_late)
            )
        } else {
            String::new()
        };
        return vec![format!(
            "No request waited in the scheduler when a process had its last one completed: anticipation has nothing to decide.{why}"
        )];
    }
    let mut said = Vec::new();
    let mut deceived: Vec<&Actor> =
        device.processes.iter().filter(|actor| actor.anticipation.deceived > 0).collect();
    deceived.sort_by_key(|actor| std::cmp::Reverse(actor.anticipation.deceived_loss_ns));
    for actor in deceived.iter().take(NAMED) {
        let of = &actor.anticipation;
        let lost = match of.deceived_loss_ns {
            0 => String::new(),
            ns => format!("; that took {} in all", number::latency_ns(ns as f64)),
        };
        said.push(format!(
            "Deceptive idleness: {} asked nearby {} after its last completion (mean), and {} the disk had gone elsewhere by then{}.",
            name_of(actor),
            number::latency_ns(of.deceived_think_ns as f64 / of.deceived as f64),
            text::counted(of.deceived, "time"),
            lost,
        ));
    }
    if let Some(most) = best.unknown_gain_ns() {
        said.push(format!(
            "Whether waiting pays is unknown: this trace has no request near the previous one, so the service time of one is unknown. \
             Waiting saves at most {} of the time.",
            percent(most as f64 / span),
        ));
        return said;
    }
    let gain = |rule: &Waits| signed(rule.gain_ns as f64 / span);
    said.push(if best.gain_ns as f64 / span < SMALL {
        format!("Waiting would not pay: at best it saves {} of the time, always waiting {}, wpcas {}.", gain(&best), gain(&always), gain(&wpcas))
    } else {
        format!(
            "Waiting for the process that was served last would save up to {} of the time; always waiting 6 ms {}, wpcas {} ({} of \
             {} waits failed).",
            gain(&best),
            gain(&always),
            gain(&wpcas),
            number::count(wpcas.failures()),
            number::count(wpcas.waits),
        )
    });
    said
}

fn signed(share: f64) -> String {
    let words = percent(share.abs());
    if share < 0.0 && words != "0 %" { format!("costs {words}") } else { words }
}

fn held(device: &DeviceProfile) -> Option<String> {
    let idle = &device.idle;
    let part = idle.held_ns as f64 / device.span_ns().max(1) as f64;
    (part >= SMALL && idle.held > 0).then(|| {
        format!(
            "The disk was idle for {} of the time although requests waited: in {} of {} such periods for a request of the process that was \
             served last, which came.",
            percent(part),
            number::count(idle.held_for_last),
            number::count(idle.held),
        )
    })
}

fn idle(device: &DeviceProfile) -> Option<String> {
    let idle = &device.idle;
    let part = idle.idle_ns as f64 / device.span_ns().max(1) as f64;
    (part >= 0.05 && idle.periods > 0).then(|| {
        format!(
            "The disk was idle for {} of the time; {} of that passed while the process served last was about to ask nearby.",
            percent(part),
            percent(idle.deceptive_ns as f64 / idle.idle_ns.max(1) as f64),
        )
    })
}

fn stages(device: &DeviceProfile) -> Option<String> {
    let mean = |name: &str| {
        let stage = device.stages.iter().find(|stage| stage.name == name)?;
        let count = stage.reads.count + stage.writes.count;
        let sum = stage.reads.mean * stage.reads.count as f64
            + stage.writes.mean * stage.writes.count as f64;
        (count > 0).then(|| sum / count as f64)
    };
    let (all, before, disk) = (mean("Q2C")?, mean("Q2D")?, mean("D2C")?);
    if all <= 0.0 {
        return None;
    }
    let tags = mean("Q2G")
        .map_or(String::new(), |tags| format!(" ({} of it until a tag)", number::latency_ns(tags)));
    Some(format!(
        "Of {} from queue to completion (mean), {} pass before the disk has the request{tags} and {} at the disk.",
        number::latency_ns(all),
        number::latency_ns(before),
        number::latency_ns(disk),
    ))
}

fn failures(device: &DeviceProfile) -> Option<String> {
    let (failed, requeued) = (device.total.failed, device.total.requeued);
    (failed + requeued > 0).then(|| {
        format!(
            "{} failed, {} inserted again.",
            text::counted(failed, "request"),
            text::counted(requeued, "request")
        )
    })
}
