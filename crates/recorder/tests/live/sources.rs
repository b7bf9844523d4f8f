//! What both sources have in common: each request once, with its place, process, stages and scheduler.

use recorder::live::{Options, Source};
use trace::io::Stage;
use trace::{Flags, Kind};

use super::common::{Loop, Recorded};

fn of(device: &Loop) -> Options {
    Options { devices: vec![device.path.clone()], ..Options::default() }
}

fn reads_are_recorded(source: Source) {
    let Some(device) = Loop::new(&[]) else { return };
    device.scheduler("mq-deadline");
    let mut pid = 0;
    let Some(recorded) = Recorded::of(source, of(&device), || {
        pid = device.read(100, 500);
        device.scheduler("none");
        device.read(2000, 7);
    }) else {
        return;
    };
    assert_eq!((recorded.about.lost, recorded.about.unfinished), (0, 0));
    let ios = recorded.of_pid(pid);
    assert_eq!(ios.len(), 500);
    for (number, io) in ios.iter().enumerate() {
        assert_eq!((io.sector, io.sectors, io.kind), (800 + 8 * number as u64, 8, Kind::Read));
        assert!(io.flags.has(Flags::SYNC) && io.pieces == 1, "{io:?}");
        assert_eq!(recorded.scheduler(io), "mq-deadline");
        for stage in [Stage::Inserted, Stage::Issued, Stage::Completed] {
            assert!(io.at(stage).is_some(), "{stage:?} of {io:?}");
        }
    }
    let process = &recorded.tables.processes[ios[0].process as usize];
    assert_eq!((process.name.as_str(), process.tid), ("dd", pid));
    assert!(process.began > 0 || source == Source::Tracefs);
    let after: Vec<_> = recorded.ios.iter().filter(|io| io.sector >= 16_000 && io.sector < 16_056).collect();
    assert_eq!(after.len(), 7);
    assert!(after.iter().all(|io| recorded.scheduler(io) == "none" && io.inserted.get().is_none()), "{after:?}");
}

#[test]
fn reads_are_recorded_by_bpf_with_every_stage_and_the_scheduler_in_effect() {
    reads_are_recorded(Source::Bpf);
}

#[test]
fn a_flush_and_the_writes_before_it_are_recorded_by_bpf() {
    let Some(device) = Loop::new(&[]) else { return };
    let Some(recorded) = Recorded::of(Source::Bpf, of(&device), || device.write(64, 20)) else { return };
    let writes = recorded.ios.iter().filter(|io| io.kind == Kind::Write).count();
    let flushes: Vec<_> = recorded.ios.iter().filter(|io| io.kind == Kind::Flush).collect();
    assert_eq!((writes, flushes.len()), (20, 1), "{:?}", recorded.ios);
    assert!(flushes[0].sectors == 0 && flushes[0].flags.has(Flags::PREFLUSH) && flushes[0].completed.get().is_some());
}
