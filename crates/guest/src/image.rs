//! A kernel to be executed: its verified bytes in immutable memory.
//!
//! The verified bytes are executed even if the file is replaced, and root's guests run as a user
//! who may not read root's cache.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use sha2::{Digest, Sha256};

use crate::{Error, Kernel};
use text::hex;

/// A verified kernel. Copies share the memory.
#[derive(Debug, Clone)]
pub struct Image {
    file: Arc<File>,
    pub(crate) release: String,
}

impl Kernel {
    /// Verifies the sum recorded when the kernel was built.
    pub fn load(&self) -> Result<Image, Error> {
        let missing = || Error::io("read", &self.linux, std::io::ErrorKind::NotFound.into());
        let bytes = machine::files::Dir::open(&self.tree)?.read("linux")?.ok_or_else(missing)?;
        check(&self.linux, &bytes, &self.sha256)?;
        let file = sealed(&bytes).map_err(|cause| Error::io("load", &self.linux, cause))?;
        Ok(Image { file: Arc::new(file), release: self.release.clone() })
    }
}

impl Image {
    /// The supervisor's standard input.
    pub(crate) fn as_input(&self) -> std::io::Result<Stdio> {
        Ok(Stdio::from(self.file.try_clone()?))
    }
}

/// Verifies a file's SHA-256.
pub(crate) fn check(path: &Path, bytes: &[u8], sum: &str) -> Result<(), Error> {
    if sha256(bytes) == sum { Ok(()) } else { Err(Error::Changed { path: path.to_owned() }) }
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Streams the file.
pub(crate) fn sha256_of(path: &Path) -> Result<String, Error> {
    let failed = |cause| Error::io("read", path, cause);
    let mut hash = Sha256::new();
    std::io::copy(&mut File::open(path).map_err(failed)?, &mut hash).map_err(failed)?;
    Ok(hex(&hash.finalize()))
}

fn sealed(bytes: &[u8]) -> std::io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not need the flag.
    let memory = memfd_create("linux", flags | MemfdFlags::EXEC)
        .or_else(|_| memfd_create("linux", flags))?;
    let mut memory = File::from(memory);
    memory.write_all(bytes)?;
    fcntl_add_seals(
        &memory,
        SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL,
    )?;
    // Files open for writing cannot be executed.
    File::open(PathBuf::from(format!("/proc/self/fd/{}", memory.as_raw_fd())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_sealed_memory_cannot_be_changed_and_can_be_executed() {
        let file = sealed(&std::fs::read("/bin/true").unwrap()).unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        assert!(
            File::options()
                .write(true)
                .open(&path)
                .and_then(|mut file| file.write_all(b"x"))
                .is_err()
        );
        assert!(std::process::Command::new(path).status().unwrap().success());
    }

    #[test]
    fn a_changed_file_is_named() {
        let sum = sha256(b"built");
        check(Path::new("linux"), b"built", &sum).unwrap();
        let error = check(Path::new("linux"), b"other", &sum).unwrap_err().to_string();
        assert!(error.contains("linux") && error.contains("kernel clean"), "{error}");
    }
}
