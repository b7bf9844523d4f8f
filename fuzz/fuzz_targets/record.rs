//! Records: any bytes give a record that can be compared and reported, or an error.
#![no_main]

use experiment::record::{Line, Record};
use libfuzzer_sys::fuzz_target;
use report::Evidence;

fuzz_target!(|data: &[u8]| {
    let record = match Record::from_bytes(data) {
        Ok(record) => record,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let _ = record.last_ms();
    if let Some(cut) = &record.cut {
        assert!(cut.offset <= data.len() as u64);
    }
    // What was read is written, and read as the same.
    let lines = std::iter::once(Line::Header(Box::new(record.header.clone())))
        .chain(record.trials.iter().map(|trial| Line::Trial(Box::new(trial.clone()))))
        .chain(record.notes.iter().cloned().map(Line::Note))
        .chain(record.end.iter().cloned().map(Line::End));
    let text: String = lines.map(|line| line.to_json_line() + "\n").collect();
    let again = Record::parse(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(again.trials.len(), record.trials.len());
    let analysis = experiment::analyze(&record, None);
    let Record { header, trials, notes, end, .. } = &record;
    let evidence = Evidence { header, trials, notes, end: end.as_ref(), unit_of: |_, _| "", actuator: &[] };
    schedlab_fuzz::report(&analysis, Some(&evidence));
});
