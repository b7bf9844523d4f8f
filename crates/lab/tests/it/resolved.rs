//! A plan is read once: later changes of its files do not affect the measurement.

use std::fs;
use std::path::Path;

use experiment::plan::{Plan, TrialLength};
use lab::arena::open::OpenOptions;
use lab::console::Console;
use lab::progress::Silent;
use lab::resolve::{Resolved, resolve};
use lab::run::{Destination, Experiment, Kept, Pilot, Place, run};
use lab::signals::Stop;

/// Replays a trace in a directory on a device described there.
fn plan(dir: &Path) -> Plan {
    let dir = dir.display();
    let text = format!(
        "arena = 'sim'\ndevice = '{dir}/disk.toml'\nbudget = {{ time_s = 60, rounds = 4 }}\n[[variant]]\nname = 'none'\nscheduler = 'none'\n\
         [[variant]]\nname = 'sstf'\nscheduler = 'sstf'\n[[workload]]\nname = 'w'\nkind = 'replay'\nparams = {{ file = '{dir}/a.iolog' }}\n"
    );
    Plan::from_toml(&text).unwrap()
}

fn write_files(dir: &Path) {
    let disk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/src/device/presets/hp97560.toml");
    fs::copy(disk, dir.join("disk.toml")).unwrap();
    let reads: String =
        (0..200).map(|i| format!("/f read {} 4096\n", i * 7919 % 200 * 65536)).collect();
    fs::write(dir.join("a.iolog"), format!("fio version 2 iolog\n{reads}")).unwrap();
}

fn results(resolved: Resolved) -> Result<Vec<u8>, String> {
    let experiment = Experiment {
        place: Place::New {
            resolved,
            root: &machine::Root::real(),
            opening: &OpenOptions::default(),
        },
        pilot: Pilot::Run { asked: &TrialLength::default() },
        results: Destination::Memory { command: "schedlab run" },
        hooks: &(),
    };
    match run(experiment, Console::new(&Stop::manual(), &Silent)) {
        Ok(outcome) => match outcome.kept {
            Kept::Memory(bytes) => Ok(bytes),
            kept => panic!("the results are in memory: {kept:?}"),
        },
        Err(error) => Err(format!("{error:#}")),
    }
}

#[test]
fn a_resolved_plan_is_measured_without_the_files_it_names() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    let resolved = resolve(plan(dir.path()), &mut |_| ()).unwrap();
    let expected = results(resolved.clone()).unwrap();
    for file in ["disk.toml", "a.iolog"] {
        fs::remove_file(dir.path().join(file)).unwrap();
    }
    assert!(results(resolved).unwrap() == expected, "another result without the files");
}

#[test]
fn a_plan_with_a_missing_trace_is_refused_when_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    write_files(dir.path());
    fs::remove_file(dir.path().join("a.iolog")).unwrap();
    let error = resolve(plan(dir.path()), &mut |_| ()).unwrap_err().to_string();
    assert!(error.contains("a.iolog: cannot read the trace"), "{error}");
}
