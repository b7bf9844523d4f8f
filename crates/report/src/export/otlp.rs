//! The trials as OpenTelemetry spans: experiment ⊃ round ⊃ trial, in OTLP's JSON encoding.
//!
//! Source: opentelemetry-proto, trace/v1, and the OTLP specification. The text is the body of a
//! request to /v1/traces. schedlab does not send it: the measuring process has given up its right
//! to connect, and a slow collector would delay it.
//!
//! Identifiers are hashes of plan, start time and position, so repeated exports yield the same
//! spans.

use experiment::results::{Results, Trial};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::series::Exported;

const NS_PER_MS: u64 = 1_000_000;
/// `SPAN_KIND_INTERNAL` and `STATUS_CODE_ERROR`.
const INTERNAL: u32 = 1;
const ERROR: u32 = 2;

struct Spans<'a> {
    results: &'a Results,
    trace: String,
    root: String,
    began_ns: u64,
    warmup_ns: u64,
    all: Vec<Value>,
}

pub(super) fn render(exported: &Exported<'_>) -> crate::Result<String> {
    let results = exported.results;
    let header = &results.header;
    let name = exported.name;
    let identity = format!("{}\n{}", header.started_unix_ms, header.plan.to_toml());
    let mut spans = Spans {
        results,
        trace: identifier(&identity, "trace", 16),
        root: identifier(&identity, "experiment", 8),
        began_ns: header.started_unix_ms.saturating_mul(NS_PER_MS),
        warmup_ns: header.plan.trial.warmup_ms.unwrap_or_default().saturating_mul(NS_PER_MS),
        all: Vec::new(),
    };
    spans.experiment(name);
    let mut from = 0;
    while from < results.trials.len() {
        let first = &results.trials[from];
        let is_of_round =
            |trial: &&Trial| (trial.round, &trial.workload) == (first.round, &first.workload);
        let length = results.trials[from..].iter().take_while(is_of_round).count();
        spans.round(&results.trials[from..from + length], &identity);
        from += length;
    }
    let plan = &header.plan;
    let clock = if plan.arena.is_virtual() { "virtual" } else { "real" };
    let resource = attributes([
        ("service.name", text("schedlab")),
        ("service.version", text(&header.schedlab)),
        ("schedlab.arena", text(plan.arena.name)),
        ("schedlab.clock", text(clock)),
        ("schedlab.device", text(&plan.device)),
    ]);
    let scope = json!({ "name": "schedlab", "version": header.schedlab });
    let scoped = json!([{ "scope": scope, "spans": spans.all }]);
    let whole = json!({ "resourceSpans": [{ "resource": { "attributes": resource }, "scopeSpans": scoped }] });
    Ok(format!("{}\n", serde_json::to_string(&whole)?))
}

impl Spans<'_> {
    fn at(&self, ms: u64) -> u64 {
        self.began_ns.saturating_add(ms.saturating_mul(NS_PER_MS))
    }

    fn start(&self, trial: &Trial) -> u64 {
        self.at(trial.started_ms)
    }

    /// Invalid from the start, a trial took no time.
    fn end(&self, trial: &Trial) -> u64 {
        let measured = trial.observation.duration_ns;
        let warmup = if measured > 0 { self.warmup_ns } else { 0 };
        self.start(trial).saturating_add(warmup).saturating_add(measured)
    }

    fn span(
        &self,
        id: &str,
        parent: &str,
        name: &str,
        from: u64,
        until: u64,
        attributes: Value,
    ) -> Value {
        let mut span = json!({
            "traceId": self.trace,
            "spanId": id,
            "name": name,
            "kind": INTERNAL,
            "startTimeUnixNano": from.to_string(),
            "endTimeUnixNano": until.max(from).to_string(),
            "attributes": attributes,
        });
        if !parent.is_empty() {
            span["parentSpanId"] = json!(parent);
        }
        span
    }

    fn experiment(&mut self, name: &str) {
        let results = self.results;
        let last =
            results.trials.iter().map(|trial| self.end(trial)).max().unwrap_or(self.began_ns);
        let until = results.end.as_ref().map_or(last, |end| self.at(end.at_ms).max(last));
        let state = results.end.as_ref().map_or("not ended", |end| end.reason.word());
        let all = attributes([
            ("schedlab.end", text(state)),
            ("schedlab.trials", integer(results.trials.len() as u64)),
            ("schedlab.baseline", text(results.header.plan.baseline())),
        ]);
        let mut span = self.span(&self.root, "", name, self.began_ns, until, all);
        let event = |note: &experiment::results::Note| {
            let line = serde_json::to_value(&note.event).unwrap_or_default();
            json!({
                "timeUnixNano": self.at(note.at_ms).to_string(),
                "name": line["event"].as_str().unwrap_or("note"),
                "attributes": attributes([("schedlab.text", text(&note.event.to_string()))]),
            })
        };
        span["events"] = results.notes.iter().map(event).collect();
        self.all.push(span);
    }

    fn round(&mut self, trials: &[Trial], identity: &str) {
        let (Some(first), Some(last)) = (trials.first(), trials.last()) else { return };
        let Trial { workload, round, .. } = first;
        // A round that was interrupted and completed later is two spans.
        let id = identifier(identity, &format!("round {workload} {round} {}", first.sequence), 8);
        let all = attributes([
            ("schedlab.workload", text(workload)),
            ("schedlab.round", integer(u64::from(*round))),
        ]);
        let name = format!("round {} of {workload}", round + 1);
        let span = self.span(&id, &self.root, &name, self.start(first), self.end(last), all);
        self.all.push(span);
        let spans: Vec<Value> =
            trials.iter().map(|trial| self.trial(trial, &id, identity)).collect();
        self.all.extend(spans);
    }

    fn trial(&self, trial: &Trial, round: &str, identity: &str) -> Value {
        let Trial { workload, variant, observation, .. } = trial;
        let plan = &self.results.header.plan;
        let spec = plan.workloads.iter().find(|spec| spec.name == *workload);
        let primary = spec.and_then(|spec| spec.primary.as_deref());
        let mut all = vec![
            ("schedlab.workload", text(workload)),
            ("schedlab.variant", text(variant)),
            ("schedlab.round", integer(u64::from(trial.round))),
            ("schedlab.position", integer(u64::from(trial.position))),
            ("schedlab.sequence", integer(trial.sequence)),
            (
                "schedlab.warmup_ns",
                integer(if observation.duration_ns > 0 { self.warmup_ns } else { 0 }),
            ),
        ];
        if let Some((metric, value)) =
            primary.and_then(|name| observation.metrics.get_key_value(name))
            && value.is_finite()
        {
            all.push(("schedlab.metric", text(metric)));
            all.push(("schedlab.value", json!({ "doubleValue": value })));
        }
        let id = identifier(identity, &format!("trial {}", trial.sequence), 8);
        let mut span =
            self.span(&id, round, variant, self.start(trial), self.end(trial), attributes(all));
        if let Some(reason) = observation.invalid.first() {
            span["status"] = json!({ "code": ERROR, "message": reason.to_string() });
        }
        span
    }
}

fn identifier(identity: &str, of: &str, bytes: usize) -> String {
    let hash = Sha256::digest(format!("{identity}\n{of}"));
    hash.iter().take(bytes).map(|byte| format!("{byte:02x}")).collect()
}

fn text(value: &str) -> Value {
    json!({ "stringValue": value })
}

fn integer(value: u64) -> Value {
    json!({ "intValue": value.to_string() })
}

fn attributes<'a>(all: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    all.into_iter().map(|(key, value)| json!({ "key": key, "value": value })).collect()
}
