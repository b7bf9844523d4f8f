//! CapFrameX: JSON records.
//!
//! Source: `CapFrameX.Data.Session` (Session.cs, SessionInfo.cs, SessionCaptureData.cs) of versions
//! 1.6 and 1.7. A record holds one run, or several aggregated ones, each with the times between
//! presents. CSV records of other tools are not read.

use serde::Deserialize;

use crate::error::Error;
use crate::frames::{self, METRICS, REPEAT};
use crate::importer::{Importer, first_missing};
use crate::json;
use crate::rows::{Entry, File, Rows, each};

const MADE_BY: &str = "CapFrameX 1.5 or later";

pub(crate) const ROW: Importer = Importer {
    name: "capframex",
    reads: "records of CapFrameX (Documents/CapFrameX/Captures/*.json)",
    trial: "a run of a record; its frames are combined",
    labels: &[
        ("comment", "the comment of the record"),
        ("game", "the game; also cpu, gpu and driver"),
    ],
    metrics: METRICS,
    own_metrics: "",
    lacks: &["the order of records is not read: --round run uses the file numbers as rounds"],
    variants: &["file", "dir", "comment", "gpu", "driver", "cpu"],
    repeat: REPEAT,
    within: Some(|path| path.ends_with(".json")),
    missing: |text| first_missing(text, &["\"Runs\"", "\"MsBetweenPresents\""]),
    read,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Record {
    #[serde(default)]
    info: Info,
    runs: Vec<Run>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Info {
    comment: Option<String>,
    game_name: Option<String>,
    #[serde(rename = "Processor")]
    cpu: Option<String>,
    #[serde(rename = "GPU")]
    gpu: Option<String>,
    #[serde(rename = "GPUDriverVersion")]
    driver: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Run {
    capture_data: Option<Frames>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Frames {
    #[serde(default)]
    ms_between_presents: Vec<f64>,
}

fn read(files: &[File]) -> Result<Rows, Error> {
    each(files, "run with frames", |file, rows| {
        let Record { info, runs } = json::parse(file, MADE_BY)?;
        for (at, frames) in runs.into_iter().filter_map(|run| run.capture_data).enumerate() {
            let frames = frames.ms_between_presents;
            if frames.is_empty() {
                continue;
            }
            let mut entry = Entry::new(file);
            for (name, value) in [
                ("comment", &info.comment),
                ("game", &info.game_name),
                ("cpu", &info.cpu),
                ("gpu", &info.gpu),
                ("driver", &info.driver),
            ] {
                if let Some(value) = value.as_deref().filter(|value| !value.trim().is_empty()) {
                    entry = entry.label(name, value);
                }
            }
            frames::put(&mut entry, file, &format!("run {}", at + 1), frames)?;
            rows.entries.push(entry);
        }
        Ok(())
    })
}
