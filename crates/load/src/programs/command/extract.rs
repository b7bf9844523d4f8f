//! Extracts metrics from output, by a regular expression or JSON pointers.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use crate::programs::options::Options;

#[derive(Debug)]
pub(super) enum Extract {
    /// Only time is measured.
    Nothing,
    /// Capture groups of the last match.
    Text {
        regex: Regex,
        /// Each group's metric.
        groups: Vec<(String, usize)>,
    },
    /// JSON pointers (RFC 6901) by metric.
    Json(Vec<(String, String)>),
}

impl Extract {
    /// Reads the options `metric`, `regex` and `json`.
    pub(super) fn of(options: &Options) -> Result<Extract, String> {
        let metric = options.text("metric");
        match (options.text("regex"), options.text("json")) {
            (Some(_), Some(_)) => {
                Err("regex and json are both given: one of them finds the figures".into())
            }
            (Some(text), None) => by_regex(text, metric),
            (None, Some(text)) => by_pointers(text, metric),
            (None, None) if metric.is_some() => Err(
                "metric is given without its place: give regex or json too, e.g. json=/results/tps"
                    .into(),
            ),
            (None, None) => Ok(Extract::Nothing),
        }
    }

    /// The metrics in the options' order.
    pub(super) fn metrics(&self) -> Vec<&str> {
        match self {
            Extract::Nothing => Vec::new(),
            Extract::Text { groups, .. } => groups.iter().map(|(name, _)| name.as_str()).collect(),
            Extract::Json(pointers) => pointers.iter().map(|(name, _)| name.as_str()).collect(),
        }
    }

    pub(super) fn read(&self, printed: &str) -> Result<BTreeMap<String, f64>, String> {
        match self {
            Extract::Nothing => Ok(BTreeMap::new()),
            Extract::Text { regex, groups } => {
                let last = regex.captures_iter(printed).last();
                let last = last.ok_or_else(|| format!("text that matches {}", regex.as_str()))?;
                let figure = |(name, group): &(String, usize)| {
                    let text = last.get(*group).map(|found| found.as_str());
                    let text =
                        text.ok_or_else(|| format!("{name}: its group is not in the last match"))?;
                    number(text)
                        .map(|value| (name.clone(), value))
                        .ok_or_else(|| not_a_number(name, text))
                };
                groups.iter().map(figure).collect()
            }
            Extract::Json(pointers) => {
                let document: Value = serde_json::from_str(printed.trim())
                    .map_err(|e| format!("JSON that can be read ({e})"))?;
                let figure = |(name, pointer): &(String, String)| {
                    let value =
                        document.pointer(pointer).ok_or_else(|| format!("{name} at {pointer}"))?;
                    let figure = value.as_f64().or_else(|| value.as_str().and_then(number));
                    figure
                        .map(|figure| (name.clone(), figure))
                        .ok_or_else(|| not_a_number(name, &value.to_string()))
                };
                pointers.iter().map(figure).collect()
            }
        }
    }
}

fn by_regex(text: &str, metric: Option<&str>) -> Result<Extract, String> {
    let regex = Regex::new(text).map_err(|e| format!("regex cannot be read: {e}"))?;
    let named = regex.capture_names().enumerate();
    let named: Vec<(String, usize)> =
        named.filter_map(|(group, name)| name.map(|name| (name.to_string(), group))).collect();
    let groups = match metric {
        None if named.is_empty() => {
            let example = r"metric=tps with regex=tps = ([0-9.]+), or regex=tps = (?<tps>[0-9.]+)";
            return Err(format!("regex names no metric: write {example}"));
        }
        None => named,
        Some(_) if !named.is_empty() => {
            return Err(
                "metric is given, and regex has named groups: each of these is a metric already"
                    .into(),
            );
        }
        Some(_) if regex.captures_len() < 2 => {
            return Err(
                "regex has no group: put parentheses around the number, e.g. ([0-9.]+)".into()
            );
        }
        Some(metric) => vec![(metric.to_string(), 1)],
    };
    Ok(Extract::Text { regex, groups })
}

fn by_pointers(text: &str, metric: Option<&str>) -> Result<Extract, String> {
    let example = "json=/results/tps with metric=tps, or json=tps=/results/tps p99_ms=/latency/p99";
    let pointers = match metric {
        Some(metric) => vec![(metric.to_string(), text.trim().to_string())],
        None => {
            let pairs = text.split_whitespace().map(|word| word.split_once('='));
            let pairs = pairs
                .map(|pair| pair.map(|(name, pointer)| (name.to_string(), pointer.to_string())));
            pairs
                .collect::<Option<Vec<_>>>()
                .ok_or_else(|| format!("json names no metric: write {example}"))?
        }
    };
    let possible =
        pointers.iter().all(|(name, pointer)| !name.is_empty() && pointer.starts_with('/'));
    if pointers.is_empty() || !possible {
        return Err(format!("json={text}: a pointer begins with /, e.g. {example}"));
    }
    Ok(Extract::Json(pointers))
}

fn not_a_number(name: &str, text: &str) -> String {
    format!("number for {name} (found `{text}`)")
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::find;

    fn extract(pairs: &[(&str, &str)]) -> Result<Extract, String> {
        let all = [("run", "true")].iter().chain(pairs).copied();
        let options = find("command").expect("a row").read(all).map_err(|e| e.to_string())?;
        Extract::of(&options)
    }

    fn read(pairs: &[(&str, &str)], printed: &str) -> Result<Vec<(String, f64)>, String> {
        extract(pairs)?.read(printed).map(|figures| figures.into_iter().collect())
    }

    #[test]
    fn the_first_group_of_the_last_match_counts() {
        let options = [("metric", "tps"), ("regex", r"tps = ([0-9.]+) of ([0-9]+)")];
        let printed = "tps = 1.5 of 3\ntps = 7.25 of 9\ntps = none\n";
        assert_eq!(read(&options, printed), Ok(vec![("tps".into(), 7.25)]));
        let error = read(&options, "nothing at all\n").unwrap_err();
        assert!(error.contains("tps = "), "{error}");
    }

    #[test]
    fn named_groups_are_metrics_and_each_must_be_there() {
        let options = [("regex", r"(?m)^(?<tps>\d+) tps(, p99 (?<p99_ms>\S+) ms)?$")];
        let expected = vec![("p99_ms".into(), 12.0), ("tps".into(), 300.0)];
        assert_eq!(read(&options, "100 tps, p99 3 ms\n300 tps, p99 12 ms\n"), Ok(expected));
        let error = read(&options, "100 tps, p99 3 ms\n300 tps\n").unwrap_err();
        assert!(error.contains("p99_ms"), "{error}");
        let error = read(&options, "300 tps, p99 inf ms\n").unwrap_err();
        assert!(error.contains("found `inf`"), "infinity is no figure: {error}");
    }

    #[test]
    fn json_pointers_find_numbers_and_texts_that_are_numbers() {
        let printed = r#" {"results": [{"tps": 12.5, "a/b": "7"}], "word": "x"} "#;
        let options = [("json", "tps=/results/0/tps odd_ms=/results/0/a~1b")];
        assert_eq!(read(&options, printed), Ok(vec![("odd_ms".into(), 7.0), ("tps".into(), 12.5)]));
        assert_eq!(
            read(&[("metric", "tps"), ("json", "/results/0/tps")], printed),
            Ok(vec![("tps".into(), 12.5)])
        );
        for (pointer, part) in
            [("tps=/results/1/tps", "tps at /results/1/tps"), ("tps=/word", "found `\"x\"`")]
        {
            let error = read(&[("json", pointer)], printed).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        assert!(read(&options, "tps 12").unwrap_err().contains("JSON that can be read"));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_would_be_right() {
        for (pairs, part) in [
            (&[("metric", "tps")][..], "give regex or json too"),
            (&[("regex", "([0-9]+)")], "regex names no metric"),
            (&[("regex", "[0-9]+"), ("metric", "tps")], "parentheses"),
            (
                &[("regex", "(?<tps>[0-9]+)"), ("metric", "tps")],
                "each of these is a metric already",
            ),
            (&[("regex", "(")], "regex cannot be read"),
            (&[("json", "/results")], "json names no metric"),
            (&[("json", "tps=results")], "begins with /"),
            (&[("json", "tps=/results"), ("regex", "(?<tps>.)")], "one of them"),
        ] {
            let error = extract(pairs).unwrap_err();
            assert!(error.contains(part), "{pairs:?}: {error}");
        }
    }
}
