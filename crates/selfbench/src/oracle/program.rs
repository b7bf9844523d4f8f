//! The original as a program: scripts in, dispatches out.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use properties::original::Script;

const VERSION: &str = "2.6.20";
const ANSWER_BYTES: u64 = 1 << 20;

#[derive(Debug)]
pub(super) struct Program {
    path: PathBuf,
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    pub(super) hz: u32,
}

impl Program {
    pub(super) fn start(path: &Path) -> Result<Program> {
        let mut child = Command::new(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("{}: cannot be started", path.display()))?;
        let to = child.stdin.take().context("the program has a standard input")?;
        let from =
            BufReader::new(child.stdout.take().context("the program has a standard output")?);
        let mut program = Program { path: path.to_owned(), child, to, from, hz: 0 };
        let greeting = program.line()?;
        program.hz = hz(&greeting).map_err(|error| program.error(&error))?;
        Ok(program)
    }

    pub(super) fn answer(&mut self, scheduler: &str, script: &Script) -> Result<String> {
        let answers = self.answers(scheduler, std::slice::from_ref(script))?;
        Ok(answers.into_iter().next().unwrap_or_default())
    }

    pub(super) fn answers(&mut self, scheduler: &str, scripts: &[Script]) -> Result<Vec<String>> {
        let mut text: String =
            scripts.iter().map(|script| format!("{scheduler} {script}\n")).collect();
        text.push('\n');
        let written = self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush());
        written.map_err(|error| self.error(&error.to_string()))?;
        scripts.iter().map(|_| self.line()).collect()
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = self.from.by_ref().take(ANSWER_BYTES).read_line(&mut line);
        match read {
            Ok(_) if line.ends_with('\n') => Ok(line.trim_end().to_owned()),
            Ok(0) => bail!(self.error("ended before it had answered")),
            Ok(_) => bail!(self.error("an answer is too long")),
            Err(error) => bail!(self.error(&error.to_string())),
        }
    }

    fn error(&self, what: &str) -> anyhow::Error {
        anyhow::anyhow!("{}: {what}", self.path.display())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It ends with its input; one that does not is killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads HZ from a greeting that names the right kernel.
fn hz(greeting: &str) -> Result<u32, String> {
    let words: Vec<&str> = greeting.split_ascii_whitespace().collect();
    let ["linux", version, "hz", hz] = words[..] else {
        return Err(format!(
            "is no oracle (its first line is {greeting:?}, expected \"linux {VERSION} hz HZ\")"
        ));
    };
    if version != VERSION {
        return Err(format!(
            "is Linux {version:?}, but the schedulers follow {VERSION} (found by its first line); give one of {VERSION}"
        ));
    }
    let hz = hz.parse().ok().filter(|hz| (1..=10_000).contains(hz));
    hz.ok_or_else(|| format!("HZ: is not between 1 and 10000 (in its first line, {greeting:?})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_named_and_refused() {
        assert_eq!(hz("linux 2.6.20 hz 250"), Ok(250));
        assert!(hz("linux 2.6.24 hz 250").unwrap_err().contains("2.6.24"));
        for wrong in
            ["", "linux", "linux 2.6.20 hz 0", "linux 2.6.20 hz many", "linux 2.6.20 hz 250 more"]
        {
            assert!(hz(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_program_that_is_no_oracle_is_refused() {
        let error = Program::start(Path::new("/bin/echo")).unwrap_err();
        assert!(error.to_string().contains("/bin/echo: is no oracle"), "{error}");
        let gone = Program::start(Path::new("/nonexistent/oracle")).unwrap_err();
        assert!(gone.to_string().contains("cannot be started"), "{gone}");
    }
}
