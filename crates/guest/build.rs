//! Writes the list of kernel module sources to embed, so that a new C file needs no edit here.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let manifest = PathBuf::from(
        std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is"),
    );
    let top =
        manifest.join("../../kernel").canonicalize().expect("the sources of the modules are there");
    println!("cargo::rerun-if-changed={}", top.display());
    let mut names = Vec::new();
    collect(&top, Path::new(""), &mut names);
    names.sort();
    let mut list = String::from(
        "/// Name below kernel/ and text of each source of our modules.\nstatic FILES: &[(&str, &str)] = &[\n",
    );
    for name in names {
        let path = top.join(&name);
        writeln!(list, "    ({name:?}, include_str!({:?})),", path.display().to_string())
            .expect("text takes any text");
    }
    list.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where to write"));
    fs::write(out.join("sources.rs"), list).expect("cargo's directory takes a file");
}

/// Build results in the checkout are not sources.
fn collect(top: &Path, within: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(top.join(within)).expect("the directory is readable").flatten() {
        let path = within.join(entry.file_name());
        let name = path.to_str().expect("names are ASCII").to_owned();
        if name == "tests" || name == "bpf" {
            continue; // tests run outside a kernel, and BPF programs are not modules
        } else if entry.path().is_dir() {
            collect(top, &path, names);
        } else if (name.ends_with(".c") || name.ends_with(".h") || name.ends_with("Kbuild"))
            && !name.ends_with(".mod.c")
        {
            names.push(name);
        }
    }
}
