//! A session's programs: environment, exit, and no remains.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use machine::session::{Ended, Launch};
use machine::{Error, Session};
use testbed::{eventually, skip};

use super::{assert_no_trace, begin, has_groups, is_alive, numbers};
use crate::common::Bench;

const LONG: Duration = Duration::from_secs(60);

/// Prints the sleeping program's id.
const SLEEPER: &str = "sleep 1000 & until grep -q sleep /proc/$!/comm; do :; done; echo $!";

/// A shell command that waits until a file exists.
fn wait_for(file: &Path) -> String {
    format!("until [ -e {} ]; do sleep 0.01; done", file.display())
}

fn shell(script: &str) -> Launch {
    Launch {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        ..Launch::default()
    }
}

fn run_to_end(session: &Session, launch: &Launch) -> Ended {
    let running = session.start(launch).expect("it can be started");
    running.wait(LONG, &AtomicBool::new(false)).expect("it ends")
}

#[test]
fn a_program_is_fed_and_what_it_prints_and_its_status_are_kept() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let mut launch = shell("cat; echo trouble >&2; echo $A; pwd; exit 3");
    launch.input = b"fed\n".to_vec();
    launch.env = vec![("A".into(), "b".into())];
    let ended = run_to_end(&session, &launch);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("fed\nb\n/\n", "trouble\n"));
    assert_eq!(
        (ended.status.code(), ended.too_long, ended.stopped, ended.left.len()),
        (Some(3), false, false, 0)
    );
    session.end().expect("nothing is there");
    assert_no_trace(&bench);
}

#[test]
fn reading_what_is_printed_so_far_does_not_disturb_what_is_printed_later() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let read = bench.dir.path().join("read");
    let script = format!("echo one; read _ < /proc/self/fd/0; {}; echo two", wait_for(&read));
    let mut running = session.start(&shell(&script)).expect("a shell");
    eventually("it has printed", || !running.stdout().is_empty());
    assert_eq!(running.stdout(), "one\n");
    std::fs::write(&read, "").expect("own directory");
    assert_eq!(running.wait(LONG, &AtomicBool::new(false)).expect("it ends").stdout, "one\ntwo\n");
}

#[test]
fn of_very_much_that_is_printed_the_end_is_kept_and_the_memory_of_the_rest_given_back() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let script = "head -c 150000000 /dev/zero | tr '\\0' x; echo end; exec sleep 1000";
    let mut running = session.start(&shell(script)).expect("a shell");
    eventually("it has printed everything", || running.stdout().ends_with("xend\n"));
    assert_eq!(running.stdout().len(), 64 << 20);
    let file =
        std::fs::metadata(format!("/proc/{}/fd/1", running.pid())).expect("its standard output");
    assert_eq!(file.len(), 150_000_004);
    assert!(file.blocks() * 512 <= 65 << 20, "{} blocks", file.blocks());
}

#[test]
fn what_a_program_leaves_behind_is_named_and_killed_even_in_a_session_of_its_own() {
    let Some(bench) = Bench::set_up(&["setsid"]) else { return };
    let session = begin(&bench);
    let up = bench.dir.path().join("up");
    let left = format!("echo $$; {SLEEPER}; : > {}; sleep 1000", up.display());
    let ended = run_to_end(&session, &shell(&format!("setsid sh -c '{left}' & {}", wait_for(&up))));
    let pids = numbers(&ended.stdout);
    assert_eq!(pids.len(), 2, "{}", ended.stdout);
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
    assert_eq!(ended.left, ["sh", "sleep"]);
    session.end().expect("nothing is there");
    assert_no_trace(&bench);
}

#[test]
fn a_daemon_without_a_mark_is_found_by_its_control_group() {
    let Some(bench) = Bench::set_up(&["setsid", "env"]) else { return };
    if !has_groups() {
        skip("no control groups of version 2 can be made here");
        return;
    }
    let session = begin(&bench);
    let file = bench.dir.path().join("pid");
    let file = file.display();
    let daemon = format!("env -i setsid sh -c 'echo $$; echo $$ > {file}; exec sleep 1000'");
    let is_up =
        format!("until grep -q sleep /proc/$(cat {file})/comm; do sleep 0.01; done 2> /dev/null");
    let ended = run_to_end(&session, &shell(&format!("{daemon} & {is_up}")));
    assert_eq!(ended.left, ["sleep"]);
    assert!(numbers(&ended.stdout).iter().all(|pid| !is_alive(*pid)), "{}", ended.stdout);
}

#[test]
fn what_belongs_to_other_programs_of_the_session_survives_the_end_of_one_and_not_that_of_the_session()
 {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let mut server = session.start(&shell(&format!("{SLEEPER}; wait"))).expect("a shell");
    run_to_end(&session, &shell("true"));
    assert!(server.is_alive());
    eventually("it has printed", || !server.stdout().is_empty());
    let child = numbers(&server.stdout())[0];
    assert_eq!(session.end().expect("they die"), ["sh", "sleep"]);
    assert!(!server.is_alive() && !is_alive(child));
    assert_no_trace(&bench);
}

#[test]
fn a_running_program_that_is_dropped_is_ended_with_its_children() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let mut server = session.start(&shell(&format!("{SLEEPER}; wait"))).expect("a shell");
    eventually("it has printed", || !server.stdout().is_empty());
    let pids = [server.pid(), numbers(&server.stdout())[0]];
    drop(server);
    assert!(pids.iter().all(|pid| !is_alive(*pid)));
    assert_eq!(session.end().expect("nothing is left"), Vec::<String>::new());
}

#[test]
fn a_program_that_takes_too_long_is_told_to_end_and_may_do_so_in_its_own_way() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let running = session.start(&shell(
        "trap 'echo in order; exit 7' TERM; echo ready; while :; do sleep 0.05; done",
    ));
    let mut running = running.expect("a shell");
    eventually("it has printed", || !running.stdout().is_empty());
    let ended = running.wait(Duration::ZERO, &AtomicBool::new(false)).expect("it ends");
    assert_eq!(
        (ended.too_long, ended.stopped, ended.status.code()),
        (true, false, Some(7)),
        "{ended:?}"
    );
    assert!(ended.stdout.ends_with("in order\n"), "{ended:?}");
}

#[test]
fn a_program_that_does_not_listen_is_killed_when_the_experiment_is_interrupted() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let up = bench.dir.path().join("up");
    let script =
        format!("trap '' TERM; {SLEEPER}; : > {}; while :; do sleep 1; done", up.display());
    let running = session.start(&shell(&script)).expect("a shell");
    let stop = Arc::new(AtomicBool::new(false));
    let setter = thread::spawn({
        let stop = stop.clone();
        move || {
            eventually("it does not listen any more", || up.exists());
            stop.store(true, Ordering::Relaxed);
        }
    });
    let ended = running.wait(LONG, &stop).expect("it is killed");
    setter.join().expect("it ends");
    assert!(ended.stopped && !ended.too_long && ended.status.code().is_none(), "{ended:?}");
    assert!(numbers(&ended.stdout).iter().all(|pid| !is_alive(*pid)));
}

/// A user in more than one group, or nobody.
fn somebody_with_groups() -> String {
    let table = std::fs::read_to_string("/etc/group").expect("every machine has groups");
    let members = table.lines().filter_map(|line| line.rsplit(':').next()?.split(',').next());
    let is_plain = |name: &&str| !name.is_empty() && *name != "root";
    let mut members = members.filter(is_plain);
    members.next().unwrap_or("nobody").to_string()
}

#[test]
fn a_program_runs_as_another_user_with_that_users_groups_and_without_ours() {
    let Some(bench) = Bench::set_up(&["id"]) else { return };
    let session = begin(&bench);
    let user = somebody_with_groups();
    let of = |what: &str| super::run("id", &[what, &user]).trim().to_string();
    let mut launch =
        shell("id -u; id -ru; id -g; id -G; grep -E '^Cap(Prm|Eff)' /proc/self/status");
    launch.user = Some(user.clone());
    let ended = run_to_end(&session, &launch);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[..4], [of("-u"), of("-u"), of("-g"), of("-G")], "{user}");
    assert!(
        lines[4..].iter().all(|line| line.ends_with("0000000000000000")) && lines.len() == 6,
        "{lines:?}"
    );
    launch.user = Some("no-such-user".to_string());
    let error = session.start(&launch).expect_err("there is none").to_string();
    assert!(error.contains("no-such-user"), "{error}");
}

#[test]
fn a_program_that_cannot_be_started_is_named_with_the_reason_and_the_next_step() {
    let Some(bench) = Bench::set_up(&[]) else { return };
    let session = begin(&bench);
    let file = |name: &str, text: &str, mode: &str| {
        let path = bench.dir.path().join(name);
        let text_of_path = path.display().to_string();
        // By another process: a file open for writing in our child cannot be executed.
        super::run(
            "sh",
            &[
                "-c",
                "printf '%s' \"$1\" > \"$2\" && chmod \"$3\" \"$2\"",
                "sh",
                text,
                &text_of_path,
                mode,
            ],
        );
        path
    };
    let cases = [
        ("/nope/fio".into(), "", "", "install its package"),
        ("no-such-program".into(), "", "", "install its package"),
        ("/bin/true".into(), "/nope", "", "working directory /nope"),
        (file("plain", "#!/bin/sh\n", "644"), "", "", "chmod +x"),
        (file("lost", "#!/nope/sh\n", "755"), "", "", "interpreter"),
        (file("own", "#!/bin/sh\n", "700"), "", "nobody", "for the user nobody"),
    ];
    for (program, dir, user, needle) in cases {
        let user = (!user.is_empty()).then(|| user.to_string());
        let launch = Launch { program, dir: dir.into(), user, ..Launch::default() };
        let error = session.start(&launch).expect_err(needle);
        assert!(matches!(error, Error::Session(_)), "{error}");
        let error = error.to_string();
        assert!(
            error.contains(needle) && error.contains(&launch.program.display().to_string()),
            "{error}"
        );
    }
    session.end().expect("nothing is there");
    assert_no_trace(&bench);
}
