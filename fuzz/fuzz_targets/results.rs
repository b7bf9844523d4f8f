//! Results files: any bytes give a results file that can be compared and reported, or an error.
#![no_main]

use experiment::results::{Line, Results};
use libfuzzer_sys::fuzz_target;
use report::Evidence;

fuzz_target!(|data: &[u8]| {
    let results = match Results::from_bytes(data) {
        Ok(results) => results,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let _ = results.last_ms();
    if let Some(cut) = &results.cut {
        assert!(cut.offset <= data.len() as u64);
    }
    // What was read is written, and read as the same.
    let lines = std::iter::once(Line::Header(Box::new(results.header.clone())))
        .chain(results.trials.iter().map(|trial| Line::Trial(Box::new(trial.clone()))))
        .chain(results.notes.iter().cloned().map(Line::Note))
        .chain(results.end.iter().cloned().map(Line::End));
    let text: String = lines.map(|line| line.to_json_line() + "\n").collect();
    let again = Results::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(again.trials.len(), results.trials.len());
    let analysis = experiment::analyze(&results, None);
    let Results { header, trials, notes, end, .. } = &results;
    let evidence = Evidence { header, trials, notes, end: end.as_ref(), unit_of: |_, _| "", actuator: &[] };
    schedlab_fuzz::report(&analysis, Some(&evidence));
});
