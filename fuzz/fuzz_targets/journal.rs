//! Entries of the journal: any bytes give an entry that is written and read again as itself, or an
//! error. Each owner of a kind reads it; nothing is undone.
#![no_main]

use machine::journal::Entry;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let entry = match Entry::from_json(data) {
        Ok(entry) => entry,
        Err(why) => return assert!(!why.is_empty()),
    };
    let text = serde_json::to_vec(&entry).expect("an entry has only texts and numbers");
    assert_eq!(Entry::from_json(&text).as_ref(), Ok(&entry), "{}", String::from_utf8_lossy(&text));
    for kind in machine::KINDS {
        let _ = (kind.subject)(&entry);
    }
});
