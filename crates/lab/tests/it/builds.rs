//! Results of two builds are never joined; the refusal names both. The build of these tests is
//! `unnamed`.

use std::fs;
use std::path::Path;

use experiment::plan::{Plan, SIM};
use lab::arena::open::{OpenOptions, within};
use lab::atlas::{Choice, Design, Looked, Plans, adopt, look};
use lab::console::Console;
use lab::gate::same_plan;
use lab::output::Output;
use lab::progress::Silent;
use lab::repeats::keep_plan;
use lab::resolve::{Resolved, resolve};
use lab::session::{self, ResultsOptions};
use lab::signals::Stop;
use lab::store::{self, RESULTS};
use lab::tune::log::{Header, Log, SCHEMA, SEARCH};
use machine::files::Dir;

/// Part of every refusal.
const REFUSAL: &str = "another build of schedlab (found other, expected unnamed)";

fn resolved() -> Resolved {
    let text = "arena = 'sim'\ndevice = 'hp97560'\n[budget]\ntime_s = 10\nrounds = 4\n[trial]\nduration_ms = 1000\n\
                [[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'sstf'\nscheduler = 'sstf'\n\
                [[workload]]\nname = 'r'\nkind = 'randread'\n";
    resolve(Plan::from_toml(text).unwrap(), &mut |_| ()).unwrap()
}

/// Begins or resumes results in a directory.
fn open(dir: &Path, resume: bool) -> Result<(), String> {
    let options = ResultsOptions {
        output: Output::Named(dir.to_owned()),
        resume,
        command: "schedlab run".to_owned(),
    };
    let (stop, resolved) = (Stop::manual(), resolved());
    let opened = within(
        &machine::Root::real(),
        resolved,
        &OpenOptions::default(),
        Console::new(&stop, &Silent),
        |plan, arena| session::open(plan, &options, arena, &stop).map(drop),
    );
    opened.map_err(|error| format!("{error:#}"))
}

/// Makes a file look like one of another build of the same version.
fn disguise(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains("\"schedlab\":\"unnamed\""), "{text}");
    fs::write(path, text.replace("\"schedlab\":\"unnamed\"", "\"schedlab\":\"other\"")).unwrap();
}

#[test]
fn results_of_another_build_is_not_resumed_and_no_reference() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path(), false).unwrap();
    open(dir.path(), true).unwrap();
    same_plan(&resolved().plan, &store::read(dir.path()).unwrap(), dir.path()).unwrap();
    disguise(&dir.path().join(RESULTS));
    let refusal = open(dir.path(), true).unwrap_err();
    assert!(refusal.contains(REFUSAL), "{refusal}");
    let refusal = same_plan(&resolved().plan, &store::read(dir.path()).unwrap(), dir.path())
        .unwrap_err()
        .to_string();
    assert!(refusal.contains(REFUSAL), "{refusal}");
}

#[test]
fn a_repeat_of_another_build_is_found_before_the_next_is_measured() {
    let at = tempfile::tempdir().unwrap();
    let dir = Dir::open(at.path()).unwrap();
    keep_plan(&dir, &resolved().plan).unwrap();
    let repeat = at.path().join("repeat-1");
    open(&repeat, false).unwrap();
    keep_plan(&dir, &resolved().plan).unwrap();
    disguise(&repeat.join(RESULTS));
    let refusal = keep_plan(&dir, &resolved().plan).unwrap_err().to_string();
    assert!(refusal.contains(REFUSAL), "{refusal}");
}

#[test]
fn a_search_of_another_build_or_format_is_not_resumed() {
    let at = tempfile::tempdir().unwrap();
    let dir = Dir::open(at.path()).unwrap();
    let header = Header {
        schema: SCHEMA,
        schedlab: "unnamed".to_owned(),
        plan: resolved().plan,
        objective: String::new(),
        constraints: Vec::new(),
        space: Vec::new(),
        fixed: Default::default(),
        trials: 40,
        patience: None,
    };
    drop(Log::create(&dir, &header, &Default::default()).unwrap());
    let resume = || {
        Log::resume(&dir, &header, &Default::default()).map(drop).map_err(|error| error.to_string())
    };
    resume().unwrap();
    let path = at.path().join(SEARCH);
    disguise(&path);
    let refusal = resume().unwrap_err();
    assert!(refusal.contains(REFUSAL), "{refusal}");
    // Searches of the previous schema did not store a build.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("\"schema\":2,\"schedlab\":\"other\"", "\"schema\":1", 1))
        .unwrap();
    let refusal = resume().unwrap_err();
    assert!(
        refusal.contains("another format (found 1, of an unknown build; expected 2"),
        "{refusal}"
    );
}

#[test]
fn a_cell_of_another_build_is_neither_taken_nor_adopted() {
    let words = |word: &str| vec![word.to_owned()];
    let choice = Choice {
        arenas: vec![&SIM],
        devices: words("hp97560"),
        schedulers: words("sstf"),
        workloads: words("oltp"),
        quick: true,
        kernels: Vec::new(),
    };
    let Plans { cells, .. } = Design::of(&choice).unwrap().plans().unwrap();
    let [cell] = cells.as_slice() else { panic!("{cells:?}") };
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (ours, theirs) = (Dir::open(here.path()).unwrap(), Dir::open(there.path()).unwrap());
    lab::atlas::measure(
        &theirs,
        &[cell],
        &OpenOptions::default(),
        Console::new(&Stop::manual(), &Silent),
    )
    .unwrap();
    assert!(matches!(look(&theirs, cell), Looked::Whole(_)));
    disguise(&there.path().join("cells").join(&cell.dir).join(RESULTS));
    let Looked::Foreign(why) = look(&theirs, cell) else { panic!("it was taken") };
    assert!(why.contains(REFUSAL), "{why}");
    let refusal = adopt(&ours, &theirs, &cells).unwrap_err().to_string();
    assert!(refusal.contains(REFUSAL), "{refusal}");
}
