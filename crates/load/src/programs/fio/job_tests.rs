//! Parsing job files: accepted and refused options, and fio's copy.

use super::*;

fn none(_: &str) -> Option<String> {
    None
}

#[track_caller]
fn read(text: &str) -> JobFile {
    JobFile::parse("a.fio", text, &none).unwrap()
}

#[track_caller]
fn refused(text: &str) -> String {
    JobFile::parse("a.fio", text, &none).unwrap_err()
}

fn names(file: &JobFile) -> Vec<String> {
    file.job_kinds().into_iter().map(|job| job.name).collect()
}

#[test]
fn what_a_job_does_follows_from_its_mode() {
    for (mode, does) in [
        ("read", (true, false, false)),
        ("randread:8", (true, false, false)),
        ("write", (false, true, false)),
        ("rw", (true, true, false)),
        ("readwrite", (true, true, false)),
        ("randrw", (true, true, false)),
        ("randtrim", (false, false, true)),
        ("trimwrite", (false, true, true)),
    ] {
        let job = &read(&format!("[a]\nrw={mode}\n")).job_kinds()[0];
        assert_eq!((job.reads, job.writes, job.trims), does, "{mode}");
    }
}

#[test]
fn comments_blanks_options_without_value_and_aliases_are_understood() {
    let file = read(
        "; first\n# second\n\n [global] ; third\n\tblocksize = 8k # fourth\ngroup_reporting\ndescription=it's \"mine\"\n[one]\nreadwrite=randread:4\nthread\n",
    );
    let text = file.text(Target::Device(Path::new("/dev/x")), &[], &[]);
    assert_eq!(text, "[global]\nbs=8k\n[one]\nrw=randread:4\nthread\nfilename=/dev/x\n");
    assert_eq!(names(&file), ["one"]);
}

#[test]
fn every_job_gets_the_target_and_nothing_else_names_one() {
    let file = read("[a]\nrw=read\n[global]\nbs=4k\n[b]\nrandseed=7\n");
    let offered = [("randseed", "1".to_string())];
    let text = file.text(
        Target::Directory(Path::new("/run/a:b")),
        &[("lat_percentiles", "1".to_string())],
        &offered,
    );
    assert_eq!(
        text,
        "[a]\nrw=read\ndirectory=/run/a\\:b\nlat_percentiles=1\nrandseed=1\n[global]\nbs=4k\n[b]\nrandseed=7\ndirectory=/run/a\\:b\nlat_percentiles=1\n"
    );
}

#[test]
fn what_reaches_outside_is_refused_with_its_line_and_what_to_do() {
    for (option, word) in [
        ("filename=/dev/sda", "remove the line"),
        ("filename=../x", "remove the line"),
        ("filename=a:b", "remove the line"),
        ("directory=/tmp", "remove the line"),
        ("ioscheduler=none", "--schedulers"),
        ("exec_prerun=rm x", "program"),
        ("write_bw_log", "file outside"),
        ("include other.fio", "copy its lines"),
        ("includes=x", "copy its lines"),
        ("cgroup=x", "io_weight"),
        ("ioengine=external:/tmp/x.so", "use one of"),
        ("pre_read=1", "pre_read"),
        ("ioengine=null", "use one of"),
        ("ioengine=net", "use one of"),
        ("name=x", "[NAME]"),
        ("iodepht=4", "did you mean \"iodepth\"?"),
        ("bs=$pagesize", "write the value itself"),
        ("buffer_pattern='/etc/passwd'", "keep to the device"),
        ("size=${NOT_SET}", "NOT_SET is not set"),
        ("rw=sideways", "randrw"),
    ] {
        let problem = refused(&format!("[global]\nbs=4k\n[a]\n{option}\n"));
        assert!(problem.starts_with("a.fio:4: ") && problem.contains(word), "{option}: {problem}");
    }
    assert_eq!(
        refused("[a]\ndirectory=/x\nopendir=/y\n").lines().count(),
        2,
        "all refusals at once"
    );
}

#[test]
fn the_name_of_a_job_is_the_name_of_a_file_and_of_figures() {
    for name in ["../x", "a/b", "", ".x", "a:b", "$x", "globals", "a\"b"] {
        assert!(refused(&format!("[ok]\n[{name}]\n")).starts_with("a.fio:2: "), "{name}");
    }
    assert!(refused("[a]\n[a]\n").contains("second job is called a"));
    assert!(refused("bs=4k\n[a]\n").contains("[global]"));
    assert!(refused("[global]\nbs=4k\n").contains("no job"));
    assert!(refused("[a\nbs=4k\n").contains("ends with ]"));
    assert_eq!(names(&read("[random reads]\n")), ["random reads"]);
}

#[test]
fn what_fio_would_decide_by_order_is_refused() {
    assert!(refused("[a]\nrw=read\nreadwrite=write\n").contains("already set in line 2"));
    assert!(refused("[a]\ndirect=1\nbuffered=1\n").contains("the same option"));
}

#[test]
fn the_environment_is_read_here_and_compared_like_the_rest() {
    let env = |name: &str| Some(if name == "BS" { "8k" } else { "`id`" }.to_string());
    let file = JobFile::parse("a.fio", "[a]\nbs=${BS}\n", &env).unwrap();
    assert!(file.text(Target::Device(Path::new("/dev/x")), &[], &[]).contains("bs=8k\n"));
    assert!(JobFile::parse("a.fio", "[a]\nbs=${EVIL}\n", &env).is_err());
    assert!(JobFile::parse("a.fio", "[a]\nbs=${BS\n", &env).is_err());
}

#[test]
fn writing_is_seen_wherever_it_is_said() {
    assert!(!read("[a]\n[b]\nrw=randread:8\n").writes());
    assert!(!read("[global]\nrw=write\n[a]\nrw=read\n").writes());
    for text in [
        "[a]\nrw=randrw\n",
        "[global]\nrw=write\n[a]\n",
        "[a]\n[b]\nreadwrite=randtrim\n",
        "[a]\nrw=write:4k\n",
    ] {
        assert!(read(text).writes(), "{text}");
    }
    assert!(
        !read("[a]\n[global]\nrw=write\n[b]\nrw=read\n").writes(),
        "a global section holds for the jobs below it"
    );
}

#[test]
fn a_job_that_says_when_it_ends_is_known() {
    for text in [
        "runtime=5",
        "timeout=5",
        "size=1G",
        "io_limit=1G",
        "number_ios=5",
        "loops=3",
        "time_based",
    ] {
        assert!(read(&format!("[global]\n{text}\n[a]\n")).has_length(), "{text}");
    }
    assert!(!read("[a]\nbs=4k\nramp_time=1\n").has_length());
}

#[test]
fn only_direct_requests_without_ramp_are_counted_exactly() {
    assert!(read("[global]\nbuffered=1\n[a]\ndirect=1\n").is_exact());
    assert!(!read("[global]\ndirect=1\n[a]\nbuffered=1\n").is_exact());
    assert!(read("[a]\nbuffered=0\n").is_exact());
    for text in [
        "[a]\n",
        "[a]\ndirect=0\n",
        "[a]\ndirect=1\nramp_time=1\n",
        "[a]\ndirect=1\nioengine=mmap\n",
        "[a]\ndirect=1\n[b]\n",
    ] {
        assert!(!read(text).is_exact(), "{text}");
    }
}

#[test]
fn the_checksum_is_of_what_fio_gets_and_not_of_remarks() {
    let digest = |text| read(text).digest();
    assert_eq!(
        digest("[a]\nbs=4k\n"),
        digest("; a remark\n[a]\nblocksize = 4k # another\ngroup_reporting\n")
    );
    assert_ne!(digest("[a]\nbs=4k\n"), digest("[a]\nbs=8k\n"));
}
