//! The guest kernel's configuration, and the check that the kernel accepted it.

use crate::Error;

const PLAIN: &str = include_str!("um.config");
const DEBUG: &str = include_str!("debug.config");

/// Not all versions have the option.
const IF_THERE: &str = " # if there";

/// For a kernel without debugging checks.
///
/// By default, User-mode Linux uses the large code model, which loads a 64-bit address for each
/// call and variable, and no built-in memset and memcpy. Its process is between 0x6000_0000 and 2
/// GiB, so the small model suffices, except for modules, which are behind the guest's memory. This
/// saves a quarter of a request's instructions.
const FLAGS: [&str; 2] = ["KCFLAGS=-mcmodel=small -fbuiltin", "CFLAGS_MODULE=-mcmodel=large"];

pub(crate) fn flags(debug: bool) -> &'static [&'static str] {
    if debug { &[] } else { &FLAGS }
}

/// The fragment in the format of `.config`.
pub(crate) fn fragment(debug: bool) -> String {
    wanted(debug).map(|line| format!("{}\n", line.trim_end_matches(IF_THERE))).collect()
}

/// The error names options of the fragment that `.config` does not have.
pub(crate) fn check(config: &str, debug: bool) -> Result<(), Error> {
    let off = |line: &str| {
        line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set")).map(str::to_owned)
    };
    let last =
        |line: &str| wanted(debug).filter(|other| name(other) == name(line)).last() == Some(line);
    let refused: Vec<String> = wanted(debug)
        .filter(|line| !line.ends_with(IF_THERE) && last(line))
        .filter(|line| match off(line) {
            Some(option) => config
                .lines()
                .any(|l| l.strip_prefix(&option).is_some_and(|rest| rest.starts_with('='))),
            None => !config.lines().any(|l| l == *line),
        })
        .map(|line| off(line).map_or_else(|| line.to_owned(), |option| format!("{option}=n")))
        .collect();
    if refused.is_empty() { Ok(()) } else { Err(Error::Config { refused }) }
}

fn wanted(debug: bool) -> impl Iterator<Item = &'static str> {
    let more = if debug { DEBUG } else { "" };
    PLAIN
        .lines()
        .chain(more.lines())
        .filter(|line| line.starts_with("CONFIG_") || line.starts_with("# CONFIG_"))
}

fn name(line: &str) -> &str {
    let line = line.strip_prefix("# ").unwrap_or(line);
    line.split([' ', '=']).next().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_satisfies_itself_and_each_missing_option_is_named() {
        for debug in [false, true] {
            let whole = fragment(debug);
            check(&whole, debug).unwrap();
            assert!(!whole.contains(IF_THERE));
        }
        let poorer = fragment(false)
            .replace("CONFIG_IOSCHED_BFQ=y\n", "")
            .replace("# CONFIG_NET is not set", "CONFIG_NET=y");
        let Err(Error::Config { refused }) = check(&poorer, false) else {
            panic!("two options differ")
        };
        assert_eq!(refused, ["CONFIG_IOSCHED_BFQ=y", "CONFIG_NET=n"]);
    }

    #[test]
    fn an_option_that_some_version_has_not_may_be_missing() {
        let older = fragment(false).replace("CONFIG_SLUB=y\n", "");
        check(&older, false).unwrap();
    }

    #[test]
    fn a_debug_kernel_is_a_plain_one_and_more() {
        assert!(fragment(true).starts_with(&fragment(false)));
        assert!(fragment(true).contains("CONFIG_KASAN=y\n") && !fragment(false).contains("KASAN"));
    }
}
