//! `schedlab trace record`: records a live disk's I/O to a file.

use std::time::{Duration, Instant};

use anyhow::Result;
use lab::progress::Progress as _;
use lab::signals::Stop;
use machine::Root;
use recorder::file::output::{Output, Taken};
use recorder::file::{self, ReadOptions};
use recorder::live::{Live, Options};
use serde::Serialize;
use text::format_bytes;
use trace::{About, Io, Kind};

use super::live;
use crate::cli::RecordArgs;
use crate::failure::{FAILED, REACHED, usage};
use crate::out;
use crate::progress::Progress;

/// Checks for the disk's removal.
const LOOK: Duration = Duration::from_millis(500);
const NO_SPACE: &str = "no space was left for the trace";

pub(crate) fn run(root: &Root, args: &RecordArgs) -> Result<u8> {
    let summary = recorded(root, args)?;
    if args.json {
        out::line(serde_json::to_string_pretty(&summary)?)?
    } else {
        summary.print()?
    }
    Ok(if summary.about.cut_short.is_empty() { REACHED } else { FAILED })
}

fn recorded(root: &Root, args: &RecordArgs) -> Result<Summary> {
    let length = args.length.as_deref().map(|word| live::length(word, "60s")).transpose()?;
    let options = Options {
        devices: args.devices.clone(),
        pids: args.pid.clone(),
        cgroups: args.cgroup.clone(),
        source: args.source.into(),
    };
    // Perfetto tracks need complete requests in time order: convert the trace at the end.
    let tracks = file::is_perfetto(&args.out);
    let recorded_into =
        if tracks { args.out.with_added_extension("parquet") } else { args.out.clone() };
    if tracks {
        file::can_write(&args.out).map_err(|error| usage(format!("{error:#}")))?;
        if args.out.symlink_metadata().is_ok() {
            return Err(usage(format!("{}: exists already; name a new file", args.out.display())));
        }
    }
    let mut output = Output::create(&recorded_into)?;
    let progress = Progress::new(args.quiet || args.json);
    let mut live = match live::begin(root, &options, &[recorded_into.as_path()], &progress) {
        Ok(live) => live,
        Err(error) => {
            output.discard();
            return Err(error);
        }
    };
    let stop = Stop::install()?;
    remarks(&live, &output, args, &progress);
    let recorded = record(&mut live, &mut output, length, &stop, &progress);
    progress.clear();
    let (about, counts) = recorded?;
    let tables = trace::Trace { about: about.clone(), ..live.tables().clone() };
    let requests = output.requests();
    let bytes = output.finish(tables)?;
    if tracks {
        file::write(&args.out, &file::read(&recorded_into, &ReadOptions::default())?)?;
    }
    Ok(Summary { file: recorded_into.display().to_string(), requests, bytes, counts, about })
}

fn remarks(live: &Live, output: &Output, args: &RecordArgs, progress: &Progress) {
    if let Some(why) = live.fallback() {
        progress.say(&format!("recording by tracefs, for BPF cannot be had: {why}"));
    }
    for device in live.above_requests() {
        progress.remark(&format!(
            "{}: has no requests of its own; what is asked of it is recorded, above the requests of {}: name these to record them",
            device.name,
            if device.below.is_empty() { "the disks below".to_owned() } else { device.below.join(", ") }
        ));
    }
    if !output.is_reserved() {
        progress.remark("the file system cannot allocate blocks ahead: should it become full, the trace is lost");
    }
    if let Some(disk) = live.contains_file(&args.out) {
        progress.remark(&format!("{disk}: is recorded and has the trace on it, whose own writes are among the requests; use another disk for --out"));
    }
}

#[derive(Debug, Default, Serialize)]
struct Counts {
    reads: u64,
    writes: u64,
    others: u64,
    failed: u64,
    bytes_read: u64,
    bytes_written: u64,
}

impl Counts {
    fn count(&mut self, io: &Io) {
        let bytes = u64::from(io.sectors) * 512;
        match io.kind {
            Kind::Read => {
                (self.reads, self.bytes_read) =
                    (self.reads + 1, self.bytes_read.saturating_add(bytes))
            }
            Kind::Write => {
                (self.writes, self.bytes_written) =
                    (self.writes + 1, self.bytes_written.saturating_add(bytes))
            }
            Kind::Flush | Kind::Discard | Kind::Other => self.others += 1,
        }
        self.failed += u64::from(io.flags.has(trace::Flags::FAILED));
    }
}

fn record(
    live: &mut Live,
    output: &mut Output,
    length: Option<Duration>,
    stop: &Stop,
    progress: &Progress,
) -> Result<(About, Counts)> {
    let (began, mut looked) = (Instant::now(), Instant::now());
    let (mut counts, mut batch, mut cut_short) = (Counts::default(), Vec::new(), String::new());
    while stop.signal().is_none() && cut_short.is_empty() && live::wait(began, length) {
        live.drain(&mut |io| batch.push(*io))?;
        if put(&mut batch, live, output, &mut counts)? == Taken::NoSpace {
            cut_short = NO_SPACE.to_owned();
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if let Some(disk) = live.removed() {
                cut_short = format!("{disk} was removed");
            }
            show(progress, live, began.elapsed(), length);
        }
    }
    let mut about = live.finish(&mut |io| batch.push(*io))?;
    if cut_short != NO_SPACE && put(&mut batch, live, output, &mut counts)? == Taken::NoSpace {
        cut_short = NO_SPACE.to_owned();
    }
    about.cut_short = cut_short;
    Ok((about, counts))
}

fn put(
    batch: &mut Vec<Io>,
    live: &Live,
    output: &mut Output,
    counts: &mut Counts,
) -> Result<Taken> {
    for io in batch.drain(..) {
        if output.push(&io, live.tables())? == Taken::NoSpace {
            return Ok(Taken::NoSpace);
        }
        counts.count(&io);
    }
    Ok(Taken::Yes)
}

fn show(progress: &Progress, live: &Live, elapsed: Duration, length: Option<Duration>) {
    let lost =
        if live.lost() == 0 { String::new() } else { format!(", {} events lost", live.lost()) };
    let names: Vec<&str> =
        live.tables().devices.iter().map(|device| device.name.as_str()).collect();
    let text = format!("recording {} · {:.0} s{lost}", names.join(", "), elapsed.as_secs_f64());
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    progress.prepare(&text, millis(elapsed), millis(length.unwrap_or(elapsed)));
}

#[derive(Debug, Serialize)]
struct Summary {
    file: String,
    requests: u64,
    bytes: u64,
    #[serde(flatten)]
    counts: Counts,
    about: About,
}

impl Summary {
    fn print(&self) -> Result<()> {
        let Summary { file, requests, bytes, counts, about } = self;
        let seconds = about.length as f64 / 1e9;
        let each = if *requests == 0 { 0.0 } else { *bytes as f64 / *requests as f64 };
        out::line(format_args!(
            "{file}: {requests} requests in {seconds:.1} s by {} ({} reads of {}, {} writes of {}, {} others), {} ({each:.1} bytes a request)",
            about.source,
            counts.reads,
            format_bytes(counts.bytes_read),
            counts.writes,
            format_bytes(counts.bytes_written),
            counts.others,
            format_bytes(*bytes),
        ))?;
        if counts.failed > 0 {
            out::line(format_args!("{} requests failed", counts.failed))?;
        }
        if about.unfinished > 0 {
            out::line(format_args!(
                "{} requests were not complete at the end, and are left out",
                about.unfinished
            ))?;
        }
        if about.lost > 0 {
            out::line(format_args!(
                "{} events were lost: requests are missing, or incomplete",
                about.lost
            ))?;
        }
        if !about.cut_short.is_empty() {
            out::note(format_args!(
                "{file}: ended before its time: {}; it is valid up to there",
                about.cut_short
            ));
        }
        Ok(())
    }
}
