//! Installs and removes a watch's units, in transactions like those of persisted settings.

use std::path::PathBuf;

use super::transaction::{self, Content, FileChange, read_plain};
use super::{Claim, Refusal, manifest};
use crate::error::Error;
use crate::root::Root;

/// `about` is the user's name for the files.
///
/// # Errors
/// [`Refusal::NotOurs`] for an existing file with other contents; [`Error::Busy`];
/// [`Refusal::CannotWrite`].
pub fn install_files(
    root: &Root,
    key: &str,
    about: &str,
    files: &[(PathBuf, String)],
) -> Result<(), Error> {
    let claim = Claim::take(root, key, about)?;
    let mut changes = Vec::new();
    for (path, text) in files {
        let (path, before, after) = (path.clone(), read_plain(path)?, Content::text(text));
        if let Some(found) = before.as_ref().filter(|found| found.bytes() != after.bytes()) {
            let difference = manifest::difference(text, Some(&found.shown()));
            return Err(Refusal::NotOurs { path, difference }.into());
        }
        changes.push(FileChange { path, before, after: Some(after) });
    }
    transaction::commit(root, &claim.key, about, changes, &[], || Ok(()))
}

/// Missing files are ignored. A file with a given text must still have it, unless `force`.
///
/// # Errors
/// [`Refusal::Edited`] without `force`; [`Error::Busy`]; [`Refusal::CannotWrite`].
pub fn remove_files(
    root: &Root,
    key: &str,
    about: &str,
    files: &[(PathBuf, Option<String>)],
    force: bool,
) -> Result<(), Error> {
    let claim = Claim::take(root, key, about)?;
    let mut changes = Vec::new();
    for (path, text) in files {
        let before = read_plain(path)?;
        let (Some(found), path) = (&before, path.clone()) else { continue };
        if let Some(text) = text.as_ref().filter(|text| !force && found.bytes() != text.as_bytes())
        {
            let difference = manifest::difference(text, Some(&found.shown()));
            return Err(Refusal::Edited { path, difference }.into());
        }
        changes.push(FileChange { path, before, after: None });
    }
    transaction::commit(root, &claim.key, about, changes, &[], || Ok(()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn machine() -> (tempfile::TempDir, Root) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = Root::at(dir.path());
        fs::create_dir_all(root.proc("sys/kernel/random")).expect("fake proc");
        fs::write(root.proc("sys/kernel/random/boot_id"), "boot-1\n").expect("fake boot id");
        (dir, root)
    }

    #[test]
    fn files_come_and_go_together_and_an_edited_one_stays() {
        let (_dir, root) = machine();
        let files: Vec<_> = ["service", "timer"]
            .map(|kind| root.path(format!("/etc/systemd/system/schedlab-watch-x.{kind}")))
            .map(|path| (path, "text\n".to_string()))
            .into();
        install_files(&root, "watch-x", "x", &files).expect("nothing is in the way");
        install_files(&root, "watch-x", "x", &files).expect("the same once more changes nothing");
        let known: Vec<_> =
            files.iter().map(|(path, text)| (path.clone(), Some(text.clone()))).collect();
        fs::write(&files[1].0, "mine\n").expect("writable");
        for refused in [
            install_files(&root, "watch-x", "x", &files),
            remove_files(&root, "watch-x", "x", &known, false),
        ] {
            assert!(refused.unwrap_err().to_string().contains("mine"));
            assert!(files.iter().all(|(path, _)| path.exists()), "nothing was done");
        }
        remove_files(&root, "watch-x", "x", &known, true).expect("it is wanted");
        remove_files(&root, "watch-x", "x", &known, false).expect("there is nothing left to do");
        assert!(files.iter().all(|(path, _)| !path.exists()));
        assert!(fs::read_dir(root.state("journal")).expect("a directory").next().is_none());
    }
}
