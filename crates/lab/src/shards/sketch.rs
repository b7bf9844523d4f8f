//! Extracts the parts of an observation that comparing needs: one metric, the window length and the
//! invalid reasons.
//!
//! The rest is skipped as JSON and only validated when the merged results file is read.

use std::fmt;

use experiment::results::{InvalidReason, Observation};
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

pub(super) fn sketch(text: &[u8], metric: &str) -> Result<Observation, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let found = Parts(metric).deserialize(&mut reader)?;
    reader.end()?;
    Ok(found)
}

struct Parts<'m>(&'m str);

impl<'de> DeserializeSeed<'de> for Parts<'_> {
    type Value = Observation;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Observation, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Parts<'_> {
    type Value = Observation;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an observation")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Observation, A::Error> {
        let (mut found, mut length) = (Observation::default(), None);
        while let Some(part) = map.next_key::<Part>()? {
            match part {
                Part::DurationNs => length = Some(map.next_value()?),
                Part::Metrics => {
                    let value = map.next_value_seed(Metric(self.0))?;
                    found.metrics.extend(value.map(|value| (self.0.to_owned(), value)));
                }
                Part::Invalid => found.invalid = map.next_value::<Vec<InvalidReason>>()?,
                Part::Other => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        found.duration_ns = length.ok_or_else(|| A::Error::missing_field("duration_ns"))?;
        Ok(found)
    }
}

#[derive(serde::Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Part {
    DurationNs,
    Metrics,
    Invalid,
    #[serde(other)]
    Other,
}

struct Metric<'m>(&'m str);

impl<'de> DeserializeSeed<'de> for Metric<'_> {
    type Value = Option<f64>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Option<f64>, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Metric<'_> {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("metrics")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<f64>, A::Error> {
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Is(self.0))? {
            if is_it {
                found = Some(map.next_value::<Number>()?.0);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

struct Is<'m>(&'m str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<bool, D::Error> {
        from.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a metric")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// A number, or the string for one that JSON cannot represent.
struct Number(f64);

impl<'de> serde::Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Number, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(untagged)]
        enum Value {
            Number(f64),
            Word(String),
        }
        match Value::deserialize(from)? {
            Value::Number(value) => Ok(Number(value)),
            Value::Word(word) if matches!(word.as_str(), "NaN" | "inf" | "-inf") => {
                Ok(Number(word.parse().expect("f64 reads the words that it writes")))
            }
            Value::Word(word) => Err(D::Error::custom(format!("{word:?} is no number"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sketch_has_what_comparing_takes_of_the_whole() {
        let invalid = vec![InvalidReason::TooFewIos {
            metric: "latency_p99_us".to_owned(),
            count: 3,
            needed: 1000,
        }];
        for value in [12.25, f64::INFINITY, 1e-300] {
            let metrics = [("iops".to_owned(), value), ("read_iops".to_owned(), 7.0)].into();
            let counters = [("passes".to_owned(), f64::NAN)].into();
            let whole = Observation {
                duration_ns: 9,
                metrics,
                invalid: invalid.clone(),
                counters,
                ..Observation::default()
            };
            let text = serde_json::to_string(&whole).unwrap();
            let found = sketch(text.as_bytes(), "iops").unwrap();
            assert_eq!(found.metrics, [("iops".to_owned(), value)].into());
            assert_eq!((found.duration_ns, &found.invalid), (9, &invalid));
            assert!(sketch(text.as_bytes(), "no_such").unwrap().metrics.is_empty());
        }
    }

    #[test]
    fn what_is_no_observation_is_refused() {
        for text in [
            "{}",
            "[]",
            "{\"duration_ns\":1,\"metrics\":[]}",
            "{\"duration_ns\":1} x",
            "{\"duration_ns\":1,\"metrics\":{\"iops\":\"many\"}}",
        ] {
            assert!(sketch(text.as_bytes(), "iops").is_err(), "{text}");
        }
    }
}
