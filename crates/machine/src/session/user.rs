//! Looks up a program's user: ids, groups and home directory.
//!
//! `id` and `getent` also find users of directory services.

use rustix::process::{Gid, Uid};

use super::Fault;
use crate::error::Error;
use crate::root::Root;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) home: String,
    pub(super) uid: Uid,
    pub(super) gid: Gid,
    pub(super) groups: Vec<Gid>,
}

pub(super) fn find(root: &Root, name: &str) -> Result<User, Error> {
    let no_user = || Fault::NoUser { user: name.to_string() };
    // A name with a leading dash would be an option.
    if name.is_empty() || name.starts_with('-') {
        return Err(no_user().into());
    }
    let output = root.run("id", &[name], "coreutils", "to run a program as another user")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let (uid, gid, groups) = read(&said).ok_or_else(no_user)?;
    let output =
        root.run("getent", &["passwd", name], "libc-bin", "to run a program as another user")?;
    let home =
        String::from_utf8_lossy(&output.stdout).trim().split(':').nth(5).map(ToString::to_string);
    Ok(User {
        name: name.to_string(),
        home: home.unwrap_or_else(|| "/".to_string()),
        uid,
        gid,
        groups,
    })
}

/// `uid=101(postgres) gid=104(postgres) groups=104(postgres),103(ssl-cert)`
fn read(said: &str) -> Option<(Uid, Gid, Vec<Gid>)> {
    let numbers = |key: &str| -> Option<Vec<u32>> {
        let list =
            said.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))?;
        list.split(',').map(|part| part.split('(').next()?.parse().ok()).collect()
    };
    let (uid, gid, groups) =
        (*numbers("uid")?.first()?, *numbers("gid")?.first()?, numbers("groups")?);
    Some((Uid::from_raw(uid), Gid::from_raw(gid), groups.into_iter().map(Gid::from_raw).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_user_and_of_all_groups_are_read() {
        let said = "uid=101(postgres) gid=104(postgres) groups=104(postgres),103(ssl-cert)\n";
        let (uid, gid, groups) = read(said).expect("a user");
        assert_eq!((uid.as_raw(), gid.as_raw()), (101, 104));
        assert_eq!(groups.iter().map(|gid| gid.as_raw()).collect::<Vec<_>>(), [104, 103]);
        assert_eq!(read(""), None);
    }

    #[test]
    fn a_user_who_is_not_there_is_named() {
        for name in ["no-such-user", "", "-u"] {
            let error = find(&Root::real(), name).unwrap_err().to_string();
            assert!(error.contains("no such user") && error.contains(name), "{error}");
        }
    }
}
