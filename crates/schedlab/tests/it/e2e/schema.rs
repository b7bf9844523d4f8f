//! The published schema of analysis.json against analyses of tables and invalid ones; the commands'
//! tests cover results files.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Lab, against_schema, valid_analysis};

#[test]
fn a_table_gives_an_analysis_of_the_published_schema() {
    let lab = Lab::new();
    let table = lab.path("table.csv");
    fs::write(&table, "variant,round,tps\nnone,1,10\nnone,2,11\nbfq,1,12\nbfq,2,12.5\n").unwrap();
    let words =
        format!("analyze {} --variant variant --metric tps --round round --json", table.display());
    let file = lab.path("printed.json");
    fs::write(&file, lab.run(&format!("{words} --baseline none")).expect_measured().stdout)
        .unwrap();
    let analysis = valid_analysis(&file);
    assert_eq!(
        (&analysis["arena"], &analysis["origin"]["device"]),
        (&Value::from("foreign"), &Value::Null)
    );
    assert_eq!(analysis["metrics"][0]["direction"], "higher");
}

#[test]
fn the_golden_analysis_is_of_the_published_schema_and_one_with_a_field_more_less_or_of_another_type_is_not()
 {
    let lab = Lab::new();
    let snapshot = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../experiment/tests/it/snapshots/it__analysis__small_results.snap");
    let text = fs::read_to_string(snapshot).unwrap();
    let golden: Value = serde_json::from_str(text.splitn(3, "---\n").nth(2).unwrap()).unwrap();
    let file = lab.path("analysis.json");
    let complaints = |analysis: &Value| {
        fs::write(&file, analysis.to_string()).unwrap();
        against_schema(&file)
    };
    let Some(none) = complaints(&golden) else { return };
    assert_eq!(none, "");
    for wrong in [
        |analysis: &mut Value| analysis["comparisons"][0]["p_value"] = 0.04.into(),
        |analysis: &mut Value| analysis["origin"]["plan_sha256"] = "none".into(),
        |analysis: &mut Value| analysis["comparisons"][0]["verdict"] = "good".into(),
        |analysis: &mut Value| analysis["summaries"][0]["median"] = Value::Null,
        |analysis: &mut Value| drop(analysis.as_object_mut().unwrap().remove("origin")),
    ] {
        let mut analysis = golden.clone();
        wrong(&mut analysis);
        assert_ne!(complaints(&analysis).unwrap(), "");
    }
}
