//! Edits of a plan since its results file: a gate compares only measurements of one plan.
//!
//! Both plans are compared key by key as serialised trees. Excluded are parts that leave values
//! comparable: version, budget, title, published figures, the plan's own verdict rules, the device's
//! name, and the kernel, which may be the gate's subject. Files are compared by name, without
//! directories.

use serde_json::Value;

use crate::plan::Plan;

const FREE: [&str; 7] = ["schema", "name", "device", "kernel", "budget", "published", "baseline"];
const FREE_CRITERIA: [&str; 2] = ["method", "planned"];

/// Lists differing keys with both values: `workload.0.params.clients: 8 (was 16)`.
pub fn edits(now: &Plan, then: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    walk("", Some(&tree(now)), Some(&tree(then)), &mut found);
    found
}

fn tree(plan: &Plan) -> Value {
    let mut tree = serde_json::to_value(plan)
        .expect("a plan has only texts and numbers, which always make JSON");
    if let Some(all) = tree.as_object_mut() {
        FREE.iter().for_each(|key| drop(all.remove(*key)));
    }
    if let Some(criteria) = tree.get_mut("criteria").and_then(Value::as_object_mut) {
        FREE_CRITERIA.iter().for_each(|key| drop(criteria.remove(*key)));
    }
    tree
}

fn walk(path: &str, now: Option<&Value>, then: Option<&Value>, found: &mut Vec<String>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match (now, then) {
        (Some(Value::Object(new)), Some(Value::Object(old))) => {
            let mut keys: Vec<&String> = new.keys().chain(old.keys()).collect();
            keys.sort();
            keys.dedup();
            keys.iter().for_each(|key| walk(&below(key), new.get(*key), old.get(*key), found));
        }
        (Some(Value::Array(new)), Some(Value::Array(old))) => {
            let most = new.len().max(old.len());
            (0..most).for_each(|i| walk(&below(&i.to_string()), new.get(i), old.get(i), found));
        }
        (new, old) if new.map(without_directory) != old.map(without_directory) => {
            let word = |value: Option<&Value>| {
                value.map_or_else(|| "not there".to_owned(), Value::to_string)
            };
            found.push(format!("{path}: {} (was {})", word(new), word(old)));
        }
        _ => {}
    }
}

/// Removes the directories of an absolute path within a text, such as `kyber@/checkout/my.patch`.
fn without_directory(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.find('/') {
            Some(at) if at == 0 || text[..at].ends_with(['@', '=', ':']) => {
                let name = text.rfind('/').map_or("", |last| &text[last + 1..]);
                Value::String(format!("{}{name}", &text[..at]))
            }
            _ => value.clone(),
        },
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str) -> Plan {
        Plan::from_toml(&format!(
            "device = 'sdb'\n{text}\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'mine'\n\
             scheduler = 'kyber@/home/a/my.patch'\n[[workload]]\nname = 'r'\nkind = 'randread'\n"
        ))
        .unwrap()
    }

    #[test]
    fn an_edit_is_named_with_its_key_and_both_values() {
        let was = plan("");
        let mut is = plan("[criteria]\nmargin = 0.05");
        is.workloads[0].params.insert("clients".to_owned(), "8".to_owned());
        is.variants[1].scheduler = "bfq".to_owned();
        assert_eq!(
            edits(&is, &was),
            [
                "criteria.margin: 0.05 (was 0.01)",
                "variant.1.scheduler: \"bfq\" (was \"kyber@/home/a/my.patch\")",
                "workload.0.params: {\"clients\":\"8\"} (was not there)",
            ]
        );
    }

    #[test]
    fn how_long_and_where_is_no_edit_and_neither_is_another_checkout() {
        let was = plan("");
        let mut is =
            plan("name = 'another title'\n[budget]\ntime_s = 5\n[criteria]\nmethod = 'fixed'");
        is.device = "sdc".to_owned();
        is.variants[1].scheduler = "kyber@/srv/ci/my.patch".to_owned();
        assert_eq!(edits(&is, &was), [] as [&str; 0]);
        is.variants[1].scheduler = "kyber@/srv/ci/other.patch".to_owned();
        assert_eq!(edits(&is, &was).len(), 1);
    }
}
