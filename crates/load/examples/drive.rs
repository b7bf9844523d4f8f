//! A fixed number of random 4 KiB reads by one client, for measuring the engine's cost of a
//! request.
//!
//!     cargo build --release -p load --example drive
//!     drive FILE IOS [IODEPTH [DIRECT]]
//!
//! Counts of instructions and system calls cover the whole process: divide the difference between
//! two runs by that of their requests. See `docs/internals/engine.md`.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use load::{Drive, PATIENCE, Submission, place_on_device, run};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (path, ios, iodepth, direct) = match args.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        [path, ios] => (path, ios, "1", "false"),
        [path, ios, iodepth] => (path, ios, iodepth, "false"),
        [path, ios, iodepth, direct] => (path, ios, iodepth, direct),
        _ => {
            eprintln!(
                "usage: drive FILE IOS [IODEPTH [DIRECT]], e.g. drive /dev/shm/file 100000 32 false"
            );
            return ExitCode::FAILURE;
        }
    };
    match drive(Path::new(path), ios, iodepth, direct) {
        Ok(ios) => {
            println!("{ios} requests");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("drive: {error}");
            ExitCode::FAILURE
        }
    }
}

fn drive(
    path: &Path,
    ios: &str,
    iodepth: &str,
    direct: &str,
) -> Result<u64, Box<dyn std::error::Error>> {
    let kind = sim::workload::find("randread").expect("randread is a workload");
    let amount = (ios.parse::<u64>()? * 4096).to_string();
    let params = kind.params([
        ("clients", "1"),
        ("iodepth", iodepth),
        ("direct", direct),
        ("amount", amount.as_str()),
    ])?;
    let len = std::io::Seek::seek(&mut std::fs::File::open(path)?, std::io::SeekFrom::End(0))?;
    let files = place_on_device(kind, &params, path, len, 512)?;
    let duration = Duration::from_secs(3600);
    let drive = Drive {
        kind,
        params,
        files,
        seed: 1,
        duration,
        warmup: Duration::ZERO,
        patience: PATIENCE,
        submission: Submission::IoUring,
    };
    let measured = run(&drive, &AtomicBool::new(false))?;
    if let Some(error) = measured.first_error {
        return Err(error.into());
    }
    Ok(measured.ios())
}
