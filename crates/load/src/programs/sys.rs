//! Unsafe code: counting a file's cached pages.

use std::fs::File;
use std::io;
use std::path::Path;

use memmap2::Mmap;
use rustix::param::page_size;

pub(crate) fn resident_pages(path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    let len = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if len == 0 {
        return Ok(0);
    }
    // SAFETY: the mapping is never read, only queried, so a change of the file behind it is not
    // visible.
    let map = unsafe { Mmap::map(&file)? };
    // The file may have grown or shrunk since.
    let mut present = vec![0u8; map.len().div_ceil(page_size())];
    // SAFETY: the mapping has `map.len()` bytes from the start of a page, and `present` a byte for
    // each of its pages.
    let answer =
        unsafe { libc::mincore(map.as_ptr().cast_mut().cast(), map.len(), present.as_mut_ptr()) };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(present.iter().filter(|page| *page & 1 == 1).count() as u64)
}
