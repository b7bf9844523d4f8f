//! Reads and writes plan.toml; plan errors.
//!
//! Plans are written by hand, so errors name the line, the word and the nearest valid word. serde
//! knows the valid words at each place; its message is parsed instead of maintaining a second list.

use std::borrow::Cow;

use text::expected_one_of;
use text::limits::{Exceeded, PLAN_BYTES};
use thiserror::Error;

use super::{CPU_DEVICE, Plan, READABLE, SCHEMA};

/// Why a plan, or a compact form of a part of it, is rejected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PlanError {
    /// The text is not TOML, or a value has the wrong type.
    #[error("plan, line {line}: {message}")]
    Syntax {
        /// Line number from 1.
        line: usize,
        /// The TOML parser's message.
        message: String,
    },
    /// An unknown key or choice.
    #[error("plan, line {line}: unknown {what} `{word}` {}", expected_one_of(word, known.iter().map(String::as_str)))]
    UnknownWord {
        /// Line number from 1.
        line: usize,
        /// `key` or `choice`.
        what: &'static str,
        /// The word as written.
        word: String,
        /// All words known here.
        known: Vec<String>,
    },
    /// A plan of another version.
    #[error(
        "plan: {}; use the schedlab that wrote it, or write schema = {SCHEMA}",
        text::build::other_format(found, SCHEMA, None)
    )]
    Schema {
        /// The version found.
        found: i64,
    },
    /// A name that the plan does not define.
    #[error("plan: unknown {what} `{name}` {}", expected_one_of(name, known.iter().map(String::as_str)))]
    NoSuchName {
        /// `variant` or `workload`.
        what: &'static str,
        /// The name as written.
        name: String,
        /// All such names of the plan.
        known: Vec<String>,
    },
    /// A limit of plans is exceeded.
    #[error(transparent)]
    Exceeded(#[from] Exceeded),
    /// Two parts have the same name.
    #[error("plan: two {what}s are called `{name}`; give each a unique name{hint}")]
    Duplicate {
        /// `variant` or `workload`.
        what: &'static str,
        /// The name.
        name: String,
        /// How to write it, if applicable.
        hint: String,
    },
    /// A value out of range, or an impossible experiment.
    #[error("plan: {what} {problem}; {remedy}")]
    Value {
        /// The key or part.
        what: String,
        /// The problem.
        problem: String,
        /// The remedy, with an example.
        remedy: String,
    },
    /// An unreadable word of the command line.
    #[error("`{word}`: {problem}; {remedy}")]
    Word {
        /// The word as written.
        word: String,
        /// The problem.
        problem: String,
        /// The remedy, with an example.
        remedy: String,
    },
}

impl Plan {
    /// Parses and checks a plan.
    ///
    /// # Errors
    /// [`PlanError`] names the line and, for a misspelt key or choice, the nearest valid one.
    pub fn from_toml(text: &str) -> Result<Plan, PlanError> {
        PLAN_BYTES.check(text.len())?;
        refuse_other_schema(text)?;
        let mut plan: Plan = toml::from_str(text).map_err(|error| explain(text, &error))?;
        if plan.arena.is_cpu() && plan.device.is_empty() {
            CPU_DEVICE.clone_into(&mut plan.device);
        }
        plan.check()?;
        Ok(plan)
    }

    /// Formats the plan with all defaults, so that later versions read it equally. Terminal control
    /// characters are escaped, except in TOML literal strings, which cannot occur in names of a
    /// checked plan.
    pub fn to_toml(&self) -> String {
        let text = toml::to_string_pretty(self)
            .expect("a plan has only tables, text and numbers, all of which TOML can write");
        match text::escaped(&text) {
            Cow::Owned(shown) if toml::from_str::<Plan>(&shown).is_ok_and(|plan| plan == *self) => {
                shown
            }
            _ => text,
        }
    }
}

/// A plan of a later version may have unknown keys: report the version rather than typos.
fn refuse_other_schema(text: &str) -> Result<(), PlanError> {
    let table: toml::Table = text.parse().map_err(|error| explain(text, &error))?;
    let readable = |found: &i64| u32::try_from(*found).is_ok_and(|found| READABLE.contains(&found));
    match table.get("schema").and_then(toml::Value::as_integer) {
        Some(found) if !readable(&found) => Err(PlanError::Schema { found }),
        _ => Ok(()),
    }
}

fn explain(text: &str, error: &toml::de::Error) -> PlanError {
    let start = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
    let message = error.message().lines().collect::<Vec<_>>().join(" ");
    for (prefix, what) in [("unknown field", "key"), ("unknown variant", "choice")] {
        if let Some(rest) = message.strip_prefix(prefix) {
            let mut quoted = rest.split('`').skip(1).step_by(2).map(str::to_string);
            if let Some(word) = quoted.next() {
                return PlanError::UnknownWord { line, what, word, known: quoted.collect() };
            }
        }
    }
    PlanError::Syntax { line, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
device = "loop:512M"
baseline = "none"

[budget]
time_s = 30.0

[[variant]]
name = "none"
scheduler = "none"

[[variant]]
name = "quick"
scheduler = "bfq"
tunables = { slice_idle = "0" }

[[workload]]
name = "oltp"
kind = "oltp"
params = { clients = "8" }
"#;

    #[test]
    fn a_plan_survives_being_written_and_read_again() {
        let plan = Plan::from_toml(GOOD).unwrap();
        assert_eq!(plan.variants[1].tunables["slice_idle"], "0");
        assert_eq!(plan.budget.time_s, 30.0);
        let written = plan.to_toml();
        assert_eq!(Plan::from_toml(&written).unwrap(), plan, "{written}");
        assert!(written.contains("margin = 0.01"), "defaults are written out: {written}");
    }

    #[test]
    fn the_cpu_arena_needs_no_device_and_takes_none() {
        let variants = "[[variant]]\nname = 'a'\n[[variant]]\nname = 'b'\n[[workload]]\nname = 'linpack'\nkind = 'linpack'\n";
        let read = |head: &str| Plan::from_toml(&format!("{head}\n{variants}"));
        let plan = read("arena = 'cpu'").unwrap();
        assert_eq!((plan.arena.is_cpu(), plan.device.as_str()), (true, CPU_DEVICE));
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
        let error = read("arena = 'cpu'\ndevice = 'sda'").unwrap_err().to_string();
        assert!(error.contains("sda") && error.contains("remove it"), "{error}");
        assert!(
            read("arena = 'host'\ndevice = 'sda'")
                .unwrap_err()
                .to_string()
                .contains("unknown choice `host`")
        );
    }

    #[test]
    fn a_typo_in_a_key_names_the_line_and_the_nearest_key() {
        let error = Plan::from_toml(&GOOD.replace("[budget]", "[bugdet]")).unwrap_err();
        assert!(
            matches!(&error, PlanError::UnknownWord { line: 5, word, .. } if word == "bugdet"),
            "{error:?}"
        );
        assert!(error.to_string().contains("did you mean \"budget\"?"), "{error}");
        let error = Plan::from_toml(&GOOD.replace("scheduler = \"bfq\"", "sheduler = \"bfq\""))
            .unwrap_err();
        assert!(
            error.to_string().contains("line 14: unknown key `sheduler` (did you mean ")
                && error.to_string().contains("did you mean \"scheduler\"?"),
            "{error}"
        );
    }

    #[test]
    fn a_typo_in_a_choice_names_the_nearest_choice() {
        let error =
            Plan::from_toml(&format!("{GOOD}\n[criteria]\nmethod = \"anytme\"\n")).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("line 23: unknown choice `anytme` (did you mean \"anytime\"? expected one of spending, "),
            "{text}"
        );
        assert!(text.contains("did you mean \"anytime\"?"), "{text}");
    }

    #[test]
    fn a_value_of_the_wrong_kind_and_broken_toml_name_their_line() {
        let error = Plan::from_toml(&GOOD.replace("30.0", "\"long\"")).unwrap_err();
        assert!(matches!(error, PlanError::Syntax { line: 6, .. }), "{error:?}");
        let error = Plan::from_toml(&GOOD.replace("\"none\"\n\n[budget]", "\"none\n\n[budget]"))
            .unwrap_err();
        assert!(matches!(error, PlanError::Syntax { line: 3, .. }), "{error:?}");
    }

    #[test]
    fn a_plan_of_a_later_version_is_called_so_and_its_new_keys_are_not_called_typos() {
        let error = Plan::from_toml(&format!("schema = 7\nnew_key = 1\n{GOOD}")).unwrap_err();
        assert_eq!(error, PlanError::Schema { found: 7 });
    }

    #[test]
    fn numbers_and_flags_need_no_quotes() {
        let text = "device = 'sda'\n[[variant]]\nname = 'none'\nscheduler = 'none'\n[[variant]]\nname = 'b'\nscheduler = 'bfq'\n\
                    tunables = { slice_idle = 0 }\n[[workload]]\nname = 'o'\nkind = 'oltp'\n\
                    params = { clients = 2, direct = false, block_size = '4k' }\n";
        let plan = Plan::from_toml(text).unwrap();
        assert_eq!(plan.variants[1].tunables["slice_idle"], "0");
        let params = &plan.workloads[0].params;
        assert_eq!(
            (params["clients"].as_str(), params["direct"].as_str(), params["block_size"].as_str()),
            ("2", "false", "4k")
        );
        let list = text.replace("clients = 2", "clients = [2]");
        assert!(
            Plan::from_toml(&list).unwrap_err().to_string().contains("a value is a text"),
            "{:?}",
            Plan::from_toml(&list)
        );
    }

    #[test]
    fn a_missing_part_is_named() {
        let error = Plan::from_toml("device = \"sda\"\n").unwrap_err();
        assert!(error.to_string().contains("variant"), "{error}");
    }
}
