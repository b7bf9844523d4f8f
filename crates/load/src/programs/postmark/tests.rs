//! Debian's program against our generator, by operations with strace.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use sim::workload::{PostmarkOperation, PostmarkOperations};

use super::*;
use crate::programs::find;

fn read(pairs: &[(&str, &str)]) -> Result<Options, String> {
    find("postmark-program").expect("a row").read(pairs.iter().copied()).map_err(|e| e.to_string())
}

fn can_run(tool: &str) -> bool {
    let found = Command::new(tool).arg("-V").stdin(Stdio::null()).output().is_ok();
    if !found {
        eprintln!("SKIPPED: {tool} is not installed (apt-get install {tool})");
    }
    found
}

/// Operations with file names as numbers, and the largest read and write.
fn traced(commands: &str, location: &Path) -> (Vec<PostmarkOperation>, [u32; 2]) {
    let (input, trace) = (location.with_extension("in"), location.with_extension("trace"));
    fs::create_dir(location).unwrap();
    fs::write(&input, commands).unwrap();
    let output = Command::new("strace")
        .args(["-f", "-e", "trace=file,desc", "-o"])
        .arg(&trace)
        .arg("postmark")
        .stdin(fs::File::open(&input).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}: {commands}");
    operations(&fs::read_to_string(&trace).unwrap(), &location.display().to_string())
}

/// Its purpose, and the bytes so far.
struct Open {
    file: u32,
    directory: u32,
    flags: String,
    bytes: u32,
}

fn operations(trace: &str, location: &str) -> (Vec<PostmarkOperation>, [u32; 2]) {
    let mut largest = [0, 0];
    let mut open: BTreeMap<String, Open> = BTreeMap::new();
    let mut done = Vec::new();
    for line in trace.lines() {
        let call = line.split_once(' ').map_or(line, |(_, call)| call.trim());
        let Some((name, rest)) = call.split_once('(') else { continue };
        let (args, result) = rest.rsplit_once(" = ").unwrap_or((rest, ""));
        let named = || {
            args.split('"').nth(1).and_then(|path| path.strip_prefix(location)).and_then(number_of)
        };
        let fd = args.split([',', ')']).next().unwrap_or_default().to_string();
        match name {
            "openat" => {
                if let Some((directory, file)) = named() {
                    let flags = args.rsplit_once("\", ").unwrap().1.to_string();
                    open.insert(
                        result.trim().to_string(),
                        Open { file, directory, flags, bytes: 0 },
                    );
                }
            }
            "read" | "write" => {
                if let Some(open) = open.get_mut(&fd) {
                    let bytes: u32 = result.trim().parse().unwrap();
                    open.bytes += bytes;
                    let largest = &mut largest[usize::from(name == "write")];
                    *largest = bytes.max(*largest);
                }
            }
            "close" => done.extend(open.remove(&fd).map(closed)),
            "unlink" | "unlinkat" => {
                let (_, file) = named().expect("only its files are deleted");
                done.push(PostmarkOperation::Delete { file });
            }
            _ => {}
        }
    }
    (done, largest)
}

fn closed(open: Open) -> PostmarkOperation {
    let Open { file, directory, flags, bytes } = open;
    if flags.contains("O_APPEND") {
        PostmarkOperation::Append { file, bytes }
    } else if flags.contains("O_CREAT") {
        PostmarkOperation::Create { file, directory, bytes }
    } else {
        PostmarkOperation::Read { file, bytes }
    }
}

/// Parses `/12` or `/s3/12`.
fn number_of(path: &str) -> Option<(u32, u32)> {
    let path = path.strip_prefix('/')?;
    match path.split_once('/') {
        Some((directory, file)) => {
            Some((directory.strip_prefix('s')?.parse().ok()?, file.parse().ok()?))
        }
        None => Some((0, path.parse().ok()?)),
    }
}

#[test]
fn debians_program_and_our_own_workload_issue_the_same_operations() {
    if !can_run("strace") || !can_run(PROGRAM) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let sets: &[&[(&str, &str)]] = &[
        &[],
        &[("seed", "7"), ("number", "60"), ("transactions", "400")],
        &[("seed", "1"), ("number", "50"), ("subdirectories", "1"), ("transactions", "100")],
        &[
            ("read_block", "700"),
            ("write_block", "300"),
            ("subdirectories", "7"),
            ("number", "100"),
            ("transactions", "300"),
            ("buffering", "false"),
        ],
        &[("number", "20"), ("transactions", "300"), ("bias_create", "10"), ("bias_read", "2")],
        &[("number", "300"), ("transactions", "200"), ("bias_read", "off"), ("bias_create", "3")],
        &[
            ("number", "100"),
            ("transactions", "500"),
            ("bias_read", "10"),
            ("bias_create", "off"),
            ("read_block", "16k"),
        ],
        &[
            ("number", "15"),
            ("transactions", "800"),
            ("bias_read", "0"),
            ("bias_create", "off"),
            ("size_max", "3000"),
        ],
        &[
            ("number", "30"),
            ("size_min", "1000"),
            ("size_max", "1000"),
            ("write_block", "4096"),
            ("seed", "2147483647"),
        ],
    ];
    for (at, pairs) in sets.iter().enumerate() {
        let postmark = Postmark::of(&read(pairs).unwrap());
        let seed = postmark.setup.seed.expect("these have seeds of their own");
        let location = dir.path().join(format!("set-{at}"));
        let (theirs, largest) =
            traced(&commands(&postmark.setup, seed, postmark.buffering, &location), &location);
        let ours: Vec<_> = PostmarkOperations::new(&postmark.setup, seed)
            .unwrap()
            .map(|(_, operation)| operation)
            .collect();
        assert!(ours.len() as u64 >= u64::from(2 * postmark.setup.number), "{pairs:?}");
        let differ = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
        if let Some(at) = differ {
            panic!(
                "{pairs:?}: operation {at} of ours is {:?}, of the program {:?}",
                ours[at], theirs[at]
            );
        }
        assert_eq!(ours.len(), theirs.len(), "{pairs:?}");
        if !postmark.buffering {
            assert_eq!(
                largest,
                [postmark.setup.read_block, postmark.setup.write_block],
                "{pairs:?}"
            );
        }
    }
}

#[test]
fn parameters_that_the_program_cannot_bear_are_refused() {
    for (pairs, part) in [
        (&[("transactions", "9")][..], "fewer than 10"),
        (&[("size_min", "0")], "size_min"),
        (&[("seed", "2147483648")], "1 to 2147483647"),
        (&[("seed", "0")], "1 to 2147483647"),
        (&[("bias_read", "11")], "bias_read"),
        (
            &[("number", "10"), ("transactions", "500"), ("bias_create", "0")],
            "all files are deleted",
        ),
        (&[("bias_read", "off"), ("bias_create", "off")], "both off"),
    ] {
        let error = read(pairs).unwrap_err();
        assert!(error.contains(part), "{pairs:?}: {error}");
    }
}

#[test]
fn a_program_that_did_something_else_is_not_believed() {
    let postmark = Postmark::of(&read(&[]).unwrap());
    let expected = Expected::of(&postmark.setup, 42).unwrap();
    let exact = |bytes: u64| report::Rounded { bytes: bytes as f64, within: 5242.88 };
    let right = Report {
        total_s: 1.0,
        transactions_s: 1.0,
        tps: 500.0,
        created: 764,
        read: 243,
        appended: 257,
        deleted: 764,
        bytes_read: exact(expected.read_bytes),
        bytes_written: exact(expected.written_bytes),
    };
    let ended = || Ended { stderr: "its last words".into(), ..Ended::default() };
    assert!(postmark.compare(&expected, &right, &ended()).is_ok());
    let fewer = [
        (Report { created: 763, ..right.clone() }, "763 files created"),
        (Report { read: 242, ..right.clone() }, "242 files read"),
        (Report { appended: 0, ..right.clone() }, "0 files appended"),
        (Report { deleted: 765, ..right.clone() }, "765 files deleted"),
        (Report { bytes_read: exact(expected.read_bytes + 9000), ..right.clone() }, "bytes"),
        (Report { bytes_written: exact(expected.written_bytes - 9000), ..right }, "bytes"),
    ];
    for (report, part) in fewer {
        let error = postmark.compare(&expected, &report, &ended()).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("its last words"), "{error}");
    }
}
