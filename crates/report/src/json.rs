//! analysis.json: the analysis as it is, for programs.
//!
//! Nothing is renamed or rounded on the way: what this file says is what the other reports show,
//! their headline included.

use experiment::analysis::Analysis;

use crate::answer;

/// The analysis as indented JSON with a final newline.
///
/// # Errors
/// When the analysis cannot be written as JSON, which its types exclude.
pub fn render(analysis: &Analysis) -> crate::Result<String> {
    let mut text = serde_json::to_string_pretty(&with_headline(analysis))?;
    text.push('\n');
    Ok(text)
}

/// The same of several analyses, as a list.
///
/// # Errors
/// As for one.
pub fn render_all(analyses: &[&Analysis]) -> crate::Result<String> {
    let mut text = serde_json::to_string_pretty(
        &analyses.iter().copied().map(with_headline).collect::<Vec<_>>(),
    )?;
    text.push('\n');
    Ok(text)
}

fn with_headline(analysis: &Analysis) -> Analysis {
    let mut analysis = analysis.clone();
    analysis.recommendation.sentence = answer::headline(&analysis);
    analysis
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Lab;

    #[test]
    fn the_guaranteed_fields_are_there_and_the_analysis_can_be_read_back() {
        let lab = Lab::typical();
        let text = render(&lab.analysis).expect("an analysis is JSON");
        let value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!((value["schema"].as_u64(), value["arena"].as_str()), (Some(1), Some("disk")));
        assert!(value["recommendation"].is_object());
        let fields = [
            "workload", "metric", "variant", "baseline", "ratio", "low", "high", "verdict",
            "rounds", "reasons",
        ];
        for comparison in value["comparisons"].as_array().expect("an array") {
            for field in fields {
                assert!(comparison.get(field).is_some(), "{field}");
            }
        }
        let back: Analysis = serde_json::from_str(&text).expect("it is an analysis");
        assert_eq!(back.comparisons.len(), lab.analysis.comparisons.len());
    }
}
