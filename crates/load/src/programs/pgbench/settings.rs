//! pgbench's arguments, and the server's configuration.

use std::path::PathBuf;
use std::time::Duration;

use crate::programs::kind::Trial;
use crate::programs::options::Options;

const MODES: [&str; 3] = ["tpcb", "simple-update", "select-only"];
const PROTOCOLS: [&str; 3] = ["simple", "extended", "prepared"];

/// Settings reserved for schedlab.
const OWN_SETTINGS: [(&str, &str); 10] = [
    ("data_directory", "the cluster is on the device under test"),
    ("listen_addresses", "the cluster has a private socket and no port"),
    ("port", "the cluster has a private socket and no port"),
    ("unix_socket_directories", "the cluster has a private socket"),
    ("max_connections", "it follows from clients="),
    ("shared_buffers", "use the option shared_buffers="),
    ("fsync", "without it writes need not reach the device, so no scheduler would be measured"),
    ("logging_collector", "the server's output is printed when it fails"),
    ("restart_after_crash", "a crashed server must not restart during a trial"),
    ("dynamic_shared_memory_type", "segments of a killed server must vanish with it"),
];

/// Prefixes or suffixes of settings that name files, directories, programs or libraries.
const ELSEWHERE: [&str; 9] = [
    "include",
    "_file",
    "_directory",
    "_directories",
    "_command",
    "_libraries",
    "_library",
    "_path",
    "_provider",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Script {
    Builtin(&'static str),
    /// The user's file.
    File(PathBuf),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    /// Transactions per client.
    Transactions(u64),
    /// pgbench supports only whole seconds.
    Seconds(u64),
}

impl Length {
    fn of(time: Duration) -> Length {
        Length::Seconds((time.as_millis().div_ceil(1000) as u64).max(1))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) clients: u64,
    pub(super) threads: u64,
    pub(super) scale: u64,
    pub(super) transactions: Option<u64>,
    pub(super) warmup_transactions: Option<u64>,
    pub(super) script: Script,
    pub(super) protocol: String,
    /// In bytes.
    pub(super) shared_buffers: u64,
    /// Settings as written by the user.
    pub(super) conf: Vec<(String, String)>,
    pub(super) user: String,
    pub(super) bindir: Option<PathBuf>,
}

impl Settings {
    /// The error describes what is valid.
    pub(super) fn read(options: &Options) -> Result<Settings, String> {
        let number = |key: &str| options.number(key);
        let text = |key: &str| options.text(key).unwrap_or_default().trim().to_string();
        let given = |key: &str| number(key).expect("the row has a default");
        let (clients, threads) = (given("clients"), given("threads"));
        if threads > clients {
            return Err(format!(
                "threads={threads} with clients={clients}: pgbench uses no more threads than clients"
            ));
        }
        let user = text("user");
        if user == "root" {
            return Err(
                "user=root: PostgreSQL refuses to run as root; name another, e.g. user=postgres"
                    .to_string(),
            );
        }
        let shared = text("shared_buffers");
        Ok(Settings {
            clients,
            threads,
            scale: given("scale"),
            transactions: number("transactions"),
            warmup_transactions: number("warmup_transactions"),
            script: script(&text("mode"), &text("script"))?,
            protocol: one_of("protocol", &text("protocol"), &PROTOCOLS)?.to_string(),
            shared_buffers: bytes(&shared, 8 << 10).filter(|bytes| *bytes >= 128 << 10).ok_or_else(|| {
                format!("shared_buffers={shared} is invalid (expected at least 128kB, e.g. shared_buffers=128MB)")
            })?,
            conf: conf(&text("conf"))?,
            user,
            bindir: options.text("bindir").map(PathBuf::from),
        })
    }

    pub(super) fn postgresql_conf(&self, socket: &str) -> String {
        let mut lines = vec![
            "listen_addresses = ''".to_string(),
            format!("unix_socket_directories = {}", quoted(socket)),
            format!("max_connections = {}", (self.clients + 10).max(100)),
            format!("shared_buffers = '{}kB'", self.shared_buffers >> 10),
            "fsync = on".to_string(),
            "logging_collector = off".to_string(),
            "restart_after_crash = off".to_string(),
            "dynamic_shared_memory_type = sysv".to_string(),
        ];
        lines.extend(self.conf.iter().map(|(key, value)| format!("{key} = {}", quoted(value))));
        lines.join("\n") + "\n"
    }

    /// Arguments after the connection's.
    pub(super) fn bench_args(
        &self,
        length: Length,
        seed: u64,
        log: &str,
    ) -> Vec<std::ffi::OsString> {
        let script = match &self.script {
            Script::Builtin(name) => format!("--builtin={name}"),
            // The bytes read at the start, on standard input.
            Script::File(_) => "--file=-".to_string(),
        };
        let (key, value) = match length {
            Length::Transactions(number) => ("transactions", number),
            Length::Seconds(number) => ("time", number),
        };
        // With --progress, pgbench measures its average instead of dividing clients by rate, which
        // differs if clients finish early; this interval prints none.
        [
            "--no-vacuum".to_string(),
            format!("--client={}", self.clients),
            format!("--jobs={}", self.threads),
            format!("--{key}={value}"),
            format!("--protocol={}", self.protocol),
            // A C unsigned long; version 12 parses it as signed.
            format!("--random-seed={}", seed & 0x7fff_ffff_ffff_ffff),
            "--progress=1000000".to_string(),
            "--log".to_string(),
            format!("--log-prefix={log}"),
            script,
        ]
        .map(Into::into)
        .to_vec()
    }

    pub(super) fn warmup(&self, trial: &Trial) -> Option<Length> {
        match (self.warmup_transactions, self.transactions) {
            (Some(number), _) => Some(Length::Transactions(number)),
            (None, None) if !trial.warmup.is_zero() => Some(Length::of(trial.warmup)),
            _ => None,
        }
    }

    pub(super) fn window(&self, trial: &Trial) -> Length {
        self.transactions.map_or(Length::of(trial.duration), Length::Transactions)
    }

    pub(super) fn reads_only(&self) -> bool {
        self.script == Script::Builtin("select-only")
    }

    /// Bytes of base, copy and their write-ahead logs.
    pub(super) fn room(&self) -> u64 {
        const MIB: u64 = 1 << 20;
        let limit = self.conf.iter().rev().find(|(key, _)| key == "max_wal_size");
        let limit = limit.and_then(|(_, value)| bytes(value, MIB)).unwrap_or(1024 * MIB);
        let data = (15 * self.scale + 32) * MIB;
        let loaded = ((15 * self.scale + 48) * MIB).min(limit.max(64 * MIB));
        // A transaction logs at most a few full pages, and adds a few hundred bytes.
        let (log, growth) = match self.transactions {
            Some(number) => {
                let all = self.clients * (number + self.warmup_transactions.unwrap_or(0));
                ((loaded + all * (16 << 10)).min(limit.max(loaded)), all * 600)
            }
            None => (limit.max(loaded), 64 * MIB),
        };
        (2 * data + loaded + log + growth) / 20 * 21
    }
}

fn script(mode: &str, script: &str) -> Result<Script, String> {
    match (mode, script) {
        ("" | "tpcb", "") => Ok(Script::Builtin("tpcb-like")),
        (mode, "") => match one_of("mode", mode, &MODES)? {
            "simple-update" => Ok(Script::Builtin("simple-update")),
            _ => Ok(Script::Builtin("select-only")),
        },
        ("", script) => Ok(Script::File(PathBuf::from(script))),
        _ => Err(format!(
            "mode={mode} and script={script} exclude each other: a script defines the whole workload"
        )),
    }
}

fn one_of<'a>(key: &str, word: &str, known: &[&'a str]) -> Result<&'a str, String> {
    known.iter().find(|name| **name == word).copied().ok_or_else(|| {
        format!("{key}={word} is unknown {}", text::expected_one_of(word, known.iter().copied()))
    })
}

fn conf(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut all: Vec<(String, String)> = Vec::new();
    for word in text.split_whitespace() {
        let is_name = |key: &str| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_.".contains(c))
        };
        let (key, value) =
            word.split_once('=').filter(|(key, value)| is_name(key) && !value.is_empty()).ok_or_else(|| {
                format!("conf: {word} is not KEY=VALUE; write e.g. conf=\"max_wal_size=256MB wal_compression=on\"")
            })?;
        let key = key.to_ascii_lowercase();
        if let Some((name, why)) = OWN_SETTINGS.iter().find(|(name, _)| *name == key) {
            return Err(format!("conf: {name} cannot be set: {why}"));
        }
        if let Some(part) =
            ELSEWHERE.iter().find(|part| key.starts_with(**part) || key.ends_with(**part))
        {
            return Err(format!(
                "conf: {key} cannot be set: settings with {part} reach beyond the device under test"
            ));
        }
        if all.iter().any(|(other, _)| *other == key) {
            return Err(format!("conf: {key} is given twice"));
        }
        all.push((key, value.trim_matches('\'').to_string()));
    }
    Ok(all)
}

/// A bare number is in units of `unit`.
fn bytes(text: &str, unit: u64) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => unit,
        "B" => 1,
        "kB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        _ => return None,
    };
    digits.trim_end().parse::<u64>().ok()?.checked_mul(unit)
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_reach_beyond_the_device_are_refused() {
        for word in [
            "include=/x",
            "include_if_exists=/x",
            "external_pid_file=/x",
            "hba_file=/x",
            "archive_command=x",
            "shared_preload_libraries=x",
            "stats_temp_directory=/x",
            "dynamic_library_path=/x",
            "fsync=off",
        ] {
            assert!(conf(word).unwrap_err().contains("cannot be set"), "{word}");
        }
        assert_eq!(conf("max_wal_size=256MB").unwrap().len(), 1);
    }
}
