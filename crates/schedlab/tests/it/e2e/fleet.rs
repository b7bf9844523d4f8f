//! `schedlab fleet`: directories, a real but faulty S3 server, verdicts, SQL by the real DuckDB.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::common::{Lab, Ran};
use crate::made_fleet::{fleet, results, write};

/// With moto and DuckDB; made by `scripts/need test`.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools/fleet/bin");

fn has_tools() -> bool {
    if Path::new(TOOLS).join("python").exists() {
        return true;
    }
    testbed::skip("moto and DuckDB needed (scripts/need test)");
    false
}

#[test]
fn results_are_pushed_once_and_one_of_another_machine_needs_a_name() {
    let lab = Lab::new();
    let out = write(&lab.path("out"), &results(1, 0.8, 8));
    let (out, place) = (out.display(), lab.path("fleet"));
    let push =
        |more: &str| lab.run(&format!("fleet push {out} --fleet {} {more}", place.display()));
    push("")
        .expect_status(2)
        .says(&["measured on another machine: cpu model (found Some CPU", "--machine NAME"]);
    let first = push("--machine db1").expect_status(0);
    assert!(first.stdout.contains("pushed (db1, FAST 980)"), "{}", first.stdout);
    assert_eq!(push("--machine db1 --json").expect_status(0).json()[0]["result"], "there");
    let report = lab
        .run(&format!("fleet report --fleet {} --json", place.display()))
        .expect_status(0)
        .json();
    assert_eq!(report["results"], 1);
    assert_eq!(report["groups"][0]["trials"], 16);
    lab.run(&format!("fleet verdict --fleet {}", place.display())).expect_status(3);
    let sim = lab.path("sim");
    let words = "compare --arena sim --device null --schedulers none,deadline --workload randread --rounds 4 --trial-time 1s --quiet";
    lab.run(&format!("{words} --out {}", sim.display())).expect_measured();
    let refused =
        lab.run(&format!("fleet push {} --fleet {} --machine x", sim.display(), place.display()));
    refused.expect_status(1).says(&["virtual time"]);
    lab.run("fleet report").expect_status(2);
    lab.run("fleet report --fleet gs://x").expect_status(2).says(&["expected s3://"]);
    lab.run(&format!("fleet report --fleet {}", lab.path("no").display()))
        .expect_status(2)
        .says(&["fleet push"]);
}

#[test]
fn a_thousand_machines_of_which_three_percent_lie_make_a_true_verdict_and_the_liars_are_named() {
    let lab = Lab::new();
    let place = lab.path("fleet");
    fleet(&place, 1000, 30, 12);
    let ran = |words: &str| lab.run(&format!("fleet {words} --fleet {}", place.display()));
    let json = ran("verdict --model fast --json").expect_status(0).json();
    let comparison = &json["groups"][0]["questions"][0]["comparisons"][0];
    assert_eq!((&comparison["verdict"], &comparison["machines"]), (&"worse".into(), &970.into()));
    let end = |of: &str, end: &str| comparison[of][end].as_f64().expect("a number");
    assert!(end("mean", "low") <= 0.8 && 0.8 <= end("mean", "high"), "{comparison}");
    // 1.96 SDs of 6 % around 0.8.
    assert!(
        (end("further_machine", "low") - 0.711).abs() < 0.02
            && (end("further_machine", "high") - 0.9).abs() < 0.02
    );
    let mut named: Vec<&str> = comparison["outliers"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|of| of["machine"].as_str())
        .collect();
    named.sort_unstable();
    assert_eq!(named, (0..30).map(|number| format!("m{number:04}")).collect::<Vec<_>>());
    let shown = ran("verdict").expect_status(0).stdout;
    for words in [
        "FAST 980: randread",
        "worse",
        "970 + 30 left out",
        "left out of bfq: m00",
        "bfq with them: -18",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    ran("compare --by kernel 6.12 6.1")
        .expect_status(2)
        .says(&["6.1: no result has this kernel", "6.12"]);
    let learnt = ran("learn").expect_status(0);
    assert!(
        learnt.stdout.contains("1 verdict of 1 drive model by 1,000 machines"),
        "{}",
        learnt.stdout
    );
    assert!(
        fs::read_to_string(lab.state().join("fleet.json"))
            .expect("written")
            .contains("\"verdict\": \"worse\"")
    );
}

#[test]
fn duckdb_reads_what_was_pushed_and_agrees_on_the_ratio() {
    if !has_tools() {
        return;
    }
    let lab = Lab::new();
    let place = lab.path("it's a fleet");
    fleet(&place, 20, 0, 10);
    let query = |sql: &str| {
        let mut command = lab.command("fleet query");
        // Root does not run programs from paths containing `..`.
        let tools = fs::canonicalize(TOOLS).expect("it is there");
        command
            .env("PATH", format!("{}:/usr/bin:/bin", tools.display()))
            .arg(sql)
            .arg("--fleet")
            .arg(&place);
        Ran::from(command.output().expect("it runs"))
    };
    let count = query(
        "SELECT count(DISTINCT machine) || '/' || count(*) || '/' || count(DISTINCT result) AS n FROM results",
    );
    assert!(count.expect_status(0).stdout.contains("20/800/20"));
    let ratio = query(
        "SELECT round(exp(avg(ln(value)) FILTER (variant = 'bfq') - avg(ln(value)) FILTER (variant = 'none')), 6) AS ratio FROM results \
         WHERE is_deciding AND invalid IS NULL",
    );
    let ran = lab.command("fleet verdict --json --fleet").arg(&place).output().expect("it runs");
    let json = Ran::from(ran).expect_status(0).json();
    let ours = json["groups"][0]["questions"][0]["comparisons"][0]["mean"]["ratio"]
        .as_f64()
        .expect("a number");
    let shown = ratio.expect_status(0).stdout;
    assert!(shown.contains(&format!("{ours:.6}")[..6]), "{ours}: {shown}");
    query("SELECT no_such FROM results").expect_status(1).says(&["DuckDB has failed", "no_such"]);
    let columns = query("SELECT string_agg(column_name, ' ') AS names FROM (DESCRIBE results)")
        .expect_status(0)
        .stdout;
    let page = include_str!("../../../../../docs/src/decide/long-term.md");
    for column in columns
        .split_whitespace()
        .filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
    {
        let is_described = page.contains(&format!("`{column}`"))
            || ["names", "varchar", "filename"].contains(&column);
        assert!(is_described, "{column}: not in docs/src/decide/long-term.md");
    }
}

#[test]
fn a_line_is_shown_and_appended_and_nothing_else() {
    let lab = Lab::new();
    let out = write(&lab.path("out"), &results(1, 0.8, 8));
    let shown = lab
        .run(&format!("fleet contribute {}", out.display()))
        .expect_status(0)
        .says(&["nothing was written or sent"]);
    let line: serde_json::Value = shown.json();
    assert_eq!((&line["model"], &line["kernel"]), (&"FAST 980".into(), &"6.12.9".into()));
    assert_eq!(line["effects"][0]["variant"], "bfq");
    assert_eq!(line["effects"][0]["verdict"], "worse");
    let list = lab.path("list.jsonl");
    for _ in 0..2 {
        lab.run(&format!("fleet contribute {} --out {}", out.display(), list.display()))
            .expect_status(0);
    }
    assert_eq!(fs::read_to_string(&list).expect("written"), shown.stdout.repeat(2));
}

struct Server {
    child: Child,
    url: String,
}

/// Arguments: every Nth request gets 503; every Nth write is truncated; whether writes are refused.
const SERVER: &str = "
import sys, logging
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
logging.getLogger('werkzeug').setLevel(logging.ERROR)
every, torn, refuses = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == 'refuse'
inner = DomainDispatcherApplication(create_backend_app)
counts = dict(all=0, writes=0, failed=0)
def app(environ, start):
    is_write = environ['REQUEST_METHOD'] == 'PUT' and environ['PATH_INFO'].count('/') > 1
    counts['all'] += 1
    counts['writes'] += is_write
    if refuses and is_write:
        start('403 Forbidden', [('Content-Type', 'application/xml')])
        return [b'<Error><Code>AccessDenied</Code><Message>no</Message></Error>']
    if every and counts['all'] % every == 0:
        start('503 Slow Down', [('Content-Type', 'application/xml')])
        return [b'<Error><Code>SlowDown</Code></Error>']
    if torn and is_write and counts['writes'] % torn == 0:
        environ['wsgi.input'].read(100)
        environ['werkzeug.socket'].shutdown(2)
        raise ConnectionAbortedError('the upload is cut off')
    return inner(environ, start)
server = make_server('127.0.0.1', 0, app, threaded=True)
print(server.port, flush=True)
server.serve_forever()
";

impl Server {
    fn start(every: u32, torn: u32, writes: &str) -> Server {
        let mut child = Command::new(Path::new(TOOLS).join("python"))
            .args(["-c", SERVER, &every.to_string(), &torn.to_string(), writes])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .stdin(Stdio::null())
            .spawn()
            .expect("Python runs");
        let mut port = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut port).expect("a port");
        Server { child, url: format!("http://127.0.0.1:{}", port.trim()) }
    }

    fn run(&self, lab: &Lab, words: &str) -> Ran {
        let mut command = lab.command(words);
        command
            .env("AWS_ENDPOINT_URL", &self.url)
            .env("AWS_ACCESS_KEY_ID", "testing")
            .env("AWS_SECRET_ACCESS_KEY", "TOPSECRET")
            .env("AWS_REGION", "us-east-1");
        Ran::from(command.output().expect("it runs"))
    }

    fn python(&self, line: &str) {
        const CLIENT: &str = "import boto3, sys\ns3 = boto3.client('s3', endpoint_url=sys.argv[1], region_name='us-east-1', \
            aws_access_key_id='a', aws_secret_access_key='b')\n";
        let script = format!("{CLIENT}{line}");
        let ran = Command::new(Path::new(TOOLS).join("python"))
            .args(["-c", &script, &self.url])
            .output()
            .expect("it runs");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }

    fn make_bucket(&self) {
        self.python("s3.create_bucket(Bucket='lab')");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_bucket_that_fails_every_fourth_request_and_cuts_uploads_off_loses_and_doubles_nothing() {
    if !has_tools() {
        return;
    }
    let lab = Lab::new();
    let server = Server::start(4, 5, "take");
    server.make_bucket();
    for number in 0..12 {
        let out = write(&lab.path(&format!("out{number}")), &results(number, 0.8, 6));
        let push =
            format!("fleet push {} --fleet s3://lab/some/where --machine m{number}", out.display());
        let ran = server.run(&lab, &push).expect_status(0);
        assert!(ran.stdout.contains("pushed (m"), "{}", ran.stdout);
        let again = server.run(&lab, &push).expect_status(0);
        assert!(again.stdout.contains("was there"), "{}", again.stdout);
    }
    let json = server
        .run(&lab, "fleet verdict --fleet s3://lab/some/where --json")
        .expect_status(0)
        .json();
    assert_eq!(
        (&json["results"], &json["damaged"].as_array().map(Vec::len)),
        (&12.into(), &Some(0))
    );
    assert_eq!(json["groups"][0]["questions"][0]["comparisons"][0]["verdict"], "worse");
    // A truncated object is named, skipped, and replaced by another push.
    server.python(
        "name = s3.list_objects_v2(Bucket='lab')['Contents'][0]['Key']\n\
         whole = s3.get_object(Bucket='lab', Key=name)['Body'].read()\n\
         s3.put_object(Bucket='lab', Key=name, Body=whole[:len(whole) // 2])",
    );
    let torn = server
        .run(&lab, "fleet verdict --fleet s3://lab/some/where --json")
        .expect_status(0)
        .json();
    assert_eq!(
        (&torn["results"], &torn["damaged"].as_array().map(Vec::len)),
        (&11.into(), &Some(1))
    );
    let again = (0..12).map(|number| {
        let out = lab.path(&format!("out{number}"));
        let push =
            format!("fleet push {} --fleet s3://lab/some/where --machine m{number}", out.display());
        server.run(&lab, &push).expect_status(0).stdout
    });
    assert_eq!(again.filter(|said| said.contains("pushed again")).count(), 1);
    let corrected = server
        .run(&lab, "fleet verdict --fleet s3://lab/some/where --json")
        .expect_status(0)
        .json();
    assert_eq!(corrected, json);
    let copy = lab.path("copy");
    let words = format!("fleet copy {} --fleet s3://lab/some/where --json", copy.display());
    assert_eq!(server.run(&lab, &words).expect_status(0).json()["copied"], 12);
    assert_eq!(server.run(&lab, &words).expect_status(0).json()["copied"], 0);
    let local = lab
        .run(&format!("fleet verdict --fleet {} --json", copy.display()))
        .expect_status(0)
        .json();
    assert_eq!(local["groups"], json["groups"]);
}

#[test]
fn a_bucket_that_refuses_or_is_not_there_is_an_error_that_names_it_and_no_secret() {
    if !has_tools() {
        return;
    }
    let lab = Lab::new();
    let server = Server::start(0, 0, "refuse");
    server.make_bucket();
    let out = write(&lab.path("out"), &results(1, 0.8, 6));
    let before = fs::read(out.join("results.jsonl")).expect("there");
    let push = |bucket: &str| {
        server.run(&lab, &format!("fleet push {} --fleet s3://{bucket} --machine m", out.display()))
    };
    for (bucket, words) in [("lab", "writing failed"), ("nowhere", "failed")] {
        let ran = push(bucket).expect_status(1).says(&[&format!("s3://{bucket}: "), words]);
        assert!(!ran.stderr.contains("TOPSECRET"), "{}", ran.stderr);
    }
    assert_eq!(fs::read(out.join("results.jsonl")).expect("there"), before);
    server
        .run(&lab, "fleet report --fleet s3://lab")
        .expect_status(1)
        .says(&["no result is selected"]);
    // Other hosts require TLS.
    let mut command = lab.command("fleet report --fleet s3://lab");
    command
        .env("AWS_ENDPOINT_URL", "http://192.0.2.1")
        .env("AWS_ACCESS_KEY_ID", "a")
        .env("AWS_SECRET_ACCESS_KEY", "b");
    Ran::from(command.output().expect("it runs")).expect_status(1).says(&["s3://lab: "]);
}
