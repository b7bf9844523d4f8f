//! The programs that a plan names, and whether they may be started.
//!
//! A plan is code where it names a command, a program with its arguments, a script of pgbench, a
//! scheduler that a program loads, or a kernel that is built from a patch or a directory. What root
//! has typed himself needs no further word; a plan from a file does, since who runs it as root may
//! not have read it.

use anyhow::Result;
use experiment::plan::Plan;

use crate::arena::kernel::is_directory;
use crate::arena::under_test::started_by;
use crate::failure::usage;
use crate::progress::Progress;
use crate::workloads::Program;

/// A program that a plan names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProgram {
    /// Its workload or variant, and its words, with control characters escaped.
    pub words: String,
    /// Whether it does its work with root's rights only: it loads a scheduler, or is part of a
    /// kernel that is built here.
    pub needs_root: bool,
}

/// Who has agreed that the programs of a plan are started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Agreement {
    /// Nobody has: the plan is from a file.
    #[default]
    Missing,
    /// The user has typed the plan's words, or `--allow-commands`.
    Given,
}

/// What the user says of the programs that a plan names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProgramOptions {
    pub agreement: Agreement,
    /// The user of `--as`.
    pub user: Option<String>,
}

/// The programs that a completed plan names, in its order.
///
/// # Errors
/// Wrong usage: words of the plan that cannot be read.
pub fn named(plan: &Plan) -> Result<Vec<NamedProgram>> {
    let programs =
        plan.workloads.iter().filter_map(|spec| Some((spec, load::programs::find(&spec.kind)?)));
    let programs: Vec<(&str, Program)> = programs
        .map(|(spec, kind)| Ok((&*spec.name, Program::of(kind, spec)?)))
        .collect::<Result<_>>()?;
    let of_workloads = programs.iter().filter_map(|(label, program)| {
        let starts = (program.kind.starts)(&program.options);
        let words = format!(
            "workload {}: {} {}",
            label.escape_debug(),
            program.kind.name,
            starts.join(", ")
        );
        (!starts.is_empty()).then_some(NamedProgram { words, needs_root: false })
    });
    let of_variants = plan.variants.iter().filter_map(|variant| {
        let what = started_by(plan.arena, variant);
        what.map(|what| NamedProgram {
            words: format!("variant {}: {what}", variant.name.escape_debug()),
            needs_root: true,
        })
    });
    let source = plan.kernel.iter().filter(|source| is_directory(source));
    let of_kernel = source.map(|source| NamedProgram {
        words: format!("kernel: builds the directory {source:?}"),
        needs_root: true,
    });
    Ok(of_workloads.chain(of_variants).chain(of_kernel).collect())
}

impl ProgramOptions {
    /// What the user typed.
    pub fn typed(user: Option<&str>) -> ProgramOptions {
        ProgramOptions { agreement: Agreement::Given, user: user.map(str::to_owned) }
    }

    /// Says which programs are started, and as whom; refuses those of a plan from a file that
    /// nobody has agreed to.
    ///
    /// # Errors
    /// Wrong usage, naming the programs and both ways out.
    pub fn check(&self, plan: &Plan, progress: &dyn Progress) -> Result<()> {
        let is_root = rustix::process::geteuid().is_root();
        if let Some(user) = self.user.as_ref().filter(|_| !is_root) {
            return Err(usage(format!(
                "--as {user}: only root can run programs as another user; leave it out"
            )));
        }
        let named = named(plan)?;
        let refused: Vec<&str> = named
            .iter()
            .filter(|program| {
                is_root && self.agreement == Agreement::Missing && !self.covers(program)
            })
            .map(|program| program.words.as_str())
            .collect();
        if !refused.is_empty() {
            let unless = if named.iter().all(|program| program.needs_root) {
                "this takes root's rights, so that --as USER does not help"
            } else {
                "--as USER, which runs programs of workloads without root's rights"
            };
            return Err(usage(format!(
                "plan {:?}: it starts programs of its own as root ({}); read them, then add --allow-commands, or {unless}",
                plan.name,
                refused.join("; ")
            )));
        }
        for line in self.announced(&named) {
            progress.say(&line);
        }
        Ok(())
    }

    /// The programs with the user that each runs as, one a line.
    pub fn announced(&self, named: &[NamedProgram]) -> Vec<String> {
        let own = if rustix::process::geteuid().is_root() { "root" } else { "you" };
        let of = |program: &NamedProgram| {
            let whom = self.user.as_deref().filter(|_| self.covers(program)).unwrap_or(own);
            format!("starts as {whom}: {}", program.words)
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
    use super::*;
    use crate::resolve::checked;

    fn plan(head: &str, scheduler: &str, workload: &str) -> Plan {
        let text = format!(
            "{head}\n[[variant]]\nname = 'a'\nscheduler = '{scheduler}'\n[[variant]]\nname = 'b'\nscheduler = 'default'\n[[workload]]\n\
             name = 'w'\n{workload}"
        );
        checked(Plan::from_toml(&text).unwrap(), &mut |_| ()).unwrap()
    }

    fn words(plan: &Plan) -> Vec<(String, bool)> {
        named(plan)
            .unwrap()
            .into_iter()
            .map(|program| (program.words, program.needs_root))
            .collect()
    }

    #[test]
    fn what_a_plan_starts_is_named_with_its_workload_or_variant_and_escaped() {
        let command =
            "kind = 'command'\nparams = { on = 'cpu', setup = 'a', run = \"b\\u001b[2J\" }\n";
        let both = words(&plan("arena = 'cpu'", "sched_ext:/x", command));
        let expected = [
            ("workload w: command setup \"a\", run \"b\\u{1b}[2J\"".to_owned(), false),
            ("variant a: loads \"/x\"".to_owned(), true),
        ];
        assert_eq!(both, expected);
        assert_eq!(words(&plan("arena = 'cpu'", "default", "kind = 'linpack'\n")), []);
    }

    #[test]
    fn a_variant_with_a_kernel_of_its_own_names_the_directory_that_is_built() {
        let text = "arena = 'kernel'\ndevice = 'hp97560'\n[[variant]]\nname = 'a'\nscheduler = 'none'\ntunables = { kernel = 'debian:6.12' }\n\
                    [[variant]]\nname = 'b'\nscheduler = 'none'\ntunables = { kernel = '/x' }\n[[workload]]\nname = 'w'\nkind = 'randread'\n";
        let plan = checked(Plan::from_toml(text).unwrap(), &mut |_| ()).unwrap();
        assert_eq!(words(&plan), [("variant b: builds the directory \"/x\"".to_owned(), true)]);
    }

    #[test]
    fn another_user_runs_workloads_and_never_what_needs_root() {
        let command = "kind = 'command'\nparams = { on = 'cpu', run = 'b' }\n";
        let named = named(&plan("arena = 'cpu'", "sched_ext:/x", command)).unwrap();
        let lines = ProgramOptions::typed(Some("nobody")).announced(&named);
        assert!(lines[0].starts_with("starts as nobody: workload w"), "{lines:?}");
        assert!(!lines[1].contains("nobody"), "{lines:?}");
    }
}
