//! Finding and ending what a session has started, in /proc: by the mark in the environment, by
//! control group, and by descent.
//!
//! The three complete each other. A control group holds whatever is started in it, but there is
//! none in many containers, and a program can leave it. The mark is inherited by everything, but a
//! program may overwrite its environment (PostgreSQL's processes do, for their titles), and then it
//! is found as the child of one that has not. Whatever a signal is sent to is held by a pidfd and
//! looked at again first, since numbers of processes are used again.
//!
//! Every user can put any mark into the environment of a process. So a mark counts only where the
//! process's *real* user is one whose programs the session has started: this process's own user,
//! and those that were journaled before a program ran as them. Not the effective user and not the
//! owner of /proc/PID: a setuid program and one that cannot be dumped belong to root there, with
//! the environment of the user who started them. What another user has marked is neither killed nor
//! waited for. A program that becomes a further user by itself (sudo, su) belongs to the session by
//! its control group and by descent.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::{Fault, group};
use crate::error::Error;
use crate::processes;
use crate::root::Root;

/// By this variable of the environment everything that a session has started is found again; its
/// value is the session's key, a slash, and the program's number.
pub(super) const MARK: &str = "SCHEDLAB_SESSION";

/// How long a killed process may take to be gone: it can be waiting for a device.
const PATIENCE: Duration = Duration::from_secs(30);

/// A process that belongs to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pid: i32,
    /// Its name as the kernel has it, at most 15 bytes.
    pub(super) name: String,
    /// When it began, in the kernel's ticks: with the number, this tells it from every other.
    born: u64,
}

/// What belongs to a session, or to one of its programs.
#[derive(Debug, Clone)]
pub(super) struct Whose {
    /// The mark, up to the program's number if only one program is meant.
    mark: Vec<u8>,
    is_program: bool,
    groups: Vec<PathBuf>,
    /// Whose marks count.
    users: Vec<u32>,
}

impl Whose {
    pub(super) fn session(root: &Root, key: &str, users: &[u32]) -> Whose {
        let mark = format!("{MARK}={key}/").into_bytes();
        Whose {
            mark,
            is_program: false,
            groups: group::of_session(root, key),
            users: with_our_own(users),
        }
    }

    /// Everything that one program has started, itself included.
    pub(super) fn program(key: &str, number: u32, groups: Vec<PathBuf>, users: &[u32]) -> Whose {
        Whose {
            mark: mark(key, number).into_bytes(),
            is_program: true,
            groups,
            users: with_our_own(users),
        }
    }

    fn has(&self, environment: &[u8]) -> bool {
        environment.split(|byte| *byte == 0).any(|variable| match self.is_program {
            true => variable == self.mark,
            false => variable.starts_with(&self.mark),
        })
    }

    pub(super) fn alive(&self, root: &Root) -> Vec<Process> {
        let all = processes::all(root);
        let in_groups: BTreeSet<i32> =
            self.groups.iter().flat_map(|dir| group::members(root, dir)).collect();
        let is_ours = |pid: &i32| {
            // Half of all processes.
            if all.get(pid).is_some_and(processes::Stat::is_kernel_thread) {
                return false;
            }
            let environment = || fs::read(root.proc(format!("{pid}/environ"))).unwrap_or_default();
            let may_mark = || real_user(root, *pid).is_some_and(|user| self.users.contains(&user));
            in_groups.contains(pid) || (may_mark() && self.has(&environment()))
        };
        let mut ours: BTreeSet<i32> = all.keys().copied().filter(is_ours).collect();
        processes::add_descendants(&all, &mut ours);
        // The cleaning process may have been started by what it cleans up.
        let mut own = i32::try_from(std::process::id()).unwrap_or_default();
        while let Some(stat) = all.get(&own) {
            ours.remove(&own);
            own = stat.parent;
        }
        let of = |pid: i32| {
            let stat = all.get(&pid).filter(|stat| stat.is_alive)?;
            Some(Process { pid, name: stat.name.clone(), born: stat.born })
        };
        ours.into_iter().filter_map(of).collect()
    }

    /// Waits until nothing of it is left, kills what is still there after `patience`, again and
    /// again, and gives the names of what it killed, each once.
    pub(super) fn end(&self, root: &Root, patience: Duration) -> Result<Vec<String>, Error> {
        let since = Instant::now();
        let mut names = BTreeSet::new();
        // No process leaves a control group by forking. Without one, a process that forks while the
        // list is read may be missed once.
        let mut looks = if self.groups.is_empty() { 2 } else { 1 };
        let mut killed = false;
        while looks > 0 {
            let alive = self.alive(root);
            // Whatever was seen: a process that was forked while the list was read is in none.
            if since.elapsed() >= patience && !killed {
                self.groups.iter().for_each(|dir| group::kill(dir));
                killed = true;
            }
            if alive.is_empty() {
                looks -= 1;
                continue;
            }
            if since.elapsed() >= patience {
                names.extend(alive.iter().map(|process| process.name.clone()));
                self.groups.iter().for_each(|dir| group::kill(dir));
                alive.iter().for_each(|process| process.signal(root, Signal::KILL));
            }
            if since.elapsed() > patience + PATIENCE {
                let programs = alive
                    .iter()
                    .map(|process| format!("{} ({})", process.name, process.pid))
                    .collect();
                return Err(Fault::StillRunning { seconds: PATIENCE.as_secs(), programs }.into());
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(names.into_iter().collect())
    }
}

impl Process {
    /// Sends a signal to it, and to no other that has got its number.
    pub(super) fn signal(&self, root: &Root, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let held = pidfd_open(pid, PidfdFlags::empty());
        if processes::read(root, self.pid).is_none_or(|stat| stat.born != self.born) {
            return;
        }
        let _ = match held {
            Ok(held) => pidfd_send_signal(held, signal),
            // Linux before 5.3 has none: then it is the one that began at that time, a moment ago.
            Err(rustix::io::Errno::NOSYS) => kill_process(pid, signal),
            Err(_) => Ok(()),
        };
    }
}

/// The value that marks a program and all that it starts, as an entry of the environment.
pub(super) fn mark(key: &str, number: u32) -> String {
    format!("{MARK}={key}/{number}")
}

fn with_our_own(users: &[u32]) -> Vec<u32> {
    users.iter().copied().chain([rustix::process::geteuid().as_raw()]).collect()
}

/// The user who started a process, whatever rights it has got since.
fn real_user(root: &Root, pid: i32) -> Option<u32> {
    let status = fs::read_to_string(root.proc(format!("{pid}/status"))).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Uid:"))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Who works in a directory or below it, for the user: names and process ids.
pub(super) fn users(root: &Root, at: &Path) -> Vec<String> {
    let uses = |pid: &i32| {
        let dir = root.proc(pid.to_string());
        let leads_there =
            |link: PathBuf| fs::read_link(link).is_ok_and(|target| target.starts_with(at));
        let files = root.names(dir.join("fd"));
        ["cwd", "root", "exe"].iter().any(|link| leads_there(dir.join(link)))
            || files.iter().any(|file| leads_there(dir.join("fd").join(file)))
            || fs::read_to_string(dir.join("maps")).is_ok_and(|maps| {
                let mut mapped =
                    maps.lines().filter_map(|line| line.find('/').map(|start| &line[start..]));
                mapped.any(|path| Path::new(path).starts_with(at))
            })
    };
    let all = processes::all(root);
    all.iter()
        .filter(|(pid, _)| uses(pid))
        .map(|(pid, stat)| format!("{} ({pid})", stat.name))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "812 (a (b) c) S 1 812 812 0 -1 4194560 1 0 0 0 7 3 0 0 20 0 1 0 4711 1 1 1";

    /// A machine with these processes: number, parent, environment.
    fn machine(processes: &[(i32, i32, &str)]) -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        for (pid, parent, environment) in processes {
            let dir = root.proc(pid.to_string());
            fs::create_dir_all(&dir).expect("fake proc");
            let line = LINE.replace("812 (a (b) c) S 1 ", &format!("{pid} (p{pid}) S {parent} "));
            fs::write(dir.join("stat"), line).expect("fake proc");
            fs::write(dir.join("environ"), environment).expect("fake proc");
            let user = rustix::process::geteuid().as_raw();
            give(&root, *pid, [user; 4]);
        }
        (dir, root)
    }

    /// Real, effective, saved and file system user of a process.
    fn give(root: &Root, pid: i32, [real, effective, saved, files]: [u32; 4]) {
        let status =
            format!("Name:\tp\nUid:\t{real}\t{effective}\t{saved}\t{files}\nGid:\t0\t0\t0\t0\n");
        fs::write(root.proc(format!("{pid}/status")), status).expect("fake proc");
    }

    #[test]
    fn the_mark_of_a_user_whose_programs_the_session_did_not_start_does_not_count() {
        let mark = "SCHEDLAB_SESSION=k/1\0";
        let (_dir, root) =
            machine(&[(10, 1, mark), (11, 10, ""), (12, 1, mark), (13, 1, mark), (14, 10, "")]);
        let own = rustix::process::geteuid().as_raw();
        // Of a setuid program the effective user is root, and the real one is who started it.
        give(&root, 12, [64_321, own, own, own]);
        give(&root, 13, [64_322; 4]);
        // By descent whatever its user.
        give(&root, 14, [64_323; 4]);
        assert_eq!(names(&Whose::session(&root, "k", &[]), &root), ["p10", "p11", "p14"]);
        assert_eq!(
            names(&Whose::session(&root, "k", &[64_322]), &root),
            ["p10", "p11", "p13", "p14"]
        );
    }

    #[test]
    fn a_daemon_in_a_session_of_its_own_is_found_and_killed_by_its_mark_alone() {
        let key = format!("no-group-{}", std::process::id());
        let mut parent = std::process::Command::new("sh");
        parent
            .args(["-c", "setsid sh -c 'sleep 1000 & sleep 1000' >&- 2>&- & sleep 0.2"])
            .env(MARK, format!("{key}/1"));
        assert!(parent.status().expect("a shell").success());
        let whose = Whose::program(&key, 1, vec![], &[]);
        assert_eq!(whose.end(&Root::real(), Duration::ZERO).expect("they die"), ["sh", "sleep"]);
        assert_eq!(whose.alive(&Root::real()), []);
    }

    fn names(whose: &Whose, root: &Root) -> Vec<String> {
        whose.alive(root).into_iter().map(|process| process.name).collect()
    }

    #[test]
    fn marked_processes_and_their_children_belong_to_a_session_and_no_others_do() {
        let (_dir, root) = machine(&[
            (10, 1, "A=b\0SCHEDLAB_SESSION=k/1\0"),
            (11, 10, "overwritten title"),
            (12, 11, ""),
            (20, 1, "SCHEDLAB_SESSION=k/2\0"),
            (30, 1, "SCHEDLAB_SESSION=k2/1\0"),
            (31, 1, "NOT_SCHEDLAB_SESSION=k/1\0"),
            (32, 1, "SCHEDLAB_SESSION=k/10\0"),
        ]);
        assert_eq!(
            names(&Whose::session(&root, "k", &[]), &root),
            ["p10", "p11", "p12", "p20", "p32"]
        );
        assert_eq!(names(&Whose::program("k", 1, vec![], &[]), &root), ["p10", "p11", "p12"]);
    }

    #[test]
    fn who_cleans_up_is_not_ended_though_it_was_started_by_what_is_ended() {
        let own = i32::try_from(std::process::id()).expect("small");
        let (_dir, root) = machine(&[(3, 1, "SCHEDLAB_SESSION=k/1\0"), (own, 3, ""), (5, 3, "")]);
        assert_eq!(names(&Whose::session(&root, "k", &[]), &root), ["p5"]);
    }
}
