//! Values as people and JSON readers see them.

use serde_json::{Value as Json, json};
use sluicegate::Value;

/// A value as JSON. Byte strings become `{"bytes": "<hex>"}`, what JSON lacks its text form.
pub fn to_json(value: &Value) -> Json {
    match value {
        Value::Uint(n) => json!(n),
        Value::Text(text) => json!(text),
        Value::Bool(b) => json!(b),
        Value::Float(f) => json!(f),
        Value::Null => Json::Null,
        Value::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "bytes": hex })
        }
        Value::Array(items) => items.iter().map(to_json).collect(),
        Value::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = key.as_text().map_or_else(|| to_json(key).to_string(), str::to_owned);
                (key, to_json(value))
            });
            Json::Object(entries.collect())
        }
        other => other.as_i64().map_or_else(|| json!(format!("{other:?}")), |n| json!(n)),
    }
}

/// JSON as a value, for the items of a sequence.
pub fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::Array(items.iter().map(from_json).collect()),
        Json::Object(entries) => Value::Map(
            entries.iter().map(|(k, v)| (Value::Text(k.clone()), from_json(v))).collect(),
        ),
        Json::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => Value::Uint(n),
            (None, Some(n)) => Value::from(n),
            (None, None) => Value::Float(n.as_f64().unwrap_or(f64::NAN)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_survives_the_way_there_and_back() {
        let json = json!({"a": [1, -2, 2.5, null, true, "x"], "b": u64::MAX, "c": i64::MIN});
        assert_eq!(to_json(&from_json(&json)), json);
    }

    #[test]
    fn bytes_are_shown_as_hex() {
        assert_eq!(to_json(&Value::Bytes(vec![1, 0xff].into())), json!({"bytes": "01ff"}));
    }
}
