//! The experiment's cluster: initialised once, and restored before each trial.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use machine::session::{Launch, Share};
use rustix::fs::statvfs;

use super::server::Server;
use super::settings::Settings;
use super::tools::{Tools, run};
use crate::programs::cache;
use crate::programs::error::RunnerError;
use crate::programs::kind::Bench;

/// For initialising or copying; a slow disk may need an hour.
const TIMEOUT: Duration = Duration::from_secs(4 * 3600);

/// On the file system under test.
#[derive(Debug)]
pub(super) struct Cluster {
    base: PathBuf,
    trial: PathBuf,
    socket: PathBuf,
    scale: u64,
    /// No server has used the copy.
    fresh: bool,
    initialised_in: Duration,
    restored_in: Duration,
}

impl Cluster {
    pub(super) fn initialise(
        bench: &Bench<'_>,
        tools: &Tools,
        settings: &Settings,
    ) -> Result<Cluster, RunnerError> {
        check_room(bench, settings)?;
        let home = own_home(bench.files())?;
        let mut cluster = Cluster {
            base: home.join("base"),
            trial: home.join("trial"),
            socket: home.join("socket"),
            scale: settings.scale,
            fresh: false,
            initialised_in: Duration::ZERO,
            restored_in: Duration::ZERO,
        };
        let began = Instant::now();
        (bench.say)(&format!(
            "pgbench: making a PostgreSQL cluster of scale {}, once",
            settings.scale
        ));
        for dir in [&cluster.base, &cluster.socket] {
            own_directory(dir, tools)?;
        }
        cluster.make_base(bench, tools, settings)?;
        cache::sync(bench.files())?;
        cluster.initialised_in = began.elapsed();
        cluster.restore(bench)?;
        Ok(cluster)
    }

    /// Restores the copy, unless no server has used it.
    pub(super) fn restore(&mut self, bench: &Bench<'_>) -> Result<(), RunnerError> {
        if self.fresh {
            return Ok(());
        }
        let began = Instant::now();
        match fs::remove_dir_all(&self.trial) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                return Err(RunnerError::file("remove", &self.trial)(cause));
            }
            _ => {}
        }
        // Left by a killed server.
        for entry in
            fs::read_dir(&self.socket).map_err(RunnerError::file("read", &self.socket))?.flatten()
        {
            fs::remove_file(entry.path()).map_err(RunnerError::file("remove", &entry.path()))?;
        }
        let args = ["-a", "--reflink=never"].map(OsString::from).into_iter();
        let paths = [self.base.clone().into(), self.trial.clone().into()];
        let program = bench.program("cp", "coreutils")?;
        let launch = Launch {
            program,
            args: args.chain(paths).collect(),
            dir: "/".into(),
            ..Launch::default()
        };
        run(bench, "cp", &launch, TIMEOUT)?;
        cache::sync(&self.trial)?;
        (self.fresh, self.restored_in) = (true, began.elapsed());
        Ok(())
    }

    pub(super) fn serve<'a>(
        &mut self,
        bench: &Bench<'a>,
        tools: &Tools,
        share: &Share,
        patience: Duration,
    ) -> Result<Server<'a>, RunnerError> {
        self.fresh = false;
        let mut launch = tools.launch_server("postgres", data_args(&self.trial));
        launch.share = share.clone();
        Server::start(bench, &launch, &self.trial, &self.socket, patience)
    }

    /// Describes durations.
    pub(super) fn remark(&self) -> String {
        let (made, back) = (self.initialised_in.as_secs_f64(), self.restored_in.as_secs_f64());
        format!(
            "cluster of scale {} initialised in {made:.1} s, restored for each trial in {back:.1} s",
            self.scale
        )
    }

    fn make_base(
        &self,
        bench: &Bench<'_>,
        tools: &Tools,
        settings: &Settings,
    ) -> Result<(), RunnerError> {
        let mut args = data_args(&self.base).to_vec();
        let how =
            ["--no-sync", "--auth=trust", "--no-locale", "--encoding=UTF8", "--username=postgres"];
        args.extend(how.map(OsString::from));
        run(bench, "initdb", &tools.launch_server("initdb", args), TIMEOUT)?;
        // initdb's has a page of comments and settings of locale and time zone.
        let path = self.base.join("postgresql.conf");
        let text = settings.postgresql_conf(&self.socket.display().to_string());
        fs::write(&path, text).map_err(RunnerError::file("write", &path))?;
        // Synced once at the end.
        let mut args = data_args(&self.base).to_vec();
        args.extend(["-c".into(), "fsync=off".into()]);
        let server = Server::start(
            bench,
            &tools.launch_server("postgres", args),
            &self.base,
            &self.socket,
            TIMEOUT,
        )?;
        match self.load(bench, tools, &server) {
            Ok(()) => server.stop(TIMEOUT),
            Err(error) => Err(server.explain(error)),
        }
    }

    fn load(
        &self,
        bench: &Bench<'_>,
        tools: &Tools,
        server: &Server<'_>,
    ) -> Result<(), RunnerError> {
        (bench.say)(&format!("pgbench: loading {} accounts", self.scale * 100_000));
        let mut launch = tools.launch("pgbench", server.client_args());
        launch.args.extend([
            "--initialize".into(),
            "--quiet".into(),
            format!("--scale={}", self.scale).into(),
        ]);
        run(bench, "pgbench", &launch, TIMEOUT)?;
        server.query(tools, "vacuum", TIMEOUT)?;
        server.query(tools, "checkpoint", TIMEOUT).map(drop)
    }
}

fn data_args(dir: &Path) -> [OsString; 2] {
    ["-D".into(), dir.into()]
}

fn check_room(bench: &Bench<'_>, settings: &Settings) -> Result<(), RunnerError> {
    const MIB: u64 = 1 << 20;
    let at = bench.files();
    let state =
        statvfs(at).map_err(|error| RunnerError::file("find the free space", at)(error.into()))?;
    let (free, needed) = (state.f_bavail * state.f_frsize, settings.room());
    if free >= needed {
        return Ok(());
    }
    // For mkfs, its journal, and root's reserve.
    let device = needed / 92 * 100 + 64 * MIB;
    let size = if device <= 1024 * MIB {
        format!("{}M", device.div_ceil(256 * MIB) * 256)
    } else {
        format!("{}G", device.div_ceil(1024 * MIB))
    };
    Err(RunnerError::NoRoom {
        needed_mib: needed.div_ceil(MIB),
        free_mib: free / MIB,
        what: format!("pgbench at scale {} (base, copy and both write-ahead logs)", settings.scale),
        remedy: format!(
            "use a larger device, e.g. loop:{size}, or a smaller scale= or conf=max_wal_size=256MB"
        ),
    })
}

/// A plan may have several pgbench workloads.
fn own_home(files: &Path) -> Result<PathBuf, RunnerError> {
    let mut number = 1;
    loop {
        let home = files.join(if number == 1 {
            "pgbench".to_string()
        } else {
            format!("pgbench-{number}")
        });
        // Whatever root's umask, PostgreSQL's user passes through it.
        let open = || fs::set_permissions(&home, fs::Permissions::from_mode(0o755));
        match fs::create_dir(&home).and_then(|()| open()) {
            Ok(()) => return Ok(home),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(cause) => return Err(RunnerError::file("create", &home)(cause)),
        }
    }
}

fn own_directory(dir: &Path, tools: &Tools) -> Result<(), RunnerError> {
    fs::create_dir_all(dir).map_err(RunnerError::file("create", dir))?;
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700))
        .map_err(RunnerError::file("change the mode", dir))?;
    chown(dir, Some(tools.account.uid), Some(tools.account.gid))
        .map_err(RunnerError::file("change the owner", dir))
}
