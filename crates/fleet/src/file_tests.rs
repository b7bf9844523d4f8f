//! Files are read back unchanged; damaged or hostile ones are errors.

use super::*;
use crate::testing::{result, results, with_invalid};
use crate::{Machine, MachineResult};

fn read(name: &str, bytes: &[u8]) -> Result<MachineResult> {
    MachineResult::from_file(name, Bytes::copy_from_slice(bytes))
}

#[test]
fn a_result_comes_back_as_it_was_and_is_named_after_its_content() {
    let machine = Machine { name: "m".to_owned() };
    let with_invalid =
        MachineResult::of(&with_invalid(results(3, 1.2, 40), 5), &machine).expect("a result");
    for before in [with_invalid, result(1, 0.8, 200)] {
        let (name, bytes) = before.to_file().expect("memory");
        assert_eq!(read(&name, &bytes).expect("a result"), before);
        assert_eq!(
            before.to_file().expect("memory"),
            (name.clone(), bytes.clone()),
            "the same bytes each time"
        );
        assert!(format!("{:#}", read(&"0".repeat(64), &bytes).unwrap_err()).contains("renamed"));
    }
}

#[test]
fn every_cut_of_a_file_is_an_error_and_no_panic() {
    let (name, bytes) = result(1, 0.8, 20).to_file().expect("memory");
    for cut in (0..bytes.len()).step_by(3) {
        assert!(read(&name, &bytes[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn no_changed_byte_of_the_columns_that_are_read_goes_unnoticed_and_none_is_a_panic() {
    let before = result(1, 0.8, 20);
    let (name, bytes) = before.to_file().expect("memory");
    let mut unnoticed = 0;
    for at in 0..bytes.len() {
        for mask in [0x01, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= mask;
            // The evidence of a verdict is unchanged, or there is an error.
            if let Ok(found) = read(&name, &changed) {
                assert_eq!(found, before, "byte {at}");
                unnoticed += 1;
            }
        }
    }
    println!("{unnoticed} of {} changes are in the columns for SQL or in padding", 3 * bytes.len());
}

#[test]
fn facts_of_a_later_version_or_of_other_rows_are_refused() {
    let of = |change: &dyn Fn(&mut Header)| {
        let mut result = result(1, 0.8, 4);
        change(&mut result.header);
        let (name, bytes) = result.to_file().expect("memory");
        format!("{:#}", read(&name, &bytes).unwrap_err())
    };
    assert!(
        of(&|header| header.schema = 2)
            .contains("found 2, of build 0.1.0; expected 1, of this build")
    );
    assert!(of(&|header| header.groups[0].rows += 1).contains("do not match its facts"));
    assert!(
        of(&|header| header.groups[0].rows = u64::MAX).contains("values of a result: too many")
    );
    assert!(of(&|header| header.groups[1].sha256 = "0".repeat(64)).contains("was changed"));
    assert!(of(&|header| header.groups.truncate(1)).contains("found 1 groups"));
    assert!(format!("{:#}", read("x", b"no Parquet").unwrap_err()).contains("not a whole file"));
}

#[test]
fn a_compressed_file_and_one_of_other_columns_are_refused() {
    let of = result(1, 0.8, 4);
    let text = serde_json::to_string(&of.header).expect("JSON");
    let written = |schema: &str, compression| {
        let properties = WriterProperties::builder().set_compression(compression).build();
        let schema = Arc::new(parse_message_type(schema).expect("a schema"));
        let mut file =
            SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("memory");
        if compression != Compression::UNCOMPRESSED {
            for rows in &of.groups {
                let mut group = file.next_row_group().expect("memory");
                write_group(&mut group, &of.header, rows).expect("memory");
                group.close().expect("memory");
            }
        }
        file.append_key_value_metadata(KeyValue::new(KEY.to_owned(), text.clone()));
        file.into_inner().expect("memory")
    };
    let name = hex_of(&text);
    let other = written("message result { REQUIRED INT32 series; }", Compression::UNCOMPRESSED);
    assert!(format!("{:#}", read(&name, &other).unwrap_err()).contains("other columns"));
    let packed = written(COLUMNS, Compression::SNAPPY);
    assert!(format!("{:#}", read(&name, &packed).unwrap_err()).contains("compressed"));
}
