//! Cores compiled by a test, with other flags or with a fault.
#![allow(dead_code, unreachable_pub)]

use std::ffi::{CStr, CString, OsString, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kernel_model::{Ops, Seek};
use tempfile::TempDir;

pub fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("the sources are there");
    let paths = entries.map(|entry| entry.expect("the sources can be listed").path());
    let is_one = |path: &PathBuf| {
        let name = path.file_name().expect("a file has a name").to_string_lossy();
        name.ends_with(".c")
            && ["antic", "wpcas", "occupancy"].iter().any(|part| name.starts_with(part))
    };
    let mut sources: Vec<PathBuf> = paths.filter(is_one).collect();
    sources.sort();
    sources
}

pub fn core() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/core")
}

pub const FLAGS: [&str; 5] = ["-std=gnu11", "-Wall", "-Wextra", "-Wconversion", "-Werror"];

pub fn compile(arguments: &[OsString]) {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(&compiler)
        .args(FLAGS)
        .args(arguments)
        .output()
        .expect("there is a C compiler");
    assert!(output.status.success(), "{arguments:?}\n{}", String::from_utf8_lossy(&output.stderr));
}

/// `from` occurs once in `file`.
pub fn write_mutant(dir: &Path, file: &str, from: &str, to: &str) {
    for entry in fs::read_dir(core()).expect("the sources are there") {
        let path = entry.expect("the sources can be listed").path();
        fs::copy(&path, dir.join(path.file_name().expect("a file has a name")))
            .expect("the sources can be copied");
    }
    let text = fs::read_to_string(dir.join(file)).expect("the file is one of the sources");
    assert_eq!(text.matches(from).count(), 1, "{from:?} stands in {file} once");
    fs::write(dir.join(file), text.replace(from, to)).expect("the copy can be written");
}

#[derive(Debug, Clone, Copy)]
pub struct Cores {
    /// anticipatory, wpcas and occupancy.
    pub ops: [&'static Ops; 3],
    pub seek: Seek,
}

/// No warnings: a fault may leave something unused.
const SHARED: [&str; 4] = ["-O1", "-shared", "-fPIC", "-w"];

/// Unmodified objects, compiled once.
#[derive(Debug)]
pub struct Objects(TempDir);

impl Objects {
    pub fn new() -> Objects {
        let dir = tempfile::tempdir().expect("there is room for objects");
        let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("shim.c");
        for source in sources(&core()).into_iter().chain([shim]) {
            let object = dir
                .path()
                .join(source.file_name().expect("a source has a name"))
                .with_extension("o");
            let mut arguments: Vec<OsString> = SHARED.map(OsString::from).into();
            arguments.extend([
                "-c".into(),
                source.into(),
                "-I".into(),
                core().into(),
                "-o".into(),
                object.into(),
            ]);
            compile(&arguments);
        }
        Objects(dir)
    }

    fn path(&self, source: &Path) -> PathBuf {
        self.0.path().join(source.file_name().expect("a source has a name")).with_extension("o")
    }
}

/// With a modified `file`; never unloaded.
pub fn load(dir: &Path, file: &str, objects: &Objects) -> Cores {
    let object = dir.join("cores.so");
    let mut arguments: Vec<OsString> = SHARED.map(OsString::from).into();
    arguments.extend(["-o".into(), object.clone().into(), "-I".into(), dir.into()]);
    // Every source includes the headers.
    let again = |source: &Path| file.ends_with(".h") || source.ends_with(file);
    let shim = Path::new(env!("CARGO_MANIFEST_DIR")).join("shim.c");
    for source in sources(dir).into_iter().chain([shim]) {
        arguments.push(if again(&source) { source.into() } else { objects.path(&source).into() });
    }
    compile(&arguments);
    let path =
        CString::new(object.into_os_string().into_encoded_bytes()).expect("a path has no zero");
    // SAFETY: the object contains only the cores and has no initialisers; symbols are looked up by
    // name.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!handle.is_null(), "the object can be loaded");
    let named = |name: &CStr| {
        // SAFETY: the handle belongs to an object that is never closed.
        let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
        assert!(!found.is_null(), "the object has {name:?}");
        found
    };
    let ops = [c"core_anticipatory", c"core_wpcas", c"core_occupancy"].map(|name| {
        // SAFETY: elevator.h declares the symbol as a constant of this type; the object is never
        // closed.
        unsafe { &*named(name).cast::<Ops>() }
    });
    // SAFETY: shim.c declares this function with the type that `Seek` points to.
    let seek = unsafe { std::mem::transmute::<*mut c_void, Seek>(named(c"shim_seek_ns")) };
    Cores { ops, seek }
}
