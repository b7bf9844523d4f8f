//! Runs the kernel's makefiles, and finds the first error in their output.

use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use machine::files::programs;

use crate::child::Run;
use crate::config::{self, Purpose};
use crate::{Error, Progress};

/// CPUs that a build uses.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(crate) struct Tree<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) log: &'a Path,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) purpose: Purpose,
}

impl Tree<'_> {
    pub(crate) fn configure(&self, progress: &mut dyn Progress) -> Result<(), Error> {
        self.make(&["tinyconfig"], &mut |_| ())?;
        self.set(&config::fragment(self.purpose), progress)
    }

    /// Appends lines to `.config`, runs `make olddefconfig`, and checks what it accepted. Optional
    /// settings that the kernel does not have are only named.
    pub(crate) fn set(&self, lines: &str, progress: &mut dyn Progress) -> Result<(), Error> {
        let path = self.dir.join(".config");
        let read = || fs::read_to_string(&path).map_err(|cause| Error::io("read", &path, cause));
        let text = read()?;
        fs::write(&path, text + lines).map_err(|cause| Error::io("write", &path, cause))?;
        self.make(&["olddefconfig"], &mut |_| ())?;
        let missing = config::check(&read()?, self.purpose)?.join(", ");
        if !missing.is_empty() {
            progress.say(&format!(
                "kernel configuration: {missing} cannot be set; the arena does without"
            ));
        }
        Ok(())
    }

    /// Returns the number of compiled objects; `about` is the expected number, or 0.
    pub(crate) fn compile(
        &self,
        targets: &[&str],
        about: u64,
        progress: &mut dyn Progress,
    ) -> Result<u64, Error> {
        let begun = Instant::now();
        let mut done = 0;
        self.make(targets, &mut |line| {
            if line.trim_start().starts_with("CC ") {
                done += 1;
                let total = if about == 0 { 0 } else { about.max(done) };
                progress.step(done, total, left(done, about, begun.elapsed()));
            }
        })?;
        Ok(done)
    }

    fn make(&self, targets: &[&str], line: &mut dyn FnMut(&str)) -> Result<(), Error> {
        let log = File::options().append(true).create(true).open(self.log);
        let log = log.map_err(|cause| Error::io("write", self.log, cause))?;
        let mut make = programs::helper("make");
        // The kernel contains these; constants make it reproducible.
        make.env("KBUILD_BUILD_USER", "schedlab")
            .env("KBUILD_BUILD_HOST", "schedlab")
            .env("KBUILD_BUILD_VERSION", "1")
            .env("KBUILD_BUILD_TIMESTAMP", "2000-01-01")
            // A killed compiler leaves temporary files.
            .env("TMPDIR", self.dir)
            .arg("-C")
            .arg(self.dir)
            // Compilers run in parallel; --output-sync keeps the messages of each together.
            .args([
                &format!("-j{}", cpus()),
                "--output-sync=target",
                "--no-print-directory",
                "ARCH=um",
            ])
            .args(config::flags(self.purpose.debug))
            .args(targets);
        let said = Run::new(self.stop).logged(&log).run_with(make, line)?;
        if said.status.success() {
            return Ok(());
        }
        let message = first_error(&said.text).unwrap_or_else(|| said.last_line().to_owned());
        Err(Error::Compile { message, log: self.log.to_owned() })
    }
}

fn left(done: u64, about: u64, so_far: Duration) -> Option<Duration> {
    (about > done && done >= 20).then(|| so_far.mul_f64((about - done) as f64 / done as f64))
}

/// The error with the compiler's source line and marker.
pub(crate) fn first_error(said: &str) -> Option<String> {
    let lines: Vec<&str> = said.lines().collect();
    let first = |matches: &dyn Fn(&str) -> bool| lines.iter().position(|line| matches(line));
    // collect2 only reports that the linker failed.
    let compiler = |line: &str| line.contains(": error: ") || line.contains(": fatal error: ");
    let at = first(&|line| compiler(line) && !line.starts_with("collect2:"))
        .or_else(|| {
            first(&|line| {
                line.contains("undefined reference to ") || line.starts_with("ERROR: modpost:")
            })
        })
        .or_else(|| {
            first(&|line| {
                line.contains(": syntax error") || line.contains(": recursive dependency")
            })
        })
        .or_else(|| first(&|line| line.starts_with("make") && line.contains("*** ")))?;
    let shown = lines[at + 1..].iter().take_while(|line| is_excerpt(line));
    let whole: Vec<&str> =
        std::iter::once(&lines[at]).chain(shown).map(|line| line.trim_end()).collect();
    Some(whole.join("\n"))
}

/// The name in an error that the kernel does not have.
pub(crate) fn missing_symbol(message: &str) -> Option<String> {
    let line = message.lines().next()?;
    if let Some((before, _)) = line.split_once(": No such file or directory") {
        return before.rsplit(' ').next().map(str::to_owned);
    }
    let lacks = [
        "implicit declaration of function",
        " undeclared ",
        "unknown type name",
        "has no member named",
        "undefined reference to",
        "undefined!",
    ];
    let (_, said) = line.split_once("error: ").or_else(|| line.split_once(": "))?;
    let words = || said.split(['‘', '’', '\'', '`', '"']).skip(1).step_by(2);
    // Of a member, the type is named first.
    let name = if said.contains("has no member named") { words().last() } else { words().next() };
    name.filter(|_| lacks.iter().any(|lack| said.contains(lack))).map(str::to_owned)
}

/// `  123 |  code` or `      |  ^~~`.
fn is_excerpt(line: &str) -> bool {
    line.split_once('|').is_some_and(|(number, _)| {
        number.chars().all(|c| c == ' ' || c.is_ascii_digit()) && !number.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compilers_first_error_is_shown_with_its_mark() {
        let log = include_str!("../tests/logs/syntax.log");
        let shown = first_error(log).unwrap();
        assert!(shown.starts_with("block/kyber-iosched.c:"), "{shown}");
        assert!(shown.contains("error: ") && shown.contains("^"), "{shown}");
        assert!(shown.lines().count() <= 4 && !shown.contains("make"), "{shown}");
    }

    #[test]
    fn errors_of_linker_modpost_and_make_are_found_where_the_compiler_had_none() {
        let link = include_str!("../tests/logs/link.log");
        assert!(first_error(link).unwrap().contains("undefined reference to `schedlab_nowhere'"));
        let modpost = "  MODPOST Module.symvers\nERROR: modpost: \"nowhere\" [x.ko] undefined!\nmake[1]: *** [x] Error 1\n";
        assert_eq!(first_error(modpost).unwrap(), "ERROR: modpost: \"nowhere\" [x.ko] undefined!");
        let make = "  CC x.o\nmake[1]: *** No rule to make target 'y.o', needed by 'x'.  Stop.\nmake: *** [Makefile:1: x] Error 2\n";
        assert!(first_error(make).unwrap().contains("No rule to make target 'y.o'"));
        assert_eq!(first_error("all is well\n"), None);
    }

    #[test]
    fn a_missing_symbol_is_named_and_another_error_names_none() {
        for (message, symbol) in [
            ("x.c:1:2: error: implicit declaration of function ‘bio_prio’ [-Werror=x]", "bio_prio"),
            (
                "x.c:1:2: error: 'RQF_ELVPRIV' undeclared (first use in this function)",
                "RQF_ELVPRIV",
            ),
            ("x.c:1:2: error: ‘struct bio’ has no member named ‘bi_ioprio’", "bi_ioprio"),
            ("x.c:1:2: error: unknown type name ‘blk_insert_t’; did you mean ‘x’?", "blk_insert_t"),
            ("x.c:1:2: fatal error: blk-mq-sched.h: No such file or directory", "blk-mq-sched.h"),
            ("ld: x.o: undefined reference to `elv_rb_add'", "elv_rb_add"),
            ("ERROR: modpost: \"elv_rb_add\" [x.ko] undefined!", "elv_rb_add"),
        ] {
            assert_eq!(missing_symbol(message).as_deref(), Some(symbol));
        }
        for other in ["x.c:1:2: error: expected ‘;’ before ‘int’", "make: *** [x] Error 1", ""]
        {
            assert_eq!(missing_symbol(other), None, "{other}");
        }
    }

    #[test]
    fn time_left_is_told_once_there_is_something_to_tell_it_from() {
        assert_eq!(left(5, 100, Duration::from_secs(5)), None);
        assert_eq!(left(50, 100, Duration::from_secs(5)), Some(Duration::from_secs(5)));
        assert_eq!(left(100, 100, Duration::from_secs(5)), None, "the estimate is reached");
        assert_eq!(left(50, 0, Duration::from_secs(5)), None, "the total is unknown");
    }
}
