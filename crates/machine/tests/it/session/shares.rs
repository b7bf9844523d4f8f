//! Shares of a device: given, or an error before anything is measured.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use machine::session::{Ended, Launch, Share};
use machine::{Device, Session};
use testbed::skip;

use super::{assert_no_trace, begin};
use crate::common::{Bench, run};

fn bounds(text: &str) -> Share {
    Share { io_max: Some(text.to_string()), ..Share::default() }
}

fn write(session: &Session, device: &Device, kib: u64, share: Share) -> Ended {
    let of = format!("of={}", device.path.display());
    let words = ["if=/dev/zero", &of, "bs=64k", &format!("count={}", kib / 64), "oflag=direct"]
        .map(Into::into);
    let launch = Launch { program: "dd".into(), args: words.into(), share, ..Launch::default() };
    let ended = session
        .start(&launch)
        .expect("dd")
        .wait(Duration::from_secs(120), &AtomicBool::new(false))
        .expect("it ends");
    assert!(ended.status.success(), "{}", ended.stderr);
    ended
}

/// A session that can give this share, or why not.
fn that_can(bench: &Bench, device: &Device, share: &Share) -> Option<Session> {
    let session = begin(bench);
    match session.check_share(device, share) {
        Ok(()) => Some(session),
        Err(error) => {
            skip(&format!("this machine cannot: {error}"));
            None
        }
    }
}

#[test]
fn a_bound_of_bytes_a_second_bounds_what_is_written_and_the_kernel_counts_it() {
    let Some(bench) = Bench::set_up(&["dd"]) else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    let share = bounds("wbps=2M");
    let before = run("sh", &["-c", "cat /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; true"]);
    let Some(session) = that_can(&bench, &device, &share) else { return };
    let bounded = write(&session, &device, 8 << 10, share);
    let free = write(&session, &device, 8 << 10, Share::default());
    // 8 MiB at 2 MiB/s take 4 s, of which the first may pass at once. A slow machine can only lower
    // the rate.
    let rate = 8.0 / bounded.wall.as_secs_f64();
    assert!(rate < 3.0, "{rate} MiB/s instead of 2");
    let io = bounded.io.expect("a program with bounds is in a group that the kernel counts for");
    assert_eq!((io.written_bytes, free.io), (8 << 20, None));
    session.end().expect("nothing is there");
    assert_eq!(
        run("sh", &["-c", "cat /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; true"]),
        before
    );
    assert_no_trace(&bench);
}

#[test]
fn a_priority_is_in_effect_before_the_program_begins() {
    let Some(bench) = Bench::set_up(&["ionice"]) else { return };
    let session = begin(&bench);
    for (priority, shown) in [
        ("best-effort:6", "best-effort: prio 6"),
        ("idle", "idle"),
        ("realtime:2", "realtime: prio 2"),
    ] {
        let share = Share { ioprio: Some(priority.to_string()), ..Share::default() };
        let args = vec!["-c".into(), "exec ionice -p $$".into()];
        let launch = Launch { program: "/bin/sh".into(), args, share, ..Launch::default() };
        let ended = session
            .start(&launch)
            .expect("sh")
            .wait(Duration::from_secs(60), &AtomicBool::new(false));
        assert_eq!(ended.expect("it ends").stdout.trim(), shown);
    }
}

#[test]
fn a_share_that_cannot_be_given_is_an_error_that_names_the_controller_or_the_right_form() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let blank = bench.blank_loop(16);
    let device = bench.device(&blank);
    let session = begin(&bench);
    let early =
        Launch { program: "/bin/true".into(), share: bounds("wbps=1M"), ..Launch::default() };
    let error = session.start(&early).map(drop).expect_err("of which device?").to_string();
    assert!(error.contains("check the share first"), "{error}");
    let mut wrong = vec![(bounds("wbps=fast"), "wbps=fast")];
    wrong.push((Share { ioprio: Some("high".into()), ..Share::default() }, "best-effort:0"));
    wrong.push((Share { io_weight: Some(20_000), ..Share::default() }, "1 to 10000"));
    for (share, needle) in wrong {
        let error = session.check_share(&device, &share).expect_err(needle).to_string();
        assert!(error.contains(needle), "{error}");
    }
    let heavy = Share { io_weight: Some(5000), ..Share::default() };
    if let Err(error) = session.check_share(&device, &heavy) {
        let error = error.to_string();
        assert!(error.contains("bfq") || error.contains("control groups"), "{error}");
    }
    session.end().expect("nothing is there");
    assert_no_trace(&bench);
}
