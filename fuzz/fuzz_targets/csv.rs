//! Tables that somebody else measured: any text gives samples that can be compared and reported, or
//! an error.
//!
//! The first byte chooses what the columns mean; the rest is the table.
#![no_main]

use experiment::Options;
use import::table::{Columns, columns_of, parse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((how, text)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    let Ok(names) = columns_of(text) else { return };
    let name = |at: u8| names.get(usize::from(at)).map(String::as_str);
    let Some(variant) = name(how & 1) else { return };
    let metrics: Vec<String> = name(2 - (how & 1)).map(str::to_owned).into_iter().collect();
    let optional = |bit: u8, at: u8| name(at).filter(|_| how & bit != 0);
    let columns =
        Columns { variant, metrics: &metrics, round: optional(2, 2), workload: optional(4, 3), invalid_if: optional(8, 4) };
    match parse(text, &columns) {
        Ok(samples) => {
            assert!(!samples.is_empty());
            schedlab_fuzz::report(&experiment::analyze_samples("table", &samples, &Options::default()), None);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
