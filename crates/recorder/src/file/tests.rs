//! Compressed files, and blktrace's files of several CPUs.

use std::path::Path;

use trace::formats::Format;
use trace::{At, Kind, Trace};

use super::*;

const TEXT: &str = "fio version 3 iolog\n0 /f read 0 4096\n10 /f write 8192 512\n";

fn written(dir: &Path, name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, bytes).expect("a file");
    path
}

fn refused(path: &Path, options: &ReadOptions) -> String {
    format!("{:#}", read(path, options).expect_err("it is broken"))
}

/// Time, action with its category, sector, bytes, and payload.
fn record(at: u64, action: u32, sector: u64, bytes: u32, data: &[u8], big: bool) -> Vec<u8> {
    let word = |word: u32| if big { word.to_be_bytes() } else { word.to_le_bytes() };
    let long = |long: u64| if big { long.to_be_bytes() } else { long.to_le_bytes() };
    let follows = data.len() as u16;
    let mut record = [
        &word(0x6561_7407)[..],
        &word(1),
        &long(at),
        &long(sector),
        &word(bytes),
        &word(action),
        &word(42),
    ]
    .concat();
    record.extend(word(8 << 20 | 16));
    record.extend(word(0));
    record.extend([0, 0]);
    record.extend(if big { follows.to_be_bytes() } else { follows.to_le_bytes() });
    record.extend(data);
    record
}

const READ: u32 = 1 << 16;
const NOTE: u32 = 1 << 26;

#[test]
fn blktrace_s_files_of_all_cpus_are_one_trace_in_either_byte_order() {
    for big in [false, true] {
        let dir = tempfile::tempdir().expect("a directory");
        let first = [
            record(90, NOTE, 0, 0, b"postgres\0\0\0\0\0\0\0\0", big),
            record(100, READ | 1, 800, 4096, &[], big),
            record(400, READ | 1, 80, 4096, &[], big),
        ];
        let second = [
            record(150, READ | 7, 800, 4096, &[], big),
            record(300, READ | 8, 800, 4096, &[], big),
        ];
        let path = written(dir.path(), "sdb.blktrace.0", &first.concat());
        written(dir.path(), "sdb.blktrace.1", &second.concat());
        written(dir.path(), "sdc.blktrace.1", b"another device's");
        let trace = read(&path, &ReadOptions::default()).expect("a trace");
        assert_eq!(trace.about.source, "blktrace");
        let io = trace.ios[0];
        assert_eq!(
            (io.queued, io.issued, io.completed, io.kind),
            (0, At::ns(50), At::ns(200), Kind::Read)
        );
        assert_eq!((io.sector, io.sectors, trace.ios[1].queued), (800, 8, 300));
        assert_eq!((trace.processes[0].name.as_str(), trace.processes[0].pid), ("postgres", 42));
        assert_eq!((trace.devices[0].name.as_str(), trace.devices[0].minor), ("8,16", 16));
        let cut = written(dir.path(), "cut", &first.concat()[..150]);
        assert_eq!(read(&cut, &ReadOptions::default()).expect("what is whole").about.lost, 1);
        let other = written(
            dir.path(),
            "other",
            &[&first.concat()[..], b"nothing of the kind, but as long as a record at least"]
                .concat(),
        );
        assert!(
            refused(&other, &ReadOptions::default())
                .contains("expected the beginning of a record of blktrace")
        );
    }
}

#[test]
fn what_is_no_trace_is_named_with_the_file_and_the_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = written(dir.path(), "t", b"fio version 2 iolog\nrubbish\n");
    let error = refused(&path, &ReadOptions::default());
    assert!(
        error.contains(path.to_str().expect("text")) && error.contains("line 2: expected"),
        "{error}"
    );
    assert!(refused(dir.path(), &ReadOptions::default()).contains("not a regular file"));
    assert!(
        refused(&dir.path().join("none"), &ReadOptions::default())
            .contains("cannot read the trace")
    );
    let text = written(dir.path(), "text", TEXT.as_bytes());
    let options = ReadOptions { format: Format::Blktrace, ..ReadOptions::default() };
    assert!(refused(&text, &options).contains("not blktrace"));
}

fn plain(dir: &Path) -> Trace {
    read(&written(dir, "plain", TEXT.as_bytes()), &ReadOptions::default()).expect("text")
}

#[cfg(feature = "full")]
#[test]
fn packed_traces_are_as_their_text_and_damaged_ones_are_errors() {
    use std::io::Write;
    let dir = tempfile::tempdir().expect("a directory");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(TEXT.as_bytes()).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let (begin, end) = TEXT.split_at(30);
    let level = || ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = [begin, end]
        .map(|part| ruzstd::encoding::compress_to_vec(part.as_bytes(), level()))
        .concat();
    for (name, bytes) in [("a.gz", gzip), ("a.zst", zstd)] {
        let path = written(dir.path(), name, &bytes);
        assert_eq!(read(&path, &ReadOptions::default()).expect(name), plain(dir.path()));
        let cut = written(dir.path(), "cut", &bytes[..bytes.len() - 9]);
        assert!(read(&cut, &ReadOptions::default()).is_err(), "{name}");
    }
}

#[cfg(not(feature = "full"))]
#[test]
fn the_minimal_build_says_which_program_unpacks() {
    let dir = tempfile::tempdir().expect("a directory");
    assert_eq!(plain(dir.path()).ios.len(), 2);
    let path = written(dir.path(), "a.gz", &[0x1f, 0x8b, 8, 0]);
    assert!(refused(&path, &ReadOptions::default()).contains("gunzip"));
}

#[cfg(feature = "full")]
#[test]
fn a_trace_is_found_by_its_contents() {
    let dir = tempfile::tempdir().expect("a directory");
    let trace = plain(dir.path());
    let mut writer = columnar::Writer::new(Vec::new()).expect("memory");
    trace.ios.iter().for_each(|io| writer.push(io).expect("memory"));
    let tables = Trace { ios: Vec::new(), ..trace.clone() };
    let path = written(dir.path(), "any name", &writer.finish(tables).expect("memory"));
    assert_eq!(read(&path, &ReadOptions::default()).expect("Parquet"), trace);
}

/// Written by Linux 6.18's tracer `blk` (option `bin`) for fio on a loop device, and converted by
/// blkparse 1.3.0.
#[test]
fn what_a_kernel_wrote_is_read_as_blkparse_reads_it() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/file/data");
    let binary = read(&data.join("loop0.blktrace.1"), &ReadOptions::default()).expect("both CPUs");
    let text = read(&data.join("loop0.txt"), &ReadOptions::default()).expect("blkparse's text");
    assert!(binary.ios.len() > 10 && binary.ios.iter().any(|io| io.completed != At::UNKNOWN));
    assert_eq!(
        (&binary.ios, &binary.processes, &binary.devices),
        (&text.ios, &text.processes, &text.devices)
    );
}

#[cfg(feature = "full")]
#[test]
fn a_trace_is_written_in_each_format_that_has_an_ending_and_read_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let trace = plain(dir.path());
    for row in trace::formats::FORMATS {
        for ending in row.endings {
            let path = dir.path().join(format!("a.{ending}"));
            write(&path, &trace).expect(ending);
            if row.format == trace::formats::Format::Perfetto {
                // Output for people is not read.
                let refused =
                    format!("{:#}", read(&path, &ReadOptions::default()).expect_err(ending));
                assert!(refused.contains("name the original trace"), "{refused}");
                continue;
            }
            let again = read(&path, &ReadOptions::default()).expect(ending);
            // blkparse's text has marks, and synchronous reads.
            let facts = |trace: &Trace| {
                trace
                    .ios
                    .iter()
                    .map(|io| (io.queued, io.kind, io.sector, io.sectors))
                    .collect::<Vec<_>>()
            };
            assert_eq!(facts(&again), facts(&trace), "{ending}");
            let twice = format!("{:#}", write(&path, &trace).expect_err("it exists"));
            assert!(twice.contains("exists already"), "{twice}");
        }
    }
    let none = format!("{:#}", write(&dir.path().join("a.doc"), &trace).expect_err("no format"));
    assert!(none.contains(".parquet, .blkparse, .txt, .iolog, .fio"), "{none}");
}
