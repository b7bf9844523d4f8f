//! Profile output, also with hostile names.

use trace::profile::Profile;
use trace::{At, Device, Flags, Io, Kind, Process, Trace};

use super::{Excerpt, findings, page, render};

const MS: u64 = 1_000_000;

/// The disk alternates between two distant sequential readers. A seek takes 10 ms, a sequential
/// read 1 ms.
fn deceived(name: &str) -> Trace {
    let read = |queued: u64, issued: u64, completed: u64, sector, process| Io {
        inserted: At::ns(queued),
        issued: At::ns(issued),
        completed: At::ns(completed),
        flags: Flags::SYNC,
        ..Io::new(queued, Kind::Read, sector, 64, process)
    };
    let mut ios: Vec<Io> =
        (0..50).map(|n| read(n * 2 * MS, n * 2 * MS, n * 2 * MS + MS, n * 64, 0)).collect();
    for n in 0..200 {
        let base = (100 + n * 20) * MS;
        ios.push(read(base + MS, base + 5 * MS, base + 15 * MS, 20_000_000 + n * 64, 1));
        ios.push(read(base + 6 * MS, base + 15 * MS, base + 25 * MS, 3200 + n * 64, 0));
    }
    let process = |pid: u32, name: &str| Process {
        pid,
        tid: pid,
        name: name.into(),
        cgroup: "/db".into(),
        ..Process::default()
    };
    Trace {
        devices: vec![Device { name: "sda".into(), ..Device::default() }],
        processes: vec![process(7, name), process(8, "backup")],
        schedulers: vec!["mq-deadline".into()],
        ios,
        ..Trace::default()
    }
}

fn excerpt<'a>(trace: &Trace, name: &'a dyn Fn(u32) -> String) -> Excerpt<'a> {
    Excerpt {
        device: 0,
        ios: trace.ios[50..80].to_vec(),
        from_ns: 100 * MS,
        until_ns: 200 * MS,
        name,
    }
}

#[test]
fn deceptive_idleness_is_said_in_words_with_who_and_how_much() {
    let profile = trace::profile::profile_trace(&deceived("postgres"));
    insta::assert_snapshot!(render(&profile, 10, 100));
    let said = findings(&profile.devices[0]).join("\n");
    assert!(said.contains("postgres (7) asked nearby 1.00 ms after its last completion"), "{said}");
}

#[test]
fn the_page_has_every_plot_and_a_name_stays_text() {
    let hostile = "</title><script>alert(1)</script>\u{1b}[2J";
    let trace = deceived(hostile);
    let profile = trace::profile::profile_trace(&trace);
    let name = |_: u32| hostile.to_owned();
    let made = page(&profile, &[excerpt(&trace, &name)]).expect("a page");
    assert!(!made.contains("<script") && !made.contains('\u{1b}'), "the name is text");
    assert_eq!(
        made.matches("<svg role=\"img\" aria-label=\"R").count(),
        3,
        "two heat maps and a course"
    );
    for title in [
        "Where waiting would have paid most",
        "Think times",
        "What the disk takes, by distance",
        "Stages",
    ] {
        assert!(made.contains(title), "{title}");
    }
    assert!(!render(&profile, 10, 100).contains('\u{1b}'));
}

#[test]
fn an_empty_trace_and_one_of_bare_requests_are_shown() {
    let empty = Profile::default();
    assert!(render(&empty, 5, 80).contains("no request was recorded"));
    assert!(page(&empty, &[]).expect("a page").contains("no request was recorded"));
    let bare = Trace { ios: vec![Io::new(5, Kind::Write, 0, 0, 0)], ..Trace::default() };
    let profile = trace::profile::profile_trace(&bare);
    assert!(render(&profile, 5, 80).contains("disk 0: 1 request"));
    page(&profile, &[]).expect("a page");
}
