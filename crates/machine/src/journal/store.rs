//! Journal entries: one small JSON file each, which a crash leaves complete or absent.
//!
//! `{"schema", "build", "boot_id", "pid", "undo": {"what": KIND, …}}`; the fields next to `what`
//! belong to the kind. A log would need a reader that handles a torn tail.

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

/// Written and accepted by this build.
const SCHEMA: u32 = 1;

/// In the state directory.
pub(super) const DIR: &str = "journal";

/// Of an unfinished entry.
pub(super) const UNFINISHED: &str = "json.new";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    schema: u32,
    /// The previous build did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<String>,
    pub boot_id: String,
    /// Only informative: the lock is authoritative.
    pub pid: u32,
    /// The planned duration, if known; only informative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasting: Option<Lasting>,
    undo: Undo,
}

/// In the kind's format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Undo {
    #[serde(rename = "what")]
    kind: String,
    #[serde(flatten)]
    payload: Map<String, Value>,
}

impl Entry {
    pub fn from_json(bytes: &[u8]) -> Result<Entry, String> {
        ENTRY_BYTES.check(bytes.len()).map_err(|exceeded| exceeded.to_string())?;
        let entry: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        // Another build's format may differ in the rest.
        if !entry["schema"].is_null() && entry["schema"] != SCHEMA {
            return Err(build::other_format(&entry["schema"], SCHEMA, entry["build"].as_str()));
        }
        serde_json::from_value(entry).map_err(|error| error.to_string())
    }

    /// An entry of this process and boot. The payload serialises to a JSON object.
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

    pub fn lasting(self, lasting: Option<Lasting>) -> Entry {
        Entry { lasting, ..self }
    }

    /// If it was written in the current boot.
    pub fn lasting_now(&self, root: &Root) -> Option<Lasting> {
        self.lasting.filter(|_| root.boot_id().is_ok_and(|boot| boot == self.boot_id))
    }

    pub fn kind(&self) -> &str {
        &self.undo.kind
    }

    /// `None` if it is not of this kind.
    pub fn payload<T: DeserializeOwned>(&self, kind: &str) -> Option<T> {
        self.decode(kind).ok()
    }

    /// The validated payload: only this may be acted on.
    ///
    /// # Errors
    /// [`Error::Journal`] if it is not of this kind, or names something that schedlab never
    /// changes.
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

/// Everything but letters, digits, `.`, `_` and `-` is encoded as %XX.
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

/// The entry is durable once this returns.
pub fn write(root: &Root, key: &str, entry: &Entry) -> Result<(), Error> {
    let dir = root.state_dir()?.subdir(DIR)?;
    let name = name(key);
    let text = serde_json::to_string_pretty(entry)
        .expect("an entry has only texts and numbers, which always make JSON");
    // People read it in a terminal if it cannot be parsed.
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

/// The removal is not durable, which would cost as much as a scheduler switch. If a power loss
/// restores the entry, it is of another boot, and dropped unread.
pub fn remove(root: &Root, key: &str) -> Result<(), Error> {
    removed(root, key).map(drop)
}

fn removed(root: &Root, key: &str) -> Result<Dir, Error> {
    let (dir, name) = (root.state_dir()?.subdir(DIR)?, name(key));
    root.files().remove(&dir, &name).map_err(Error::io("remove", dir.file(&name)))?;
    Ok(dir)
}

/// The removal is durable, for changes that survive a reboot.
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

/// Sorted keys, without unfinished entries, under which nothing was changed.
pub(super) fn keys(root: &Root) -> Result<Vec<String>, Error> {
    let Some(dir) = dir(root)? else { return Ok(Vec::new()) };
    Ok(dir
        .names()?
        .iter()
        .filter_map(|name| name.strip_suffix(".json"))
        .map(str::to_string)
        .collect())
}

/// `None` if it does not exist.
pub(super) fn dir(root: &Root) -> Result<Option<Dir>, Error> {
    match root.state_dir_if_exists()? {
        Some(state) => Ok(state.subdir_if_exists(DIR)?),
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
