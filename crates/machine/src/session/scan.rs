//! Finds and ends a session's processes: by a mark in the environment, control group, and descent.
//!
//! Many containers have no control groups, and a program can leave its group. Descendants inherit
//! the mark, unless they overwrite their environment (PostgreSQL does), and are then found as
//! children. Ids are reused, so a pidfd is opened and the process checked again before a signal.
//!
//! Any user can set any mark. It counts only if the *real* user is this process's own, or was
//! journaled before a program ran as that user: a setuid or undumpable program belongs to root in
//! /proc, but has its caller's environment. Programs that switch users (sudo, su) are found by
//! group and descent.

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

/// The session's key, a slash, and the program's number.
pub(super) const MARK: &str = "SCHEDLAB_SESSION";

/// A killed process can be waiting for a device.
const KILL_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pid: i32,
    /// At most 15 bytes.
    pub(super) name: String,
    /// In clock ticks; unique together with the id.
    born: u64,
}

/// The processes of a session, or of one of its programs.
#[derive(Debug, Clone)]
pub(super) struct Whose {
    /// Up to the program's number for one program.
    mark: Vec<u8>,
    is_program: bool,
    groups: Vec<PathBuf>,
    /// The users whose marks count.
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

    /// One program with all its descendants.
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
            // About half of all processes.
            if all.get(pid).is_some_and(processes::Stat::is_kernel_thread) {
                return false;
            }
            let environment = || fs::read(root.proc(format!("{pid}/environ"))).unwrap_or_default();
            let may_mark = || real_user(root, *pid).is_some_and(|user| self.users.contains(&user));
            in_groups.contains(pid) || (may_mark() && self.has(&environment()))
        };
        let mut ours: BTreeSet<i32> = all.keys().copied().filter(is_ours).collect();
        processes::add_descendants(&all, &mut ours);
        // This process may be a descendant of a program that it ends.
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

    /// Kills those still alive after `patience`, repeatedly; returns their names, each once.
    pub(super) fn end(&self, root: &Root, patience: Duration) -> Result<Vec<String>, Error> {
        let since = Instant::now();
        let mut names = BTreeSet::new();
        // No process leaves a control group by forking; without one, a forking process may be
        // missed once.
        let mut looks = if self.groups.is_empty() { 2 } else { 1 };
        let mut killed = false;
        while looks > 0 {
            let alive = self.alive(root);
            // Regardless of the list, which does not contain newly forked processes.
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
            if since.elapsed() > patience + KILL_TIMEOUT {
                let programs = alive
                    .iter()
                    .map(|process| format!("{} ({})", process.name, process.pid))
                    .collect();
                return Err(
                    Fault::StillRunning { seconds: KILL_TIMEOUT.as_secs(), programs }.into()
                );
            }
            thread::sleep(Duration::from_millis(2));
        }
        Ok(names.into_iter().collect())
    }
}

impl Process {
    /// Sends a signal, unless another process has got its id.
    pub(super) fn signal(&self, root: &Root, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let held = pidfd_open(pid, PidfdFlags::empty());
        if processes::read(root, self.pid).is_none_or(|stat| stat.born != self.born) {
            return;
        }
        let _ = match held {
            Ok(held) => pidfd_send_signal(held, signal),
            // No pidfd before Linux 5.3; the start time was checked just before.
            Err(rustix::io::Errno::NOSYS) => kill_process(pid, signal),
            Err(_) => Ok(()),
        };
    }
}

/// An entry of the environment.
pub(super) fn mark(key: &str, number: u32) -> String {
    format!("{MARK}={key}/{number}")
}

fn with_our_own(users: &[u32]) -> Vec<u32> {
    users.iter().copied().chain([rustix::process::geteuid().as_raw()]).collect()
}

/// The user who started it, regardless of rights gained since.
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

/// Names and process ids, for messages.
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

    /// Creates processes from id, parent and environment.
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
        // A setuid program's real user is the one who started it.
        give(&root, 12, [64_321, own, own, own]);
        give(&root, 13, [64_322; 4]);
        // By descent, regardless of its user.
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
