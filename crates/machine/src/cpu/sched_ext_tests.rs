//! sched_ext on a fake machine: shell scripts replace program and kernel.

use std::path::PathBuf;

use super::sched_ext::{admit, load};
use crate::Root;
use crate::cpu::fake_machine::FakeCpus;
use crate::cpu::{Guard, Setting};
use crate::crashpoints::install_script;
use crate::session::Session;
use crate::settings::Problem;

/// Unloads on SIGTERM, like the kernel when the last handle is closed.
const LOADS: &str = r#"#!/bin/sh
cd "$(dirname "$0")/sys/kernel/sched_ext" || exit 1
mkdir -p root
trap 'echo disabled > state; rm -f root/ops; exit 0' TERM
echo fifo_of_tests > root/ops
echo enabled > state
while :; do sleep 0.01; done
"#;

fn with(machine: &FakeCpus, script: &str) -> PathBuf {
    let path = machine.path("scx");
    install_script(&path, script);
    path
}

fn variant(binary: &std::path::Path) -> Setting {
    Setting::read(&format!("sched_ext:{}", binary.display()), []).expect("a scheduler")
}

fn state(machine: &FakeCpus) -> String {
    machine.shows("sys/kernel/sched_ext/state").trim().to_string()
}

#[test]
fn it_is_loaded_for_its_variant_and_the_kernels_own_is_back_for_the_next() {
    let machine = FakeCpus::booted();
    let root = machine.root();
    let variant = variant(&with(&machine, LOADS));
    let session = Session::begin(&root).unwrap();
    let mut guard = Guard::begin(&root).unwrap();
    guard.admit(&variant).unwrap();
    assert_eq!(guard.apply(&variant, &session).unwrap(), []);
    assert_eq!(state(&machine), "enabled");
    assert_eq!(guard.check(), []);
    guard.admit(&variant).expect("what is loaded is our own");
    assert_eq!(guard.apply(&variant, &session).unwrap(), [], "the same again goes on");
    assert_eq!(guard.apply(&Setting::default(), &session).unwrap(), []);
    assert_eq!(state(&machine), "disabled");
    assert_eq!(guard.apply(&variant, &session).unwrap(), []);
    guard.restore().unwrap();
    assert_eq!(state(&machine), "disabled");
    assert_eq!(session.end().unwrap(), Vec::<String>::new(), "no program of it is left");
    assert!(machine.journal().is_empty());
}

#[test]
fn a_scheduler_that_the_kernel_takes_out_or_whose_program_ends_is_seen() {
    for (spoil, found) in
        [("echo disabled > state", "disabled"), ("kill -9 $(cat pid)", "has ended")]
    {
        let machine = FakeCpus::booted();
        let root = machine.root();
        let variant = variant(&with(
            &machine,
            &LOADS.replace("trap", "echo $$ > pid\necho 'oops: a stall' >&2\ntrap"),
        ));
        let session = Session::begin(&root).unwrap();
        let mut guard = Guard::begin(&root).unwrap();
        assert_eq!(guard.apply(&variant, &session).unwrap(), []);
        let done = std::process::Command::new("sh")
            .args(["-c", spoil])
            .current_dir(machine.path("sys/kernel/sched_ext"))
            .status();
        assert!(done.unwrap().success());
        testbed::eventually(&format!("{spoil} is seen"), || !guard.check().is_empty());
        let problems = guard.check();
        let [Problem::ChangedMeanwhile { attribute, wanted, found: message }] = &problems[..]
        else {
            panic!("{problems:?}")
        };
        assert_eq!((attribute.as_str(), wanted.as_str()), ("sched_ext", "enabled (fifo_of_tests)"));
        assert!(message.contains(found) && message.contains("oops: a stall"), "{message}");
        machine.put("sys/kernel/sched_ext/state", "disabled");
        let _ = std::fs::remove_file(machine.path("sys/kernel/sched_ext/root/ops"));
        assert_eq!(guard.apply(&variant, &session).unwrap(), [], "the next trial has it again");
        assert_eq!(state(&machine), "enabled");
    }
}

#[test]
fn dispatches_in_bypass_mode_are_seen_once_and_those_of_loading_are_not() {
    let machine = FakeCpus::booted();
    let root = machine.root();
    let events = |dispatches: u32| {
        let text = format!(
            "SCX_EV_DISPATCH_KEEP_LAST 9\nSCX_EV_BYPASS_ACTIVATE 1\nSCX_EV_BYPASS_DISPATCH {dispatches}\n"
        );
        machine.put("sys/kernel/sched_ext/root/events", &text);
    };
    events(7);
    let variant = variant(&with(&machine, LOADS));
    let session = Session::begin(&root).unwrap();
    let mut guard = Guard::begin(&root).unwrap();
    assert_eq!(guard.apply(&variant, &session).unwrap(), []);
    assert_eq!(guard.check(), [], "while a scheduler is loaded, the kernel bypasses it");
    events(19);
    let problems = guard.check();
    let [Problem::ChangedMeanwhile { found, .. }] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!(found, "bypassed by the kernel for 12 dispatches");
    assert_eq!(guard.check(), []);
}

#[test]
fn a_program_that_loads_nothing_is_a_problem_with_its_last_words() {
    let machine = FakeCpus::booted();
    let root = machine.root();
    let binary = with(&machine, "#!/bin/sh\necho 'Failed to load: no BTF' >&2\nexit 1\n");
    let session = Session::begin(&root).unwrap();
    let problem = load(&root, &binary, &session).unwrap().unwrap_err();
    let Problem::WriteFailed { error, .. } = &problem else { panic!("{problem}") };
    assert!(
        error.contains("no BTF") && error.contains("ended") && error.contains("disabled"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_is_refused_with_what_is_missing() {
    let machine = FakeCpus::booted();
    let binary = with(&machine, LOADS);
    let refused =
        |root: &Root, binary: &str| admit(root, binary.as_ref(), None).unwrap_err().to_string();
    let root = machine.root();
    admit(&root, &binary, None).expect("everything is there");
    let name = binary.display().to_string();
    assert!(refused(&root, "/nowhere/scx").contains("no such program"));
    assert!(
        refused(&root, &machine.path("sys/kernel/sched_ext/state").display().to_string())
            .contains("chmod +x")
    );
    machine.put("sys/kernel/sched_ext/state", "enabled");
    machine.put("sys/kernel/sched_ext/root/ops", "lavd");
    let error = refused(&root, &name);
    assert!(
        error.contains("another sched_ext scheduler, lavd, is enabled")
            && error.contains("end its program"),
        "{error}"
    );
    let session = Session::begin(&root).unwrap();
    let problem = load(&root, &binary, &session).unwrap().unwrap_err();
    assert!(problem.to_string().contains("lavd"), "{problem}");
    machine.put("sys/kernel/sched_ext/state", "disabled");
    machine.put("proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n");
    assert!(refused(&root, &name).contains("run as root"));
    machine.put("proc/self/status", "Name:\tx\nCapEff:\t000001ffffffffff\n");
    admit(&root, &binary, None).expect("a user who may");
    std::fs::remove_dir_all(machine.path("sys/kernel/sched_ext")).unwrap();
    let error = refused(&root, &name);
    assert!(
        error.contains("6.12")
            && error.contains("CONFIG_SCHED_CLASS_EXT")
            && error.contains("6.18.0-fake"),
        "{error}"
    );
}

#[test]
fn the_real_machine_says_the_same_where_it_has_no_sched_ext() {
    let root = Root::real();
    if root.sys("kernel/sched_ext").exists() {
        return eprintln!("SKIPPED: this kernel has sched_ext");
    }
    let error = admit(&root, "/bin/true".as_ref(), None).unwrap_err().to_string();
    assert!(
        error.contains("CONFIG_SCHED_CLASS_EXT") && error.contains(&root.kernel_release()),
        "{error}"
    );
}
