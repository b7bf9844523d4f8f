//! Non-finite numbers in a results file, as "NaN", "inf" and "-inf". JSON would write null, which
//! cannot be read back, so one rate over an empty window would make the file unreadable.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serializer};

pub(super) fn serialize<S: Serializer>(
    values: &BTreeMap<String, f64>,
    s: S,
) -> Result<S::Ok, S::Error> {
    s.collect_map(values.iter().map(|(name, value)| (name, Value::from(*value))))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    d: D,
) -> Result<BTreeMap<String, f64>, D::Error> {
    let values = BTreeMap::<String, Value>::deserialize(d)?;
    let number = |(name, value)| match value {
        Value::Number(number) => Ok((name, number)),
        Value::Word(word) => match word.as_str() {
            "NaN" | "inf" | "-inf" => {
                Ok((name, word.parse().expect("f64 reads the words that it writes")))
            }
            _ => {
                Err(serde::de::Error::custom(format!("{name} is {word:?}, which is not a number")))
            }
        },
    };
    values.into_iter().map(number).collect()
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum Value {
    Number(f64),
    Word(String),
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        if value.is_finite() { Value::Number(value) } else { Value::Word(value.to_string()) }
    }
}
