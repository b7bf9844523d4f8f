//! Profiles a live disk.
//!
//! Requests arrive in completion order and are profiled in queueing order, two seconds later;
//! slower requests are counted as out of order.

use std::time::{Duration, Instant};

use anyhow::Result;
use lab::progress::Progress as _;
use lab::signals::Stop;
use machine::Root;
use recorder::live::{Live, Options};
use trace::profile::{InOrder, Profile, Profiler};
use trace::{Io, Trace};

use super::super::live;
use crate::cli::ProfileArgs;
use crate::progress::Progress;

const DRAW: Duration = Duration::from_millis(500);
/// Expected maximum duration of a request, in nanoseconds.
const HORIZON: u64 = 2_000_000_000;
const LENGTH: Duration = Duration::from_secs(10);
/// Recent requests, for the page's excerpt.
const REMEMBERED: usize = 1 << 20;

pub(super) trait Screen {
    fn begin(&mut self) -> Result<()>;
    fn end(&mut self);
    fn again(&mut self);
    fn is_paused(&self) -> bool;
    fn count(&mut self, io: &Io);
    fn key(&mut self) -> Result<Option<Key>>;
    fn draw(&mut self, profile: &Profile, elapsed: Duration, lost: u64) -> Result<()>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    End,
    Again,
}

#[cfg(feature = "full")]
fn open_screen() -> Result<Box<dyn Screen>> {
    Ok(Box::new(super::dashboard::Dashboard::check()?))
}

#[cfg(not(feature = "full"))]
fn open_screen() -> Result<Box<dyn Screen>> {
    Err(crate::failure::usage(text::absent("--watch", "it", "leave it out, or ")))
}

struct Session {
    profiler: Profiler,
    order: InOrder,
    remembered: std::collections::VecDeque<Io>,
    remembers: bool,
}

impl Session {
    fn release(&mut self, before_ns: u64) {
        let Session { profiler, order, remembered, remembers } = self;
        order.release(before_ns, &mut |io| {
            profiler.push(io);
            if *remembers {
                if remembered.len() == REMEMBERED {
                    remembered.pop_front();
                }
                remembered.push_back(*io);
            }
        });
    }
}

/// Profiles until the time is up, a signal arrives or a key ends it. The trace has the last
/// requests.
pub(super) fn run(root: &Root, args: &ProfileArgs) -> Result<(Profile, Trace)> {
    let length = args.length.as_deref().map(|word| live::length(word, "30s")).transpose()?;
    let length = if args.watch { length } else { Some(length.unwrap_or(LENGTH)) };
    let options = Options {
        devices: vec![args.what.clone()],
        pids: args.pid.clone(),
        cgroups: args.cgroup.clone(),
        source: args.source.into(),
    };
    let mut dashboard = if args.watch { Some(open_screen()?) } else { None };
    let progress = Progress::new(args.quiet || args.json || args.watch);
    let mut live = live::begin(root, &options, args.html.as_deref().as_slice(), &progress)?;
    let stop = Stop::install()?;
    if let Some(why) = live.fallback() {
        progress.say(&format!("profiling by tracefs, for BPF cannot be had: {why}"));
    }
    if let Some(dashboard) = &mut dashboard {
        dashboard.begin()?;
    }
    let mut session = Session {
        profiler: Profiler::default(),
        order: InOrder::default(),
        remembered: std::collections::VecDeque::new(),
        remembers: args.html.is_some(),
    };
    let ended = follow(&mut live, &mut session, length, &stop, &progress, dashboard.as_mut());
    if let Some(dashboard) = &mut dashboard {
        dashboard.end();
    }
    progress.clear();
    let cut_short = ended?;
    let mut about = live.finish(&mut |io| session.order.push(io))?;
    about.cut_short = cut_short;
    session.release(u64::MAX);
    let tables = Trace { about, ..live.tables().clone() };
    let profile = session.profiler.finish(&tables);
    Ok((profile, Trace { ios: session.remembered.into(), ..tables }))
}

/// Returns the reason for an early end.
fn follow(
    live: &mut Live,
    session: &mut Session,
    length: Option<Duration>,
    stop: &Stop,
    progress: &Progress,
    mut dashboard: Option<&mut Box<dyn Screen>>,
) -> Result<String> {
    let (began, mut drawn, mut latest, mut forgotten) = (Instant::now(), Instant::now(), 0, 0);
    while stop.signal().is_none() && live::wait(began, length) {
        live.drain(&mut |io| {
            latest = latest.max(io.completed.get().unwrap_or(io.queued));
            if io.queued >= forgotten {
                session.order.push(io);
            }
            if let Some(dashboard) = &mut dashboard {
                dashboard.count(io);
            }
        })?;
        session.release(latest.saturating_sub(HORIZON));
        if drawn.elapsed() < DRAW {
            continue;
        }
        drawn = Instant::now();
        if let Some(disk) = live.removed() {
            return Ok(format!("{disk} was removed"));
        }
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let elapsed = began.elapsed();
        progress.prepare(
            &format!("profiling · {:.0} s", elapsed.as_secs_f64()),
            millis(elapsed),
            millis(length.unwrap_or(elapsed)),
        );
        let Some(dashboard) = &mut dashboard else { continue };
        match dashboard.key()? {
            Some(Key::End) => break,
            Some(Key::Again) => {
                session.release(u64::MAX);
                (session.profiler, forgotten) = (Profiler::default(), latest);
                dashboard.again();
            }
            None => {}
        }
        if !dashboard.is_paused() {
            dashboard.draw(&session.profiler.snapshot(live.tables()), elapsed, live.lost())?;
        }
    }
    Ok(String::new())
}
