//! System calls for loop devices (linux/loop.h).

pub mod allocator;

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::ioctl::{Getter, NoArg, Opcode, Setter, ioctl};

const LOOP_CLR_FD: Opcode = 0x4C01;
const LOOP_GET_STATUS64: Opcode = 0x4C05;
const LOOP_CONFIGURE: Opcode = 0x4C0A;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;

const READ_ONLY: u32 = 1;
const PARTSCAN: u32 = 8;
const DIRECT_IO: u32 = 16;

#[derive(Debug, Clone, Copy)]
pub struct LoopOptions {
    /// Bypasses the file's page cache.
    pub direct_io: bool,
    /// Whether the kernel scans for partitions.
    pub partitions: bool,
    pub read_only: bool,
    /// Logical block size in bytes; 0 for the kernel's default.
    pub block_size: u32,
}

impl Default for LoopOptions {
    fn default() -> LoopOptions {
        LoopOptions { direct_io: true, partitions: false, read_only: false, block_size: 0 }
    }
}

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    names: [u8; 128],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}
const _: () = assert!(size_of::<LoopInfo>() == 232);

/// `struct loop_config`.
#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}
const _: () = assert!(size_of::<LoopConfig>() == 304);

/// The number of a free loop device.
pub(crate) fn free_loop_device(control: &File) -> io::Result<u32> {
    // SAFETY: LOOP_CTL_GET_FREE takes no argument and does not access this process's memory.
    let found = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
    u32::try_from(found).map_err(|_| io::Error::last_os_error())
}

/// Fails with EBUSY if the device already has a file.
pub(crate) fn attach_loop(device: &File, backing: &File, options: LoopOptions) -> io::Result<()> {
    let LoopOptions { direct_io, partitions, read_only, block_size } = options;
    let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
    let info = LoopInfo {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: bit(direct_io, DIRECT_IO) | bit(partitions, PARTSCAN) | bit(read_only, READ_ONLY),
        names: [0; 128],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
    let fd = u32::try_from(backing.as_raw_fd()).expect("open descriptors are not negative");
    let config = LoopConfig { fd, block_size, info, reserved: [0; 8] };
    // SAFETY: LOOP_CONFIGURE reads a `struct loop_config`, whose layout `config` has, and keeps
    // only the file.
    Ok(unsafe { ioctl(device, Setter::<LOOP_CONFIGURE, LoopConfig>::new(config)) }?)
}

/// Device and inode of the file behind a loop device.
pub(crate) fn loop_backing(device: &File) -> Option<(u64, u64)> {
    // SAFETY: LOOP_GET_STATUS64 writes a `struct loop_info64`, whose layout `LoopInfo` has; every
    // bit pattern is valid.
    let info = unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) }.ok()?;
    Some((info.device, info.inode))
}

pub(crate) fn detach_loop(device: &File) -> io::Result<()> {
    // SAFETY: LOOP_CLR_FD takes no argument and does not access this process's memory.
    Ok(unsafe { ioctl(device, NoArg::<LOOP_CLR_FD>::new()) }?)
}
