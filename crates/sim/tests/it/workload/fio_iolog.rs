//! A log written by fio, if fio is installed. A test, because the crate's sources start no
//! programs.

use std::process::Command;

use sim::workload::ReplayParams;

#[test]
fn a_log_that_fio_itself_wrote_is_read() {
    if !testbed::require(&["fio"]) {
        return;
    }
    let dir = testbed::Directory::new();
    let (log, file) = (dir.path().join("log"), dir.path().join("data"));
    let fio = Command::new("fio")
        .args([
            "--name=t",
            "--rw=randrw",
            "--bs=4k",
            "--size=256k",
            "--randseed=7",
            "--thinktime=100",
        ])
        .arg(format!("--filename={}", file.display()))
        .arg(format!("--write_iolog={}", log.display()))
        .output()
        .unwrap();
    assert!(fio.status.success(), "{fio:?}");
    let replay = ReplayParams::default().parse(&std::fs::read(&log).unwrap()).unwrap();
    let summary = &replay.summary;
    assert_eq!(
        (summary.requests, summary.end, summary.largest, replay.lanes().len()),
        (64, 256 << 10, 4096, 1)
    );
    assert!(summary.writes > 0 && summary.writes < 64);
}
