//! PostgreSQL's programs, their version, and their user.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::session::{Ended, Launch};

use super::settings::Settings;
use crate::programs::error::{RunnerError, tail};
use crate::programs::kind::Bench;

const PACKAGE: &str = "postgresql";
const PURPOSE: &str = "as a workload";

/// Debian's directory, not in PATH.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Older output and statistics views are not supported.
const MIN_VERSION: u32 = 12;

const TIMEOUT: Duration = Duration::from_secs(30);

const NEEDED: [&str; 4] = ["postgres", "initdb", "pgbench", "psql"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

#[derive(Debug)]
pub(super) struct Tools {
    bin: PathBuf,
    setpriv: PathBuf,
    unshare: PathBuf,
    pub(super) account: Account,
    /// As the user of `--as`.
    apart: bool,
    pub(super) major: u32,
    /// Versions of server and pgbench.
    pub(super) version: String,
}

impl Tools {
    /// Finds the programs and queries their version.
    pub(super) fn find(bench: &Bench<'_>, settings: &Settings) -> Result<Tools, RunnerError> {
        let bin = match &settings.bindir {
            Some(dir) => dir.clone(),
            None => newest(Path::new(VERSIONS))
                .unwrap_or_else(|| Path::new(VERSIONS).join("VERSION/bin")),
        };
        for name in NEEDED {
            if !bin.join(name).is_file() {
                let tool = format!("{name} (looked for in {})", bin.display());
                return Err(machine::Error::ToolMissing {
                    tool,
                    package: PACKAGE.into(),
                    purpose: PURPOSE.into(),
                }
                .into());
            }
        }
        let mut tools = Tools {
            account: account(bench, bench.session.user().as_deref().unwrap_or(&settings.user))?,
            apart: bench.session.user().is_some(),
            setpriv: bench.program("setpriv", "util-linux")?,
            unshare: bench.program("unshare", "util-linux")?,
            bin,
            major: 0,
            version: String::new(),
        };
        bench.session.expect_user(tools.account.uid)?;
        let says = |name: &str| -> Result<String, RunnerError> {
            let ended = run(bench, name, &tools.launch(name, ["--version".into()]), TIMEOUT)?;
            Ok(ended.stdout.trim().to_string())
        };
        let (server, client) = (says("postgres")?, says("pgbench")?);
        let major = checked_major("postgres", &server)?;
        checked_major("pgbench", &client)?;
        (tools.major, tools.version) = (major, format!("{server}; {client}"));
        Ok(tools)
    }

    /// Prepares a program to run as its user.
    pub(super) fn launch(&self, name: &str, args: impl IntoIterator<Item = OsString>) -> Launch {
        Launch {
            program: self.setpriv.clone(),
            args: self.as_user(name).into_iter().chain(args).collect(),
            // pgbench and psql would use the user's name, and -d has different meanings.
            env: vec![("PGDATABASE".to_string(), "postgres".into())],
            dir: PathBuf::from("/"),
            apart: self.apart,
            ..Launch::default()
        }
    }

    /// Uses a new IPC namespace, with which System V shared memory disappears even if the server is
    /// killed. Only root can create one, so this precedes the change of user.
    pub(super) fn launch_server(
        &self,
        name: &str,
        args: impl IntoIterator<Item = OsString>,
    ) -> Launch {
        let first = [OsString::from("--ipc"), self.setpriv.clone().into()];
        Launch {
            program: self.unshare.clone(),
            args: first.into_iter().chain(self.as_user(name)).chain(args).collect(),
            dir: PathBuf::from("/"),
            apart: self.apart,
            ..Launch::default()
        }
    }

    fn as_user(&self, name: &str) -> [OsString; 4] {
        let Account { uid, gid } = self.account;
        let ids =
            [format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".to_string()]
                .map(OsString::from);
        let [uid, gid, groups] = ids;
        [uid, gid, groups, self.bin.join(name).into()]
    }
}

/// Errors name the program, not the one that changes the user.
pub(super) fn run(
    bench: &Bench<'_>,
    name: &str,
    launch: &Launch,
    deadline: Duration,
) -> Result<Ended, RunnerError> {
    let ended = bench.session.start(launch)?.wait(deadline, bench.stop)?;
    let program = name.to_string();
    if ended.stopped {
        return Err(RunnerError::Interrupted);
    }
    if ended.too_long {
        return Err(RunnerError::TooLong {
            program,
            seconds: deadline.as_secs(),
            tail: tail(&ended),
        });
    }
    if !ended.status.success() {
        if let Some(full) = full(&ended.stderr) {
            return Err(full);
        }
        return Err(RunnerError::Failed {
            program,
            status: ended.status.to_string(),
            tail: tail(&ended),
        });
    }
    Ok(ended)
}

/// If these messages report a full device.
pub(super) fn full(complaints: &str) -> Option<RunnerError> {
    let line = complaints.lines().find(|line| line.contains("No space left on device"))?;
    Some(RunnerError::Full {
        line: line.trim().to_string(),
        remedy:
            "use a larger device, or a smaller scale= or max_wal_size (conf=max_wal_size=256MB)"
                .to_string(),
    })
}

/// The newest version with all required programs.
pub(super) fn newest(versions: &Path) -> Option<PathBuf> {
    let dirs = fs::read_dir(versions).ok()?.flatten();
    let mut all: Vec<(u32, PathBuf)> = dirs
        .filter_map(|entry| {
            Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin")))
        })
        .filter(|(_, bin)| NEEDED.iter().all(|name| bin.join(name).is_file()))
        .collect();
    all.sort();
    all.pop().map(|(_, bin)| bin)
}

/// Parses `postgres (PostgreSQL) 15.18 (Debian …)`, `pgbench (PostgreSQL) 17beta1`.
pub(super) fn major(said: &str) -> Option<u32> {
    let after = said.split_once("(PostgreSQL) ")?.1;
    after[..after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len())].parse().ok()
}

fn checked_major(program: &str, said: &str) -> Result<u32, RunnerError> {
    let program = program.to_string();
    match major(said) {
        None => Err(RunnerError::Unreadable {
            program,
            missing: "version".to_string(),
            tail: format!("; output:\n  {said}"),
        }),
        Some(found) if found < MIN_VERSION => Err(RunnerError::Version {
            program,
            found: found.to_string(),
            needed: format!("{MIN_VERSION} or later"),
            remedy: "name another directory of programs with bindir=".to_string(),
        }),
        Some(found) => Ok(found),
    }
}

/// getent also finds users of a directory service.
fn account(bench: &Bench<'_>, name: &str) -> Result<Account, RunnerError> {
    let args = vec!["passwd".into(), name.into()];
    let launch = Launch {
        program: bench.program("getent", "libc-bin")?,
        args,
        dir: "/".into(),
        ..Launch::default()
    };
    let ended = bench.session.start(&launch)?.wait(TIMEOUT, bench.stop)?;
    let fields: Vec<&str> = ended.stdout.trim().split(':').collect();
    let id = |at: usize| fields.get(at).and_then(|field| field.parse::<u32>().ok());
    match (id(2), id(3)) {
        (Some(0), _) => Err(RunnerError::NoUser {
            name: name.to_string(),
            problem: "is root, which PostgreSQL refuses",
        }),
        (Some(uid), Some(gid)) => Ok(Account { uid, gid }),
        _ => Err(RunnerError::NoUser { name: name.to_string(), problem: "does not exist" }),
    }
}
