//! Monitoring: live metrics, status from the results file, OpenTelemetry spans.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use testbed::{eventually, skip};

use crate::common::{Lab, PYTHON, has_python};

/// Metric families as both parsers of prometheus_client read them: name → list of [labels, value].
const FAMILIES: &str = "import json, sys
import prometheus_client.openmetrics.parser, prometheus_client.parser
text = open(sys.argv[1]).read()
new = list(prometheus_client.openmetrics.parser.text_string_to_metric_families(text))
old = list(prometheus_client.parser.text_string_to_metric_families(text))
assert [family.name for family in new] == [family.name for family in old], 'the older format reads other families'
print(json.dumps({family.name: [[sample.labels, sample.value] for sample in family.samples] for family in new}))";

fn families(file: &Path) -> Option<Value> {
    if !has_python("prometheus_client") {
        return None;
    }
    let ran = Command::new(PYTHON).args(["-c", FAMILIES]).arg(file).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    Some(serde_json::from_slice(&ran.stdout).unwrap())
}

fn compare(lab: &Lab, out: &str, more: &str) -> String {
    let out = lab.path(out).display().to_string();
    format!(
        "compare --arena sim --device hp97560 --schedulers noop,deadline --workload randread:clients=4 --out {out} {more}"
    )
}

#[track_caller]
fn prints(text: &str, words: &[&str]) {
    words.iter().for_each(|word| assert!(text.contains(word), "{word}: {text}"));
}

fn get(at: &str, request: &str) -> String {
    let mut client = TcpStream::connect(at).unwrap();
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    answer
}

/// Drains the rest.
fn address(child: &mut Child) -> String {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let line =
        lines.by_ref().map(Result::unwrap).find(|line| line.contains("metrics: http://")).unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    line.split("http://").nth(1).unwrap().trim_end_matches("/metrics").to_owned()
}

#[test]
fn a_long_run_shows_how_far_it_is_while_it_measures_and_how_it_ended() {
    let lab = Lab::new();
    let file = lab.path("run.prom");
    let more = format!(
        "--rounds 5000 --figures-only --trial-time 20s --metrics-listen 0 --metrics-file {}",
        file.display()
    );
    let mut child = lab.start(&compare(&lab, "a", &more));
    let at = address(&mut child);
    assert!(at.starts_with("127.0.0.1:"), "{at}");
    eventually("a trial is measured", || {
        get(&at, "GET /metrics HTTP/1.1\r\n\r\n").contains("schedlab_run_trials")
    });
    let answer = get(&at, "GET /metrics HTTP/1.1\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/openmetrics-text"), "{head}");
    assert!(get(&at, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
    assert!(get(&at, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    fs::write(lab.path("scraped"), body).unwrap();
    if let Some(scraped) = families(&lab.path("scraped")) {
        assert_eq!(scraped["schedlab_run_active"][0][1], 1.0);
        assert_eq!(scraped["schedlab_run_about"][0][0]["clock"], "virtual");
        assert!(scraped["schedlab_run_last_value"][0][0]["metric"] == "iops", "{scraped}");
    }
    let status =
        lab.run(&format!("status {} --json", lab.path("a").display())).expect_status(0).json();
    assert_eq!(
        (&status["state"]["word"], &status["state"]["pid"]),
        (&"measuring".into(), &child.id().into()),
        "{status}"
    );
    assert!(
        status["left_s"].as_f64().is_none_or(|left| left > 0.0)
            && status["share"].as_f64().unwrap() < 1.0,
        "{status}"
    );
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let status = lab.run(&format!("status {}", lab.path("a").display())).expect_status(0);
    prints(&status.stdout, &["ended: interrupted", "baseline", "deadline", "of about 5000 rounds"]);
    if let Some(ended) = families(&file) {
        assert_eq!(ended["schedlab_run_active"][0][1], 0.0);
        assert_eq!(ended["schedlab_run_ended"][0][0]["why"], "interrupted");
    }
    assert!(TcpStream::connect(&at).is_err(), "the port is closed");
}

#[test]
fn results_are_the_same_whether_the_run_is_watched_or_not() {
    let lab = Lab::new();
    let words = "--rounds 3 --figures-only --trial-time 5s --quiet";
    lab.run(&compare(&lab, "a", words)).expect_status(0);
    let more =
        format!("{words} --metrics-listen=0 --metrics-file {}", lab.path("b.prom").display());
    lab.run(&compare(&lab, "b", &more)).expect_status(0);
    let results = |name: &str| fs::read_to_string(lab.path(name).join("results.jsonl")).unwrap();
    assert_eq!(results("a"), results("b"));
    if let Some(ended) = families(&lab.path("b.prom")) {
        assert_eq!(ended["schedlab_run_ended"][0][0]["why"], "rounds-measured");
        let trials: f64 = ended["schedlab_run_trials"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one[1].as_f64().unwrap())
            .sum();
        assert_eq!(trials, 6.0);
    }
}

#[test]
fn addresses_and_files_that_cannot_be_had_are_refused_before_anything_is_measured() {
    let lab = Lab::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for (more, says) in [
        ("--metrics-listen here".to_owned(), "127.0.0.1:9150"),
        (format!("--metrics-listen {port}"), "name another port"),
        ("--metrics-file /no-such-directory/x.prom".to_owned(), "/no-such-directory"),
    ] {
        let ran = lab.run(&compare(&lab, "x", &format!("--rounds 2 --figures-only {more}")));
        assert!(ran.status != Some(0), "{more}");
        ran.says(&[says]);
        assert!(!lab.path("x").exists(), "{more}");
    }
}

#[test]
fn the_status_of_results_that_was_cut_off_says_how_to_go_on() {
    let lab = Lab::new();
    lab.run(&compare(&lab, "a", "--rounds 3 --figures-only --trial-time 5s --quiet"))
        .expect_status(0);
    let results = lab.path("a/results.jsonl");
    let whole = fs::read_to_string(&results).unwrap();
    let cut: Vec<&str> = whole.lines().take(4).collect();
    fs::write(&results, cut.join("\n") + "\n{\"kind\":\"tri").unwrap();
    let status = lab.run(&format!("status {}", lab.path("a").display())).expect_status(1);
    prints(&status.stdout, &["cut off after", "--resume", "3 trials"]);
    lab.run(&format!("status {}", lab.path("none").display()))
        .expect_status(2)
        .says(&["cannot read", "--out"]);
}

/// An OTLP/HTTP receiver that uses OpenTelemetry's own message types.
const RECEIVER: &str = r"
import base64, http.server, json, sys, threading, urllib.request
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
got = []
class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.path == '/v1/traces' and self.headers['content-type'] == 'application/json'
        body = json.loads(self.rfile.read(int(self.headers['content-length'])))
        # OTLP has identifiers in hexadecimal, unlike other JSON of protocol buffers.
        for one in body['resourceSpans']:
            for scope in one['scopeSpans']:
                for span in scope['spans']:
                    for key in ('traceId', 'spanId', 'parentSpanId'):
                        if key in span: span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
        got.append(ParseDict(body, ExportTraceServiceRequest()))
        self.send_response(200); self.end_headers(); self.wfile.write(b'{}')
    def log_message(self, *_): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
request = urllib.request.Request(f'http://127.0.0.1:{server.server_port}/v1/traces', open(sys.argv[1], 'rb').read(),
                                 {'content-type': 'application/json'})
urllib.request.urlopen(request).read()
[whole] = got
[resource] = whole.resource_spans
spans = [span for scope in resource.scope_spans for span in scope.spans]
attributes = lambda of: {a.key: a.value.string_value or a.value.int_value or a.value.double_value for a in of.attributes}
print(json.dumps(dict(resource=attributes(resource.resource), spans=[dict(id=s.span_id.hex(), parent=s.parent_span_id.hex(),
  trace=s.trace_id.hex(), name=s.name, start=s.start_time_unix_nano, end=s.end_time_unix_nano, status=s.status.code,
  attributes=attributes(s)) for s in spans])))
";

#[test]
fn results_becomes_spans_of_an_experiment_over_rounds_over_trials_that_a_receiver_reads() {
    let lab = Lab::new();
    lab.run(&compare(&lab, "a", "--rounds 3 --figures-only --trial-time 5s --warmup 1s --quiet"))
        .expect_status(0);
    let export = || {
        lab.run(&format!("report {} --export otlp", lab.path("a").display()))
            .expect_status(0)
            .stdout
    };
    let text = export();
    assert_eq!(text, export(), "the same spans each time");
    fs::write(lab.path("spans.json"), &text).unwrap();
    let python =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/perfetto/bin/python");
    let ran = Command::new(python).args(["-c", RECEIVER]).arg(lab.path("spans.json")).output();
    let Some(ran) =
        ran.ok().filter(|ran| !String::from_utf8_lossy(&ran.stderr).contains("No module named"))
    else {
        return skip("opentelemetry-proto needed (scripts/need test)");
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let read: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(read["resource"]["schedlab.clock"], "virtual", "{read}");
    let spans = read["spans"].as_array().unwrap();
    assert_eq!(spans.len(), 1 + 3 + 6);
    let root = &spans[0];
    assert_eq!((&root["parent"], root["trace"].as_str().unwrap().len()), (&"".into(), 32));
    for span in &spans[1..] {
        let parent = spans
            .iter()
            .find(|other| other["id"] == span["parent"])
            .expect("the parent comes along");
        let inside = |of: &Value, key: &str| of[key].as_u64().unwrap();
        assert!(
            inside(parent, "start") <= inside(span, "start")
                && inside(span, "end") <= inside(parent, "end"),
            "{span}"
        );
        assert_eq!(span["trace"], root["trace"]);
    }
    let trials: Vec<&Value> =
        spans.iter().filter(|span| span["attributes"]["schedlab.variant"].is_string()).collect();
    assert_eq!(trials.len(), 6);
    assert!(trials.iter().all(|span| span["end"].as_u64().unwrap()
        - span["start"].as_u64().unwrap()
        == 6_000_000_000));
}
