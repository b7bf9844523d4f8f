//! Device nodes.

use std::path::{Path, PathBuf};

use crate::root::Root;

/// The kernel writes `/` in a name as `!`.
pub(crate) fn node_path(name: &str) -> PathBuf {
    Path::new("/dev").join(name.replace('!', "/"))
}

pub(crate) fn queue_dir(root: &Root, name: &str) -> PathBuf {
    root.sys("block").join(name).join("queue")
}
