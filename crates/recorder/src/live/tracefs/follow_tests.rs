//! The kernel's sequences of events, and the resulting requests.

use super::*;

fn event(step: Step, at: u64, sector: u64, sectors: u32) -> Event {
    Event {
        step,
        at,
        device: 0,
        sector,
        sectors,
        kind: Kind::Write,
        flags: Flags::SYNC,
        process: (step == Step::Queue).then_some(3),
        scheduler: 1,
        priority: 0,
        failed: false,
    }
}

fn requests(events: &[Event]) -> Vec<Io> {
    let mut follow = Follow::new(true);
    let found = events.iter().filter_map(|event| follow.take(event)).collect();
    assert_eq!((follow.unfinished(), follow.asked.len()), (0, 0));
    found
}

#[test]
fn what_is_merged_before_and_after_it_is_inserted_is_one_request() {
    let found = requests(&[
        event(Step::Queue, 10, 108, 8),
        event(Step::Queue, 11, 116, 8),
        event(Step::Insert, 20, 108, 16),
        event(Step::Queue, 30, 100, 8),
        event(Step::Issue, 40, 100, 24),
        event(Step::Complete, 90, 100, 24),
    ]);
    let [io] = found[..] else { panic!("{found:?}") };
    assert_eq!(
        (io.queued, io.inserted, io.issued, io.completed),
        (10, At::ns(20), At::ns(40), At::ns(90))
    );
    assert_eq!((io.sector, io.sectors, io.bios, io.process), (100, 24, 3, 3));
}

#[test]
fn a_request_that_completes_in_parts_or_is_issued_twice_is_one() {
    let found = requests(&[
        event(Step::Queue, 10, 100, 16),
        event(Step::Issue, 20, 100, 16),
        event(Step::Requeue, 25, 100, 16),
        event(Step::Issue, 30, 100, 16),
        event(Step::Complete, 40, 100, 8),
        event(Step::Complete, 50, 108, 8),
    ]);
    let [io] = found[..] else { panic!("{found:?}") };
    assert_eq!((io.issued, io.completed, io.sectors), (At::ns(30), At::ns(50), 16));
    assert!(io.flags.has(Flags::REQUEUED));
}

#[test]
fn a_flush_is_one_request_and_a_bio_of_a_volume_too() {
    let mut flush = event(Step::Queue, 10, 0, 0);
    (flush.kind, flush.flags) = letters(b"FWS", 0);
    let found = requests(&[
        flush,
        event(Step::Queue, 11, 64, 8),
        event(Step::BioComplete, 15, 72, 0),
        event(Step::Complete, 20, 0, 0),
    ]);
    let [volume, flush] = found[..] else { panic!("{found:?}") };
    assert_eq!(
        (flush.kind, flush.completed, flush.flags.has(Flags::PREFLUSH)),
        (Kind::Flush, At::ns(20), true)
    );
    assert_eq!((volume.sector, volume.completed), (64, At::ns(15)));
}

#[test]
fn a_request_of_a_process_that_is_not_wanted_is_left_out() {
    let mut follow = Follow::new(false);
    let steps = [event(Step::Issue, 20, 100, 16), event(Step::Complete, 40, 100, 16)];
    assert!(steps.iter().all(|step| follow.take(step).is_none()));
}

#[test]
fn letters_are_kinds_and_flags() {
    assert_eq!(letters(b"R", 8), (Kind::Read, Flags::SYNC));
    assert_eq!(letters(b"RA", 8), (Kind::Read, Flags::AHEAD));
    assert_eq!(letters(b"WFSM", 8), (Kind::Write, Flags::FUA.with(Flags::SYNC).with(Flags::META)));
    assert_eq!(letters(b"FF", 0), (Kind::Flush, Flags::PREFLUSH));
    assert_eq!(letters(b"DS", 8), (Kind::Discard, Flags::SYNC));
    assert_eq!(letters(b"N", 0).0, Kind::Other);
}
