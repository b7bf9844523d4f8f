//! Percentages and durations. Bare numbers are rejected where ambiguous: `--budget 5` could be
//! seconds or minutes, `--margin 1` could be 1 % or 100 %.

use std::time::Duration;

use text::DurationError;

use super::PlanError;

/// Parses a share: `1%`, `0.5 %`, or a fraction below 1 such as `0.01`; returns the fraction.
pub fn parse_percent(word: &str) -> Result<f64, PlanError> {
    let refuse = |problem: &str| PlanError::Word {
        word: word.to_string(),
        problem: problem.to_string(),
        remedy: "write percent or a fraction below 1, e.g. 1% or 0.01".to_string(),
    };
    let trimmed = word.trim();
    let (number, scale) = match trimmed.strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (trimmed, 1.0),
    };
    let value: f64 = number.parse().map_err(|_| refuse("it is not a percentage"))?;
    if !value.is_finite() || value < 0.0 {
        return Err(refuse("a share is finite and not negative"));
    }
    if scale == 1.0 && value >= 1.0 {
        return Err(refuse("without a % it is ambiguous"));
    }
    Ok(value / scale)
}

/// Parses a duration: `500ms`, `60s`, `2m`, `1h`; returns seconds, above 0.
pub fn parse_duration_s(word: &str) -> Result<f64, PlanError> {
    let refuse = |problem: String| PlanError::Word {
        word: word.to_string(),
        problem,
        remedy: "units are ms, s, m (or min) and h, e.g. 500ms, 60s, 2m".to_string(),
    };
    let duration = text::parse_duration(word).map_err(|error| {
        refuse(match error {
            DurationError::NoUnit => "it has no unit".to_string(),
            DurationError::UnknownUnit(unit) => format!("unknown unit `{unit}`"),
            DurationError::NoNumber => "it is not a number with a unit".to_string(),
            DurationError::OutOfRange => "it is out of range".to_string(),
        })
    })?;
    let shortest = Duration::from_micros(1000);
    if duration < shortest {
        return Err(refuse(format!(
            "it is {}, but the minimum is 1ms",
            text::format_duration(duration.as_nanos() as u64)
        )));
    }
    Ok(duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_percent_or_a_fraction() {
        for (word, fraction) in [
            ("1%", 0.01),
            ("0.5%", 0.005),
            (" 2 % ", 0.02),
            ("0.01", 0.01),
            ("0", 0.0),
            ("150%", 1.5),
        ] {
            assert_eq!(parse_percent(word), Ok(fraction), "{word}");
        }
        for word in ["1", "5", "-1%", "one", "", "%", "nan", "inf%"] {
            let message = parse_percent(word).unwrap_err().to_string();
            assert!(
                message.contains("e.g. 1% or 0.01") && message.contains(&format!("`{word}`")),
                "{message}"
            );
        }
    }

    #[test]
    fn a_duration_has_a_unit_and_comes_out_in_seconds() {
        for (word, seconds) in
            [("60s", 60.0), ("2m", 120.0), ("500ms", 0.5), ("1h", 3600.0), ("1.5 min", 90.0)]
        {
            assert_eq!(parse_duration_s(word), Ok(seconds), "{word}");
        }
        for word in ["60", "2 weeks", "s", "-1s", "0s", "", "1s2", "1us", "infs"] {
            let message = parse_duration_s(word).unwrap_err().to_string();
            assert!(message.contains("units are ms, s, m (or min) and h"), "{message}");
        }
    }
}
