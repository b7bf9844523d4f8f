//! Builds schedlab's kernel into $SCHEDLAB_CACHE_DIR, or a directory that outlives the test: a
//! first run takes minutes, later ones seconds. Skipped without network and an installed source
//! package, unless SCHEDLAB_MUST_RUN_ALL is set.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use guest::{Cache, Error, Kernel, Progress, Request, Silent, Source};
use testbed::Directory;

fn cache() -> Cache {
    let dir = std::env::var_os("SCHEDLAB_CACHE_DIR").map(PathBuf::from);
    let dir =
        dir.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/kernels"));
    Cache::open(&dir).unwrap()
}

/// Stops at a phase that begins with a given word.
struct Teller<'a> {
    stop_at: Option<(&'a str, &'a AtomicBool)>,
    said: Vec<String>,
}

impl Progress for Teller<'_> {
    fn phase(&mut self, what: &str) {
        eprintln!("{what}");
        self.said.push(what.to_owned());
    }
    fn step(&mut self, done: u64, _: u64, _: Option<Duration>) {
        if let Some((word, stop)) = self.stop_at
            && self.said.last().is_some_and(|phase| phase.starts_with(word))
            && done >= 3
        {
            stop.store(true, Ordering::Relaxed);
        }
    }
    fn say(&mut self, text: &str) {
        eprintln!("{text}");
        self.said.push(text.to_owned());
    }
}

fn going() -> AtomicBool {
    AtomicBool::new(false)
}

/// Debian's 6.1, the kernel of all tests.
fn request() -> Request {
    Request { source: Source::Debian("6.1".to_owned()), ..Request::default() }
}

/// It, if available.
fn plain(cache: &Cache) -> Option<Kernel> {
    match cache.build(&request(), &mut Teller { stop_at: None, said: Vec::new() }, &going()) {
        Ok(kernel) => Some(kernel),
        Err(
            error @ (Error::Tools { .. }
            | Error::Fetch { .. }
            | Error::NoApt { .. }
            | Error::NoPackage { .. }
            | Error::NoMirror),
        ) => {
            testbed::skip(&error.to_string());
            None
        }
        Err(other) => panic!("{other}"),
    }
}

fn patched(dir: &Path, name: &str, old: &str, new: &str, kernel: &Kernel) -> Request {
    let file = "block/kyber-iosched.c";
    let text = fs::read_to_string(kernel.tree.join(file)).unwrap();
    let (at, line) =
        text.lines().enumerate().find(|(_, line)| line.contains(old)).expect("the line is there");
    // Without lines after it, the hunk would have to be at the end of the file.
    let next = text.lines().nth(at + 1).expect("the line is not the last");
    let patch = format!(
        "--- a/{file}\n+++ b/{file}\n@@ -{0},2 +{0},3 @@\n {line}\n+{new}\n {next}\n",
        at + 1
    );
    let path = dir.join(name);
    fs::write(&path, patch).unwrap();
    Request { patches: vec![path], ..request() }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_kernel_is_built_once_and_found_at_once() {
    let cache = cache();
    let Some(kernel) = plain(&cache) else { return };
    assert!(
        kernel.release.starts_with("6.1.") && kernel.release.ends_with("-schedlab"),
        "{}",
        kernel.release
    );
    let mut teller = Teller { stop_at: None, said: Vec::new() };
    assert_eq!(cache.build(&request(), &mut teller, &going()).unwrap(), kernel);
    assert!(teller.said.is_empty(), "nothing was done: {:?}", teller.said);
    assert!(cache.list().unwrap().contains(&kernel));
}

/// Whether [`no_root_is_needed`] runs this test.
fn is_run_without_root() -> bool {
    testbed::is_root()
}

#[test]
fn a_patch_compiles_only_what_it_touches() {
    if is_run_without_root() {
        return;
    }
    let cache = cache();
    let Some(base) = plain(&cache) else { return };
    let dir = Directory::new();
    let unique = format!(
        "static const char schedlab_test[] __attribute__((used)) = \"schedlab test {}\";",
        std::process::id()
    );
    let request =
        patched(dir.path(), "marker.patch", "#include \"blk-mq-sched.h\"", &unique, &base);
    let kernel = cache.build(&request, &mut Silent, &going()).unwrap();
    assert!((1..=20).contains(&kernel.objects), "{} objects were compiled", kernel.objects);
    assert_ne!(kernel.key, base.key);
    assert_eq!(kernel.patches[0].name, "marker.patch");
    let text = format!("schedlab test {}", std::process::id());
    let there = |kernel: &Kernel| {
        let program = fs::read(&kernel.linux).unwrap();
        program.windows(text.len()).any(|window| window == text.as_bytes())
    };
    assert!(there(&kernel), "the patch is in the program");
    assert!(!there(&base), "and not in the unpatched one");
    assert_eq!(cache.find(&request).unwrap(), Some(kernel.clone()));
    cache.remove(&kernel.key).unwrap();
    assert_eq!(cache.find(&request).unwrap(), None);
}

#[test]
fn a_patch_that_does_not_apply_or_not_compile_leaves_nothing() {
    let cache = cache();
    let Some(base) = plain(&cache) else { return };
    let dir = Directory::new();
    let broken = patched(
        dir.path(),
        "broken.patch",
        "#include \"blk-mq-sched.h\"",
        "int broken = nowhere;",
        &base,
    );
    let error = cache.build(&broken, &mut Silent, &going()).unwrap_err();
    let Error::Compile { message, log } = &error else { panic!("{error}") };
    assert!(
        message.starts_with("block/kyber-iosched.c:")
            && message.contains("nowhere")
            && message.contains('^'),
        "{message}"
    );
    assert!(fs::read_to_string(log).unwrap().contains(message.lines().next().unwrap()));

    let text =
        fs::read_to_string(&broken.patches[0]).unwrap().replace("\n #include", "\n #exclude");
    fs::write(&broken.patches[0], text).unwrap();
    let error = cache.build(&broken, &mut Silent, &going()).unwrap_err().to_string();
    assert!(
        error.contains("broken.patch: does not apply: block/kyber-iosched.c: hunk 1, at line"),
        "{error}"
    );
    assert_eq!(cache.find(&broken).unwrap(), None);
    let key = log.file_stem().unwrap().to_str().unwrap();
    let left = names(&cache.dir().join("kernels"));
    assert!(!left.iter().any(|name| name.contains(key)), "{left:?}");
}

/// Renames the option.
fn without_option(dir: &Path, file: &str, option: &str, kernel: &Kernel) -> Request {
    let text = fs::read_to_string(kernel.tree.join(file)).unwrap();
    let line = format!("config {option}");
    let (at, _) = text.lines().enumerate().find(|(_, found)| *found == line).expect("the option");
    let next = text.lines().nth(at + 1).expect("its type");
    let patch = format!(
        "--- a/{file}\n+++ b/{file}\n@@ -{0},2 +{0},2 @@\n-{line}\n+{line}_GONE\n {next}\n",
        at + 1
    );
    let path = dir.join(format!("{option}.patch"));
    fs::write(&path, patch).unwrap();
    Request { patches: vec![path], ..request() }
}

#[test]
fn a_kernel_without_an_option_is_built_unless_the_arena_needs_it() {
    let cache = cache();
    let Some(base) = plain(&cache) else { return };
    let dir = Directory::new();
    let needed = without_option(dir.path(), "block/Kconfig.iosched", "IOSCHED_BFQ", &base);
    let error = cache.build(&needed, &mut Silent, &going()).unwrap_err();
    let Error::Config { refused } = error else { panic!("{error}") };
    assert_eq!(refused, ["CONFIG_IOSCHED_BFQ=y", "CONFIG_BFQ_GROUP_IOSCHED=y"]);

    let optional = without_option(dir.path(), "init/Kconfig", "MEMBARRIER", &base);
    let stop = going();
    let mut teller = Teller { stop_at: Some(("compiling", &stop)), said: Vec::new() };
    let answer = cache.build(&optional, &mut teller, &stop);
    assert!(matches!(answer, Err(Error::Interrupted) | Ok(_)), "{answer:?}");
    if let Ok(kernel) = answer {
        cache.remove(&kernel.key).unwrap();
    }
    let named = "kernel configuration: CONFIG_MEMBARRIER=y cannot be set; the arena does without";
    let place = |text: &str| teller.said.iter().position(|said| said.starts_with(text));
    assert!(place(named) < place("compiling") && place(named).is_some(), "{:?}", teller.said);
}

#[test]
fn an_interrupted_build_leaves_nothing_and_no_process() {
    let shared = cache();
    if plain(&shared).is_none() {
        return;
    }
    let dir = Directory::new();
    fs::create_dir_all(dir.path().join("sources")).unwrap();
    for name in names(&shared.dir().join("sources")).iter().filter(|name| name.ends_with(".tar.xz"))
    {
        std::os::unix::fs::symlink(
            shared.dir().join("sources").join(name),
            dir.path().join("sources").join(name),
        )
        .unwrap();
    }
    let cache = Cache::open(dir.path()).unwrap();
    for phase in ["unpacking", "compiling"] {
        let stop = going();
        let answer = cache.build(
            &request(),
            &mut Teller { stop_at: Some((phase, &stop)), said: Vec::new() },
            &stop,
        );
        assert!(matches!(answer, Err(Error::Interrupted)), "{answer:?}");
        assert_eq!(names(&dir.path().join("kernels")), [""; 0], "after {phase}");
        let here = dir.path().to_str().unwrap();
        let works_here = |pid: &str| {
            fs::read_link(format!("/proc/{pid}/cwd"))
                .is_ok_and(|cwd| cwd.to_string_lossy().starts_with(here))
        };
        let is_idle = || !names(Path::new("/proc")).iter().any(|pid| works_here(pid));
        testbed::eventually(&format!("no compiler goes on after {phase}"), is_idle);
    }
}

#[test]
fn our_modules_are_built_for_it() {
    if is_run_without_root() {
        return;
    }
    let cache = cache();
    let Some(kernel) = plain(&cache) else { return };
    let modules =
        kernel.modules(&mut Teller { stop_at: None, said: Vec::new() }, &going()).unwrap();
    assert!(modules.get("null_blk").is_some(), "{:?}", modules.names().collect::<Vec<_>>());
    for name in
        ["modeldisk", "modelload", "anticipatory-iosched", "wpcas-iosched", "occupancy-iosched"]
    {
        assert!(modules.get(name).is_some(), "{name}");
    }
    let mut teller = Teller { stop_at: None, said: Vec::new() };
    assert_eq!(kernel.modules(&mut teller, &going()).unwrap(), modules);
    assert!(teller.said.is_empty(), "nothing is built again: {:?}", teller.said);
}

/// Uses a separate cache that contains the unpatched kernel.
#[test]
fn no_root_is_needed() {
    const UNPRIVILEGED: u32 = 65534;
    let shared = cache();
    let Some(kernel) = plain(&shared) else { return };
    if !testbed::is_root() {
        return; // other tests report it
    }
    let dir = Directory::new();
    let own = dir.path().join("cache");
    fs::create_dir_all(own.join("kernels")).unwrap();
    let run = |command: &mut Command| assert!(command.status().unwrap().success(), "{command:?}");
    run(Command::new("cp").arg("-a").arg(kernel.tree.parent().unwrap()).arg(own.join("kernels")));
    run(Command::new("cp").arg(std::env::current_exe().unwrap()).arg(dir.path().join("tests")));
    run(Command::new("chown")
        .args(["-R", &format!("{UNPRIVILEGED}:{UNPRIVILEGED}")])
        .arg(dir.path()));
    let output = Command::new(dir.path().join("tests"))
        .args([
            "--exact",
            "--nocapture",
            "a_patch_compiles_only_what_it_touches",
            "our_modules_are_built_for_it",
        ])
        .env("SCHEDLAB_CACHE_DIR", &own)
        .env("SCHEDLAB_MUST_RUN_ALL", "1")
        .env_remove("HOME")
        .current_dir("/")
        .uid(UNPRIVILEGED)
        .gid(UNPRIVILEGED)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("2 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
