//! Checks the properties of a model while a device receives random commands. Used for the rows
//! (`properties.rs`), the mutants that must fail (`mutants.rs`) and the fuzzer.

use elevator::{Op, SECTOR_BYTES, Time};
use sim::device::{Command, DeviceModel, DeviceStats};

/// Every property, by its name in [`Broken`].
pub(crate) const PROPERTIES: &[&str] = &[
    "events_lie_ahead",
    "something_will_happen_while_commands_are_inside",
    "nothing_happens_before_its_time",
    "only_what_was_sent_completes",
    "commands_complete_once",
    "events_come_to_an_end",
    "busy_time_is_no_more_than_time",
    "transfers_are_counted",
    "figures_only_grow",
    "same_seed_same_history",
    "it_offers_a_queue_and_no_more_than_nvme_has",
    "nothing_is_suspended_more_often_than_allowed",
];

/// A hang: far more than any garbage collection.
const ENDLESS: u32 = 100_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) property: &'static str,
    pub(crate) why: String,
}

macro_rules! ensure {
    ($property:literal, $holds:expr, $($words:tt)*) => {
        if !$holds {
            return Err(Broken { property: $property, why: format!($($words)*) });
        }
    };
}

/// Completions in order of time, and the final statistics.
pub(crate) type History = (Vec<(u64, u32)>, DeviceStats);

/// Submits commands at random times while there is room, and advances the device at its events or
/// also between them. `draw` returns a number below its argument.
pub(crate) fn watch(
    device: &mut dyn DeviceModel,
    commands: u32,
    mut draw: impl FnMut(u64) -> u64,
) -> Result<History, Broken> {
    let (depth, offered) = (device.queue_depth(), device.queues());
    ensure!(
        "it_offers_a_queue_and_no_more_than_nvme_has",
        (1..=65_535).contains(&offered),
        "{offered} queues are offered"
    );
    let queues = 1 + draw(u64::from(offered.min(4))) as u32;
    device.use_queues(queues);
    let (mut open, mut queue_of) = (vec![0; queues as usize], vec![0; commands as usize]);
    let mut queue = 0;
    let mut complete = vec![false; commands as usize];
    let (mut now, mut inside, mut sent, mut last, mut quiet) = (0, 0, 0, 0, 0);
    let (mut seen, mut done, mut asked, mut before) =
        (Vec::new(), Vec::new(), [0, 0], device.stats());
    loop {
        let due = device.next_event();
        ensure!(
            "events_lie_ahead",
            due.is_none_or(|at| at.as_ns() >= now),
            "at {now} ns the next event is {due:?}"
        );
        ensure!(
            "something_will_happen_while_commands_are_inside",
            inside == 0 || due.is_some(),
            "{inside} commands are inside and nothing will happen"
        );
        let due = due.map_or(u64::MAX, Time::as_ns);
        let think = now + draw(4) / 3 * draw(20_000_000);
        if sent < commands && open[queue] < depth && think <= due {
            now = think;
            device.advance(Time::from_ns(now), &mut done);
            ensure!(
                "nothing_happens_before_its_time",
                due <= now || done.is_empty(),
                "{done:?} are done at {now} ns, before {due} ns"
            );
            let command = command(device, sent, &mut last, &mut asked, &mut draw);
            inside += 1;
            open[queue] += 1;
            queue_of[sent as usize] = queue;
            device.submit_on(Time::from_ns(now), queue as u32, command);
            sent += 1;
            queue = draw(u64::from(queues)) as usize;
        } else if due < u64::MAX {
            now = due;
            device.advance(Time::from_ns(now), &mut done);
        } else {
            break;
        }
        quiet = if done.is_empty() { quiet + 1 } else { 0 };
        ensure!("events_come_to_an_end", quiet < ENDLESS, "{quiet} events and nothing is done");
        for tag in done.drain(..) {
            ensure!("only_what_was_sent_completes", tag < sent, "tag {tag} was never sent");
            let twice = std::mem::replace(&mut complete[tag as usize], true);
            ensure!("commands_complete_once", !twice, "tag {tag} completes twice");
            inside -= 1;
            open[queue_of[tag as usize]] -= 1;
            seen.push((now, tag));
        }
        let stats = device.stats();
        let fell =
            figures(&before).into_iter().zip(figures(&stats)).any(|(before, now)| before > now);
        ensure!("figures_only_grow", !fell, "after {before:?} came {stats:?}");
        before = stats;
    }
    Ok((seen, check_end(device, now, asked)?))
}

fn check_end(device: &dyn DeviceModel, now: u64, asked: [u64; 2]) -> Result<DeviceStats, Broken> {
    let stats = device.stats();
    ensure!(
        "busy_time_is_no_more_than_time",
        stats.busy_ns <= now,
        "busy for {} of {now} ns",
        stats.busy_ns
    );
    let allowed = most_suspends(device, &stats);
    ensure!(
        "nothing_is_suspended_more_often_than_allowed",
        stats.suspends <= allowed,
        "{} suspends where {allowed} are allowed",
        stats.suspends
    );
    let counted = [stats.transfers, stats.bytes];
    ensure!(
        "transfers_are_counted",
        counted == asked,
        "transfers and bytes: {counted:?} instead of {asked:?}"
    );
    Ok(stats)
}

pub(crate) fn most_suspends(device: &dyn DeviceModel, stats: &DeviceStats) -> u64 {
    let [programs, erases] = device.suspend_limits();
    programs * (stats.programs + stats.moved_pages) + erases * stats.erases
}

/// Checks that two equal devices behave identically.
pub(crate) fn watch_twice(
    make: impl Fn() -> Box<dyn DeviceModel>,
    commands: u32,
    draws: impl Fn() -> Box<dyn FnMut(u64) -> u64>,
) -> Result<History, Broken> {
    let first = watch(make().as_mut(), commands, draws())?;
    let second = watch(make().as_mut(), commands, draws())?;
    ensure!("same_seed_same_history", first == second, "{first:?} and {second:?}");
    Ok(first)
}

/// The next command: an occasional flush, otherwise a transfer anywhere or after the last one.
fn command(
    device: &dyn DeviceModel,
    tag: u32,
    last: &mut u64,
    asked: &mut [u64; 2],
    draw: &mut impl FnMut(u64) -> u64,
) -> Command {
    if draw(12) == 0 {
        return Command::Flush { tag };
    }
    let longest = if draw(10) == 0 { 600 } else { 16 };
    let nr_sectors = 1 + draw(longest.min(device.sectors())) as u32;
    let highest = device.sectors() - u64::from(nr_sectors);
    let sector = if draw(2) == 0 { draw(highest + 1) } else { (*last).min(highest) };
    *last = sector + u64::from(nr_sectors);
    let op = if draw(2) == 0 { Op::Read } else { Op::Write };
    *asked = [asked[0] + 1, asked[1] + u64::from(nr_sectors) * SECTOR_BYTES];
    Command::Transfer { tag, op, sector, nr_sectors }
}

fn figures(of: &DeviceStats) -> [u64; 14] {
    let DeviceStats { transfers, bytes, busy_ns, seeks, seek_cylinders, seek_ns, .. } = *of;
    let DeviceStats {
        rotation_ns,
        transfer_ns,
        cache_hits,
        cached_writes,
        moved_pages,
        erases,
        programs,
        suspends,
        ..
    } = *of;
    let first = [transfers, bytes, busy_ns, seeks, seek_cylinders, seek_ns];
    let second = [
        rotation_ns,
        transfer_ns,
        cache_hits,
        cached_writes,
        moved_pages,
        erases,
        programs,
        suspends,
    ];
    std::array::from_fn(|at| if at < 6 { first[at] } else { second[at - 6] })
}
