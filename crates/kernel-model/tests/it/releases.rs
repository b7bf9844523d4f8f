//! The elevators compiled for releases of Linux without a kernel's source: against
//! kernel/tests/block-layer.h, which has the signatures of each release.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Where a signature or the name of something changed, and the release before it.
const RELEASES: [[u32; 3]; 13] = [
    [6, 1, 0],
    [6, 3, 0],
    [6, 4, 0],
    [6, 5, 0],
    [6, 11, 0],
    [6, 12, 117],
    [6, 13, 0],
    [6, 15, 0],
    [6, 16, 3],
    [6, 16, 4],
    [6, 17, 0],
    [6, 18, 0],
    [7, 3, 0],
];
/// The block layer's own headers, which are in no directory of `include`.
const PRIVATE: [&str; 5] =
    ["elevator.h", "blk.h", "blk-mq.h", "blk-mq-debugfs.h", "blk-mq-sched.h"];
/// As in kernel/Kbuild, and as strict as a kernel with CONFIG_WERROR.
const WARNINGS: [&str; 7] = [
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-Wno-sign-compare",
    "-Wno-type-limits",
    "-Wno-missing-field-initializers",
    "-Werror",
];

fn kernel() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel")
}

fn version([major, minor, patch]: [u32; 3]) -> u32 {
    (major << 16) + (minor << 8) + patch
}

/// A copy of the elevators, and the headers that they include.
struct Sources {
    dir: TempDir,
    objects: Vec<PathBuf>,
}

impl Sources {
    fn new() -> Sources {
        let dir = tempfile::tempdir().unwrap();
        let (headers, copy) = (dir.path().join("include"), dir.path().join("kernel"));
        fs::create_dir_all(copy.join("core")).unwrap();
        let mut included: BTreeSet<String> = PRIVATE.map(str::to_owned).into();
        let mut objects = Vec::new();
        for within in ["", "core"] {
            for entry in fs::read_dir(kernel().join(within)).unwrap().map(Result::unwrap) {
                let name = entry.file_name().into_string().unwrap();
                if !name.ends_with(".c") && !name.ends_with(".h") {
                    continue;
                }
                let text = fs::read_to_string(entry.path()).unwrap();
                let path = copy.join(within).join(&name);
                fs::write(&path, &text).unwrap();
                if name.starts_with("iosched") || name.contains("-elevator.") || name == "compat.h"
                {
                    let names = text.lines().filter_map(|line| line.strip_prefix("#include <"));
                    included.extend(names.map(|name| name.trim_end_matches('>').to_owned()));
                    objects.extend(name.ends_with(".c").then_some(path));
                }
            }
        }
        for name in included {
            let path = headers.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "#include \"block-layer.h\"\n").unwrap();
        }
        fs::copy(kernel().join("tests/block-layer.h"), headers.join("block-layer.h")).unwrap();
        objects.sort();
        Sources { dir, objects }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("kernel").join(name)
    }

    fn alter(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert_eq!(text.matches(from).count(), 1, "{from:?} is in {name} once");
        fs::write(self.path(name), text.replace(from, to)).unwrap();
    }

    fn compiler(&self, release: [u32; 3]) -> Command {
        let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.arg("-std=gnu11")
            .arg("-I")
            .arg(self.dir.path().join("include"))
            .arg(format!("-DLINUX_VERSION_CODE={}", version(release)))
            .args(WARNINGS);
        cc
    }

    /// The compiler's messages if an elevator does not compile.
    fn check(&self, release: [u32; 3]) -> Result<(), String> {
        let output = self.compiler(release).arg("-fsyntax-only").args(&self.objects).output();
        succeeded(&output.expect("there is a C compiler"))
    }
}

fn succeeded(output: &Output) -> Result<(), String> {
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(said()) }
}

#[test]
fn the_elevators_compile_for_every_release_where_something_changed() {
    let sources = Sources::new();
    assert!(sources.objects.len() >= 8, "{:?}", sources.objects);
    for release in RELEASES {
        sources.check(release).unwrap_or_else(|said| panic!("{release:?}: {said}"));
    }
}

#[test]
fn a_gate_at_the_wrong_release_does_not_compile() {
    for (from, to, release) in [
        ("(6, 16, 4)", "(6, 18, 0)", [6, 16, 4]),
        ("(6, 16, 4)", "(6, 16, 0)", [6, 16, 3]),
        ("void (*)(struct request_queue *): ", "void (*)(void *): ", [6, 17, 0]),
        ("void (*)(struct blk_mq_hw_ctx *): ", "void (*)(void *): ", [6, 16, 4]),
        ("(6, 13, 0)", "(6, 16, 0)", [6, 15, 0]),
        ("(6, 5, 0)", "(6, 4, 0)", [6, 4, 0]),
        ("(6, 4, 0)", "(6, 5, 0)", [6, 4, 0]),
    ] {
        let sources = Sources::new();
        sources.alter("compat.h", from, to);
        assert!(sources.check(release).is_err(), "{from} as {to} compiles for {release:?}");
    }
}

/// A tag map of 64 tags in words of 16, with either meaning of a depth.
const DEPTH: &str = r#"
#include <stdio.h>
#define COMPAT_ELEVATOR
#include "compat.h"

int sbitmap_queue_init_node(struct sbitmap_queue *sbq, unsigned int depth, int shift,
			    bool round_robin, gfp_t flags, int node)
{
	*sbq = (struct sbitmap_queue){ .sb = { .depth = depth, .shift = shift } };
	return 0;
}

int sbitmap_queue_get_shallow(struct sbitmap_queue *sbq, unsigned int depth)
{
	unsigned int word = 1u << sbq->sb.shift, words = sbq->sb.depth / word, i;
	unsigned int limit = WHOLE ? word * depth / sbq->sb.depth : depth;

	for (i = 0; i < words; i++) {
		if (sbq->sb.words[i] < limit)
			return i * word + sbq->sb.words[i]++;
	}
	return -1;
}

void sbitmap_queue_min_shallow_depth(struct sbitmap_queue *sbq, unsigned int depth) { }
void sbitmap_queue_free(struct sbitmap_queue *sbq) { }

int main(void)
{
	struct blk_mq_tags tags = { .nr_tags = 64, .bitmap_tags = { .sb = { 64, 4, { 0 } } } };
	struct blk_mq_hw_ctx hctx = { .sched_tags = &tags };
	struct blk_mq_alloc_data data = { .hctx = &hctx };
	bool whole;

	if (compat_measure_depth(&whole))
		return 1;
	compat_limit(&data, 48, 64, whole);
	printf("%u", data.shallow_depth);
	return 0;
}
"#;

#[test]
fn a_limit_is_what_the_tag_map_takes_it_for() {
    let sources = Sources::new();
    let (source, program) = (sources.path("depth.c"), sources.dir.path().join("depth"));
    fs::write(&source, DEPTH).unwrap();
    for (whole, expected) in [(0, "12"), (1, "48")] {
        let mut cc = sources.compiler([6, 12, 117]);
        // Inline functions of compat.h that are not called here need no definitions.
        cc.args(["-O1", &format!("-DWHOLE={whole}"), "-o"]).arg(&program).arg(&source);
        succeeded(&cc.output().expect("there is a C compiler")).unwrap();
        let output = Command::new(&program).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "whole: {whole}");
    }
}
