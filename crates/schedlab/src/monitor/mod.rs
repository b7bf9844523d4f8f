//! Exports the progress of an experiment: a textfile that is replaced, and a page on a port.
//!
//! An unprivileged thread serves the page ([`server`]); the measuring thread only stores numbers.

#[cfg(feature = "full")]
mod server;

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use experiment::plan::Plan;
use experiment::results::Trial;
use lab::progress::Step;
use machine::files::Dir;
use report::running::Running;

use crate::cli::MonitorArgs;
use crate::failure::usage;
use crate::out;

#[cfg(not(feature = "full"))]
mod server {
    use super::*;

    pub(super) fn check() -> Result<()> {
        Err(usage(text::absent("--metrics-listen", "it", "use --metrics-file, or ")))
    }

    pub(super) fn serve(_listener: TcpListener, _running: Arc<Mutex<Running>>) {}
}

const EVERY: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Monitor {
    running: Arc<Mutex<Running>>,
    file: Option<(Dir, String)>,
    written: Mutex<Option<Instant>>,
    listener: Mutex<Option<TcpListener>>,
}

impl MonitorArgs {
    /// While privileges still allow it. An unusable address is a usage error.
    pub(crate) fn reserve(&self) -> Result<()> {
        let Some(word) = &self.metrics_listen else { return Ok(()) };
        server::check()?;
        let address = address(word).ok_or_else(|| {
            usage(format!(
                "--metrics-listen: no address (found {word:?}, expected PORT or IP:PORT); give e.g. 127.0.0.1:9150"
            ))
        })?;
        let listener = TcpListener::bind(address).map_err(|error| {
            usage(format!("--metrics-listen: {address} cannot be had: {error}; name another port, or 0 for any"))
        })?;
        if !address.ip().is_loopback() {
            out::note(format_args!(
                "caution: everyone who reaches {address} can read how the experiment goes"
            ));
        }
        drop(self.listener.set(listener));
        Ok(())
    }

    pub(crate) fn directory(&self) -> Option<&Path> {
        let parent = self.metrics_file.as_deref()?.parent()?;
        Some(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
    }

    pub(crate) fn begin(&self) -> Result<Option<Monitor>> {
        let file = self
            .metrics_file
            .as_ref()
            .map(Dir::of_file)
            .transpose()
            .context("--metrics-file: cannot be written")?;
        let listener = self
            .listener
            .get()
            .map(TcpListener::try_clone)
            .transpose()
            .context("--metrics-listen: lost")?;
        if file.is_none() && listener.is_none() {
            return Ok(None);
        }
        let running = Arc::default();
        Ok(Some(Monitor {
            running,
            file,
            written: Mutex::default(),
            listener: Mutex::new(listener),
        }))
    }
}

fn address(word: &str) -> Option<SocketAddr> {
    let of_port = || Some(SocketAddr::from((Ipv4Addr::LOCALHOST, word.parse().ok()?)));
    word.parse().ok().or_else(of_port)
}

impl Monitor {
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.file.as_ref().map(|(dir, _)| dir.path())
    }

    /// Also starts the serving thread, under the remaining privileges.
    pub(crate) fn serve(&self, plan: &Plan) -> Result<()> {
        let mut running = self.lock();
        plan.name.clone_into(&mut running.name);
        plan.device.clone_into(&mut running.device);
        plan.arena.name.clone_into(&mut running.arena);
        text::build::identity().clone_into(&mut running.version);
        running.is_virtual = plan.arena.is_virtual();
        running.ended = None;
        drop(running);
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listener) = listener {
            let at = listener.local_addr().context("--metrics-listen: lost")?;
            out::note(format_args!("metrics: http://{at}/metrics"));
            let running = Arc::clone(&self.running);
            std::thread::spawn(move || server::serve(listener, running));
        }
        self.write(true);
        Ok(())
    }

    pub(crate) fn step(&self, step: &Step<'_>) {
        let mut running = self.lock();
        running.share = step.share;
        running.elapsed_s = step.elapsed.as_secs_f64();
        running.left_s = step.left.map(|left| left.as_secs_f64());
        drop(running);
        self.write(false);
    }

    pub(crate) fn measured(&self, trial: &Trial, metric: &str) {
        let mut running = self.lock();
        running.measured(trial, metric);
        running.last_trial_s =
            SystemTime::UNIX_EPOCH.elapsed().ok().map(|since| since.as_secs_f64());
    }

    pub(crate) fn decided(&self, workload: &str, variant: &str) {
        self.lock().decided(workload, variant);
    }

    pub(crate) fn ended(&self, why: &str) {
        let mut running = self.lock();
        running.ended = Some(why.to_owned());
        running.left_s = None;
        drop(running);
        self.write(true);
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A failure does not end the experiment; it is reported once.
    fn write(&self, now: bool) {
        let Some((dir, name)) = &self.file else { return };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if !now && written.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        let text = self.lock().openmetrics();
        // World-readable: node_exporter runs as another user.
        let done = dir.replace(name, text.as_bytes()).and_then(|()| dir.set_mode(name, 0o644));
        if let Err(error) = done
            && written.is_none()
        {
            out::note(format_args!("--metrics-file: {error}; the experiment goes on without it"));
        }
        *written = Some(Instant::now());
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        let is_open = {
            let running = self.lock();
            running.ended.is_none() && !running.arena.is_empty()
        };
        if is_open {
            self.ended("failed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_one_of_this_machine_only() {
        assert_eq!(address("9100").unwrap().to_string(), "127.0.0.1:9100");
        assert_eq!(address("[::1]:0").unwrap().to_string(), "[::1]:0");
        assert_eq!(address("0.0.0.0:9100").unwrap().to_string(), "0.0.0.0:9100");
        for word in ["", "localhost:9100", "70000", ":9100", "127.0.0.1"] {
            assert!(address(word).is_none(), "{word}");
        }
    }
}
