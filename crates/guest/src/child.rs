//! Child processes: captures their output, and kills them when schedlab exits.
//!
//! A death signal to `make` would not reach its children. Each command therefore runs in the
//! process group of a watcher, which kills the group when a pipe closes that only schedlab holds
//! open.

use std::fs::File;
use std::io::{PipeReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use machine::files::programs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::Error;

const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    /// Standard output and error, interleaved.
    pub(crate) text: String,
}

impl Output {
    pub(crate) fn last_line(&self) -> &str {
        self.text
            .lines()
            .rev()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("it said nothing")
            .trim()
    }
}

pub(crate) struct Run<'a> {
    /// Ends the command when set.
    pub(crate) stop: &'a AtomicBool,
    /// Receives the output too.
    pub(crate) log: Option<&'a File>,
    /// Timeout in real time.
    pub(crate) limit: Option<Duration>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(stop: &'a AtomicBool) -> Run<'a> {
        Run { stop, log: None, limit: None }
    }

    pub(crate) fn logged(mut self, log: &'a File) -> Run<'a> {
        self.log = Some(log);
        self
    }

    pub(crate) fn at_most(mut self, limit: Duration) -> Run<'a> {
        self.limit = Some(limit);
        self
    }

    /// Fails if `command` cannot be started, `stop` is set, or it times out.
    pub(crate) fn quiet(&self, command: Command) -> Result<Output, Error> {
        self.run_with(command, &mut |_| ())
    }

    /// Like [`Run::quiet`], with `line` called for each line.
    pub(crate) fn run_with(
        &self,
        mut command: Command,
        line: &mut dyn FnMut(&str),
    ) -> Result<Output, Error> {
        let name = command.get_program().to_string_lossy().into_owned();
        let cannot = |cause| Error::Command { name: name.clone(), cause };
        let (reader, writer) = std::io::pipe().map_err(cannot)?;
        command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(cannot)?).stderr(writer);
        let mut group = Group::spawn(&mut command).map_err(cannot)?;
        drop(command); // it holds the pipe's other end
        let mut lines = Lines { text: Vec::new(), reported: 0, line, log: self.log };
        self.listen(&group, reader, &mut lines, &name)?;
        let status = group.wait().map_err(cannot)?;
        Ok(Output { status, text: String::from_utf8_lossy(&lines.text).into_owned() })
    }

    fn listen(
        &self,
        group: &Group,
        mut from: PipeReader,
        to: &mut Lines,
        name: &str,
    ) -> Result<(), Error> {
        let cannot = |cause| Error::Command { name: name.to_owned(), cause };
        let begun = Instant::now();
        let mut bytes = [0; 16384];
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            if self.limit.is_some_and(|limit| begun.elapsed() > limit) {
                return Err(Error::Slow {
                    name: name.to_owned(),
                    seconds: begun.elapsed().as_secs(),
                });
            }
            let mut ready = [PollFd::new(&from, PollFlags::IN)];
            match poll(&mut ready, Some(&LOOK)) {
                Ok(0) if group.leader_has_ended() => return Ok(()), // a background process may hold the pipe
                Ok(0) | Err(rustix::io::Errno::INTR) => continue,
                Ok(_) => {}
                Err(errno) => return Err(cannot(errno.into())),
            }
            match from.read(&mut bytes).map_err(cannot)? {
                0 => return Ok(()),
                n => to.take(&bytes[..n]).map_err(cannot)?,
            }
        }
    }
}

struct Lines<'a> {
    text: Vec<u8>,
    reported: usize,
    line: &'a mut dyn FnMut(&str),
    log: Option<&'a File>,
}

impl Lines<'_> {
    fn take(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.text.extend_from_slice(bytes);
        if let Some(mut log) = self.log {
            log.write_all(bytes)?;
        }
        while let Some(end) = self.text[self.reported..].iter().position(|&b| b == b'\n') {
            (self.line)(&String::from_utf8_lossy(&self.text[self.reported..self.reported + end]));
            self.reported += end + 1;
        }
        Ok(())
    }
}

/// Killed on drop, and when this process exits. The watcher is its first member, so no command runs
/// unwatched.
struct Group {
    watcher: Child,
    leader: Child,
    waited: bool,
}

impl Group {
    fn spawn(command: &mut Command) -> std::io::Result<Group> {
        let mut watcher = programs::helper_at(Path::new("/bin/sh"))
            .args(["-c", "read -r end; kill -s KILL 0"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        // The command holds a copy of the watcher's pipe until exec.
        let joined = command.process_group(Pid::from_child(&watcher).as_raw_nonzero().get());
        match joined.spawn() {
            Ok(leader) => Ok(Group { watcher, leader, waited: false }),
            Err(error) => {
                let _ = watcher.kill();
                let _ = watcher.wait();
                Err(error)
            }
        }
    }

    fn leader_has_ended(&self) -> bool {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        matches!(waitid(WaitId::Pid(Pid::from_child(&self.leader)), look), Ok(Some(_)))
    }

    fn wait(&mut self) -> std::io::Result<ExitStatus> {
        let status = self.leader.wait()?;
        self.waited = true;
        Ok(status)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.watcher), Signal::KILL);
        let _ = self.watcher.wait();
        if !self.waited {
            let _ = self.leader.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_are_heard_line_by_line_and_logged() {
        let stop = AtomicBool::new(false);
        let mut log = tempfile::tempfile().unwrap();
        let mut lines = Vec::new();
        let said = Run::new(&stop)
            .logged(&log)
            .run_with(sh("echo one; echo two >&2; printf three; exit 3"), &mut |line| {
                lines.push(line.to_owned())
            })
            .unwrap();
        assert_eq!(
            (said.status.code(), said.text.as_str(), said.last_line()),
            (Some(3), "one\ntwo\nthree", "three")
        );
        assert_eq!(lines, ["one", "two"], "a line is reported when it is complete");
        let mut logged = String::new();
        std::io::Seek::rewind(&mut log).unwrap();
        log.read_to_string(&mut logged).unwrap();
        assert_eq!(logged, said.text);
    }

    #[test]
    fn stopping_ends_grandchildren_too() {
        let stop = AtomicBool::new(false);
        let mut grandchild = None;
        let answer = Run::new(&stop).run_with(sh("sleep 1000 & echo $!; wait"), &mut |line| {
            grandchild = line.parse::<i32>().ok();
            stop.store(true, Ordering::Relaxed);
        });
        assert!(matches!(answer, Err(Error::Interrupted)), "{answer:?}");
        let grandchild = grandchild.expect("its number was said");
        let state = || std::fs::read_to_string(format!("/proc/{grandchild}/stat")).ok();
        testbed::eventually("the grandchild is gone", || {
            state().is_none_or(|stat| stat.contains(") Z "))
        });
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended() {
        let stop = AtomicBool::new(false);
        let answer = Run::new(&stop).at_most(Duration::from_millis(200)).quiet(sh("sleep 1000"));
        assert!(matches!(answer, Err(Error::Slow { .. })), "{answer:?}");
    }

    #[test]
    fn the_watcher_kills_the_group_when_its_pipe_closes() {
        let mut group = Group::spawn(&mut sh("sleep 1000 & echo; wait")).unwrap();
        drop(group.watcher.stdin.take()); // as the end of this process would
        let status = group.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }
}
