//! Programs and modules under the names of schedlab's helpers, and an environment that points to
//! them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use machine::files::programs::{self, HELPERS};
use testbed::{Loop, require};

use crate::attacks::attacker::{self, UID};
use crate::common::{Lab, Ran};
use crate::made_fleet::fleet;

/// Variables that change what helpers run or read, and an unknown one.
const HOSTILE: &[&str] = &[
    "APT_CONFIG",
    "BASH_ENV",
    "BLKID_FILE",
    "COMPILER_PATH",
    "CPATH",
    "DPKG_ADMINDIR",
    "ENV",
    "FONTCONFIG_FILE",
    "GCC_EXEC_PREFIX",
    "GDK_PIXBUF_MODULE_FILE",
    "GIT_CONFIG_GLOBAL",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "HOME",
    "KBUILD_OUTPUT",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LIBMOUNT_FSTAB",
    "LIBRARY_PATH",
    "MAKEFILES",
    "MAKEFLAGS",
    "MKE2FS_CONFIG",
    "MODPROBE_OPTIONS",
    "NO_SUCH_VARIABLE",
    "PERL5LIB",
    "PSQLRC",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "SYSTEMD_PAGER",
    "TAR_OPTIONS",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XZ_OPT",
];

const LONG: [&str; 4] = ["apt-cache", "apt-get", "make", "xz"];

/// Each program and module logs that it ran.
fn plant(dir: &Path) {
    let ran = dir.join("ran");
    for name in HELPERS.iter().chain(&["true"]) {
        install(&dir.join(name), &format!("#!/bin/sh\necho \"$(id -u) $0\" >>{}\n", ran.display()));
    }
    // Where it cannot write, it can still print.
    let module = format!(
        "import os\nprint(os.getuid(), __file__, len(open('/etc/shadow').read()), flush=True)\nopen({:?}, 'a').write(__file__)\n",
        ran.display()
    );
    let version = Command::new("/usr/bin/python3")
        .args(["-Ic", "import sys; print('%d.%d' % sys.version_info[:2])"])
        .output();
    let version = version.map_or_else(
        |_| String::new(),
        |said| String::from_utf8_lossy(&said.stdout).trim().to_owned(),
    );
    let sites = ["lib", ".local/lib"]
        .map(|lib| dir.join(lib).join(format!("python{version}/site-packages")));
    for dir in sites.iter().map(PathBuf::as_path).chain([dir]) {
        fs::create_dir_all(dir).expect("own");
        for name in ["duckdb", "sys", "os", "site", "encodings", "sitecustomize", "usercustomize"] {
            fs::write(dir.join(format!("{name}.py")), &module).expect("own");
        }
    }
    for path in fs::read_dir(dir).expect("own").flatten() {
        chown(path.path(), Some(UID), Some(UID)).expect("root may give away");
    }
}

fn install(file: &Path, script: &str) {
    fs::write(file, script).expect("own");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("own");
}

fn ran_of(dir: &Path) -> String {
    fs::read_to_string(dir.join("ran")).unwrap_or_default()
}

/// Also makes it the working directory.
fn under_attack<'a>(command: &'a mut Command, dir: &Path) -> &'a mut Command {
    command.envs(HOSTILE.iter().map(|name| (name, dir))).current_dir(dir)
}

/// A root-owned directory in PATH wraps every helper: it logs path, user and environment, then runs
/// the real one.
struct Victim {
    lab: Lab,
    hostile: PathBuf,
    tools: PathBuf,
}

impl Victim {
    fn without(left_out: &[&str]) -> Victim {
        let lab = Lab::new();
        let (hostile, tools) = (attacker::home(lab.dir.path(), "innocent"), lab.path("tools"));
        plant(&hostile);
        fs::create_dir(&tools).expect("new");
        fs::create_dir(lab.path("log")).expect("new");
        for name in HELPERS.iter().filter(|name| !left_out.contains(name)) {
            let real =
                ["/usr/sbin", "/usr/bin", "/sbin", "/bin"].map(|dir| Path::new(dir).join(name));
            let next = real.iter().find(|file| file.is_file() && !LONG.contains(name));
            let next = next.map_or("false".to_owned(), |file| file.display().to_string());
            let log = lab.path("log").join(name).display().to_string();
            install(
                &tools.join(name),
                &format!(
                    "#!/bin/sh\n{{ /usr/bin/id -u; pwd; /usr/bin/tr '\\0' '\\n' </proc/$$/environ; echo .; }} >>{log}\nexec {next} \"$@\"\n"
                ),
            );
        }
        Victim { lab, hostile, tools }
    }

    /// The attacker's directories are first.
    fn path(&self) -> String {
        format!(
            "{}:.::{}:/usr/sbin:/usr/bin:/sbin:/bin",
            self.hostile.display(),
            self.tools.display()
        )
    }

    fn run(&self, words: &str) -> Ran {
        let mut command = self.lab.command(words);
        under_attack(&mut command, &self.hostile)
            .env("PATH", self.path())
            .env("SCHEDLAB_CACHE_DIR", self.lab.path("cache"));
        Ran::from(command.output().expect("the binary starts"))
    }

    /// Also checks what each was given.
    fn helpers(&self) -> Vec<String> {
        assert_eq!(ran_of(&self.hostile), "", "programs of the attacker's have run");
        let mut found = Vec::new();
        for entry in fs::read_dir(self.lab.path("log")).expect("own").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let text = fs::read_to_string(entry.path()).expect("own");
            for run in text.split_terminator("\n.\n") {
                let here = run.lines().nth(1).unwrap_or_default();
                assert!(
                    !run.contains("innocent"),
                    "{name} has got something of the attacker's:\n{run}"
                );
                assert!(
                    here == "/" || here.starts_with("/run/schedlab"),
                    "{name} was started in {here}"
                );
                let hostile =
                    |line: &str| HOSTILE.iter().any(|name| line.starts_with(&format!("{name}=")));
                assert!(!run.lines().any(hostile), "{name}:\n{run}");
            }
            found.push(name);
        }
        found.sort();
        found
    }
}

/// Child process of the test below.
#[test]
fn every_helper_of_the_list_is_started() {
    if std::env::var_os("SCHEDLAB_TEST_HELPERS").is_none() {
        return;
    }
    for name in HELPERS {
        let status = programs::helper(name)
            .arg("--version")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        assert!(status.is_ok(), "{name}: {status:?}");
    }
    let mut python = programs::python().expect("the system has one");
    let said = python
        .args(["-c", "import sys, os; print(os.getcwd(), sys.flags.isolated, *sys.path)"])
        .output();
    let said = String::from_utf8(said.expect("it starts").stdout).expect("text");
    assert!(said.starts_with("/ 1 /usr/"), "{said}");
}

#[test]
fn no_helper_gets_the_directory_or_the_environment_of_schedlab() {
    if !attacker::can_attack(&["python3"]) {
        return;
    }
    let victim = Victim::without(&[]);
    let mut command = Command::new(std::env::current_exe().expect("this test"));
    command
        .args(["--exact", "attacks::helpers::every_helper_of_the_list_is_started"])
        .env("SCHEDLAB_TEST_HELPERS", "1");
    let ran = under_attack(&mut command, &victim.hostile).env("PATH", victim.path()).output();
    Ran::from(ran.expect("it starts")).expect_status(0);
    assert_eq!(victim.helpers(), HELPERS);
}

#[test]
fn commands_start_their_helpers_away_from_a_hostile_directory() {
    if !attacker::can_attack(&["blkid", "mkfs.ext4", "mount", "git", "rsvg-convert", "udevadm"]) {
        return;
    }
    // A helper without write access cannot log.
    let victim = Victim::without(&["rsvg-convert"]);
    let path = |name: &str| victim.lab.path(name).display().to_string();
    let device = Loop::new(&victim.lab.dir, "disk", 64);
    victim.run("devices").expect_status(0);
    victim
        .run(&format!(
            "compare --device loop:64M --loop-dir {} --schedulers none,mq-deadline --workload randread:file_size=16M --fs ext4 --rounds 4 --trial-time 200ms --out {}",
            path(""),
            path("out")
        ))
        .expect_measured();
    victim
        .run(&format!("report {} --figures {} --format pdf", path("out"), path("paper")))
        .expect_status(0);
    victim.run(&format!("persist {} scheduler=none --dry-run", device.path));
    fs::create_dir(victim.lab.path("repository")).expect("new");
    victim.run(&format!(
        "bisect --source git:{} --good a --bad b --plan {}/plan.toml",
        path("repository"),
        path("out")
    ));
    victim.run("kernel build --source debian:6.1");
    let started = victim.helpers();
    for name in ["blkid", "fio", "gcc", "git", "mkfs.ext4", "mount"] {
        assert!(started.iter().any(|started| started == name), "{name}: {started:?}");
    }
}

fn what_ran(path: impl Fn(&Path) -> String) -> String {
    let lab = Lab::new();
    let dir = attacker::home(lab.dir.path(), "innocent");
    plant(&dir);
    let _device = Loop::new(&lab.dir, "disk", 1);
    let mut command = lab.command("devices");
    command.env("PATH", path(&dir)).current_dir(&dir);
    Ran::from(command.output().expect("the binary starts")).expect_status(0);
    ran_of(&dir)
}

#[test]
fn a_helper_in_the_current_directory_is_not_run_for_an_empty_or_relative_element_of_path() {
    if !attacker::can_attack(&["blkid"]) {
        return;
    }
    for path in [
        ":/usr/sbin:/usr/bin:/sbin:/bin",
        ".:/usr/bin:/bin",
        "/usr/local/bin::/usr/bin",
        "../innocent:/usr/bin",
    ] {
        assert_eq!(what_ran(|_| path.to_owned()), "", "PATH={path}");
    }
}

#[test]
fn root_runs_no_helper_from_a_directory_of_path_that_another_user_owns_or_may_write() {
    if !attacker::can_attack(&["blkid"]) {
        return;
    }
    assert_eq!(what_ran(|dir| format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", dir.display())), "");
    let through_own = |dir: &Path| {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).expect("own");
        chown(dir, Some(0), Some(0)).expect("root may");
        format!("{}:/usr/bin", dir.display())
    };
    assert_eq!(what_ran(through_own), "", "a directory of root's that all may write");
}

#[test]
fn a_query_imports_no_module_of_the_working_directory() {
    if !attacker::can_attack(&["python3"]) {
        return;
    }
    let lab = Lab::new();
    let (dir, place) = (attacker::home(lab.dir.path(), "innocent"), lab.path("fleet"));
    plant(&dir);
    fleet(&place, 2, 0, 4);
    for name in ["NO_SUCH_VARIABLE", "PYTHONPATH", "PYTHONUSERBASE", "HOME", "LD_LIBRARY_PATH"] {
        let mut command = lab.command("fleet query");
        command
            .args(["SELECT 1", "--fleet"])
            .arg(&place)
            .env("PATH", "/usr/bin:/bin")
            .env(name, &dir);
        let here = if name == "NO_SUCH_VARIABLE" { &dir } else { Path::new("/") };
        let ran = Ran::from(command.current_dir(here).output().expect("it starts"));
        assert_eq!(
            (ran_of(&dir).as_str(), ran.stdout.as_str()),
            ("", ""),
            "{name}, status {:?}: {}",
            ran.status,
            ran.stderr
        );
    }
}

#[test]
fn the_program_of_a_query_is_not_root_and_reads_the_fleet_alone() {
    if !attacker::can_attack(&["prlimit"]) || !require(&["root"]) {
        return;
    }
    let lab = Lab::new();
    let (place, tools) = (lab.path("fleet"), lab.path("tools"));
    fleet(&place, 2, 0, 4);
    fs::set_permissions(&place, fs::Permissions::from_mode(0o700)).expect("own");
    for entry in fs::read_dir(place.join("results")).expect("made").flatten() {
        fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o600)).expect("own");
    }
    fs::write(lab.path("other"), "secret").expect("written");
    fs::create_dir(&tools).expect("new");
    let script = format!(
        "#!/bin/sh\necho \"user $(id -u), groups $(id -G), in $(pwd)\"\n\
         for file in {0}/results/*; do echo \"reads $(head -c 4 $file)\"; done\n\
         for file in /etc/shadow {1}/other /proc/1/environ; do cat $file >/dev/null 2>&1 && echo \"reads $file\"; done\n\
         for file in {0}/new {1}/new /tmp/schedlab-new; do (echo >$file) 2>/dev/null && echo \"writes $file\"; done; exit 0\n",
        place.display(),
        lab.dir.path().display()
    );
    install(&tools.join("duckdb"), &script);
    let mut command = lab.command("fleet query");
    command
        .args(["SELECT 1", "--fleet"])
        .arg(&place)
        .env("PATH", format!("{}:/usr/bin:/bin", tools.display()));
    let ran = Ran::from(command.output().expect("it starts")).expect_status(0);
    assert_eq!(
        ran.stdout, "user 65534, groups 65534, in /\nreads PAR1\nreads PAR1\n",
        "{}",
        ran.stderr
    );
}
