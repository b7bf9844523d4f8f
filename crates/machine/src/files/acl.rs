//! POSIX access control lists: whether one lets another user write.
//!
//! With a list, the mode's group bits show its mask (acl(5)), and not who may write. The attribute
//! consists of a version and 8 bytes per entry, little-endian
//! (`include/uapi/linux/posix_acl_xattr.h`). NFSv4 lists are not read.

use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;

use rustix::fs::{Mode, OFlags, fgetxattr, getxattr, openat};
use rustix::io::Errno;

const VERSION: u32 = 2;
/// `XATTR_SIZE_MAX`.
const MAX_BYTES: usize = 64 << 10;
const WRITE: u16 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    /// The list of the file or directory itself.
    Access,
    /// The list that new files inherit.
    Default,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    User(u32),
    Group(u32),
    OwningGroup(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    OwnGroup,
    Named(Subject),
    Mask,
    /// Owner and others, whose permissions the mode shows.
    InMode,
}

/// Subjects with write permission, except owner and others; `None` without a list. `group` is the
/// file's.
pub(crate) fn writers(
    fd: impl AsFd,
    list: List,
    group: u32,
) -> Result<Option<Vec<Subject>>, Errno> {
    let Some(bytes) = read(fd, list)? else { return Ok(None) };
    let entries = parse(&bytes).ok_or(Errno::INVAL)?;
    let mask = entries
        .iter()
        .find(|(tag, _)| *tag == Tag::Mask)
        .map_or(u16::MAX, |(_, permissions)| *permissions);
    let writes = |(tag, permissions): (Tag, u16)| match tag {
        _ if permissions & mask & WRITE == 0 => None,
        Tag::OwnGroup => Some(Subject::OwningGroup(group)),
        Tag::Named(subject) => Some(subject),
        Tag::Mask | Tag::InMode => None,
    };
    Ok(Some(entries.into_iter().filter_map(writes).collect()))
}

fn parse(bytes: &[u8]) -> Option<Vec<(Tag, u16)>> {
    let (version, entries) = bytes.split_first_chunk::<4>()?;
    let (entries, rest) = entries.as_chunks::<8>();
    if u32::from_le_bytes(*version) != VERSION || !rest.is_empty() {
        return None;
    }
    let entry = |[tag, tag_high, permissions, permissions_high, id @ ..]: &[u8; 8]| {
        let id = u32::from_le_bytes(*id);
        let tag = match u16::from_le_bytes([*tag, *tag_high]) {
            0x01 | 0x20 => Tag::InMode,
            0x02 => Tag::Named(Subject::User(id)),
            0x04 => Tag::OwnGroup,
            0x08 => Tag::Named(Subject::Group(id)),
            0x10 => Tag::Mask,
            _ => return None,
        };
        Some((tag, u16::from_le_bytes([*permissions, *permissions_high])))
    };
    entries.iter().map(entry).collect()
}

/// `None` without a list, or if the file system has none.
fn read(fd: impl AsFd, list: List) -> Result<Option<Vec<u8>>, Errno> {
    let name = match list {
        List::Access => "system.posix_acl_access",
        List::Default => "system.posix_acl_default",
    };
    let fd = fd.as_fd();
    // With O_PATH, attributes are accessible only by the path in /proc.
    let path = PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()));
    let get = |value: &mut [u8]| match fgetxattr(fd, name, &mut *value) {
        Err(Errno::BADF) => match getxattr(&path, name, &mut *value) {
            Err(Errno::NOENT) => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
                fgetxattr(openat(fd, ".", flags, Mode::empty())?, name, value)
            }
            got => got,
        },
        got => got,
    };
    let absent = |errno: Errno| match errno {
        Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS => Ok(None),
        other => Err(other),
    };
    // Most files have none, which a query without a buffer shows.
    if let Err(errno) = get(&mut []) {
        return absent(errno);
    }
    let mut bytes = vec![0; MAX_BYTES];
    match get(&mut bytes) {
        Ok(length) => {
            bytes.truncate(length);
            Ok(Some(bytes))
        }
        Err(errno) => absent(errno),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Encodes tags, permissions and ids.
    pub(crate) fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let entry = |(tag, permissions, id): &(u16, u16, u32)| {
            [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        [VERSION.to_le_bytes().to_vec(), entries.iter().flat_map(entry).collect()].concat()
    }

    #[test]
    fn a_list_is_read_as_the_kernel_writes_it_and_nothing_else_is() {
        let bytes = list(&[
            (1, 7, u32::MAX),
            (2, 6, 1001),
            (4, 5, u32::MAX),
            (8, 2, 50),
            (16, 7, 0),
            (32, 5, 0),
        ]);
        let user = Tag::Named(Subject::User(1001));
        let group = Tag::Named(Subject::Group(50));
        let expected = [
            (Tag::InMode, 7),
            (user, 6),
            (Tag::OwnGroup, 5),
            (group, 2),
            (Tag::Mask, 7),
            (Tag::InMode, 5),
        ];
        assert_eq!(parse(&bytes).expect("a list"), expected);
        assert_eq!(parse(&list(&[])), Some(Vec::new()));
        for broken in [&bytes[..bytes.len() - 1], &bytes[4..], &[], &list(&[(3, 7, 0)])] {
            assert_eq!(parse(broken), None, "{broken:?}");
        }
    }
}
