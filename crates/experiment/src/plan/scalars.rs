//! Values of a table as text.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// Scalars of a table as text, also without quotes: `clients = 2`.
pub(super) fn scalars<'de, D: Deserializer<'de>>(
    d: D,
) -> Result<BTreeMap<String, String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(
        untagged,
        expecting = "a value is a text, a number, true or false, e.g. clients = 2 or block_size = \"4k\""
    )]
    enum Scalar {
        Text(String),
        Flag(bool),
        Whole(i64),
        Real(f64),
    }
    let values = BTreeMap::<String, Scalar>::deserialize(d)?;
    let text = |scalar| match scalar {
        Scalar::Text(text) => text,
        Scalar::Flag(flag) => flag.to_string(),
        Scalar::Whole(number) => number.to_string(),
        Scalar::Real(number) => number.to_string(),
    };
    Ok(values.into_iter().map(|(key, value)| (key, text(value))).collect())
}
