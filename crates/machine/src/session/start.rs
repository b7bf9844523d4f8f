//! Starts a program: its environment, and the work between fork and exec.
//!
//! The forked process joins control groups and sets priority and user itself, so no child can
//! escape. Wrappers (sh, ionice, setpriv) would add their exec to the measured time, and could be
//! missing.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::files::programs;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::Fault;
use super::group::Group;
use super::process::{Launch, Running, own_cpu_time};
use super::scan::{MARK, Whose};
use super::user::User;
use crate::error::Error;
use crate::placement::Placement;
use crate::root::Root;
use crate::sys::BeforeExec;

pub(super) struct LaunchContext<'a> {
    pub(super) root: &'a Root,
    pub(super) key: &'a str,
    pub(super) number: u32,
    pub(super) group: Group,
    pub(super) user: Option<User>,
    /// The users whose marks belong to the session.
    pub(super) users: Vec<u32>,
    pub(super) ioprio: Option<u16>,
}

pub(super) fn start(launch: &Launch, mut place: LaunchContext<'_>) -> Result<Running, Error> {
    let (began, cpu_before) = (Instant::now(), own_cpu_time());
    let started = memory_files(&launch.input).and_then(|files| {
        let child = spawn(launch, &place, &files)?;
        Ok((child, files))
    });
    let (child, [stdout, stderr, _]) = started.inspect_err(|_| {
        let _ = place.group.remove();
    })?;
    let handle = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let handle = handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    place.group.membership_files.clear();
    let whose = Whose::program(place.key, place.number, place.group.dirs.clone(), &place.users);
    let root = place.root.clone();
    let placement = launch.placement.clone();
    let group = place.group;
    Ok(Running {
        root,
        child,
        handle,
        began,
        cpu_before,
        stdout,
        stderr,
        whose,
        group,
        placement,
        ended: false,
    })
}

/// Anonymous: standard output, standard error, and standard input with its contents.
fn memory_files(input: &[u8]) -> Result<[File; 3], Error> {
    let new = |name: &str| -> Result<File, Error> {
        let made = memfd_create(name, MemfdFlags::CLOEXEC);
        Ok(File::from(made.map_err(|errno| Error::io("create", "a file in memory")(errno.into()))?))
    };
    let (stdout, stderr, mut stdin) = (new("stdout")?, new("stderr")?, new("stdin")?);
    let filled = stdin.write_all(input).and_then(|()| stdin.seek(SeekFrom::Start(0)));
    filled.map_err(Error::io("write", "a file in memory"))?;
    Ok([stdout, stderr, stdin])
}

fn spawn(launch: &Launch, place: &LaunchContext<'_>, files: &[File; 3]) -> Result<Child, Error> {
    let [stdout, stderr, stdin] = files
        .each_ref()
        .map(|file| file.try_clone().map_err(Error::io("open", "a file in memory")));
    let stdout = match &launch.stdout {
        Some(own) => {
            own.try_clone().map(Stdio::from).map_err(Error::io("open", "standard output"))?
        }
        None => Stdio::from(stdout?),
    };
    let mut command = programs::command_with_empty_env(&launch.program);
    command
        .args(&launch.args)
        .env("PATH", programs::path_of_the_user())
        .env("HOME", "/")
        .env("LC_ALL", "C")
        .envs(place.user.iter().flat_map(own_variables))
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .env(MARK, format!("{}/{}", place.key, place.number))
        .current_dir(directory(launch))
        .stdin(Stdio::from(stdin?))
        .stdout(stdout)
        .stderr(Stdio::from(stderr?));
    let is_apart = launch.apart || place.user.is_some();
    if !is_apart {
        command.process_group(0);
    }
    arrange(&mut command, place, &launch.placement, is_apart)?;
    command.spawn().map_err(|cause| {
        let mut said = [0; 256];
        let read = files[1].read_at(&mut said, 0).unwrap_or(0);
        let said = String::from_utf8_lossy(&said[..read]);
        Fault::NotStarted {
            program: launch.program.clone(),
            why: why_not(place.root, launch, &said, &cause),
        }
        .into()
    })
}

fn arrange(
    command: &mut Command,
    place: &LaunchContext<'_>,
    placement: &Placement,
    is_apart: bool,
) -> Result<(), Error> {
    let clone = |door: &File| door.try_clone().map_err(Error::io("open", "the control group"));
    let doors: Vec<File> =
        place.group.membership_files.iter().map(clone).collect::<Result<_, _>>()?;
    let user = place.user.clone().map(|User { uid, gid, groups, .. }| (uid, gid, groups));
    let (placement, mask) = (placement.clone(), placement.mask());
    BeforeExec { doors, ioprio: place.ioprio, placement, mask, is_apart, user }.arrange(command);
    Ok(())
}

/// Variables for another user; PATH has no sbin directories.
fn own_variables(user: &User) -> [(&'static str, String); 4] {
    let path = "/usr/local/bin:/usr/bin:/bin".to_string();
    [
        ("HOME", user.home.clone()),
        ("USER", user.name.clone()),
        ("LOGNAME", user.name.clone()),
        ("PATH", path),
    ]
}

fn directory(launch: &Launch) -> &Path {
    if launch.dir.as_os_str().is_empty() { Path::new("/") } else { &launch.dir }
}

fn why_not(root: &Root, launch: &Launch, said: &str, cause: &io::Error) -> String {
    let dir = directory(launch);
    let found = on_path(&launch.program);
    let user = launch.user.as_ref().map_or(String::new(), |user| format!(" for the user {user}"));
    match cause.kind() {
        _ if !said.is_empty() => launch.placement.refused(root, said, cause),
        io::ErrorKind::NotFound if !dir.is_dir() => {
            format!("its working directory {} does not exist", dir.display())
        }
        io::ErrorKind::NotFound if found.is_some() => {
            "it exists, but not the interpreter or loader named in its first bytes (see `file`, `ldd`)"
                .to_string()
        }
        io::ErrorKind::NotFound => {
            "no such program: install its package, or give its full path".to_string()
        }
        io::ErrorKind::PermissionDenied => format!(
            "{cause}{user}: it must be executable (`chmod +x`) and on a file system without noexec, and every directory above it and \
             its working directory {} must be accessible{user}",
            dir.display()
        ),
        _ => cause.to_string(),
    }
}

fn on_path(program: &Path) -> Option<PathBuf> {
    if program.components().count() > 1 {
        return program.exists().then(|| program.to_path_buf());
    }
    programs::find_for_the_user(program.to_str()?)
}
