//! Outputs of other programs: any text gives samples that can be compared and reported, or an
//! error, in every format.
//!
//! The first byte chooses the format and the choices; the rest is the file.
#![no_main]

use experiment::Options;
use import::{Choice, File, IMPORTERS, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((how, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let row = &IMPORTERS[usize::from(how & 7) % IMPORTERS.len()];
    let files = ["runs/none-1.json", "runs/kyber-1.json"].map(|path| File { path: path.to_owned(), text: text.to_owned() });
    let round = (how & 8 != 0).then_some("run");
    match import(row, &files, &Choice { round, ..Choice::default() }) {
        Ok(import) => {
            assert!(import.samples.iter().all(|sample| !sample.invalid.is_empty() || sample.value >= 0.0));
            let options = Options { primary: import.primary, directions: import.directions, ..Options::default() };
            schedlab_fuzz::report(&experiment::analyze_samples("files", &import.samples, &options), None);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
