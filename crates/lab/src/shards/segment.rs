//! A segment: some trials of a prepared plan, as JSON lines.
//!
//! A head has identity, prepared plan and variants; a line per trial follows; the end has the
//! number of trials and the SHA-256 of all preceding bytes. Observations are stored as in the
//! results file, so that merging copies them. The checksum detects damage, not forgery, but a
//! forged segment cannot pass for another plan's, exceed a limit, or name a trial that the plan
//! does not have.

use std::ops::Range;

use anyhow::{Context, Result, anyhow, bail};
use experiment::plan::Variant;
use experiment::results::Observation;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use text::build;
use text::limits::{RESULTS_LINE, ROUNDS, SEGMENT_BYTES, TRIALS, VARIANTS};

use super::Prepared;
use super::prepared::Beginning;

const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Head<'a> {
    kind: &'static str,
    schema: u32,
    identity: &'a str,
    /// First round and end (exclusive); informative only.
    rounds: (u32, u32),
    variants: &'a [Variant],
    prepared: &'a Beginning,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    kind: String,
    trials: u64,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TrialLine<'a> {
    workload: u32,
    round: u32,
    variant: u32,
    #[serde(borrow)]
    observation: &'a RawValue,
}

pub(super) struct Writer(Vec<u8>, u64);

impl Writer {
    pub(super) fn new(prepared: &Prepared, variants: &[Variant], rounds: Range<u32>) -> Writer {
        let head = Head {
            kind: "segment",
            schema: SCHEMA,
            identity: prepared.identity(),
            rounds: (rounds.start, rounds.end),
            variants,
            prepared: prepared.beginning(),
        };
        Writer(line(&head), 0)
    }

    pub(super) fn trial(
        &mut self,
        workload: usize,
        round: u32,
        variant: usize,
        observation: &Observation,
    ) -> Result<()> {
        let number =
            |number: usize| u32::try_from(number).expect("a plan has fewer workloads and variants");
        let observation = serde_json::value::to_raw_value(observation)
            .expect("it has only text keys and numbers");
        let (workload, variant) = (number(workload), number(variant));
        let mut trial = line(&TrialLine { workload, round, variant, observation: &observation });
        RESULTS_LINE
            .check(trial.len())
            .and_then(|()| SEGMENT_BYTES.check(self.0.len() + trial.len()))?;
        self.0.append(&mut trial);
        self.1 += 1;
        Ok(())
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        let end = End { kind: "end".to_owned(), trials: self.1, sha256: digest(&self.0) };
        self.0.append(&mut line(&end));
        self.0
    }
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let text = serde_json::to_string(value).expect("it has only text keys and numbers");
    let mut text = text::escaped(&text).into_owned();
    text.push('\n');
    text.into_bytes()
}

fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredTrial {
    /// Index in the plan.
    pub(super) workload: u32,
    pub(super) round: u32,
    /// Index in the segment.
    pub(super) variant: u32,
    /// The byte range of its observation.
    pub(super) text: Range<usize>,
}

/// A complete, undamaged segment whose trials its plan has.
#[derive(Debug)]
pub struct Segment {
    name: String,
    prepared: Prepared,
    variants: Vec<Variant>,
    bytes: Vec<u8>,
    pub(super) places: Vec<StoredTrial>,
}

impl Segment {
    /// Reads a segment; `name` identifies it in errors.
    ///
    /// # Errors
    /// Not a segment, from another build, truncated, damaged, or with trials that its plan does not
    /// have.
    pub fn read(name: &str, bytes: Vec<u8>) -> Result<Segment> {
        read(name, bytes).with_context(|| name.to_owned())
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn into_name(self) -> String {
        self.name
    }

    pub fn prepared(&self) -> &Prepared {
        &self.prepared
    }

    pub(super) fn variants(&self) -> &[Variant] {
        &self.variants
    }

    pub fn trials(&self) -> usize {
        self.places.len()
    }

    pub(super) fn text(&self, place: &StoredTrial) -> &[u8] {
        &self.bytes[place.text.clone()]
    }
}

fn read(name: &str, bytes: Vec<u8>) -> Result<Segment> {
    SEGMENT_BYTES.check(bytes.len())?;
    let head_end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    RESULTS_LINE.check(head_end)?;
    let mut head: Value = serde_json::from_slice(&bytes[..head_end])
        .ok()
        .filter(|head: &Value| head["kind"] == "segment")
        .ok_or_else(|| anyhow!("not a segment; name files that schedlab shard run wrote"))?;
    if head["schema"] != SCHEMA {
        let writer = head["prepared"]["header"]["schedlab"].as_str();
        bail!(
            "segment: {}; merge it with the schedlab that wrote it",
            build::other_format(&head["schema"], SCHEMA, writer)
        );
    }
    let prepared = Prepared::from_value(head["prepared"].take())?;
    let [from, to] = [0, 1].map(|end| head["rounds"][end].as_u64().unwrap_or_default());
    let torn = |what: String| {
        anyhow!(
            "segment: {what}; make it again: schedlab shard run PLAN --rounds {from}..{to} --out {name}"
        )
    };
    let body_end = end_of_body(&bytes).filter(|at| *at > head_end);
    let found =
        body_end.and_then(|at| Some((at, serde_json::from_slice::<End>(&bytes[at..]).ok()?)));
    let Some((body_end, end)) = found.filter(|(_, end)| end.kind == "end") else {
        return Err(torn("cut off, its last line is missing".to_owned()));
    };
    if digest(&bytes[..body_end]) != end.sha256 {
        return Err(torn("damaged, its checksum is of other bytes".to_owned()));
    }
    if head["identity"] != prepared.identity() {
        return Err(torn("its identity is not that of its plan".to_owned()));
    }
    let variants: Vec<Variant> = serde_json::from_value(head["variants"].take())
        .context("segment: its variants cannot be read")?;
    VARIANTS.check(variants.len())?;
    let places =
        places(&bytes, head_end + 1..body_end, prepared.plan().workloads.len(), variants.len())?;
    if places.len() as u64 != end.trials {
        return Err(torn(format!("{} trials (expected {})", places.len(), end.trials)));
    }
    Ok(Segment { name: name.to_owned(), prepared, variants, bytes, places })
}

/// The start of the last line, if that line is complete.
fn end_of_body(bytes: &[u8]) -> Option<usize> {
    let rest = bytes.strip_suffix(b"\n")?;
    Some(rest.iter().rposition(|byte| *byte == b'\n')? + 1)
}

fn places(
    bytes: &[u8],
    body: Range<usize>,
    workloads: usize,
    variants: usize,
) -> Result<Vec<StoredTrial>> {
    let (mut places, mut at) = (Vec::new(), body.start);
    for (number, line) in bytes[body].split_inclusive(|byte| *byte == b'\n').enumerate() {
        let named = || format!("segment, line {}", number + 2);
        RESULTS_LINE.check(line.len()).with_context(named)?;
        let place = place(line, at).ok_or_else(|| anyhow!("{}: not a trial", named()))?;
        let known = (place.workload as usize) < workloads
            && (place.variant as usize) < variants
            && u64::from(place.round) < ROUNDS.most;
        if !known {
            bail!(
                "{}: a trial that its plan does not have (workload {}, round {}, variant {})",
                named(),
                place.workload,
                place.round,
                place.variant
            );
        }
        places.push(place);
        TRIALS.check(places.len())?;
        at += line.len();
    }
    Ok(places)
}

/// Parses the trial of a line that begins at byte `at`.
fn place(line: &[u8], at: usize) -> Option<StoredTrial> {
    let TrialLine { workload, round, variant, observation } =
        serde_json::from_slice(line.strip_suffix(b"\n")?).ok()?;
    let text = observation.get();
    // The raw value borrows from `line`.
    let start = at + text.as_ptr().addr() - line.as_ptr().addr();
    text.starts_with('{').then(|| StoredTrial {
        workload,
        round,
        variant,
        text: start..start + text.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_trial_is_none() {
        let line =
            b"{\"workload\":2,\"round\":17,\"variant\":0,\"observation\":{\"duration_ns\":1}}\n";
        let found = place(line, 100).unwrap();
        assert_eq!((found.workload, found.round, found.variant), (2, 17, 0));
        assert_eq!(&line[found.text.start - 100..found.text.end - 100], b"{\"duration_ns\":1}");
        for other in [
            "{\"workload\":2,\"round\":17,\"variant\":0,\"observation\":{},\"more\":1}\n",
            "{\"workload\":2,\"round\":17,\"variant\":0,\"observation\":[]}\n",
            "{\"workload\":-2,\"round\":17,\"variant\":0,\"observation\":{}}\n",
            "{\"workload\":99999999999,\"round\":17,\"variant\":0,\"observation\":{}}\n",
            "{\"workload\":,\"round\":17,\"variant\":0,\"observation\":{}}\n",
            "{\"workload\":2,\"round\":17,\"variant\":0,\"observation\":{}}",
            "\n",
        ] {
            assert_eq!(place(other.as_bytes(), 0), None, "{other}");
        }
    }
}
