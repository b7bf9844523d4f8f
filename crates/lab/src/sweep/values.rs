//! Selects the tunables and values of a sweep.

use anyhow::Result;
use experiment::sweep::number;

use super::offer::{Offer, Offered};
use crate::failure::usage;
use text::did_you_mean as nearest;

/// Maximum number of values per tunable; larger lists are rejected as typos.
const MOST_VALUES: usize = 64;

/// A tunable and the values to try, without the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub name: String,
    /// Ascending.
    pub values: Vec<i64>,
    pub of: Offered,
}

/// The tunables and values to sweep, in the user's order; `all` is in table order. `say` receives
/// notes for the user.
pub fn choose(
    offer: &Offer,
    tunables: &[String],
    values: &[String],
    say: &mut dyn FnMut(&str),
) -> Result<Vec<Turn>> {
    let given = values.iter().map(|word| read(offer, word)).collect::<Result<Vec<_>>>()?;
    for (i, (name, _)) in given.iter().enumerate() {
        if given[..i].iter().any(|(other, _)| other == name) {
            return Err(usage(format!(
                "--values {name}: given twice; write all values of {name} behind one --values"
            )));
        }
    }
    let named: Vec<String> = if tunables.is_empty() && !given.is_empty() {
        given.iter().map(|(name, _)| name.clone()).collect()
    } else {
        tunables.to_vec()
    };
    let swept = selected(offer, &named)?;
    if let Some((name, _)) =
        given.iter().find(|(name, _)| swept.iter().all(|one| one.name != *name))
    {
        return Err(usage(format!(
            "--values {name}: {name} is not swept; add it, --tunables {},{name}",
            if named.is_empty() { "all".to_owned() } else { named.join(",") }
        )));
    }
    let of = |one: &Offered| {
        given.iter().find(|(name, _)| *name == one.name).map(|(_, values)| values.clone())
    };
    swept.into_iter().map(|one| turn(offer, one, of(one), say)).collect()
}

/// The tunables named by the user, without duplicates.
fn selected<'o>(offer: &'o Offer, words: &[String]) -> Result<Vec<&'o Offered>> {
    let mut found: Vec<&Offered> = Vec::new();
    let all = "all".to_owned();
    for word in if words.is_empty() { std::slice::from_ref(&all) } else { words } {
        let word = word.trim();
        if word == "all" {
            let usual: Vec<&Offered> = offer.all.iter().filter(|one| one.usual).collect();
            if usual.is_empty() {
                if offer.is_of_cpus {
                    return Err(usage(
                        "--tunables all: nice level and slice have no effect under this policy; name what to sweep, --tunables NAME",
                    ));
                }
                return Err(usage(format!(
                    "--tunables all: {} has no tunables; nr_requests can be swept, --tunables nr_requests",
                    offer.scheduler
                )));
            }
            found.extend(usual.into_iter().filter(|one| !words.contains(&one.name)));
        } else if found.iter().any(|one| one.name == word) {
            return Err(usage(format!("--tunables {word}: given twice; leave one out")));
        } else {
            found.push(offer.find(word).ok_or_else(|| unknown(offer, "--tunables", word))?);
        }
    }
    Ok(found)
}

/// Parses one `--values`.
fn read(offer: &Offer, word: &str) -> Result<(String, Vec<i64>)> {
    let Some((name, list)) = word.split_once('=').map(|(name, list)| (name.trim(), list)) else {
        return Err(usage(format!(
            "--values {word}: no values; write NAME=VALUE,VALUE…, e.g. fifo_batch=1,4,64"
        )));
    };
    let known = offer.find(name).ok_or_else(|| unknown(offer, "--values", name))?;
    let mut values = Vec::new();
    for text in list.split(',').map(str::trim) {
        let value = match text {
            "true" => Some(1),
            "false" => Some(0),
            text => whole(offer, known, text),
        };
        let fits = |value: &i64| match &known.knob {
            Some(knob) => knob.range().contains(value),
            None => offer.is_of_cpus || *value >= 0,
        };
        let value = value.filter(fits);
        let Some(value) = value else { return Err(out_of_range(known, text)) };
        if values.contains(&value) {
            return Err(usage(format!("--values {name}: {text} is given twice; leave one out")));
        }
        values.push(value);
    }
    if values.len() > MOST_VALUES {
        return Err(usage(format!(
            "--values {name}: {} values are more than {MOST_VALUES}",
            values.len()
        )));
    }
    values.sort_unstable();
    Ok((name.to_owned(), values))
}

/// A whole number; a slice may have a unit.
fn whole(offer: &Offer, known: &Offered, text: &str) -> Option<i64> {
    let bare = text.replace('_', "").parse::<i64>().ok();
    let is_time = offer.is_of_cpus && known.name == "slice";
    bare.or_else(|| {
        let us = number(text).filter(|us| is_time && us.fract() == 0.0)?;
        Some(us as i64)
    })
}

fn out_of_range(known: &Offered, text: &str) -> anyhow::Error {
    let range = known.knob.map_or_else(String::new, |knob| {
        let unit =
            if knob.unit().is_empty() { String::new() } else { format!(" ({})", knob.unit()) };
        format!(" from {} to {}{unit}", knob.range().start(), knob.range().end())
    });
    usage(format!(
        "--values {}: {text:?} is out of range; it takes a whole number{range}",
        known.name
    ))
}

fn turn(
    offer: &Offer,
    one: &Offered,
    given: Option<Vec<i64>>,
    say: &mut dyn FnMut(&str),
) -> Result<Turn> {
    let asked = given.is_some();
    let mut values = match (given, one.knob) {
        (Some(values), _) => values,
        (None, Some(knob)) => knob.levels(),
        (None, None) => {
            let name = &one.name;
            return Err(usage(format!(
                "{name}: schedlab does not know which values of it make sense; name them, --values {name}=V,V…{}",
                if one.usual {
                    ", or name the tunables to sweep without it, --tunables NAME,…"
                } else {
                    ""
                }
            )));
        }
    };
    if let Some(default) = one.default.filter(|default| values.contains(default)) {
        values.retain(|value| *value != default);
        if values.is_empty() {
            return Err(usage(format!(
                "--values {}: {default} is already the value of {}; name another one to compare it with",
                one.name, offer.scheduler
            )));
        }
        if asked {
            say(&format!("note: {}={default} is the default, which the baseline covers", one.name));
        }
    }
    Ok(Turn { name: one.name.clone(), values, of: one.clone() })
}

fn unknown(offer: &Offer, flag: &str, word: &str) -> anyhow::Error {
    usage(format!(
        "{flag}: unknown tunable {word:?} of {} (expected one of {}); see schedlab list {}{}",
        offer.scheduler,
        offer.names().collect::<Vec<_>>().join(", "),
        if offer.is_of_cpus { "settings" } else { "schedulers" },
        nearest(word, offer.names())
    ))
}
