//! For trying the kernel's disk by hand: writes a specification's tables, and replays a disk's log.
//!
//! `modeldisk tables SPECIFICATION [SEED] > FILE`, `modeldisk replay SPECIFICATION LOG [SEED]`.

use std::io::Write;
use std::process::ExitCode;

use sim::conformance::{Log, replay};
use sim::device::device;

fn run(words: &[String]) -> Result<String, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let seed = |at: usize| {
        words.get(at).map_or(Ok(1), |seed| seed.parse().map_err(|_| format!("{seed} is no seed")))
    };
    match words[..] {
        ["tables", specification, ..] => {
            let device = device(specification, seed(2)?).map_err(|error| error.to_string())?;
            let tables = device.tables();
            std::io::stdout().write_all(&tables).map_err(|error| error.to_string())?;
            Ok(String::new())
        }
        ["replay", specification, path, ..] => {
            let mut device = device(specification, seed(3)?).map_err(|error| error.to_string())?;
            let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
            let log = Log::read(&bytes).map_err(|error| format!("{path}: {error}"))?;
            let compared =
                replay(&log, device.as_mut()).map_err(|difference| difference.to_string())?;
            let late =
                log.records.iter().filter_map(|record| Some(record.completed_ns - record.done_ns?));
            let late = late.max().unwrap_or(0);
            let records = log.records.len();
            Ok(format!(
                "{compared} of {records} commands, all at the model's times (timer late by {late} ns at most, {} lost)\n",
                log.lost
            ))
        }
        _ => {
            Err("modeldisk tables SPECIFICATION [SEED] | replay SPECIFICATION LOG [SEED]"
                .to_owned())
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
