//! A workspace with a planted fault does not pass. That this one does is what `cargo run -p lint` in `make lint` checks.

use std::fs;
use std::path::Path;

use lint::{Finding, Krate, Workspace, cycles, errors, layers, printing, starting, unsafe_code, words};

fn assert_none(found: &[Finding]) {
    assert!(found.is_empty(), "{}", found.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
}

#[test]
fn this_workspace_is_found_with_its_crates() {
    assert!(Workspace::of_this_crate().crates().unwrap().len() > 10);
}

#[test]
fn a_planted_word_and_a_planted_error_fail() {
    let (_root, workspace, _) =
        planted("sim", &[("src/lib.rs", "//! A crate.\nconst HELP: &str = \"two processors\";")]);
    assert_eq!(words::check(&workspace).unwrap().len(), 1);
    let (_root, workspace, _) = planted("sim", &[("src/lib.rs", "fn f() { bail!(\"cannot read {}\", 1) }")]);
    assert_eq!(errors::check(&workspace).unwrap().len(), 1);
}

/// A crate of the given name in an empty workspace.
fn planted(name: &str, files: &[(&str, &str)]) -> (tempfile::TempDir, Workspace, Krate) {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("crates").join(name);
    for (path, text) in files.iter().chain(&[("Cargo.toml", "[dependencies]\n")]) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if !path.exists() {
            fs::write(path, text).unwrap();
        }
    }
    let workspace = Workspace { root: root.path().to_path_buf() };
    let krate = Krate { name: name.to_string(), dir };
    (root, workspace, krate)
}

/// The cycles of such a crate, each as its files.
fn cycles_of(files: &[(&str, &str)]) -> Vec<String> {
    let (root, workspace, krate) = planted("elevator", files);
    let name = |path: &Path| path.strip_prefix(root.path().join("crates/elevator/src")).unwrap().display().to_string();
    let cycles = cycles::of_crate(&workspace, &krate).unwrap();
    cycles.iter().map(|cycle| cycle.files.iter().map(|file| name(file)).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn two_files_that_use_each_other_are_a_cycle() {
    let files = [
        ("src/lib.rs", "mod a; mod b;"),
        ("src/a.rs", "use crate::b::B; pub struct A(B);"),
        ("src/b.rs", "pub struct B; fn f() -> super::a::A { todo!() }"),
    ];
    assert_eq!(cycles_of(&files), ["a.rs b.rs"]);
}

#[test]
fn a_parent_that_only_reexports_is_none_and_one_that_defines_what_its_child_uses_is_one() {
    let reexports = [
        ("src/lib.rs", "mod a;"),
        ("src/a/mod.rs", "mod b; mod c; pub use b::B; pub(crate) use c::*;"),
        ("src/a/b.rs", "pub struct B;"),
        ("src/a/c.rs", "use super::B; pub struct C(B);"),
    ];
    assert_eq!(cycles_of(&reexports), [""; 0]);
    let defines = [
        ("src/lib.rs", "mod a;"),
        ("src/a/mod.rs", "mod b; pub trait T {} pub fn f() -> impl T { b::B }"),
        ("src/a/b.rs", "pub struct B; impl super::T for B {}"),
    ];
    assert_eq!(cycles_of(&defines), ["a/b.rs a/mod.rs"]);
}

#[test]
fn names_are_followed_through_reexports_globs_macros_and_attributes() {
    let uses = [
        "use crate::A; fn f(_: A) {}",
        "use crate::*; fn f(_: A) {}",
        "fn f() { println!(\"{}\", crate::a::N); }",
        "fn f() { use crate::a::A as Z; }",
        "#[serde(default = \"crate::a::f\")] struct S;",
        "fn f() -> Option<Vec<crate::A>> { None }",
        "fn f() { rule!() }",
    ];
    for use_of_a in uses {
        let b = format!("pub struct B; {use_of_a}");
        let files = [
            ("src/lib.rs", "#[macro_use] mod a; pub use a::A;"),
            (
                "src/a/mod.rs",
                "macro_rules! rule { () => {} } mod b; pub struct A(b::B); pub const N: u8 = 1; pub fn f() {}",
            ),
            ("src/a/b.rs", b.as_str()),
        ];
        assert_eq!(cycles_of(&files), ["a/b.rs a/mod.rs"], "{use_of_a}");
    }
}

#[test]
fn tests_are_left_out_and_one_algorithm_may_be_a_circle() {
    let tests = [
        ("src/lib.rs", "mod a; mod b;"),
        ("src/a.rs", "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }"),
        ("src/b.rs", "use crate::a::A; pub struct B(A);"),
    ];
    assert_eq!(cycles_of(&tests), [""; 0]);
    let algorithm = |other: &'static str| {
        [
            ("src/lib.rs", "mod algorithm;"),
            ("src/algorithm/mod.rs", "mod cfq; mod noop;"),
            ("src/algorithm/cfq/mod.rs", "mod tree; pub struct Q; fn f(_: tree::T) {}"),
            ("src/algorithm/cfq/tree.rs", "pub struct T(super::Q);"),
            ("src/algorithm/noop.rs", other),
        ]
    };
    assert_eq!(cycles_of(&algorithm("fn f(_: super::cfq::Q) {}")), [""; 0]);
    let mut circle = algorithm("pub struct N; fn f(_: super::cfq::Q) {}");
    circle[2].1 = "use super::noop::N; pub struct Q(N);";
    assert_eq!(cycles_of(&circle), ["algorithm/cfq/mod.rs algorithm/noop.rs"]);
}

#[test]
fn a_planted_fault_of_each_layer_rule_is_found() {
    let lib = "//! A crate.\n#![forbid(unsafe_code)]\n";
    let (_root, workspace, _) = planted("sim", &[("src/lib.rs", lib)]);
    assert_none(&layers::check(&workspace).unwrap());
    let clock = format!("{lib}fn f() {{ std::time::Instant::now(); }}\n");
    for (name, files, expected) in [
        ("sim", [("Cargo.toml", "[dependencies]\nhost = \"1\"\n"), ("src/lib.rs", lib)], "must not depend on host"),
        ("sim", [("src/lib.rs", clock.as_str()), ("a.rs", "//! A")], "Instant:: in a pure crate"),
        (
            "sim",
            [("src/lib.rs", lib), ("src/a.rs", "//! A\nuse std::collections::HashMap;")],
            "HashMap in a pure crate",
        ),
        ("sim", [("src/lib.rs", lib), ("tests/a.rs", "fn f() {}")], "begin with //!"),
        ("attic", [("src/lib.rs", lib), ("a.rs", "//! A")], "has no row"),
    ] {
        let (_root, workspace, _) = planted(name, &files);
        let found = layers::check(&workspace).unwrap();
        assert_eq!(found.len(), 1, "{expected}: {found:?}");
        assert!(found[0].text.contains(expected), "{expected}: {}", found[0]);
    }
}

#[test]
fn unsafe_code_outside_of_the_module_sys_is_found() {
    let (forbid, deny) = ("//! A.\n#![forbid(unsafe_code)]\n", "//! A.\n#![deny(unsafe_code)]\nmod sys;\n");
    let block = "//! B.\n// unsafe { }\nfn f() { unsafe { g(\"unsafe\") } }\n";
    for (files, expected) in [
        (vec![("src/lib.rs", forbid)], vec![]),
        (vec![("src/lib.rs", deny), ("src/sys.rs", block), ("tests/a.rs", block)], vec![]),
        (vec![("src/main.rs", deny), ("src/sys/mod.rs", "//! C."), ("src/sys/deep.rs", block)], vec![]),
        (vec![("src/lib.rs", "//! A.\n")], vec!["begins with #![forbid"]),
        (vec![("src/lib.rs", forbid), ("src/sys.rs", block)], vec!["begins with #![deny"]),
        (vec![("src/lib.rs", forbid), ("src/main.rs", "//! A.\n")], vec!["begins with #![forbid"]),
        (vec![("src/lib.rs", deny), ("src/sys.rs", block), ("src/a.rs", block)], vec!["outside of the module sys"]),
        (vec![("src/lib.rs", deny), ("src/sys.rs", block), ("src/a/sys.rs", block)], vec!["outside of the module sys"]),
    ] {
        let (_root, workspace, _) = planted("host", &files);
        let found = unsafe_code::check(&workspace).unwrap();
        assert_eq!(found.len(), expected.len(), "{files:?}: {found:?}");
        assert!(found.iter().zip(&expected).all(|(found, part)| found.text.contains(part)), "{found:?}");
    }
}

#[test]
fn printing_outside_of_the_one_file_is_found() {
    let faults = [
        "fn f() { println!(\"{}\", 1) }",
        "fn f() { eprint!(\"a\") }",
        "fn f() { writeln!(std::io::stderr(), \"a\") }",
        "fn f() { let mut out = io::stdout().lock(); }",
        "use indicatif::ProgressBar;",
    ];
    for fault in faults {
        let text = format!("//! A.\n{fault}\n");
        let (_root, workspace, _) = planted("host", &[("src/a.rs", &text)]);
        let found = printing::check(&workspace).unwrap();
        assert_eq!(found.len(), 1, "{fault}: {found:?}");
        assert!(found[0].text.contains("out.rs"), "{}", found[0]);
        let (_root, workspace, _) = planted("schedlab", &[("src/out.rs", &text)]);
        assert_none(&printing::check(&workspace).unwrap());
    }
    for allowed in [
        "fn f(c: &mut Command) { c\n.stdout(Stdio::null()).stderr(x); c.stdout.take(); }",
        "// println!\nconst S: &str = \"println!\"; #[cfg(test)] mod tests { fn f() { println!() } }",
    ] {
        let (_root, workspace, _) = planted("host", &[("src/a.rs", &format!("//! A.\n{allowed}\n"))]);
        assert_none(&printing::check(&workspace).unwrap());
    }
}

#[test]
fn a_program_started_outside_of_the_one_file_is_found() {
    for fault in [
        "fn f() { Command::new(\"git\"); }",
        "fn f() { let child = std::process::Command::new(program).spawn(); }",
        "fn f() { unsafe { libc::execvp(file, words) }; }",
    ] {
        let text = format!("//! A.\n{fault}\n");
        let (_root, workspace, _) = planted("host", &[("src/a.rs", &text)]);
        let found = starting::check(&workspace).unwrap();
        assert_eq!(found.len(), 1, "{fault}: {found:?}");
        let (_root, workspace, _) = planted("files", &[("src/programs/start.rs", &text)]);
        assert_none(&starting::check(&workspace).unwrap());
    }
    for allowed in [
        "fn f(c: Command) { match c { Command::Run(args) => run(args) } } // Command::new(x)",
        "#[cfg(test)] mod tests { fn f() { Command::new(\"sh\"); } }",
    ] {
        let (_root, workspace, _) = planted("host", &[("src/a.rs", &format!("//! A.\n{allowed}\n"))]);
        assert_none(&starting::check(&workspace).unwrap());
    }
}
