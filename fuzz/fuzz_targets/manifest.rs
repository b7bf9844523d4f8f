//! Manifests, of settings that persist and of built kernels: any bytes give one, or an error.
//!
//! The first byte says which of them the rest is.
#![no_main]

use machine::persist::Persisted;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((which, text)) = data.split_first() else { return };
    if which % 2 == 1 {
        if let Some(kernel) = guest::Kernel::from_json(text) {
            let written = serde_json::to_vec(&kernel).expect("a results file has plain values");
            assert_eq!(guest::Kernel::from_json(&written), Some(kernel));
        }
        return;
    }
    match Persisted::from_json(text) {
        Ok(persisted) => {
            let _ = persisted.words();
            let written = serde_json::to_vec(&persisted).expect("a manifest has texts and numbers");
            assert_eq!(Persisted::from_json(&written), Ok(persisted));
        }
        Err(why) => assert!(!why.is_empty()),
    }
});
