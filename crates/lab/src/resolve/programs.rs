//! The programs that a plan starts, and the user's consent to them.
//!
//! A plan is code if it names a command, a program with arguments, a pgbench script, a scheduler
//! that a program loads, or a kernel built from a patch or directory. Words typed on the command
//! line imply consent; a plan file requires it, because root may not have read it.

use anyhow::Result;
use load::programs::RUN_OF_VARIANT;

use super::Resolved;
use crate::failure::usage;
use crate::progress::Progress;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProgram {
    /// Its workload or variant, with control characters escaped.
    pub subject: String,
    /// What is done with it: `starts`, `loads` or `builds`.
    pub verb: &'static str,
    /// Its own words, escaped.
    pub object: String,
    /// Whether it requires root: it loads a scheduler or is part of a kernel built here.
    pub needs_root: bool,
}

impl NamedProgram {
    /// Subject, verb and object; that a program starts goes without saying.
    pub fn words(&self) -> String {
        let NamedProgram { subject, verb, object, .. } = self;
        match *verb {
            STARTS => format!("{subject}: {object}"),
            _ => format!("{subject}: {verb} {object}"),
        }
    }
}

const STARTS: &str = "starts";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Agreement {
    /// The plan is from a file.
    #[default]
    Missing,
    /// The user typed the plan's words or `--allow-commands`.
    Given,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramOptions {
    pub agreement: Agreement,
    /// The user of `--as`.
    pub user: Option<String>,
}

pub fn named(resolved: &Resolved) -> Vec<NamedProgram> {
    let of_workloads = resolved.workloads.iter().filter_map(|workload| {
        let program = workload.program()?;
        let mut starts = (program.kind.starts)(&program.options);
        // The command of the variants is listed below.
        starts.retain(|words| *words != format!("run {RUN_OF_VARIANT:?}"));
        let subject = format!("workload {}", workload.name.escape_debug());
        let object = format!("{} {}", program.kind.name, starts.join(", "));
        let one = NamedProgram { subject, verb: STARTS, object, needs_root: false };
        (!starts.is_empty()).then_some(one)
    });
    let of_variant = |name: &str| format!("variant {}", name.escape_debug());
    let own = resolved.under_test.commands().into_iter().map(|(variant, run)| NamedProgram {
        subject: of_variant(variant),
        verb: STARTS,
        object: format!("{run:?}"),
        needs_root: false,
    });
    let of_variants = resolved.under_test.made().into_iter().map(|(variant, verb, object)| {
        NamedProgram { subject: of_variant(variant), verb, object, needs_root: true }
    });
    let of_kernel = resolved.under_test.kernel_tree().map(|tree| NamedProgram {
        subject: "kernel".to_owned(),
        verb: "builds",
        object: format!("the directory {:?}", tree.display().to_string()),
        needs_root: true,
    });
    of_workloads.chain(own).chain(of_variants).chain(of_kernel).collect()
}

impl ProgramOptions {
    pub fn typed(user: Option<&str>) -> ProgramOptions {
        ProgramOptions { agreement: Agreement::Given, user: user.map(str::to_owned) }
    }

    /// Lists the programs and their users; refuses those of a plan file without consent.
    pub fn check(&self, resolved: &Resolved, progress: &dyn Progress) -> Result<()> {
        let is_root = rustix::process::geteuid().is_root();
        if let Some(user) = self.user.as_ref().filter(|_| !is_root) {
            return Err(usage(format!(
                "--as {user}: only root can run programs as another user; leave it out"
            )));
        }
        let named = named(resolved);
        let refused: Vec<String> = named
            .iter()
            .filter(|program| {
                is_root && self.agreement == Agreement::Missing && !self.covers(program)
            })
            .map(NamedProgram::words)
            .collect();
        if !refused.is_empty() {
            let unless = if named.iter().all(|program| program.needs_root) {
                "this takes root's rights, so that --as USER does not help"
            } else {
                "--as USER, which runs programs of workloads without root's rights"
            };
            return Err(usage(format!(
                "plan {:?}: it starts programs of its own as root ({}); read them, then add --allow-commands, or {unless}",
                resolved.plan.name,
                refused.join("; ")
            )));
        }
        for line in self.announced(&named) {
            progress.say(&line);
        }
        Ok(())
    }

    /// One line per program, with its user.
    pub fn announced(&self, named: &[NamedProgram]) -> Vec<String> {
        let own = if rustix::process::geteuid().is_root() { "root" } else { "you" };
        let of = |program: &NamedProgram| {
            let whom = self.user.as_deref().filter(|_| self.covers(program)).unwrap_or(own);
            format!("{} as {whom}: {}: {}", program.verb, program.subject, program.object)
        };
        named.iter().map(of).collect()
    }

    /// Whether the program runs as the user of `--as`.
    fn covers(&self, program: &NamedProgram) -> bool {
        self.user.is_some() && !program.needs_root
    }
}

#[cfg(test)]
mod tests {
    use experiment::plan::Plan;

    use super::*;
    use crate::resolve::resolve;

    fn resolved(head: &str, scheduler: &str, workload: &str) -> Resolved {
        let text = format!(
            "{head}\n[[variant]]\nname = 'a'\nscheduler = '{scheduler}'\n[[variant]]\nname = 'b'\nscheduler = 'default'\n[[workload]]\n\
             name = 'w'\n{workload}"
        );
        resolve(Plan::from_toml(&text).unwrap(), &mut |_| ()).unwrap()
    }

    fn words(resolved: &Resolved) -> Vec<(String, bool)> {
        named(resolved).into_iter().map(|program| (program.words(), program.needs_root)).collect()
    }

    #[test]
    fn what_a_plan_starts_is_named_with_its_workload_or_variant_and_escaped() {
        let command =
            "kind = 'command'\nparams = { on = 'cpu', setup = 'a', run = \"b\\u001b[2J\" }\n";
        let both = words(&resolved("arena = 'cpu'", "sched_ext:/x", command));
        let expected = [
            ("workload w: command setup \"a\", run \"b\\u{1b}[2J\"".to_owned(), false),
            ("variant a: loads \"/x\"".to_owned(), true),
        ];
        assert_eq!(both, expected);
        assert_eq!(words(&resolved("arena = 'cpu'", "default", "kind = 'linpack'\n")), []);
    }

    #[test]
    fn a_variant_with_a_kernel_of_its_own_names_the_directory_that_is_built() {
        let text = "arena = 'kernel'\ndevice = 'hp97560'\n[[variant]]\nname = 'a'\nscheduler = 'none'\ntunables = { kernel = 'debian:6.12' }\n\
                    [[variant]]\nname = 'b'\nscheduler = 'none'\ntunables = { kernel = '/x' }\n[[workload]]\nname = 'w'\nkind = 'randread'\n";
        let plan = resolve(Plan::from_toml(text).unwrap(), &mut |_| ()).unwrap();
        assert_eq!(words(&plan), [("variant b: builds the directory \"/x\"".to_owned(), true)]);
        let announced = ProgramOptions::typed(None).announced(&named(&plan)).remove(0);
        let (verb, rest) = announced.split_once(" as ").expect("what is done, as whom");
        assert!(
            verb == "builds" && rest.ends_with(": variant b: the directory \"/x\""),
            "{announced}"
        );
    }

    #[test]
    fn another_user_runs_workloads_and_never_what_needs_root() {
        let command = "kind = 'command'\nparams = { on = 'cpu', run = 'b' }\n";
        let named = named(&resolved("arena = 'cpu'", "sched_ext:/x", command));
        let lines = ProgramOptions::typed(Some("nobody")).announced(&named);
        assert!(lines[0].starts_with("starts as nobody: workload w"), "{lines:?}");
        assert!(!lines[1].contains("nobody"), "{lines:?}");
    }
}
