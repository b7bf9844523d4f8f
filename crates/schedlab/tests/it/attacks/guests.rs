//! A hostile guest, as root in it or as its kernel, tries to change the machine. The hostile kernel
//! is our own program in place of User-mode Linux.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use testbed::require;

use crate::attacks::attacker;
use crate::common::{
    KERNEL, KERNEL_VARIABLE, Lab, NEWEST, Ran, binary, kernel_cache, kernel_in, kernels_in,
    plain_kernel,
};

const SECRET: &str = "root's secret";

/// Killed when dropped.
struct Bystander(Child);

impl Bystander {
    fn new() -> Bystander {
        Bystander(Command::new("sleep").arg("300").spawn().unwrap())
    }

    fn oom_score_adj(&self) -> String {
        fs::read_to_string(format!("/proc/{}/oom_score_adj", self.0.id()))
            .unwrap()
            .trim()
            .to_owned()
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// World-writable, and must not change.
fn victim(dir: &Path) -> PathBuf {
    let victim = dir.join("victim");
    fs::write(&victim, "as it was").unwrap();
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o666)).unwrap();
    victim
}

/// Private to root, and must not be read.
fn secret(dir: &Path) -> PathBuf {
    let secret = dir.join("secret");
    fs::write(&secret, SECRET).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
    secret
}

#[track_caller]
fn assert_untouched(victim: &Path, before: &fs::Metadata) {
    let after = fs::symlink_metadata(victim).unwrap();
    assert_eq!(fs::read_to_string(victim).unwrap(), "as it was");
    let about =
        |found: &fs::Metadata| (found.mode(), found.uid(), found.mtime(), found.mtime_nsec());
    assert_eq!(about(&after), about(before));
}

fn in_guest(lab: &Lab, cache: &Path, script: &str) -> Ran {
    in_guest_of(KERNEL, lab, cache, script)
}

/// A program's system calls are caught by ptrace, or, from 6.16 on, by a filter of the program
/// itself.
fn in_guest_of(kernel: &str, lab: &Lab, cache: &Path, script: &str) -> Ran {
    let mut guest = lab.command("kernel exec --timeout 1min --cache-dir");
    guest.arg(cache).args(["--kernel", kernel, "--", "/bin/sh", "-c", script]).current_dir("/");
    within(600, &mut guest).expect("the guest ends, and schedlab with it")
}

/// The C program `source` is the kernel; the modules are the real one's.
fn hostile_cache(lab: &Lab, real: &Path, dir: &Path, source: &str) -> PathBuf {
    // Builds the modules for this version.
    in_guest(lab, real, "true").expect_status(0);
    let kernel = plain_kernel(real).unwrap();
    let cache = dir.join("cache");
    let copy = cache.join("kernels").join(kernel.file_name().unwrap());
    fs::create_dir_all(copy.join("tree")).unwrap();
    fs::set_permissions(dir, fs::Permissions::from_mode(0o755)).unwrap();
    let linux = copy.join("tree/linux");
    fs::write(dir.join("hostile.c"), source).unwrap();
    let gcc =
        Command::new("gcc").arg("-o").arg(&linux).arg(dir.join("hostile.c")).output().unwrap();
    assert!(gcc.status.success(), "{}", String::from_utf8_lossy(&gcc.stderr));
    // Its own checksum, as an attacker would write it.
    let results = fs::read_to_string(kernel.join("kernel.json")).unwrap();
    let mut results: serde_json::Value = serde_json::from_str(&results).unwrap();
    results["sha256"] = format!("{:x}", Sha256::digest(fs::read(&linux).unwrap())).into();
    fs::write(copy.join("kernel.json"), results.to_string()).unwrap();
    copy_modules(&kernel, &copy);
    cache
}

/// None if it had to be killed.
fn within(seconds: u64, command: &mut Command) -> Option<Ran> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(seconds);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(Ran::from(child.wait_with_output().unwrap()))
}

/// Only what booting requires.
fn copy_kernel(real: &Path, cache: &Path) {
    let kernel = plain_kernel(real).unwrap();
    let copy = cache.join("kernels").join(kernel.file_name().unwrap());
    fs::create_dir_all(copy.join("tree")).unwrap();
    testbed::copy_program(kernel.join("tree/linux"), copy.join("tree/linux"));
    fs::copy(kernel.join("kernel.json"), copy.join("kernel.json")).unwrap();
    copy_modules(&kernel, &copy);
}

fn copy_modules(kernel: &Path, copy: &Path) {
    for entry in fs::read_dir(kernel).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("modules-") {
            assert!(
                Command::new("cp")
                    .arg("-r")
                    .arg(entry.path())
                    .arg(copy)
                    .status()
                    .unwrap()
                    .success()
            );
        }
    }
}

#[test]
fn remounting_the_root_for_writing_gives_a_guest_no_file_of_the_machine() {
    let (true, Some(cache)) = (require(&["root"]), kernel_cache()) else { return };
    let lab = Lab::new();
    let victim = victim(lab.dir.path());
    let before = fs::symlink_metadata(&victim).unwrap();
    let dir = lab.dir.path().display();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let script = format!(
        "mount -o remount,rw /; mkdir /dev/m; mount -t hostfs none /dev/m -o {dir}; \
         for at in {dir} /dev/m {dir}/../$(basename {dir}); do \
         echo changed > $at/victim; chmod 4777 $at/victim; chown 1 $at/victim; touch -d 2001-01-01 $at/victim; \
         cp /bin/sh $at/planted; chmod 4755 $at/planted; mknod $at/node b 7 0; mkdir $at/directory; rm $at/victim; done; echo tried"
    );
    for kernel in kernels_in(&cache) {
        let said = in_guest_of(kernel, &lab, &cache, &script);
        assert!(said.stdout.contains("tried"), "{said:?}");
        assert_untouched(&victim, &before);
        for planted in ["planted", "node", "directory"] {
            assert!(!lab.path(planted).exists(), "{planted}: made on the machine by the guest");
        }
    }
}

#[test]
fn the_processes_of_the_machine_are_out_of_a_guests_reach() {
    let (true, Some(cache)) = (require(&["root"]), kernel_cache()) else { return };
    let lab = Lab::new();
    let bystander = Bystander::new();
    let before = bystander.oom_score_adj();
    let script = format!(
        "mkdir /dev/m; mount -t hostfs none /dev/m -o /proc; echo 500 > /dev/m/{0}/oom_score_adj; cat /dev/m/{0}/cmdline; echo tried",
        bystander.0.id()
    );
    for kernel in kernels_in(&cache) {
        let said = in_guest_of(kernel, &lab, &cache, &script);
        assert!(said.stdout.contains("tried"), "{said:?}");
        assert!(!said.stdout.contains("sleep"), "it reads processes of the machine: {said:?}");
        assert_eq!(bystander.oom_score_adj(), before);
    }
}

#[test]
fn files_that_only_root_may_read_are_closed_to_a_guest_of_roots() {
    let (true, Some(cache)) = (require(&["root"]), kernel_cache()) else { return };
    let lab = Lab::new();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let secret = secret(lab.dir.path());
    let script = format!("cat {}; cat /etc/shadow; ls /root; echo tried", secret.display());
    for kernel in kernels_in(&cache) {
        let said = in_guest_of(kernel, &lab, &cache, &script);
        assert!(said.stdout.contains("tried"), "{said:?}");
        assert!(!said.stdout.contains(SECRET) && said.stdout.lines().count() == 1, "{said:?}");
    }
}

/// Where no process is traced, a filter tells the calls of a program from those that the kernel's
/// own code in its address space makes for it.
const THROUGH_THE_STUB: &str = r#"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

static sigjmp_buf back;
static const unsigned char *code = (void *)0x7fffffff0000, *call;

static void fault(int number)
{
	siglongjmp(back, number);
}

int main(int argc, char **argv)
{
	const unsigned char *end = (void *)0x7fffffffefff;

	signal(SIGSEGV, fault);
	if (sigsetjmp(back, 1))
		code = (void *)(((unsigned long)code | 4095) + 1);
	for (; code < end && !call; code++)
		if (code[0] == 0x0f && code[1] == 0x05)
			call = code;
	signal(SIGSEGV, SIG_DFL);
	if (!call || argc < 2)
		return 3;
	register unsigned long nr asm("rax") = SYS_open;
	asm volatile("jmp *%0" : : "c"(call), "r"(nr), "D"(argv[1]), "S"(O_WRONLY | O_TRUNC), "d"(0));
	return 0;
}
"#;

#[test]
fn a_program_that_calls_through_the_kernels_code_in_it_reaches_no_file() {
    let (true, Some(cache)) = (require(&["root", "gcc"]), kernel_cache()) else { return };
    if kernel_in(&cache, NEWEST).is_none() {
        // `make soak` has it.
        return;
    }
    let lab = Lab::new();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let victim = victim(lab.dir.path());
    let before = fs::symlink_metadata(&victim).unwrap();
    let (source, program) = (lab.path("stub.c"), lab.path("stub"));
    fs::write(&source, THROUGH_THE_STUB).unwrap();
    let gcc =
        Command::new("gcc").args(["-O1", "-static", "-o"]).arg(&program).arg(&source).output();
    assert!(gcc.as_ref().is_ok_and(|gcc| gcc.status.success()), "{gcc:?}");
    let script = format!("{} {}; echo status $?", program.display(), victim.display());
    let said = in_guest_of(NEWEST, &lab, &cache, &script).expect_status(0);
    // 3: no system call was found in it.
    assert!(said.stdout.contains("status 139"), "the filter ends the program: {said:?}");
    assert_untouched(&victim, &before);
}

#[test]
fn a_guest_of_an_ordinary_user_cannot_change_the_users_files() {
    let (true, Some(cache)) = (attacker::can_attack(&[]), kernel_cache()) else { return };
    let lab = Lab::new();
    // Builds the modules for this version.
    in_guest(&lab, &cache, "true").expect_status(0);
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let home = attacker::home(lab.dir.path(), "home");
    let victim = victim(&home);
    chown(&victim, Some(attacker::UID), Some(attacker::UID)).unwrap();
    let before = fs::symlink_metadata(&victim).unwrap();
    copy_kernel(&cache, &home.join("cache"));
    let program = lab.path("schedlab");
    testbed::copy_program(binary(), &program);
    assert!(
        Command::new("chown")
            .arg("-R")
            .arg(attacker::UID.to_string())
            .arg(&home)
            .status()
            .unwrap()
            .success()
    );
    let script = format!(
        "mount -o remount,rw /; echo changed > {0}; chmod 600 {0}; mkdir /dev/m; mount -t hostfs none /dev/m -o {1}; \
         echo changed > /dev/m/victim; chmod 600 /dev/m/victim; echo tried",
        victim.display(),
        home.display()
    );
    let cache = home.join("cache");
    let mut guest = attacker::command(&program);
    guest
        .args(["kernel", "exec", "--cache-dir"])
        .arg(&cache)
        .args(["--", "/bin/sh", "-c", &script])
        // Another kernel would be built: minutes, and the compiler's files in /tmp.
        .env(KERNEL_VARIABLE, KERNEL);
    let said = Ran::from(guest.output().unwrap());
    assert!(said.stdout.contains("tried"), "{said:?}");
    assert_untouched(&victim, &before);
}

/// `%s` are the victim, the secret and a process.
const HOSTILE: &str = r#"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(const char *what, int done) { if (done) printf("DONE %s\n", what); }

int main(int argc, char **argv)
{
	char path[4096], *workdir = 0;
	int fd, i;

	for (i = 1; i < argc; i++)
		if (!strncmp(argv[i], "SCHEDLAB_GUEST=", 15))
			workdir = argv[i] + 15;
	if (!workdir)
		return 1;
	for (fd = 3; fd < 256; fd++)
		tell("inherits a descriptor", fcntl(fd, F_GETFD) >= 0);
	tell("writes", (fd = open("VICTIM", O_WRONLY)) >= 0 && write(fd, "changed", 7) == 7);
	tell("truncates", truncate("VICTIM", 0) == 0);
	tell("changes the mode", chmod("VICTIM", 04777) == 0);
	tell("changes the owner", chown("VICTIM", 1, 1) == 0);
	tell("changes times", utimensat(AT_FDCWD, "VICTIM", 0, 0) == 0);
	fd = open("VICTIM", O_RDONLY);
	fchmod(fd, 04777);
	tell("removes", unlink("VICTIM") == 0);
	tell("makes a file", open("VICTIM.new", O_CREAT | O_WRONLY, 0644) >= 0);
	tell("reads root's file", open("SECRET", O_RDONLY) >= 0);
	tell("kills", kill(BYSTANDER, SIGKILL) == 0);
	tell("kills all", getpid() != 1 && kill(-1, 0) == 0);
	tell("is root", setuid(0) == 0 && geteuid() == 0);
	tell("opens the disk", open("/dev/mem", O_RDWR) >= 0 || open("/dev/vda", O_RDONLY) >= 0 || open("/dev/sda", O_RDONLY) >= 0);
	tell("makes a socket", socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
	snprintf(path, sizeof path, "%s/node", workdir);
	tell("makes a device", mknod(path, S_IFBLK | 0600, 7 << 8) == 0);
	/* The clock that schedlab reads blocks its reader; the result is a link to root's file. */
	snprintf(path, sizeof path, "%s/clock", workdir);
	if (mkfifo(path, 0600) && symlink("SECRET", path))
		return 2;
	snprintf(path, sizeof path, "%s/report.json", workdir);
	if (symlink("SECRET", path))
		return 3;
	fflush(stdout);
	sleep(1);
	return 0;
}
"#;

#[test]
fn a_hostile_kernel_writes_to_its_working_directory_only_and_reaches_no_process() {
    let (true, Some(real)) = (require(&["root", "gcc"]), kernel_cache()) else { return };
    let lab = Lab::new();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let open = lab.path("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let (victim, secret, mut bystander) = (victim(&open), secret(&open), Bystander::new());
    let before = fs::symlink_metadata(&victim).unwrap();
    let source = HOSTILE
        .replace("VICTIM", victim.to_str().unwrap())
        .replace("SECRET", secret.to_str().unwrap())
        .replace("BYSTANDER", &bystander.0.id().to_string())
        // If a guest prints nothing else, schedlab prints its console.
        .replace("/* The clock", "fflush(stdout); return 9; /* The clock");
    let own = lab.path("own");
    fs::create_dir(&own).unwrap();
    let cache = hostile_cache(&lab, &real, &own, &source);
    let said = in_guest(&lab, &cache, "true");
    assert!(said.stderr.contains("ended by itself with status 9"), "{said:?}");
    assert!(!said.stderr.contains("DONE"), "{}", said.stderr);
    assert!(bystander.is_alive());
    assert_untouched(&victim, &before);
    assert!(!open.join("victim.new").exists());
}

#[test]
fn what_a_hostile_kernel_leaves_for_its_reader_neither_blocks_nor_leads_elsewhere() {
    let (true, Some(real)) = (require(&["root", "gcc"]), kernel_cache()) else { return };
    let lab = Lab::new();
    let secret = secret(lab.dir.path());
    let own = lab.path("own");
    fs::create_dir(&own).unwrap();
    let source = HOSTILE
        .replace("VICTIM", "/nonexistent")
        .replace("SECRET", secret.to_str().unwrap())
        .replace("BYSTANDER", "2000000000");
    let cache = hostile_cache(&lab, &real, &own, &source);
    let mut guest = lab.command("kernel exec --cache-dir");
    let said = within(300, guest.arg(&cache).args(["--", "/bin/true"]));
    let said = said.expect("schedlab waits for a FIFO of the guest's");
    assert!(said.stderr.contains("report.json"), "{said:?}");
    assert!(!said.stderr.contains(SECRET) && !said.stdout.contains(SECRET), "{said:?}");
    assert_eq!(fs::read_to_string(&secret).unwrap(), SECRET);
    assert_eq!(
        fs::read_dir(cache.join("run")).unwrap().count(),
        0,
        "the working directory is removed"
    );
}

const PLANTED: &str = r#"
#include <fcntl.h>
int main(void) { return open("MARK", O_CREAT | O_WRONLY, 0644) < 0; }
"#;

#[test]
fn a_cache_that_somebody_else_can_write_to_is_not_executed_from() {
    let (true, Some(real)) = (attacker::can_attack(&["gcc"]), kernel_cache()) else { return };
    let lab = Lab::new();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let home = attacker::home(lab.dir.path(), "home");
    let marks = lab.path("marks");
    fs::create_dir(&marks).unwrap();
    // World-writable, so the mark depends on execution only.
    fs::set_permissions(&marks, fs::Permissions::from_mode(0o777)).unwrap();
    let mark = marks.join("executed");
    let cache = hostile_cache(&lab, &real, &home, &PLANTED.replace("MARK", mark.to_str().unwrap()));
    let xdg = home.join(".cache");
    fs::create_dir(&xdg).unwrap();
    fs::rename(&cache, xdg.join("schedlab")).unwrap();
    let cache = xdg.join("schedlab");
    let owner = format!("{}:{}", attacker::UID, attacker::UID);
    assert!(Command::new("chown").args(["-R", &owner]).arg(&home).status().unwrap().success());

    let said = in_guest(&lab, &cache, "true");
    assert!(!mark.exists(), "the kernel of {} was executed", attacker::UID);
    assert_ne!(said.status, Some(0));
    said.says(&[home.to_str().unwrap(), &attacker::UID.to_string(), "--cache-dir"]);

    assert!(Command::new("chown").args(["-R", "0:0"]).arg(&cache).status().unwrap().success());
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).unwrap();
    let own = lab.path("own");
    fs::rename(&cache, &own).unwrap();
    let said = in_guest(&lab, &own, "true");
    assert!(!mark.exists(), "the kernel of a directory of mode 777 was executed");
    said.says(&[own.to_str().unwrap(), "777", "--cache-dir"]);
}

#[test]
fn root_with_another_users_home_does_not_use_that_users_cache() {
    let (true, Some(_)) = (attacker::can_attack(&[]), kernel_cache()) else { return };
    let lab = Lab::new();
    fs::set_permissions(lab.dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let home = attacker::home(lab.dir.path(), "home");
    let mut list = lab.command("kernel list");
    list.env_remove("SCHEDLAB_CACHE_DIR").env_remove("XDG_CACHE_HOME").env("HOME", &home);
    let said = Ran::from(list.output().unwrap());
    assert!(!format!("{said:?}").contains(home.to_str().unwrap()), "{said:?}");
}

#[test]
fn a_cache_is_closed_to_others_whatever_the_umask_and_an_old_open_one_is_closed() {
    let (true, Some(real)) = (require(&["root"]), kernel_cache()) else { return };
    let lab = Lab::new();
    let run = |umask: &str, cache: &Path| {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &format!("umask {umask}; exec \"$@\""), "sh"]).arg(binary());
        shell
            .args(["kernel", "exec", "--cache-dir"])
            .arg(cache)
            .args(["--", "/bin/true"])
            // Another kernel would be built: minutes.
            .env(KERNEL_VARIABLE, KERNEL)
            .current_dir("/");
        Ran::from(shell.output().unwrap())
    };
    in_guest(&lab, &real, "true").expect_status(0);
    let cache = lab.path("cache");
    copy_kernel(&real, &cache);
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o755)).unwrap();
    run("000", &cache).expect_status(0);
    run("077", &cache).expect_status(0);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&cache), 0o700, "an old cache is closed");
    assert_eq!(mode(&cache.join("run")), 0o700, "what is made in it too");
}

#[test]
fn a_kernel_that_is_not_the_one_that_was_built_is_not_booted() {
    let (true, Some(real)) = (require(&["root", "gcc"]), kernel_cache()) else { return };
    let lab = Lab::new();
    let mark = lab.path("executed");
    let own = lab.path("own");
    fs::create_dir(&own).unwrap();
    let cache = hostile_cache(&lab, &real, &own, &PLANTED.replace("MARK", mark.to_str().unwrap()));
    let results = plain_kernel(&cache).unwrap().join("kernel.json");
    let mut of: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&results).unwrap()).unwrap();
    of["sha256"] = serde_json::json!("0".repeat(64));
    fs::write(&results, of.to_string()).unwrap();
    let said = in_guest(&lab, &cache, "true");
    assert!(!mark.exists(), "a kernel that was replaced was executed");
    said.says(&["linux", "changed since it was built", "kernel clean"]);
}

#[test]
fn an_archive_of_sources_that_is_not_its_packages_is_not_built() {
    let archive = Path::new("/usr/src/linux-source-6.1.tar.xz");
    // Installed by scripts/need.
    if !require(&["root", "unshare", "dpkg", archive.to_str().unwrap()]) {
        return;
    }
    let lab = Lab::new();
    let planted = lab.path("planted.tar.xz");
    fs::write(&planted, "somebody else's").unwrap();
    let script = r#"mount --bind "$1" "$2" && exec "$3" kernel build --source debian:6.1"#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"]);
    command.args([&planted, archive, &binary()]).env("SCHEDLAB_CACHE_DIR", lab.path("cache"));
    let ran = Ran::from(command.output().unwrap()).expect_status(1);
    ran.says(&[
        "linux-source-6.1.tar.xz",
        "differs from what its package installed",
        "apt-get install --reinstall linux-source-6.1",
    ]);
}
