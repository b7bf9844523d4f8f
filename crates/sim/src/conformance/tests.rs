//! Correct logs, and logs with one fault each.

use proptest::prelude::*;

use super::*;
use crate::device::device;
use crate::random::Stream;

const DISK: &str = "hp97560:queue_depth=8:write_cache=512:immediate_reporting=1";

/// The log of a disk whose timer is late by up to 256 ns.
fn logged(specification: &str, seed: u64, commands: usize) -> Log {
    let (mut random, mut device) = (Stream::new(seed), device(specification, 1).unwrap());
    let (mut records, mut now, mut done, mut inside): (Vec<Record>, _, Vec<u32>, _) =
        (Vec::new(), 1000, Vec::new(), 0);
    while records.len() < commands || inside > 0 {
        let due = device.next_event().map_or(u64::MAX, Time::as_ns);
        let next = now + random.below(2) * random.below(10_000_000);
        if records.len() < commands && inside < device.queue_depth() && next < due {
            now = next;
            device.advance(Time::from_ns(now), &mut done);
            let (tag, nr_sectors) = (records.len() as u32, 1 + random.below(64) as u32);
            let op = if random.below(2) == 0 { Op::Read } else { Op::Write };
            let sector = random.below(device.sectors() - 64);
            let transfer = Command::Transfer { tag, op, sector, nr_sectors };
            let command = if random.below(9) == 0 { Command::Flush { tag } } else { transfer };
            device.submit(Time::from_ns(now), command);
            records.push(Record { submit_ns: now, done_ns: None, completed_ns: 0, command });
            inside += 1;
        } else {
            now = due;
            device.advance(Time::from_ns(now), &mut done);
        }
        for tag in done.drain(..) {
            let record = &mut records[tag as usize];
            (record.done_ns, record.completed_ns) = (Some(now), now + random.below(257));
            inside -= 1;
        }
    }
    Log { records, lost: 0 }
}

fn bytes(log: &Log) -> Vec<u8> {
    let mut bytes = Vec::new();
    for word in [MAGIC, VERSION, HEAD_BYTES as u32, RECORD_BYTES as u32] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend((log.records.len() as u64).to_le_bytes());
    bytes.extend(log.lost.to_le_bytes());
    for record in &log.records {
        let (op, tag, sector, nr) = match record.command {
            Command::Transfer { tag, op, sector, nr_sectors } => {
                (u32::from(op == Op::Write), tag, sector, nr_sectors)
            }
            Command::Flush { tag } => (2, tag, 0, 0),
        };
        for number in [record.submit_ns, record.done_ns.unwrap_or(0), record.completed_ns, sector] {
            bytes.extend(number.to_le_bytes());
        }
        for word in [nr, tag, op, u32::from(record.done_ns.is_some())] {
            bytes.extend(word.to_le_bytes());
        }
    }
    bytes
}

fn check(log: &Log) -> Result<usize, Difference> {
    replay(log, device(DISK, 1).unwrap().as_mut())
}

#[test]
fn a_disk_that_is_the_model_conforms_and_its_log_survives_its_file() {
    let log = logged(DISK, 1, 500);
    assert_eq!(check(&log), Ok(500));
    assert_eq!(Log::read(&bytes(&log)), Ok(log));
}

#[test]
fn commands_that_were_still_inside_are_not_compared() {
    let mut log = logged(DISK, 2, 100);
    let end = log.records.last().unwrap().submit_ns;
    log.records
        .iter_mut()
        .filter(|record| record.done_ns > Some(end))
        .for_each(|record| record.done_ns = None);
    let seen = log.records.iter().filter(|record| record.done_ns.is_some()).count();
    assert!(seen < 100);
    assert_eq!(check(&log), Ok(seen));
}

#[test]
fn one_nanosecond_is_a_difference() {
    let log = logged(DISK, 3, 200);
    for at in [0, 77, 199] {
        for later in [true, false] {
            let mut wrong = log.clone();
            let done = log.records[at].done_ns.unwrap();
            wrong.records[at].done_ns = Some(if later { done + 1 } else { done - 1 });
            let Err(Difference::Time { record, modelled, .. }) = check(&wrong) else {
                panic!("record {at} is as good as another")
            };
            assert_eq!((record, modelled), (at, Some(done)));
        }
    }
}

#[test]
fn a_command_that_the_log_forgets_is_a_difference() {
    let mut log = logged(DISK, 4, 50);
    log.records[10].done_ns = None;
    assert!(matches!(check(&log), Err(Difference::Time { record: 10, logged: None, .. })));
}

#[test]
fn an_unobserved_completion_does_not_explain_a_late_one() {
    let read = |tag, sector| Command::Transfer { tag, op: Op::Read, sector, nr_sectors: 8 };
    let record = |command, done_ns| Record { submit_ns: 0, done_ns, completed_ns: 10, command };
    // In the model the near read completes first; the log ends long before both and has the far one
    // completed.
    let log = Log {
        records: vec![record(read(0, 8), None), record(read(1, 2_000_000), Some(10))],
        lost: 0,
    };
    assert!(
        matches!(check(&log), Err(Difference::Time { record: 1, logged: Some(10), .. })),
        "{:?}",
        check(&log)
    );
}

#[test]
fn another_disk_does_not_conform() {
    let log =
        logged("hp97560:queue_depth=8:write_cache=512:immediate_reporting=1:rpm=4003", 5, 200);
    assert!(matches!(check(&log), Err(Difference::Time { .. })));
}

#[test]
fn what_the_model_could_not_have_been_given_is_named() {
    let why = |change: &dyn Fn(&mut Vec<Record>)| {
        let mut log = logged(DISK, 6, 60);
        change(&mut log.records);
        match check(&log) {
            Err(Difference::Command { why, .. }) => why,
            other => panic!("{other:?}"),
        }
    };
    let read = |tag, sector| Command::Transfer { tag, op: Op::Read, sector, nr_sectors: 8 };
    assert_eq!(
        why(&|records| records[0].command = read(0, 1 << 40)),
        "the model has no such sectors"
    );
    assert_eq!(why(&|records| records[5].submit_ns = 0), "the command before was given later");
    let again = |records: &mut Vec<Record>| {
        let first = records[0];
        records.insert(1, first);
    };
    assert_eq!(why(&again), "the model has a command with this tag inside");
    let crowd = |records: &mut Vec<Record>| {
        let at = |tag| Record {
            submit_ns: 5,
            done_ns: None,
            completed_ns: 0,
            command: read(tag, 1_000_000),
        };
        *records = (0..9).map(at).collect();
    };
    assert_eq!(why(&crowd), "the model is full");
}

#[test]
fn files_that_are_no_logs_are_refused_with_a_reason() {
    let good = bytes(&logged(DISK, 7, 3));
    let changed = |at: usize, to: u8| {
        let mut bad = good.clone();
        bad[at] = to;
        Log::read(&bad).unwrap_err()
    };
    assert_eq!(Log::read(&good[..31]), Err(LogError::Head));
    assert_eq!(changed(0, 0), LogError::Head);
    assert_eq!(changed(4, 2), LogError::Head);
    assert_eq!(changed(12, 40), LogError::Head);
    assert_eq!(changed(16, 4), LogError::Length { said: 4, bytes: good.len() });
    assert_eq!(
        Log::read(&good[..good.len() - 1]),
        Err(LogError::Length { said: 3, bytes: good.len() - 1 })
    );
    let record = |why| LogError::Record { record: 0, why };
    assert_eq!(changed(32 + 40, 3), record("no such operation"));
    assert_eq!(changed(32 + 44, 2), record("it is neither done nor not done"));
    for late in [7, 15] {
        assert_eq!(
            changed(32 + late, 1),
            record("it was done before it was given, or seen before it was done")
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_panic(seed in 0..4u64, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6)) {
        let mut bytes = bytes(&logged(DISK, seed, 12));
        for (at, to) in changes {
            *at.get_mut(&mut bytes) = to;
        }
        if let Ok(log) = Log::read(&bytes) {
            let _ = check(&log);
        }
    }
}
