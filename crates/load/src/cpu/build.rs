//! A build: jobs that compile one file after the other, each in a separate process that reads the
//! source, computes, and writes the object.
//!
//! Sources are read past the page cache, as in the first build after a boot. Computing times are
//! exponential, and the same for the same seed.

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::fdatasync;
use serde::{Deserialize, Serialize};
use sim::Stream;

use crate::buffer::Buffer;
use crate::cpu::clock::{charge_step, compute, is_virtual, now_ns};
use crate::cpu::counted::{Counted, OWN};
use crate::cpu::latency::{Latencies, Names, report};
use crate::cpu::load::on_threads;
use crate::cpu::place::{Place, block, refused};
use crate::cpu::request::computing_time;
use crate::cpu::sys::{Stack, run_compiler};
use crate::cpu::{Failure, Report};

const NAMES: Names = Names { prefix: "file", events: "files", percentiles: &[("p50", 0.5)] };

/// Sources and objects have a multiple of these bytes.
pub const BLOCK: u64 = 4096;
/// Bytes of a job's sources, and of its objects.
const TREE: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    pub jobs: u32,
    /// Computing time of a file, on average.
    pub work_ns: u64,
    /// Bytes of a source, a multiple of [`BLOCK`].
    pub read: u64,
    /// Bytes of an object, a multiple of [`BLOCK`].
    pub write: u64,
    /// Determines the file system; in virtual time, all is on the guest's disk.
    pub dir: PathBuf,
    pub seed: u64,
    pub duration_ns: u64,
}

/// Sums over a job's compilers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    read_ns: u64,
    write_ns: u64,
    counted: Option<Counted>,
}

/// What one compiler does, in a separate process.
pub(crate) struct Compiler<'a> {
    place: &'a Place,
    buffer: &'a mut Buffer,
    /// Offset and bytes.
    source: (u64, u32),
    object: (u64, u32),
    work_ns: u64,
    told: &'a mut Told,
}

impl Compiler<'_> {
    /// False if its I/O fails.
    pub(crate) fn run(self) -> bool {
        let began = now_ns();
        let source = self.buffer.bytes(self.source.1);
        let mut well = self.place.file.read_exact_at(source, self.source.0).is_ok();
        let read = now_ns();
        compute(self.work_ns);
        let computed = now_ns();
        let object = &*self.buffer.bytes(self.object.1);
        well &= self.place.file.write_all_at(object, self.object.0).is_ok();
        self.told.read_ns += read - began;
        self.told.write_ns += now_ns() - computed;
        let own = Counted::read(OWN);
        self.told.counted = Some(self.told.counted.map_or(own, |sum| sum.and(&own)));
        well
    }
}

struct Job {
    latencies: Latencies,
    counted: Counted,
    /// Of the files that were done within the time.
    files: u64,
    told: Told,
}

/// [`Failure::Refused`] without processes, space or unnamed files.
pub fn run(spec: &Spec, stop: &AtomicBool) -> Result<Report, Failure> {
    let places: Vec<Place> =
        (0..spec.jobs).map(|at| tree(&spec.dir, at)).collect::<Result<_, _>>()?;
    let began = now_ns();
    let end = began.saturating_add(spec.duration_ns);
    let jobs = on_threads(spec.jobs, stop, |at| job(spec, at, &places[at as usize], end, stop))?;
    let window_ns = (now_ns() - began).max(1);
    let files: u64 = jobs.iter().map(|job| job.files).sum();
    let reads = jobs.iter().map(|job| job.told.read_ns).sum::<u64>() as f64;
    let writes = jobs.iter().map(|job| job.told.write_ns).sum::<u64>() as f64;
    let seen = jobs.into_iter().map(|job| (job.latencies, job.counted)).collect();
    let mut report = report(&NAMES, window_ns, seen);
    let all = report.counters["files"];
    if all > 0.0 {
        report.counters.insert("read_mean_us".to_string(), reads / all / 1e3);
        report.counters.insert("write_mean_us".to_string(), writes / all / 1e3);
    }
    if files > 0 {
        let seconds = spec.duration_ns as f64 / 1e9;
        report.metrics.insert("files_per_s".to_string(), files as f64 / seconds);
        report.counts.insert("files_per_s".to_string(), files);
    }
    Ok(report)
}

/// A job's part of the disk, with its sources.
fn tree(dir: &Path, at: u32) -> Result<Place, Failure> {
    let place = Place::open(dir, at, 2 * TREE, true)?;
    if !is_virtual() {
        let mut block = block(1 << 20)?;
        let mut offsets = (0..2 * TREE).step_by(1 << 20);
        offsets
            .try_for_each(|offset| place.file.write_all_at(block.all(), offset))
            .map_err(refused("write the sources in dir=… (name a directory with more room)"))?;
        fdatasync(&place.file).map_err(refused("write the sources in dir=…"))?;
    }
    Ok(place)
}

fn job(spec: &Spec, at: u32, place: &Place, end: u64, stop: &AtomicBool) -> Result<Job, Failure> {
    let (mut told, mut stack) = (Told::default(), Stack::new());
    let mut stream = sim::stream(spec.seed, &format!("build {at}"));
    let bytes = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let mut buffer = block(spec.read.max(spec.write))?;
    let (mut latencies, mut files) = (Latencies::new(), 0);
    let before = Counted::read(OWN);
    while !stop.load(Ordering::Relaxed) && now_ns() < end {
        let began = now_ns();
        let compiler = Compiler {
            place,
            buffer: &mut buffer,
            source: (place.start + offset(&mut stream, spec.read), bytes(spec.read)),
            object: (place.start + TREE + offset(&mut stream, spec.write), bytes(spec.write)),
            work_ns: computing_time(&mut stream, spec.work_ns),
            told: &mut told,
        };
        charge_step();
        let ran = run_compiler(compiler, &mut stack)
            .map_err(refused("begin a process (is there a limit of processes?)"))?;
        if !ran {
            return Err(refused("read or write in dir=…")(std::io::ErrorKind::Other));
        }
        let done = now_ns();
        latencies.record(done - began);
        files += u64::from(done <= end);
    }
    let own = Counted::read(OWN).since(&before);
    let counted = told.counted.map_or(own, |compilers| own.and(&compilers));
    Ok(Job { latencies, counted, files, told })
}

/// Of a piece of the tree, aligned to its size.
fn offset(stream: &mut Stream, bytes: u64) -> u64 {
    stream.below((TREE / bytes.max(1)).max(1)) * bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn spec(dir: &Path) -> Spec {
        Spec {
            jobs: 2,
            work_ns: MS,
            read: 8192,
            write: 4096,
            dir: dir.into(),
            seed: 7,
            duration_ns: 200 * MS,
        }
    }

    #[test]
    fn files_are_read_compiled_and_written_until_the_time_is_over() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let report = run(&spec(dir.path()), &AtomicBool::new(false)).unwrap();
        let files = report.counters["files"];
        assert!(files >= 2.0 && report.metrics["file_p50_us"] > 0.0, "{report:?}");
        assert!(report.counters["read_mean_us"] > 0.0 && report.counters["write_mean_us"] > 0.0);
        assert!(report.window_ns >= 200 * MS);
        // Compilers compute 1 ms each, on average.
        assert!(report.counters["task_run_ms"] > 0.2 * files, "{report:?}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_build_that_cannot_write_is_refused() {
        let refused = run(&spec(Path::new("/nowhere/at/all")), &AtomicBool::new(false));
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("dir=") && refused.contains("No such file"), "{refused}");
    }

    #[test]
    fn a_stop_ends_every_job() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let endless = Spec { duration_ns: u64::MAX / 2, ..spec(dir.path()) };
        let report = run(&endless, &AtomicBool::new(true)).unwrap();
        assert!(report.metrics.is_empty(), "{report:?}");
    }
}
