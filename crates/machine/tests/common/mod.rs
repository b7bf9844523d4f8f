//! A machine with a test's state directory, for real loop devices.
#![allow(dead_code)]

use std::cell::Cell;
use std::ops::ControlFlow;
use std::process::{Command, Output};

use machine::{Authority, Claim, Device, Error, Root};
use testbed::{Directory, Loop, eventually, require};

pub(crate) struct Bench {
    pub(crate) dir: Directory,
    pub(crate) root: Root,
    loops: Cell<u32>,
}

impl Bench {
    /// Prints why the test cannot run here.
    #[track_caller]
    pub(crate) fn set_up(needed: &[&str]) -> Option<Bench> {
        if !require(&[&["root", "losetup", "blkid"], needed].concat()) {
            return None;
        }
        let dir = Directory::new();
        let root = Root::real().with_state_dir(dir.join("state"));
        Some(Bench { dir, root, loops: Cell::new(0) })
    }

    pub(crate) fn blank_loop(&self, mib: u64) -> Loop {
        let number = self.loops.replace(self.loops.get() + 1);
        Loop::blank(&self.dir, &format!("blank-{number}.img"), mib)
    }

    /// Claims a device that the test created.
    pub(crate) fn claim(&self, device: &Device) -> Result<Claim, Error> {
        machine::check_writable(&self.root, device, Authority::Made, &mut |_, _| {
            ControlFlow::Continue(())
        })
    }

    pub(crate) fn device(&self, blank: &Loop) -> Device {
        machine::device::find(&self.root, &blank.path).expect("the loop device is attached")
    }
}

/// Returns the output of a program that must succeed. Waits for a device that another process
/// (udev) has open.
pub(crate) fn run(program: &str, args: &[&str]) -> String {
    let mut output = None;
    eventually(&format!("{program} {} finds the device unused", args.join(" ")), || {
        let ran = output.insert(try_run(program, args));
        ran.status.success() || !String::from_utf8_lossy(&ran.stderr).contains("apparently in use")
    });
    let output = output.expect("it ran");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {}: {said}", args.join(" "));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn try_run(program: &str, args: &[&str]) -> Output {
    Command::new(program).args(args).output().unwrap_or_else(|error| panic!("{program}: {error}"))
}
