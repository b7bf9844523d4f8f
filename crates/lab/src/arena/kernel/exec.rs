//! `schedlab kernel exec`: runs a user's program in a guest.
//!
//! The guest appends the output to files, which are read here while they grow. A pipe would be
//! drained in real time, and virtual time would pass while the guest waits.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use guest::inside::Inside;
use guest::{Boot, Cache, Request, Source, TimeTravel};
use machine::files::programs;
use machine::settings::DEPTH_NOTE;
use serde::{Deserialize, Serialize};

use super::disk::Modelled;
use super::files::{FileSystem, Files};
use super::flows;
use super::order::{self, Answer, Disk, Scheduler};
use super::{Built, Setting};
use crate::arena::model::Model;
use crate::controllers::Control;
use crate::progress::Progress;
use crate::signals::Stop;

/// Fixed, because programs may print it.
pub const FILES_AT: &str = "/tmp/disk0";
const STREAMS: [&str; 2] = ["stdout", "stderr"];
/// Exit statuses as in shells: cannot be executed; not found.
const CANNOT_START: u8 = 126;
const NOT_FOUND: u8 = 127;

#[derive(Debug)]
pub struct ProgramSpec<'a> {
    /// None: no disk.
    pub device: Option<&'a str>,
    /// The scheduler and kernel patches.
    pub setting: Setting,
    pub source: Source,
    /// Adds the kernel's debug checks.
    pub debug: bool,
    pub time_travel: TimeTravel,
    /// Maximum time without output.
    pub patience: Duration,
    pub memory_mib: u32,
    pub command: &'a [String],
}

#[derive(Debug)]
pub struct Done {
    /// Exit status, or 128 + signal number.
    pub status: u8,
    pub release: String,
    pub virtual_ns: u64,
    pub real: Duration,
}

#[derive(Debug, Serialize, Deserialize)]
struct GuestRequest {
    here: PathBuf,
    path: String,
    command: Vec<String>,
    modules: Vec<(PathBuf, String)>,
    /// All modules, for the program.
    modules_dir: PathBuf,
    disk: Option<Disk>,
    scheduler: Scheduler,
    controls: Vec<Control>,
    files: Option<FileSystem>,
}

/// Boots a guest for one program and copies its output.
pub fn execute(
    cache: &Cache,
    spec: &ProgramSpec<'_>,
    output: [Box<dyn Write>; 2],
    stop: &Stop,
    progress: &dyn Progress,
) -> Result<Done> {
    let model = spec.device.map(Model::read).transpose()?;
    let tables = model.as_ref().map(|model| super::tables(model, 0)).transpose()?;
    let files = spec.setting.files.map(Files::found).transpose()?;
    let request = Request { debug: spec.debug, ..spec.setting.kernel.request(&spec.source) };
    let built = Built::of(cache, &request, stop, progress)?;
    progress.clear();
    let dir = guest::workdir(cache.dir()).with_context(|| {
        format!("{}: cannot create a guest's working directory", cache.dir().display())
    })?;
    let dir = dir.path();
    let here = std::env::current_dir().context("current directory: gone")?;
    let order = GuestRequest {
        here: super::where_others_may_be(&here),
        path: format!("{}:/usr/sbin:/sbin:/usr/bin:/bin", programs::path_of_the_user().display()),
        command: spec.command.to_vec(),
        modules: model
            .as_ref()
            .map(|model| super::modules(&built, &spec.setting, model))
            .unwrap_or_default(),
        modules_dir: built.modules.dir().to_owned(),
        // Programs read back what they wrote, with or without a file system.
        disk: model
            .as_ref()
            .map(|model| Disk { memory_backed: true, ..super::disk(&spec.setting, model) }),
        scheduler: spec.setting.scheduler(&built.kernel),
        controls: spec.setting.controls.clone(),
        files,
    };
    order::write(dir, order::ORDER, &order)?;
    fs::write(dir.join(order::TABLES), tables.unwrap_or_default())
        .context("tables of the disk: cannot write")?;
    let mut output = output;
    if order.here != here {
        let note = "others may not enter it (the guest runs as another user), so the program starts in /; chmod o+rx it, or cd elsewhere";
        // A closed output does not end the program.
        drop(writeln!(output[1], "schedlab: {}: {note}", here.display()));
    }
    if order.disk.is_some() && order.scheduler.renews_depth {
        drop(writeln!(output[1], "schedlab: {DEPTH_NOTE}"));
    }
    let boot = Boot {
        kernel: &built.image,
        init: &std::env::current_exe().context("schedlab: cannot find its own executable")?,
        role: "guest-exec",
        readable: &readable(spec, &built),
        reachable: &super::reachable(&order.here),
        memory_mib: spec.memory_mib
            + model.as_ref().map_or(0, |model| super::model_mib(model, order.files.is_some())),
        cpus: 1,
        seed: 0,
        time_travel: spec.time_travel,
        patience: spec.patience,
    };
    let mut streams = STREAMS
        .into_iter()
        .zip(output)
        .map(|(name, ours)| Stream::new(dir, name, ours))
        .collect::<io::Result<Vec<_>>>()?;
    // `|`, not `||`: poll both streams.
    let mut look = || streams.iter_mut().fold(false, |seen, stream| stream.pass_on() | seen);
    let ended = boot.run_watched(dir, &stop.flag(), &mut look)?;
    let Answer { result, release, virtual_ns } = order::answered(dir)?;
    Ok(Done {
        status: result.map_err(|error| anyhow!("{error}"))?,
        release,
        virtual_ns,
        real: ended.real,
    })
}

fn readable(spec: &ProgramSpec<'_>, built: &Built) -> Vec<PathBuf> {
    let named = spec.command.first().filter(|program| program.contains('/'));
    let program =
        named.and_then(|program| fs::canonicalize(program).ok()).filter(|file| file.is_file());
    program.into_iter().chain([built.modules.dir().to_owned()]).collect()
}

struct Stream {
    file: File,
    ours: Box<dyn Write>,
}

impl Stream {
    fn new(dir: &Path, name: &str, ours: Box<dyn Write>) -> io::Result<Stream> {
        let file =
            OpenOptions::new().read(true).append(true).create_new(true).open(dir.join(name))?;
        Ok(Stream { file, ours })
    }

    /// Copies new output, if any.
    fn pass_on(&mut self) -> bool {
        // Read up to the current size only: a guest may write faster than we read.
        let Ok(mut new) = self.file.metadata().map(|found| (&self.file).take(found.len())) else {
            return false;
        };
        let mut buffer = vec![0; 64 << 10];
        let mut some = false;
        while let Ok(read @ 1..) = new.read(&mut buffer) {
            drop(self.ours.write_all(&buffer[..read]).and_then(|()| self.ours.flush()));
            some = true;
        }
        some
    }
}

/// The guest's init; returns only outside a guest.
pub fn inside(workdir: &Path) -> Result<u8> {
    order::answer(&Inside::begin_for_programs(workdir)?, command)
}

fn command(inside: &Inside) -> Result<u8> {
    let order: GuestRequest = order::read(inside.workdir(), order::ORDER)?;
    for (module, parameters) in &order.modules {
        inside.load(module, parameters)?;
    }
    let (program, arguments) =
        order.command.split_first().context("command: no program; name one after --")?;
    let missing = |status, error: &dyn std::fmt::Display| -> Result<u8> {
        say(
            &inside.workdir().join(STREAMS[1]),
            format!("{program}: cannot run in the guest: {error}\n").as_bytes(),
        )?;
        Ok(status)
    };
    let Some(file) = found(program, &order.path) else {
        return missing(NOT_FOUND, &"no such program");
    };
    let mut command = programs::command_with_empty_env(file);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("PATH", &order.path).env("HOME", "/tmp").env("LANG", "C.UTF-8").env("TZ", "UTC");
    if let Some(wanted) = &order.disk {
        let disk = Modelled::make(wanted, &inside.workdir().join(order::TABLES))?;
        if let Some(files) = &order.files {
            fs::create_dir(FILES_AT)
                .with_context(|| format!("{FILES_AT}: cannot create in the guest"))?;
            files.make(inside, disk.path(), Path::new(FILES_AT))?;
            command.env("SCHEDLAB_DIR", FILES_AT);
        }
        disk.apply(&order.scheduler)?;
        flows::set_device(&order.controls, &disk)?;
        command.env("SCHEDLAB_DEVICE", disk.path()).env("SCHEDLAB_MODULES", &order.modules_dir);
    }
    std::env::set_current_dir(&order.here)
        .with_context(|| format!("{}: cannot enter", order.here.display()))?;
    // Where the guest mounts over a directory, getcwd(2) returns a path unknown to the host. Shells
    // prefer PWD.
    command.current_dir(&order.here).env("PWD", &order.here);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return missing(CANNOT_START, &error),
    };
    let pipes: [Box<dyn Read + Send>; 2] = [
        Box::new(child.stdout.take().expect("it was asked for as a pipe")),
        Box::new(child.stderr.take().expect("it was asked for as a pipe")),
    ];
    let relays: Vec<_> = pipes
        .into_iter()
        .zip(STREAMS)
        .map(|(pipe, name)| {
            let to = inside.workdir().join(name);
            thread::spawn(move || relay(pipe, &to))
        })
        .collect();
    let status = child.wait().context("program: cannot wait for it")?;
    // Leftover processes would keep the pipes open.
    inside.end_all()?;
    for relay in relays {
        relay
            .join()
            .map_err(|_| anyhow!("guest: a thread panicked"))?
            .context("output: cannot pass on")?;
    }
    let code = status
        .code()
        .or_else(|| Some(128 + status.signal()?))
        .and_then(|code| u8::try_from(code).ok());
    Ok(code.unwrap_or(u8::MAX))
}

/// Locates a program. The standard library's search needs a socket, which guests do not have.
fn found(program: &str, path: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return Some(PathBuf::from(program)).filter(|file| file.exists());
    }
    let files = std::env::split_paths(path).map(|dir| dir.join(program));
    let runs = |file: &PathBuf| {
        fs::metadata(file)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    files.into_iter().find(runs)
}

fn relay(mut pipe: Box<dyn Read + Send>, to: &Path) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match pipe.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => say(to, &buffer[..read])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Closing the file flushes it to the host.
fn say(to: &Path, text: &[u8]) -> io::Result<()> {
    OpenOptions::new().append(true).open(to)?.write_all(text)
}
