//! Ioctls of block and loop devices (linux/fs.h, linux/loop.h).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

use rustix::ioctl::{Getter, IntegerSetter, NoArg, Opcode, Setter, ioctl, opcode};

const BLKGETSIZE64: Opcode = opcode::read::<usize>(0x12, 114);
const BLKGETDISKSEQ: Opcode = opcode::read::<u64>(0x12, 128);

const LOOP_SET_FD: Opcode = 0x4C00;
const LOOP_CLR_FD: Opcode = 0x4C01;
const LOOP_GET_STATUS64: Opcode = 0x4C05;
const LOOP_SET_DIRECT_IO: Opcode = 0x4C08;
const LOOP_SET_BLOCK_SIZE: Opcode = 0x4C09;
const LOOP_CONFIGURE: Opcode = 0x4C0A;
const LOOP_CTL_GET_FREE: libc::Ioctl = 0x4C82;

/// `lo_flags`.
const PARTSCAN: u32 = 8;
const DIRECT_IO: u32 = 16;

/// `struct loop_info64`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
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
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}
const _: () = assert!(size_of::<LoopInfo>() == 232);

/// `struct loop_config`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}
const _: () = assert!(size_of::<LoopConfig>() == 304);

#[derive(Debug, Clone, Copy)]
pub(crate) struct LoopOptions {
    pub(crate) direct_io: bool,
    /// Logical, in bytes; default: the kernel's choice.
    pub(crate) block_size: Option<u32>,
}

pub(crate) fn size_bytes(device: &File) -> io::Result<u64> {
    // SAFETY: BLKGETSIZE64 writes a 64-bit number, for which `u64` has room; other files refuse it.
    Ok(unsafe { ioctl(device, Getter::<BLKGETSIZE64, u64>::new()) }?)
}

/// When the device got its medium; `None` before Linux 5.15.
pub(crate) fn diskseq(device: &File) -> Option<u64> {
    // SAFETY: BLKGETDISKSEQ writes a 64-bit number, for which `u64` has room; other files and
    // kernels refuse it.
    unsafe { ioctl(device, Getter::<BLKGETDISKSEQ, u64>::new()) }.ok()
}

/// Creates one if necessary.
pub(crate) fn free_loop_device(control: &File) -> io::Result<u32> {
    // SAFETY: LOOP_CTL_GET_FREE takes no argument and touches no memory of this process.
    let found = unsafe { libc::ioctl(control.as_raw_fd(), LOOP_CTL_GET_FREE) };
    u32::try_from(found).map_err(|_| io::Error::last_os_error())
}

/// EBUSY if it has a file.
pub(crate) fn attach_loop(device: &File, backing: &File, options: LoopOptions) -> io::Result<()> {
    let fd = u32::try_from(backing.as_raw_fd()).expect("open descriptors are not negative");
    let info = LoopInfo {
        flags: PARTSCAN | if options.direct_io { DIRECT_IO } else { 0 },
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
    let config =
        LoopConfig { fd, block_size: options.block_size.unwrap_or(0), info, reserved: [0; 8] };
    // SAFETY: LOOP_CONFIGURE reads a `struct loop_config`, whose layout `config` has, and keeps
    // only the file.
    match unsafe { ioctl(device, Setter::<LOOP_CONFIGURE, LoopConfig>::new(config)) } {
        // Linux before 5.8 needs several steps.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOTTY) => {
            attach_loop_in_steps(device, fd, options)
        }
        answer => Ok(answer?),
    }
}

fn attach_loop_in_steps(device: &File, fd: u32, options: LoopOptions) -> io::Result<()> {
    let steps = || -> rustix::io::Result<()> {
        if let Some(bytes) = options.block_size {
            // SAFETY: LOOP_SET_BLOCK_SIZE takes a number and touches no memory of this process.
            unsafe {
                ioctl(device, IntegerSetter::<LOOP_SET_BLOCK_SIZE>::new_usize(bytes as usize))
            }?;
        }
        if options.direct_io {
            // SAFETY: LOOP_SET_DIRECT_IO takes a number and touches no memory of this process.
            unsafe { ioctl(device, IntegerSetter::<LOOP_SET_DIRECT_IO>::new_usize(1)) }?;
        }
        Ok(())
    };
    // SAFETY: LOOP_SET_FD takes the number of an open file and touches no memory of this process.
    unsafe { ioctl(device, IntegerSetter::<LOOP_SET_FD>::new_usize(fd as usize)) }?;
    // The caller checks options in sysfs.
    let _ = steps();
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Backing {
    /// The number of the device that contains the file.
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// The number of the file if it is a block device; otherwise 0.
    pub(crate) number: u64,
}

/// `None` if it has no file.
pub(crate) fn loop_backing(device: &File) -> io::Result<Option<Backing>> {
    // SAFETY: LOOP_GET_STATUS64 writes a `struct loop_info64`, whose layout `LoopInfo` has; every
    // bit pattern is valid for its fields.
    match unsafe { ioctl(device, Getter::<LOOP_GET_STATUS64, LoopInfo>::new()) } {
        Ok(info) => {
            Ok(Some(Backing { device: info.device, inode: info.inode, number: info.rdevice }))
        }
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}

/// Detaches the file now, or when the last opener closes the device.
pub(crate) fn detach_loop(device: &File) -> io::Result<()> {
    // SAFETY: LOOP_CLR_FD takes no argument and touches no memory of this process.
    Ok(unsafe { ioctl(device, NoArg::<LOOP_CLR_FD>::new()) }?)
}
