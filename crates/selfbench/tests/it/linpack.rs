//! `selfbench linpack` against C. Needs a C compiler, like building schedlab's tests.

use serde_json::Value;

use crate::common::selfbench;

fn shown(words: &[&str]) -> String {
    let ran = selfbench(words);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn linpack_is_compared_with_c_in_one_run() {
    let words = ["linpack", "--array", "60", "--least", "20ms", "--rounds", "2", "--json"];
    let report: Value = serde_json::from_str(&shown(&words)).unwrap();
    assert_eq!(report["operations"].as_f64().unwrap(), 2.0 * 27_000.0 / 3.0 + 2.0 * 900.0);
    assert_eq!(
        (report["schedlab"].as_array().unwrap().len(), report["c"].as_array().unwrap().len()),
        (2, 2)
    );
    let last = report["table"].as_array().unwrap().last().unwrap();
    assert!(last["time_s"].as_f64().unwrap() >= 0.02, "{report}");
    for row in [last, &report["schedlab"][0], &report["c"][0]] {
        let of = |name: &str| row[name].as_f64().unwrap();
        assert!(
            (of("dgefa_percent") + of("dgesl_percent") + of("overhead_percent") - 100.0).abs()
                < 1e-6,
            "{row}"
        );
        assert!(
            of("residual_norm") > 0.0 && of("kflops") > 0.0 && row["reps"] == last["reps"],
            "{row}"
        );
    }
    let ratio = report["ratio_kflops"].as_f64().unwrap();
    assert!(ratio.is_finite() && ratio > 0.0, "{report}");
    let table = shown(&["linpack", "--array", "60", "--least", "20ms", "--rounds", "1"]);
    for word in [
        "Reps",
        "Time",
        "DGEFA %",
        "DGESL %",
        "OVERHEAD %",
        "KFLOPS",
        "Residual",
        "KFLOPS of schedlab / of C",
    ] {
        assert!(table.contains(word), "{word}: {table}");
    }
    let refused = selfbench(&["linpack", "--array", "512"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    for word in ["--array", "equal columns", "array=514"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}
