//! Merges blktrace's files, one per CPU, in time order.
//!
//! Records within a file may be out of order, because an interrupt can write one between another's
//! timestamp and its write. A window of [`WINDOW`] records is sorted [P].

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use machine::files::open_input;
use text::limits::TRACE_FILES;
use trace::Trace;
use trace::formats::blktrace::{Decoder, Record, Stream};
use trace::formats::{Builder, Format};

use super::metered::Metered;

const WINDOW: usize = 1 << 16;
const PIECE: usize = 1 << 16;

/// A file with its decoded records.
struct Source<R> {
    reader: R,
    decoder: Decoder,
    records: VecDeque<Record>,
    piece: Vec<u8>,
    ended: bool,
}

impl<R: Read> Source<R> {
    fn new(reader: R) -> Source<R> {
        Source {
            reader,
            decoder: Decoder::default(),
            records: VecDeque::new(),
            piece: vec![0; PIECE],
            ended: false,
        }
    }

    fn next(&mut self) -> Result<Option<Record>> {
        while self.records.is_empty() && !self.ended {
            let read = self.reader.read(&mut self.piece)?;
            self.ended = read == 0;
            let records = &mut self.records;
            let fed =
                self.decoder.feed(&self.piece[..read], &mut |record| records.push_back(record));
            fed.map_err(|problem| anyhow!("{problem}"))?;
        }
        Ok(self.records.pop_front())
    }
}

/// Reads the file with those of other CPUs.
pub(super) fn read(path: &Path) -> Result<Trace> {
    let paths = parts(path);
    check_files(paths.len())?;
    let mut sources = Vec::new();
    for path in &paths {
        let file = open_input(path).with_context(|| format!("{}: cannot read", path.display()))?;
        sources.push(Source::new(Metered::new(BufReader::new(file))));
    }
    merged(sources)
}

pub(super) fn of_one(reader: impl Read) -> Result<Trace> {
    merged(vec![Source::new(reader)])
}

/// NAME.blktrace.0, NAME.blktrace.1 and so on; a file of another name is alone.
pub fn parts(path: &Path) -> Vec<PathBuf> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let stem = name
        .rsplit_once('.')
        .filter(|(stem, number)| is_number(number) && stem.ends_with(".blktrace"));
    let Some((stem, _)) = stem else { return vec![path.to_owned()] };
    let of_cpu = |cpu: u64| path.with_file_name(format!("{stem}.{cpu}"));
    let is_there =
        |path: &PathBuf| std::fs::metadata(path).is_ok_and(|kind| kind.is_file() && kind.len() > 0);
    (0..=TRACE_FILES.most).map(of_cpu).filter(is_there).collect()
}

/// The limit is the number of open files.
pub fn check_files(files: usize) -> Result<()> {
    Ok(TRACE_FILES.check(files)?)
}

fn merged<R: Read>(mut sources: Vec<Source<R>>) -> Result<Trace> {
    let (mut to, mut stream) = (Builder::new(), Stream::default());
    // The next record of each source, and the sort window.
    let mut heads = std::collections::BinaryHeap::new();
    for (number, source) in sources.iter_mut().enumerate() {
        if let Some(record) = source.next()? {
            heads.push(Reverse(Ordered(record.order(), number, record)));
        }
    }
    let mut window = std::collections::BinaryHeap::new();
    let mut age = 0usize;
    while let Some(Reverse(Ordered(order, number, record))) = heads.pop() {
        if let Some(next) = sources[number].next()? {
            heads.push(Reverse(Ordered(next.order(), number, next)));
        }
        // A note with a process name precedes the first event with that name, regardless of its
        // timestamp.
        age += 1;
        window.push(Reverse(Ordered(order, age, record)));
        if window.len() > WINDOW {
            take(&mut window, &mut stream, &mut to)?;
        }
    }
    while !window.is_empty() {
        take(&mut window, &mut stream, &mut to)?;
    }
    for source in &sources {
        if source.decoder.left() > 0 {
            to.lost(1);
        }
    }
    if to.is_empty() {
        bail!(
            "trace: no request in it (expected events Q, which `blktrace -a queue` or no option -a records)"
        );
    }
    Ok(to.finish(Format::Blktrace))
}

fn take(
    window: &mut std::collections::BinaryHeap<Reverse<Ordered>>,
    stream: &mut Stream,
    to: &mut Builder,
) -> Result<()> {
    if let Some(Reverse(Ordered(.., record))) = window.pop() {
        stream.record(&record, to);
    }
    match to.exceeded() {
        None => Ok(()),
        Some(problem) => bail!("{problem}"),
    }
}

/// A record ordered by time, then age.
struct Ordered((u64, u32), usize, Record);

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> std::cmp::Ordering {
        (self.0.0, self.1).cmp(&(other.0.0, other.1))
    }
}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}
