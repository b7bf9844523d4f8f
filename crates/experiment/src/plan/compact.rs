//! Variants and workloads in the compact form of command-line flags: `[NAME=]HEAD[:KEY=VALUE]…`. An
//! `=` before the first `:` separates a custom name. It is here so that flags and plan files result
//! in the same values.

use std::collections::BTreeMap;

use super::check::unique;
use super::{Background, PlanError, Share, Variant, WorkloadSpec};

/// Parses a variant: `bfq`, `bfq:slice_idle=0:nr_requests=64`, `quick=bfq:slice_idle=0`. The
/// default name is the text itself.
///
/// # Errors
/// [`PlanError::Word`] with an example.
pub fn parse_variant(word: &str) -> Result<Variant, PlanError> {
    let parts = split(word, "a scheduler", "bfq:slice_idle=0 or quick=bfq:slice_idle=0")?;
    Ok(Variant { name: parts.name, scheduler: parts.head, tunables: parts.pairs })
}

/// Parses several variants.
///
/// # Errors
/// [`PlanError::Word`], or [`PlanError::Duplicate`] for equal names: an A/A comparison names them,
/// `a=none,b=none`.
pub fn parse_variants<S: AsRef<str>>(words: &[S]) -> Result<Vec<Variant>, PlanError> {
    distinct(words.iter().map(|word| parse_variant(word.as_ref())).collect::<Result<_, _>>()?)
}

/// Parses variants of the cpu arena: `[NAME=]SETTING[+SETTING]…`, with settings `KEY=VALUE` of
/// `keys`, `default` or a scheduler. A key ending in `:` is followed by any name. Text before the
/// first `=` is a custom name unless it is a key. In values `/` may replace `:`, and CPUs of a list
/// are separated by `;`.
pub fn parse_cpu_variants<S: AsRef<str>>(
    words: &[S],
    keys: &[&str],
) -> Result<Vec<Variant>, PlanError> {
    distinct(
        words
            .iter()
            .map(|word| cpu_variant(word.as_ref().trim(), keys))
            .collect::<Result<_, _>>()?,
    )
}

fn cpu_variant(word: &str, keys: &[&str]) -> Result<Variant, PlanError> {
    let refuse = |problem: String| {
        PlanError::Word {
        word: word.to_string(),
        problem,
        remedy: "write a variant as [NAME=]SETTING[+SETTING]…, e.g. default, nice=-20, affinity=0+nice=-20 or mine=policy=fifo:50".to_string(),
    }
    };
    let is_key = |key: &str| {
        keys.iter().any(|known| {
            key == *known
                || known.ends_with(':') && key.len() > known.len() && key.starts_with(known)
        })
    };
    let first = word.split('+').next().unwrap_or_default();
    let (name, rest) = match first.split_once('=') {
        Some((name, value))
            if !is_key(name.trim()) && (value.contains('=') || is_scheduler(value)) =>
        {
            (name.trim(), &word[name.len() + 1..])
        }
        _ => (word, word),
    };
    if name.is_empty() || rest.trim().is_empty() {
        return Err(refuse("it is empty".to_string()));
    }
    let mut variant =
        Variant { name: name.to_string(), scheduler: String::new(), tunables: BTreeMap::new() };
    for setting in rest.split('+').map(str::trim) {
        match setting.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() && !value.trim().is_empty() => {
                let value = value.trim().replace(';', ",");
                if variant.tunables.insert(key.trim().to_string(), value).is_some() {
                    return Err(refuse(format!("`{}` is given twice", key.trim())));
                }
            }
            None if is_scheduler(setting) && variant.scheduler.is_empty() => {
                variant.scheduler = setting.to_string()
            }
            _ => return Err(refuse(format!("`{setting}` is neither KEY=VALUE nor the scheduler"))),
        }
    }
    Ok(variant)
}

fn is_scheduler(word: &str) -> bool {
    word == "default" || word.starts_with("default@") || word.starts_with("sched_ext:")
}

fn distinct(variants: Vec<Variant>) -> Result<Vec<Variant>, PlanError> {
    let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
    let same = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name));
    let hint = same.map(|(_, name)| format!(", e.g. a={name},b={name}")).unwrap_or_default();
    unique("variant", &names, &hint)?;
    Ok(variants)
}

/// Parses a workload: `oltp`, `oltp:clients=8:block_size=8k`, `mine=oltp:clients=8`.
/// `primary=METRIC` sets the primary metric and is not part of the default label. A leading file
/// needs no `file=`: `fio:random.fio`.
///
/// # Errors
/// [`PlanError::Word`] with an example.
pub fn parse_workload(word: &str) -> Result<WorkloadSpec, PlanError> {
    let mut parts = split_workload(word)?;
    let primary = parts.pairs.remove("primary");
    if primary.is_some() && parts.name == word.trim() {
        let kept: Vec<&str> =
            parts.name.split(':').filter(|field| !field.trim().starts_with("primary=")).collect();
        parts.name = kept.join(":");
    }
    let share = share_of(&mut parts.pairs, word)?;
    Ok(WorkloadSpec {
        name: parts.name,
        kind: parts.head,
        primary,
        params: parts.pairs,
        share,
        background: Vec::new(),
        flows: Vec::new(),
    })
}

/// Parses a background load: a workload, optionally with `io_weight`, `io_max`, `ioprio`.
///
/// # Errors
/// [`PlanError::Word`] with an example.
pub fn parse_background(word: &str) -> Result<Background, PlanError> {
    let mut parts = split_workload(word)?;
    let share = share_of(&mut parts.pairs, word)?;
    Ok(Background { kind: parts.head, params: parts.pairs, share })
}

fn split_workload(word: &str) -> Result<Parts, PlanError> {
    let trimmed = word.trim();
    let (head, rest) = trimmed.split_once(':').unwrap_or((trimmed, ""));
    let first = rest.split(':').next().unwrap_or_default();
    let is_file = !first.contains('=') && first.contains(['.', '/']);
    let what = ("a workload", "oltp:clients=8:block_size=8k or mine=oltp:clients=8");
    if !is_file {
        return split(trimmed, what.0, what.1);
    }
    let mut parts = split(&format!("{head}:file={rest}"), what.0, what.1)?;
    if !head.contains('=') {
        trimmed.clone_into(&mut parts.name);
    }
    Ok(parts)
}

/// Removes the device share from a workload's parameters. Bounds are separated by `+`, since commas
/// separate workloads.
fn share_of(pairs: &mut BTreeMap<String, String>, word: &str) -> Result<Share, PlanError> {
    let weight = pairs.remove("io_weight").map(|text| {
        text.parse().map_err(|_| PlanError::Word {
            word: word.to_string(),
            problem: format!("io_weight={text} is not a number"),
            remedy: "give 1 to 10000, e.g. io_weight=50".to_string(),
        })
    });
    let io_max = pairs.remove("io_max").map(|text| text.replace('+', " "));
    Ok(Share {
        io_weight: weight.transpose()?,
        io_max,
        ioprio: pairs.remove("ioprio").map(|text| text.replace('/', ":")),
    })
}

/// Parses several workloads.
///
/// # Errors
/// [`PlanError::Word`], or [`PlanError::Duplicate`] for equal labels.
pub fn parse_workloads<S: AsRef<str>>(words: &[S]) -> Result<Vec<WorkloadSpec>, PlanError> {
    let workloads =
        words.iter().map(|word| parse_workload(word.as_ref())).collect::<Result<Vec<_>, _>>()?;
    let labels: Vec<&str> = workloads.iter().map(|workload| workload.name.as_str()).collect();
    let same = labels.iter().enumerate().find(|(i, label)| labels[..*i].contains(label));
    let hint =
        same.map(|(_, label)| format!(", e.g. first={label},second={label}")).unwrap_or_default();
    unique("workload", &labels, &hint)?;
    Ok(workloads)
}

struct Parts {
    name: String,
    head: String,
    pairs: BTreeMap<String, String>,
}

fn split(word: &str, what: &str, example: &str) -> Result<Parts, PlanError> {
    let refuse = |problem: String| PlanError::Word {
        word: word.to_string(),
        problem,
        remedy: format!("write {what} as [NAME=]HEAD[:KEY=VALUE]…, e.g. {example}"),
    };
    let trimmed = word.trim();
    let (before, _) = trimmed.split_once(':').unwrap_or((trimmed, ""));
    let (name, rest) = match before.split_once('=') {
        Some((name, _)) => (name.trim(), &trimmed[name.len() + 1..]),
        None => (trimmed, trimmed),
    };
    let mut fields = rest.split(':');
    let head = fields.next().unwrap_or_default().trim();
    if name.is_empty() {
        return Err(refuse("it has no name".to_string()));
    }
    if head.is_empty() {
        return Err(refuse(format!("it names no {}", what.trim_start_matches("a "))));
    }
    let mut pairs = BTreeMap::new();
    for field in fields {
        match field.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                if pairs.insert(key.to_string(), value.to_string()).is_some() {
                    return Err(refuse(format!("`{key}` is given twice")));
                }
            }
            _ => return Err(refuse(format!("`{field}` is not KEY=VALUE"))),
        }
    }
    Ok(Parts { name: name.to_string(), head: head.to_string(), pairs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_a_scheduler_with_tunables_and_perhaps_a_name() {
        let variant = parse_variant("bfq").unwrap();
        assert_eq!(
            (variant.name.as_str(), variant.scheduler.as_str(), variant.tunables.len()),
            ("bfq", "bfq", 0)
        );
        let variant = parse_variant("bfq:slice_idle=0:nr_requests=64").unwrap();
        assert_eq!(
            (variant.name.as_str(), variant.scheduler.as_str()),
            ("bfq:slice_idle=0:nr_requests=64", "bfq")
        );
        assert_eq!(
            (variant.tunables["slice_idle"].as_str(), variant.tunables["nr_requests"].as_str()),
            ("0", "64")
        );
        let variant = parse_variant("quick=bfq:slice_idle=0").unwrap();
        assert_eq!(
            (variant.name.as_str(), variant.scheduler.as_str(), variant.tunables.len()),
            ("quick", "bfq", 1)
        );
    }

    #[test]
    fn a_variant_of_the_cpu_arena_is_settings_with_plus_signs_and_perhaps_a_name() {
        let keys = ["nice", "policy", "affinity", "sysctl:"];
        let read =
            |word: &str| parse_cpu_variants(&[word], &keys).map(|mut variants| variants.remove(0));
        let variant = read("affinity=0;2+nice=-20").unwrap();
        assert_eq!(
            (variant.name.as_str(), variant.scheduler.as_str()),
            ("affinity=0;2+nice=-20", "")
        );
        assert_eq!(
            (variant.tunables["affinity"].as_str(), variant.tunables["nice"].as_str()),
            ("0,2", "-20")
        );
        let variant = read("mine=policy=deadline:5ms/10ms/10ms").unwrap();
        assert_eq!(
            (variant.name.as_str(), variant.tunables["policy"].as_str()),
            ("mine", "deadline:5ms/10ms/10ms")
        );
        let variant = read("a=default").unwrap();
        assert_eq!(
            (variant.name.as_str(), variant.scheduler.as_str(), variant.tunables.len()),
            ("a", "default", 0)
        );
        assert_eq!(read("sched_ext:/x+nice=1").unwrap().scheduler, "sched_ext:/x");
        assert_eq!(read("sysctl:kernel.sched_x=1").unwrap().tunables["sysctl:kernel.sched_x"], "1");
        for (word, said) in [
            ("", "is empty"),
            ("nice", "neither"),
            ("nice=1+nice=2", "given twice"),
            ("nice=", "neither"),
        ] {
            assert!(read(word).unwrap_err().to_string().contains(said), "{word}");
        }
        let twice = parse_cpu_variants(&["default", "default"], &keys).unwrap_err().to_string();
        assert!(twice.contains("a=default,b=default"), "{twice}");
    }

    #[test]
    fn two_variants_of_one_name_are_refused_with_the_way_to_write_an_a_a_comparison() {
        let error = parse_variants(&["none", "none"]).unwrap_err();
        assert!(error.to_string().contains("a=none,b=none"), "{error}");
        let variants = parse_variants(&["a=none", "b=none"]).unwrap();
        assert_eq!((variants[0].name.as_str(), variants[1].name.as_str()), ("a", "b"));
        assert_eq!(
            (variants[0].scheduler.as_str(), variants[1].scheduler.as_str()),
            ("none", "none")
        );
    }

    #[test]
    fn a_workload_has_parameters_and_may_name_the_metric_that_decides() {
        let workload = parse_workload("mine=oltp:clients=8:primary=latency_p99_us").unwrap();
        assert_eq!((workload.name.as_str(), workload.kind.as_str()), ("mine", "oltp"));
        assert_eq!(workload.primary.as_deref(), Some("latency_p99_us"));
        assert_eq!(
            workload.params.into_iter().collect::<Vec<_>>(),
            [("clients".to_string(), "8".to_string())]
        );
        assert_eq!(parse_workload("oltp:primary=iops:clients=8").unwrap().name, "oltp:clients=8");
        assert!(
            parse_workloads(&["oltp", "oltp"])
                .unwrap_err()
                .to_string()
                .contains("first=oltp,second=oltp")
        );
    }

    #[test]
    fn a_file_that_comes_first_needs_no_key() {
        let workload = parse_workload("fio:jobs/random.fio:primary=iops").unwrap();
        assert_eq!(
            (workload.kind.as_str(), workload.params["file"].as_str()),
            ("fio", "jobs/random.fio")
        );
        assert_eq!(workload.name, "fio:jobs/random.fio");
        let workload = parse_workload("mine=fio:a.fio:x=1").unwrap();
        assert_eq!(
            (workload.name.as_str(), workload.params["file"].as_str(), workload.params.len()),
            ("mine", "a.fio", 2)
        );
        assert!(
            parse_workload("oltp:8k").unwrap_err().to_string().contains("`8k` is not KEY=VALUE")
        );
    }

    #[test]
    fn a_share_of_the_device_is_no_parameter_of_the_work() {
        let load = parse_background(
            "seqwrite:clients=2:io_weight=50:io_max=wbps=10M+wiops=5:ioprio=best-effort/7",
        )
        .unwrap();
        assert_eq!(
            (load.kind.as_str(), load.params.len(), load.share.io_weight),
            ("seqwrite", 1, Some(50))
        );
        assert_eq!(load.share.io_max.as_deref(), Some("wbps=10M wiops=5"));
        assert_eq!(load.share.ioprio.as_deref(), Some("best-effort:7"));
        assert!(
            parse_background("seqwrite:io_weight=much")
                .unwrap_err()
                .to_string()
                .contains("io_weight=50")
        );
    }

    #[test]
    fn words_that_cannot_be_read_say_what_is_wrong_and_give_an_example() {
        for (word, problem) in [
            ("", "it has no name"),
            (":a=1", "it names no scheduler"),
            ("=bfq", "it has no name"),
            ("x=", "it names no scheduler"),
            ("bfq:64", "`64` is not KEY=VALUE"),
            ("bfq:slice_idle=", "`slice_idle=` is not KEY=VALUE"),
            ("bfq:a=1:a=2", "`a` is given twice"),
        ] {
            let message = parse_variant(word).unwrap_err().to_string();
            assert!(
                message.contains(problem) && message.contains("e.g. bfq:slice_idle=0"),
                "{word}: {message}"
            );
        }
    }
}
