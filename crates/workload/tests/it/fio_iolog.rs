//! A log that fio itself writes, where fio is installed. It stands here because the crate's own sources start no programs.

use std::process::Command;

use workload::ReplayParams;

#[test]
fn a_log_that_fio_itself_wrote_is_read() {
    let dir = std::env::temp_dir().join(format!("schedlab-iolog-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (log, file) = (dir.join("log"), dir.join("data"));
    let fio = Command::new("fio")
        .args(["--name=t", "--rw=randrw", "--bs=4k", "--size=256k", "--randseed=7", "--thinktime=100"])
        .arg(format!("--filename={}", file.display()))
        .arg(format!("--write_iolog={}", log.display()))
        .output();
    let text = std::fs::read(&log);
    std::fs::remove_dir_all(&dir).unwrap();
    if fio.is_err() {
        assert!(std::env::var_os("SCHEDLAB_MUST_RUN_ALL").is_none_or(|v| v != "1"), "fio is not installed");
        eprintln!("SKIPPED: fio is not installed");
        return;
    }
    let replay = ReplayParams::default().parse(&text.unwrap()).unwrap();
    let summary = &replay.summary;
    assert_eq!((summary.requests, summary.end, summary.largest, replay.lanes().len()), (64, 256 << 10, 4096, 1));
    assert!(summary.writes > 0 && summary.writes < 64);
}
