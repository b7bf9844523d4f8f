//! The guest kernel's configuration, and the check that the kernel accepted it.

use crate::Error;

const PLAIN: &str = include_str!("um.config");
const DEBUG: &str = include_str!("debug.config");
const CPU: &str = include_str!("cpu.config");

/// Of a guest.
pub const MAX_CPUS: u32 = 8;

/// The arena does without the option where a kernel does not have it.
const OPTIONAL: &str = " # optional";

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

/// What a kernel is built for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Purpose {
    /// With every check that finds mistakes.
    pub(crate) debug: bool,
    /// For CPU experiments, with this number of ticks a second.
    pub(crate) hz: Option<u32>,
    /// With several CPUs.
    pub(crate) smp: bool,
}

impl Purpose {
    fn lines(self) -> impl Iterator<Item = &'static str> {
        let debug = if self.debug { DEBUG } else { "" };
        let cpu = if self.hz.is_some() { CPU } else { "" };
        PLAIN
            .lines()
            .chain(debug.lines())
            .chain(cpu.lines())
            .filter(|line| line.starts_with("CONFIG_") || line.starts_with("# CONFIG_"))
    }

    fn choices(self) -> impl Iterator<Item = String> {
        let cpus =
            self.smp.then(|| ["CONFIG_SMP=y".to_owned(), format!("CONFIG_NR_CPUS={MAX_CPUS}")]);
        self.hz.map(|hz| format!("CONFIG_HZ={hz}")).into_iter().chain(cpus.into_iter().flatten())
    }
}

/// The fragment in the format of `.config`.
pub(crate) fn fragment(purpose: Purpose) -> String {
    let lines = purpose.lines().map(|line| line.trim_end_matches(OPTIONAL).to_owned());
    lines.chain(purpose.choices()).map(|line| format!("{line}\n")).collect()
}

/// Returns the optional ones of the fragment that `.config` does not have.
///
/// # Errors
/// Names those that the arena needs.
pub(crate) fn check(config: &str, purpose: Purpose) -> Result<Vec<String>, Error> {
    let off = |line: &str| {
        line.strip_prefix("# ").and_then(|line| line.strip_suffix(" is not set")).map(str::to_owned)
    };
    let is_there = |line: &str| match off(line) {
        Some(option) => config
            .lines()
            .all(|l| !l.strip_prefix(&option).is_some_and(|rest| rest.starts_with('='))),
        None => config.lines().any(|l| l == line),
    };
    let last =
        |line: &str| purpose.lines().filter(|other| name(other) == name(line)).last() == Some(line);
    let unset = purpose.choices().filter(|choice| !config.lines().any(|line| line == choice));
    let (mut refused, mut missing) = (Vec::new(), Vec::new());
    for line in purpose.lines().filter(|line| last(line)) {
        let option = line.trim_end_matches(OPTIONAL);
        if !is_there(option) {
            let list = if line.ends_with(OPTIONAL) { &mut missing } else { &mut refused };
            list.push(off(option).map_or_else(|| option.to_owned(), |off| format!("{off}=n")));
        }
    }
    refused.extend(unset);
    if refused.is_empty() { Ok(missing) } else { Err(Error::Config { refused }) }
}

fn name(line: &str) -> &str {
    let line = line.strip_prefix("# ").unwrap_or(line);
    line.split([' ', '=']).next().unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN_ONE: Purpose = Purpose { debug: false, hz: None, smp: false };
    const CHECKED: Purpose = Purpose { debug: true, hz: None, smp: false };
    const FOR_CPUS: Purpose = Purpose { debug: false, hz: Some(250), smp: false };
    const FOR_SEVERAL: Purpose = Purpose { smp: true, ..FOR_CPUS };

    #[test]
    fn a_fragment_satisfies_itself_and_each_missing_option_is_named() {
        for purpose in [PLAIN_ONE, CHECKED, FOR_CPUS, FOR_SEVERAL] {
            let whole = fragment(purpose);
            assert_eq!(check(&whole, purpose).unwrap(), [""; 0]);
            assert!(!whole.contains(OPTIONAL));
        }
        let poorer = fragment(PLAIN_ONE)
            .replace("CONFIG_IOSCHED_BFQ=y\n", "")
            .replace("# CONFIG_NET is not set", "CONFIG_NET=y");
        let Err(Error::Config { refused }) = check(&poorer, PLAIN_ONE) else {
            panic!("two options differ")
        };
        assert_eq!(refused, ["CONFIG_IOSCHED_BFQ=y", "CONFIG_NET=n"]);
    }

    #[test]
    fn an_optional_one_that_is_missing_is_named_and_a_needed_one_is_an_error_of_its_own() {
        let whole = fragment(PLAIN_ONE);
        for without in ["", "# CONFIG_SLUB is not set\n"] {
            let poorer =
                whole.replace("CONFIG_SLUB=y\n", without).replace("CONFIG_BLK_WBT=y\n", "");
            assert_eq!(check(&poorer, PLAIN_ONE).unwrap(), ["CONFIG_BLK_WBT=y", "CONFIG_SLUB=y"],);
            let needed = poorer.replace("CONFIG_HOSTFS=y\n", "");
            let Err(Error::Config { refused }) = check(&needed, PLAIN_ONE) else {
                panic!("the root is a hostfs")
            };
            assert_eq!(refused, ["CONFIG_HOSTFS=y"]);
        }
    }

    #[test]
    fn a_debug_kernel_is_a_plain_one_and_more() {
        let plain = fragment(PLAIN_ONE);
        assert!(fragment(CHECKED).starts_with(&plain) && fragment(FOR_CPUS).starts_with(&plain));
        assert!(fragment(CHECKED).contains("CONFIG_KASAN=y\n") && !plain.contains("KASAN"));
    }

    #[test]
    fn a_kernel_for_cpus_with_another_tick_rate_is_refused() {
        let whole = fragment(FOR_CPUS);
        assert!(whole.contains("CONFIG_HZ=250\n") && !fragment(PLAIN_ONE).contains("CONFIG_HZ"));
        let Err(Error::Config { refused }) = check(&whole.replace("HZ=250", "HZ=100"), FOR_CPUS)
        else {
            panic!("ticks differ")
        };
        assert_eq!(refused, ["CONFIG_HZ=250"]);
        let whole = fragment(FOR_SEVERAL).replace("CONFIG_SMP=y\n", "");
        let Err(Error::Config { refused }) = check(&whole, FOR_SEVERAL) else { panic!("one CPU") };
        assert_eq!(refused, ["CONFIG_SMP=y"]);
    }
}
