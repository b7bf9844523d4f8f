//! analysis.json: the unmodified analysis with its headline, for programs.

use experiment::analysis::Analysis;

use crate::answer;

pub fn render(analysis: &Analysis) -> crate::Result<String> {
    let mut text = serde_json::to_string_pretty(&with_headline(analysis))?;
    text.push('\n');
    Ok(text)
}

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
