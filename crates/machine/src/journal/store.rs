//! The entries: one small JSON file each, whole or absent whatever the moment of a crash.
//!
//! On the disk an entry is `{"schema", "build", "boot_id", "pid", "undo": {"what": KIND, …}}`; what
//! stands beside `what` belongs to the owner of the kind. A log with many entries would need a
//! reader that copes with a torn tail.

use std::path::PathBuf;

use crate::files::Dir;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use text::build;
use text::limits::ENTRY_BYTES;

use super::payload::Payload;
use crate::error::Error;
use crate::lasting::Lasting;
use crate::root::Root;

/// The version of the entries that this build writes and reads.
const SCHEMA: u32 = 1;

/// In the state directory.
pub(super) const DIR: &str = "journal";

/// The extension of an entry that is being written.
pub(super) const UNFINISHED: &str = "json.new";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    schema: u32,
    /// The build of schedlab that wrote it; the previous build did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<String>,
    /// The boot during which it was written.
    pub boot_id: String,
    /// The process that wrote it; for people, the lock is what counts.
    pub pid: u32,
    /// How long its owner will hold the change, where that is known in advance; for people, the
    /// lock is what counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<Lasting>,
    undo: Undo,
}

/// What has to be undone, in the words of its owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Undo {
    #[serde(rename = "what")]
    kind: String,
    #[serde(flatten)]
    payload: Map<String, Value>,
}

impl Entry {
    /// An entry as it stands on the disk; the error says what is wrong with it.
    pub fn from_json(bytes: &[u8]) -> Result<Entry, String> {
        ENTRY_BYTES.check(bytes.len()).map_err(|exceeded| exceeded.to_string())?;
        let entry: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        // Before the rest is read, which another build may write differently.
        if !entry["schema"].is_null() && entry["schema"] != SCHEMA {
            return Err(build::other_format(&entry["schema"], SCHEMA, entry["build"].as_str()));
        }
        serde_json::from_value(entry).map_err(|error| error.to_string())
    }

    /// An entry of this process and this boot. The payload serialises to a JSON object.
    pub fn new(root: &Root, kind: &str, payload: &impl Serialize) -> Result<Entry, Error> {
        let Ok(Value::Object(payload)) = serde_json::to_value(payload) else {
            panic!("the payload of {kind} serialises to a JSON object");
        };
        let undo = Undo { kind: kind.to_string(), payload };
        Ok(Entry {
            schema: SCHEMA,
            build: Some(build::identity().to_owned()),
            boot_id: root.boot_id()?,
            pid: std::process::id(),
            lasting: None,
            undo,
        })
    }

    /// The same entry of an owner that will hold the change this long.
    pub fn lasting(self, lasting: Option<Lasting>) -> Entry {
        Entry { lasting, ..self }
    }

    /// Until when its owner holds the change, if this is still the boot in which that was written.
    pub fn lasting_now(&self, root: &Root) -> Option<Lasting> {
        self.lasting.filter(|_| root.boot_id().is_ok_and(|boot| boot == self.boot_id))
    }

    pub fn kind(&self) -> &str {
        &self.undo.kind
    }

    /// What its owner wrote; None if the entry is of another kind or does not read as that owner's.
    pub fn payload<T: DeserializeOwned>(&self, kind: &str) -> Option<T> {
        self.decode(kind).ok()
    }

    /// What its owner wrote under this key, checked: what is obeyed comes from here.
    ///
    /// # Errors
    /// [`Error::Journal`] if the entry is of another kind, does not read as that owner's, or names
    /// what schedlab never changes.
    pub fn expect<T: Payload>(&self, root: &Root, kind: &str, key: &str) -> Result<T, Error> {
        let payload =
            self.decode(kind).and_then(|payload: T| payload.check(root, key).map(|()| payload));
        payload.map_err(|why| Error::Journal { path: path(root, key), why })
    }

    fn decode<T: DeserializeOwned>(&self, kind: &str) -> Result<T, String> {
        if self.undo.kind != kind {
            return Err(format!("it is an entry of kind {:?}, expected {kind:?}", self.undo.kind));
        }
        T::deserialize(Value::Object(self.undo.payload.clone())).map_err(|error| error.to_string())
    }
}

/// The name of an entry: the identity with everything but letters, digits, `.`, `_` and `-` written
/// as %XX.
pub fn key(identity: &str) -> String {
    let mut key = String::new();
    for byte in identity.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => {
                key.push(char::from(byte))
            }
            _ => key.push_str(&format!("%{byte:02X}")),
        }
    }
    key
}

pub fn path(root: &Root, key: &str) -> PathBuf {
    root.state(DIR).join(name(key))
}

/// Writes an entry; when this returns, it survives a loss of power.
pub fn write(root: &Root, key: &str, entry: &Entry) -> Result<(), Error> {
    let dir = root.state_dir()?.subdir(DIR)?;
    let name = name(key);
    let text = serde_json::to_string_pretty(entry)
        .expect("an entry has only texts and numbers, which always make JSON");
    // An entry that cannot be read is for people, in a terminal.
    let text = text::escaped(&text);
    crate::files::replace(
        root.files(),
        &dir,
        &name,
        &format!("{key}.{UNFINISHED}"),
        text.as_bytes(),
        None,
    )
    .map_err(Error::io("write the journal entry", dir.file(&name)))
}

/// Removes an entry. Not made durable, which would cost as much as a switch of the scheduler: what
/// a loss of power brings back is an entry of another boot, and that is dropped unread.
pub fn remove(root: &Root, key: &str) -> Result<(), Error> {
    removed(root, key).map(drop)
}

fn removed(root: &Root, key: &str) -> Result<Dir, Error> {
    let (dir, name) = (root.state_dir()?.subdir(DIR)?, name(key));
    root.files().remove(&dir, &name).map_err(Error::io("remove", dir.file(&name)))?;
    Ok(dir)
}

/// Removes an entry so that no loss of power brings it back: for what outlives a restart.
pub fn remove_for_good(root: &Root, key: &str) -> Result<(), Error> {
    let dir = removed(root, key)?;
    root.files().sync_dir(&dir).map_err(Error::io("sync", dir.path()))
}

pub fn read(root: &Root, key: &str) -> Result<Option<Entry>, Error> {
    let Some(dir) = dir(root)? else { return Ok(None) };
    let Some(text) = dir.read(&name(key))? else { return Ok(None) };
    let path = path(root, key);
    Entry::from_json(&text).map(Some).map_err(|why| Error::Journal { path, why })
}

/// The keys of all entries, sorted. Unfinished entries are not among them: nothing was changed
/// under those.
pub(super) fn keys(root: &Root) -> Result<Vec<String>, Error> {
    let Some(dir) = dir(root)? else { return Ok(Vec::new()) };
    Ok(dir
        .names()?
        .iter()
        .filter_map(|name| name.strip_suffix(".json"))
        .map(str::to_string)
        .collect())
}

/// The journal's directory, if there is one.
pub(super) fn dir(root: &Root) -> Result<Option<Dir>, Error> {
    match root.state_dir_if_there()? {
        Some(state) => Ok(state.subdir_if_there(DIR)?),
        None => Ok(None),
    }
}

pub(super) fn name(key: &str) -> String {
    format!("{key}.json")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::journal::lock::tests::machine;

    #[test]
    fn a_key_is_a_plain_file_name_and_different_for_different_identities() {
        assert_eq!(key("wwid naa.5000/1"), "wwid%20naa.5000%2F1");
        assert_ne!(key("a b"), key("a_b"));
    }

    #[test]
    fn an_entry_is_read_as_it_was_written_and_is_gone_when_removed() {
        let (_dir, root) = machine();
        let entry = Entry::new(&root, "some-kind", &serde_json::json!({"file": "/var/tmp/x"}))
            .expect("a boot id");
        write(&root, "k", &entry).expect("a writable state directory");
        assert_eq!(read(&root, "k").expect("readable"), Some(entry));
        assert_eq!(keys(&root).expect("readable"), ["k"]);
        remove(&root, "k").expect("removable");
        assert_eq!(read(&root, "k").expect("absent is no error"), None);
    }

    #[test]
    fn an_entry_of_another_version_or_a_cut_one_is_refused_with_its_path() {
        let (_dir, root) = machine();
        fs::create_dir_all(root.state("journal")).expect("a state directory");
        for text in [
            "",
            "{\"schema\":",
            "{\"schema\":2,\"boot_id\":\"b\",\"pid\":1,\"undo\":{\"what\":\"loop-file\",\"file\":\"/x\"}}",
        ] {
            fs::write(path(&root, "k"), text).expect("writable");
            let error = read(&root, "k").unwrap_err().to_string();
            assert!(error.contains("k.json"), "{error}");
        }
        fs::write(path(&root, "k"), "{\"schema\":2,\"build\":\"later\",\"boot\":{}}")
            .expect("writable");
        let error = read(&root, "k").unwrap_err().to_string();
        assert!(
            error.contains("(found 2, of build later; expected 1, of this build unnamed)"),
            "{error}"
        );
    }
}
