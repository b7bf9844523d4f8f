//! Writes the list of kernel module sources to embed, so that a new C file needs no edit here, and
//! compiles the flash model for the block driver among them.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kbuild copies a file of this name to `core/flash-model.o`.
const OBJECT: &str = "core/flash-model.o_shipped";

fn main() {
    let manifest =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the crate is"));
    let top =
        manifest.join("../../kernel").canonicalize().expect("the sources of the modules are there");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where to write"));
    println!("cargo::rerun-if-changed={}", top.display());
    let mut names = Vec::new();
    collect(&top, Path::new(""), &mut names);
    let mut files: Vec<(String, PathBuf)> =
        names.into_iter().map(|name| (name.clone(), top.join(name))).collect();
    // User-mode Linux exists on x86 only.
    if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64") {
        files.push((OBJECT.to_owned(), flash_model(&top, &out)));
    }
    files.sort();
    let mut list = String::from("static FILES: &[(&str, &[u8])] = &[\n");
    for (name, path) in files {
        writeln!(list, "    ({name:?}, include_bytes!({:?})),", path.display().to_string())
            .expect("text takes any text");
    }
    list.push_str("];\n");
    fs::write(out.join("sources.rs"), list).expect("cargo's directory takes a file");
}

/// Build results in the checkout are not sources.
fn collect(top: &Path, within: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(top.join(within)).expect("the directory is readable").flatten() {
        let path = within.join(entry.file_name());
        let name = path.to_str().expect("names are ASCII").to_owned();
        if ["tests", "bpf", "um"].contains(&name.as_str()) {
            continue; // not modules: tests, BPF programs, and parts of the kernel itself
        } else if entry.path().is_dir() {
            collect(top, &path, names);
        } else if (name.ends_with(".c") || name.ends_with(".h") || name.ends_with("Kbuild"))
            && !name.ends_with(".mod.c")
        {
            names.push(name);
        }
    }
}

/// Compiles crates/flash-model and kernel/flash to one object that needs nothing but memcpy and
/// what core/disk-flash.h declares.
///
/// Modules lie beyond the kernel's two gigabytes, so addresses have 64 bits. Only with LTO are the
/// core and alloc libraries compiled for such addresses.
fn flash_model(top: &Path, out: &Path) -> PathBuf {
    let root = top.parent().expect("kernel/ is in the repository");
    let model = root.join("crates/flash-model/src");
    println!("cargo::rerun-if-changed={}", model.display());
    let (library, archive) = (out.join("libflash_model.rlib"), out.join("libflash.a"));
    compile(root, &["--crate-type=rlib", "--crate-name=flash_model"], |rustc| {
        rustc.arg("crates/flash-model/src/lib.rs").arg("-o").arg(&library);
    });
    compile(root, &["--crate-type=staticlib", "--crate-name=flash", "-Clto=fat"], |rustc| {
        let with = format!("flash_model={}", library.display());
        rustc.args(["kernel/flash/flash.rs", "--extern", &with, "-o"]).arg(&archive);
    });
    let object = out.join("flash-model.o");
    let archive = fs::read(archive).expect("rustc has written the archive");
    let member = first_member(&archive).expect("an archive begins with the crate's object");
    fs::write(&object, member).expect("cargo's directory takes a file");
    object
}

/// The first object of an archive in the format of `ar`. The others are functions that the kernel
/// has.
fn first_member(archive: &[u8]) -> Option<&[u8]> {
    let mut rest = archive.strip_prefix(b"!<arch>\n")?;
    loop {
        let (header, after) = rest.split_at_checked(60)?;
        let length: usize = str::from_utf8(&header[48..58]).ok()?.trim().parse().ok()?;
        let member = after.get(..length)?;
        if member.starts_with(b"\x7fELF") {
            return Some(member);
        }
        rest = after.get(length.next_multiple_of(2)..)?;
    }
}

fn compile(root: &Path, options: &[&str], complete: impl FnOnce(&mut Command)) {
    let variable = |name| env::var_os(name).unwrap_or_else(|| panic!("cargo sets {name}"));
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.current_dir(root).arg("--target").arg(variable("TARGET")).args(options);
    rustc.args([
        "--edition=2024",
        "-Copt-level=3",
        "-Ccodegen-units=1",
        "-Cpanic=abort",
        "-Cforce-unwind-tables=no",
        "-Crelocation-model=static",
        "-Ccode-model=large",
        "-Cstrip=debuginfo",
    ]);
    complete(&mut rustc);
    let status = rustc.status().expect("rustc can be started");
    assert!(status.success(), "the flash model does not compile: {rustc:?}");
}
