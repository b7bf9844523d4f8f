//! Every writing command, on a device that holds a relation of a running PostgreSQL. No page may be
//! lost, with consent or without.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use testbed::{Directory, Loop, require};

use crate::common::{Lab, Ran};

const PAGES: u64 = 4096;
const PAGE_BYTES: u64 = 8192;

/// DEVICE is the device and DIR a directory of the test.
const WRITING: &[&str] = &[
    "compare --device DEVICE --schedulers none,mq-deadline --workload randwrite SHORT",
    "compare --device DEVICE --schedulers none,mq-deadline --workload oltp:file_size=4M --fs ext4 SHORT",
    "compare --device DEVICE --schedulers none,mq-deadline --workload randread --background seqwrite SHORT",
    "compare --device DEVICE --schedulers none,mq-deadline --workload fio:DIR/write.fio SHORT",
    "compare --device DEVICE --schedulers none,mq-deadline --workload trace:DIR/writes.txt SHORT",
    "compare --device DEVICE --schedulers none,mq-deadline --workload command:on=device:run=DIR/script:regex=(1):metric=m:better=higher SHORT",
    "run DIR/plan.toml",
    "sweep --device DEVICE --scheduler mq-deadline --tunables front_merges --workload randwrite --trial-time 50ms",
    "tune --device DEVICE --schedulers none,mq-deadline --workload randwrite --trial-time 50ms --trials 80",
    "iocost DEVICE --trial-time 50ms",
];
const SHORT: &str = "--rounds 1 --figures-only --trial-time 50ms --warmup 0";

struct Cluster {
    dir: Directory,
    device: Loop,
    relation: PathBuf,
    session: Option<Child>,
}

impl Cluster {
    fn start(lab: &Lab) -> Cluster {
        let dir = Directory::new();
        let file = lab.path("disk.img");
        fs::File::create(&file)
            .and_then(|made| made.set_len(PAGES * PAGE_BYTES))
            .expect("a sparse file");
        let mut cluster =
            Cluster { dir, device: Loop::over(&file), relation: PathBuf::new(), session: None };
        cluster.script("chown postgres $D; $U $B/initdb -k --no-sync -D $D/data");
        cluster.serve();
        let made = cluster.script(
            "q 'create table pages (i int, filler text); alter table pages alter filler set storage plain'
             q 'insert into pages select i, repeat(md5(i::text), 200) from generate_series(1, 4096) as i'
             q 'vacuum pages' -c checkpoint; q \"select pg_relation_filepath('pages')\"",
        );
        cluster.relation =
            cluster.dir.path().join("data").join(made.lines().last().expect("a path"));
        cluster.stop();
        assert_eq!(
            fs::metadata(&cluster.relation).expect("the relation").len(),
            PAGES * PAGE_BYTES
        );
        fs::copy(&cluster.relation, &cluster.device.path).expect("the device is as large");
        fs::remove_file(&cluster.relation).expect("copied");
        // A separate node, because one in /dev would stay chowned after the test.
        cluster.script("mknod $D/node b $((0x$(stat -c %t $N))) $((0x$(stat -c %T $N))); chown postgres $D/node");
        std::os::unix::fs::symlink(cluster.dir.path().join("node"), &cluster.relation)
            .expect("a link");
        cluster.serve();
        cluster
    }

    fn serve(&self) {
        self.script("$U $B/pg_ctl -w -D $D/data -l $D/log -o \"-k $D -h '' -c shared_buffers=1MB -c fsync=off\" start");
    }

    fn stop(&self) {
        self.script("$U $B/pg_ctl -w -m fast -D $D/data stop");
    }

    /// The server opens the relation, also for writing, when it first reads it.
    fn begin_session(&mut self) {
        let mut command = self.command("exec $U $B/psql -h $D -At postgres -v ON_ERROR_STOP=1");
        let mut session =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("psql");
        let query = b"select sum(length(filler)) from pages \\watch 0.1\n";
        std::io::Write::write_all(session.stdin.as_mut().expect("piped"), query)
            .expect("psql reads");
        let mut lines = BufReader::new(session.stdout.take().expect("piped")).lines();
        assert!(
            lines.any(|line| line.expect("text") == (4096 * 6400).to_string()),
            "the session reads the pages"
        );
        // Keep reading, so that psql never blocks.
        std::thread::spawn(move || lines.for_each(drop));
        self.session = Some(session);
    }

    /// Copies the device back into the relation's file and runs pg_checksums.
    fn checksums(&self) -> String {
        self.script("blockdev --flushbufs $N");
        fs::remove_file(&self.relation).expect("a link");
        fs::write(&self.relation, fs::read(&self.device.path).expect("readable")).expect("room");
        chown(&self.relation, Some(owner(&self.dir)), None).expect("root may");
        self.script("$U $B/pg_checksums -c -D $D/data 2>&1")
    }

    /// `q` runs SQL, `$U` switches to the user postgres, `$B` is the server's program directory,
    /// `$D` the cluster, `$N` the device.
    fn command(&self, text: &str) -> Command {
        let bin = fs::read_dir("/usr/lib/postgresql")
            .expect("PostgreSQL")
            .flatten()
            .next()
            .expect("a version")
            .path();
        let mut command = Command::new("bash");
        let define = "set -e; cd /; q() { $U $B/psql -h $D postgres -qAtc \"$@\"; }";
        command.args(["-c", &format!("{define}\n{text}")]).stdin(Stdio::null());
        command.envs([("U", "runuser -u postgres --"), ("N", &self.device.path)]);
        command.env("B", bin.join("bin")).env("D", self.dir.path());
        command
    }

    fn script(&self, text: &str) -> String {
        let ran = Ran::from(self.command(text).output().expect("a shell"));
        assert_eq!(ran.status, Some(0), "{text}: {}{}", ran.stdout, ran.stderr);
        ran.stdout
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(mut session) = self.session.take() {
            let _ = session.kill();
            let _ = session.wait();
        }
        let _ = self.command("$U $B/pg_ctl -m immediate -D $D/data stop").output();
    }
}

fn owner(dir: &Directory) -> u32 {
    std::os::unix::fs::MetadataExt::uid(&fs::metadata(dir.path()).expect("own"))
}

fn write_inputs(lab: &Lab, device: &str) {
    fs::write(lab.path("write.fio"), "[writer]\nrw=randwrite\nbs=8k\nsize=8m\n").expect("written");
    let writes: String = (0..200)
        .map(|i| format!("8,0 1 {i} 0.{:09} 100 Q W {} + 16 [dd]\n", i * 1_000_000, i * 256))
        .collect();
    fs::write(lab.path("writes.txt"), writes).expect("written");
    fs::write(
        lab.path("script"),
        format!("#!/bin/sh\ndd if=/dev/urandom of={device} bs=1M count=8; echo 1\n"),
    )
    .expect("written");
    fs::set_permissions(lab.path("script"), fs::Permissions::from_mode(0o755)).expect("own");
    let plan = format!(
        "device = '{device}'\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'other'\nscheduler = 'mq-deadline'\n\
         [[workload]]\nname = 'w'\nkind = 'randwrite'\n[budget]\nrounds = 1\nfigures_only = true\n[trial]\nduration_ms = 50\n"
    );
    fs::write(lab.path("plan.toml"), plan).expect("written");
}

#[track_caller]
fn expect_refused(lab: &Lab, device: &str, consent: &str, says: &str) {
    let dir = lab.dir.path().display().to_string();
    for words in WRITING {
        let words = words.replace("SHORT", SHORT).replace("DEVICE", device).replace("DIR", &dir);
        let out =
            if words.starts_with("iocost") { String::new() } else { format!("--out {dir}/out") };
        let ran = lab.run(&format!("{words} {consent} {out}"));
        let answer = format!("{words} {consent}: {}{}", ran.stdout, ran.stderr);
        assert!(matches!(ran.status, Some(1 | 2)) && ran.stderr.contains(says), "{answer}");
    }
}

/// `watch add` refuses write consent without a serial number, so edit the file.
fn forge_watch(lab: &Lab, device: &str) {
    let add = format!(
        "watch add --name attacks --device {device} --schedulers none,mq-deadline --workload randread {SHORT} --dry-run"
    );
    let printed = lab.run(&add).expect_status(0).stdout;
    let watch = printed
        .split("\n# /")
        .next()
        .expect("a file")
        .split_once('\n')
        .expect("a name and a text")
        .1;
    let watch = watch
        .replace("destroy_data = false", "destroy_data = true")
        .replace("randread", "randwrite");
    let dir = lab.state().join("watch");
    fs::create_dir_all(&dir).expect("made");
    for dir in [lab.state(), dir.clone()] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).expect("root may");
    }
    fs::write(dir.join("attacks.toml"), watch).expect("written");
}

#[test]
fn no_page_of_a_running_postgresql_is_lost() {
    if !require(&["root", "initdb", "runuser", "fio", "mkfs.ext4"]) {
        return;
    }
    let lab = Lab::new();
    let mut cluster = Cluster::start(&lab);
    let device = cluster.device.path.clone();
    write_inputs(&lab, &device);
    forge_watch(&lab, &device);
    cluster.begin_session();
    for consent in ["", &format!("--destroy-data {device}")] {
        expect_refused(&lab, &device, consent, "in use: postgres (");
    }
    let round = lab.run("watch run attacks --now");
    assert!(round.status == Some(1) && round.stderr.contains("in use: postgres ("), "{round:?}");
    let mut session = cluster.session.take().expect("begun");
    assert_eq!(session.try_wait().expect("own child"), None, "the session met an error");
    session.kill().and_then(|()| session.wait()).expect("own child");
    cluster.stop();
    expect_refused(&lab, &device, "", "data without a known signature, first at offset");
    let checksums = cluster.checksums();
    println!("{checksums}");
    assert!(checksums.contains("Bad checksums:  0"), "{checksums}");
    let log = fs::read_to_string(cluster.dir.path().join("log")).expect("the server's log");
    assert!(!log.contains("ERROR") && !log.contains("invalid page"), "{log}");
}
